//! [`Peers`]: the sessions of one server with many clients, without the sockets. It decides whose a received
//! datagram is, and who sends next.
//!
//! Nothing in a datagram names its client, so that nobody can follow a client that roams. A datagram is first
//! tried with the keys of the clients that have sent authentic datagrams, or have begun a handshake, from its
//! source address. Otherwise a client may have moved, and all keys are tried, within a [`Budget`]: a flood of
//! datagrams from elsewhere uses it up, and then clients that move or join wait until it ends, while those that
//! stay are served.

use crate::budget::Budget;
use crate::endpoint::{Endpoint, Farewell};
use crate::handshake::INITIATION;
use crate::routes::Routes;
use crate::settings::Settings;
use crate::traffic::Source;
use exm_datagram::Key;
use exm_endpoint::Path;
use exm_units::{Instant, Span};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The trials of keys a second for datagrams from unknown addresses, in the cost of one decryption: 6 us with 1400
/// bytes on a busy machine (the test `trials_cost` measures it), so that a flood costs about a tenth of a core.
const TRIALS: u32 = 20_000;
/// The cost of a trial with a handshake message: 12 us there, for a few hashes.
const INITIATION_TRIALS: u64 = 2;
/// The handshake messages a second of one client. Each may cost two operations of X25519, 0.1 ms.
const HELLOS: u32 = 20;
/// The most datagrams that a client sends in its turn.
const MAX_SENDS_A_TURN: usize = 32;
/// The most datagrams that all clients are sent in one call.
const MAX_SENDS: usize = 512;
/// A round in which as many datagrams were received is a full one. After two of them the server is overloaded, and
/// clients share the next rounds.
const FULL: u32 = 256;
/// An endpoint that has nothing to send at a time is not asked again at the same time.
const LEAST_WAIT: Span = Span::from_nanos(1);
/// The least share of a round of one client.
const LEAST_SHARE: u32 = 32;

/// One client of a [`Listener`](crate::Listener). Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerId(u32);

#[cfg(test)]
impl PeerId {
    pub(crate) fn numbered(number: u32) -> PeerId {
        PeerId(number)
    }
}

/// Where the datagrams of many sessions come from and go to: a [`Source`] and a [`Sink`](crate::Sink) for each
/// client.
pub trait PeerTraffic {
    /// As [`Source::waiting`], for `peer`.
    fn waiting(&mut self, peer: PeerId, now: Instant) -> Option<usize>;
    /// As [`Source::pull`], for `peer`.
    fn pull(&mut self, peer: PeerId, now: Instant, payload: &mut Vec<u8>);
    /// As [`Sink::deliver`](crate::Sink::deliver), from `peer`.
    fn deliver(&mut self, peer: PeerId, now: Instant, payload: &[u8]);
}

/// Received datagrams that were dropped before a session saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unrouted {
    /// No client's key fits.
    pub strange: u64,
    /// From an unknown address, when the keys that may be tried in a second had been tried.
    pub untried: u64,
    /// Handshake messages of a client beyond 20 a second.
    pub hellos: u64,
    /// Beyond a client's share while the server was overloaded.
    pub excess: u64,
}

/// The source of one client.
struct Of<'a, T>(PeerId, &'a mut T);

impl<T: PeerTraffic> Source for Of<'_, T> {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.1.waiting(self.0, now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.1.pull(self.0, now, payload);
    }
}

struct Peer {
    endpoint: Endpoint,
    hellos: Budget,
    /// When its endpoint has something to send, at the earliest.
    wake: Instant,
    /// The datagrams received in this round.
    taken: u32,
}

/// How a trial with one client's key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// The datagram is not the client's.
    Foreign,
    /// It was, and has been processed or dropped.
    Done,
}

/// The sessions of a server with many clients.
pub(crate) struct Peers {
    settings: Settings,
    farewell: Option<Farewell>,
    peers: BTreeMap<PeerId, Peer>,
    next: u32,
    /// Who has sent authentic datagrams from an address.
    known: Routes,
    /// Who has sent handshake messages, which may be replays, from an address.
    expected: Routes,
    trials: Budget,
    /// The client that was served last, after which the next turn begins.
    served: Option<PeerId>,
    /// The datagrams that a client may send in a round while the server is overloaded.
    share: u32,
    full_rounds: u32,
    unrouted: Unrouted,
    likely: Vec<PeerId>,
    copy: Vec<u8>,
}

impl Peers {
    pub(crate) fn new(settings: Settings) -> Peers {
        Peers {
            settings,
            farewell: None,
            peers: BTreeMap::new(),
            next: 0,
            known: Routes::default(),
            expected: Routes::default(),
            trials: Budget::new(TRIALS, TRIALS),
            served: None,
            share: u32::MAX,
            full_rounds: 0,
            unrouted: Unrouted::default(),
            likely: Vec::new(),
            copy: Vec::new(),
        }
    }

    /// Sets what displaced clients are told, of those that are added afterwards.
    pub(crate) fn set_farewell(&mut self, farewell: Farewell) {
        self.farewell = Some(farewell);
    }

    /// Admits the client with `key`.
    pub(crate) fn add(&mut self, key: Key) -> PeerId {
        let id = PeerId(self.next);
        self.next += 1;
        let mut endpoint = Endpoint::server(key, self.settings);
        if let Some(farewell) = self.farewell {
            endpoint.set_farewell(farewell);
        }
        let hellos = Budget::new(HELLOS, HELLOS);
        self.peers.insert(id, Peer { endpoint, hellos, wake: Instant::MAX, taken: 0 });
        id
    }

    /// Ends the session of `id`, whose key is no longer accepted.
    pub(crate) fn remove(&mut self, id: PeerId) -> Option<Endpoint> {
        self.known.forget(id);
        self.expected.forget(id);
        self.peers.remove(&id).map(|peer| peer.endpoint)
    }

    pub(crate) fn endpoint(&self, id: PeerId) -> Option<&Endpoint> {
        self.peers.get(&id).map(|peer| &peer.endpoint)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PeerId> {
        self.peers.keys().copied()
    }

    pub(crate) fn unrouted(&self) -> Unrouted {
        self.unrouted
    }

    /// The traffic of `id` has something to send.
    pub(crate) fn wake(&mut self, id: PeerId) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.wake = Instant::ZERO;
        }
    }

    /// Ends a round of receptions: sets the shares of the next.
    pub(crate) fn end_round(&mut self) {
        let (mut all, mut active) = (0u32, 0u32);
        for peer in self.peers.values_mut() {
            let taken = std::mem::take(&mut peer.taken);
            all = all.saturating_add(taken);
            active += u32::from(taken > 0);
        }
        self.full_rounds = if all < FULL { 0 } else { self.full_rounds.saturating_add(1) };
        let is_overloaded = self.full_rounds >= 2 && active > 1;
        self.share = if is_overloaded { (FULL / active).max(LEAST_SHARE) } else { u32::MAX };
    }

    /// Processes `datagram`, received at `now`.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &[u8],
        traffic: &mut impl PeerTraffic,
    ) {
        let mut likely = std::mem::take(&mut self.likely);
        likely.clear();
        likely.extend_from_slice(self.known.at(path.remote));
        let expected = self.expected.at(path.remote).iter();
        let known = likely.len();
        likely.extend(
            expected.filter(|id| !likely[..known].contains(id)).copied().collect::<Vec<_>>(),
        );
        let is_initiation = datagram.first() == Some(&INITIATION);
        let mut try_it = |peers: &mut Peers, id| match is_initiation {
            true => peers.try_initiation(now, path, datagram, id),
            false => peers.try_datagram(now, path, datagram, (id, &mut *traffic)),
        };
        let is_done =
            self.is_excess(&likely) || likely.iter().any(|&id| try_it(self, id) == Trial::Done);
        if !is_done {
            self.try_others(now, is_initiation, &likely, try_it);
        }
        self.likely = likely;
    }

    /// Counts a datagram from the address of `likely`, and decides whether it exceeds the share of a client.
    fn is_excess(&mut self, likely: &[PeerId]) -> bool {
        let Some(peer) = likely.first().and_then(|id| self.peers.get_mut(id)) else { return false };
        peer.taken = peer.taken.saturating_add(1);
        let is_excess = peer.taken > self.share;
        self.unrouted.excess += u64::from(is_excess);
        is_excess
    }

    /// Tries the keys of all clients but `tried`, as long as the budget lasts.
    fn try_others(
        &mut self,
        now: Instant,
        is_initiation: bool,
        tried: &[PeerId],
        mut try_it: impl FnMut(&mut Peers, PeerId) -> Trial,
    ) {
        let others: Vec<PeerId> = self.ids().filter(|id| !tried.contains(id)).collect();
        for id in others {
            let keys = self.peers.get(&id).map_or(0, |peer| peer.endpoint.keys());
            let cost = if is_initiation { INITIATION_TRIALS } else { keys };
            if !self.trials.take(now, cost) {
                self.unrouted.untried += 1;
                return;
            }
            if cost > 0 && try_it(self, id) == Trial::Done {
                return;
            }
        }
        self.unrouted.strange += 1;
    }

    fn try_initiation(&mut self, now: Instant, path: Path, datagram: &[u8], id: PeerId) -> Trial {
        let Some(peer) = self.peers.get_mut(&id) else { return Trial::Foreign };
        if !peer.endpoint.recognizes(&datagram[1..]) {
            return Trial::Foreign;
        }
        if peer.hellos.take(now, 1) {
            self.copy.clear();
            self.copy.extend_from_slice(datagram);
            peer.endpoint.receive(now, path, &mut self.copy);
            peer.wake = Instant::ZERO;
            self.expected.note(id, path.remote);
        } else {
            self.unrouted.hellos += 1;
        }
        Trial::Done
    }

    fn try_datagram(
        &mut self,
        now: Instant,
        path: Path,
        datagram: &[u8],
        (id, traffic): (PeerId, &mut impl PeerTraffic),
    ) -> Trial {
        let Some(peer) = self.peers.get_mut(&id) else { return Trial::Foreign };
        // A failed trial destroys it.
        self.copy.clear();
        self.copy.extend_from_slice(datagram);
        let Ok(payload) = peer.endpoint.open(now, path, &mut self.copy) else {
            return Trial::Foreign;
        };
        if let Some(payload) = payload {
            traffic.deliver(id, now, payload);
        }
        peer.wake = Instant::ZERO;
        self.known.note(id, path.remote);
        Trial::Done
    }

    /// Passes datagrams to `send` that are due at `now`, client by client, until that returns false because the
    /// system has no room; returns then whose datagram it was and its destination.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        traffic: &mut impl PeerTraffic,
        mut send: impl FnMut(Path, &[u8]) -> bool,
    ) -> Option<(PeerId, Path)> {
        let mut sent = 0;
        while sent < MAX_SENDS {
            let id = self.next_due(now)?;
            self.served = Some(id);
            let peer = self.peers.get_mut(&id)?;
            let mut source = Of(id, &mut *traffic);
            let mut sent_now = 0;
            let is_idle = loop {
                if sent_now == MAX_SENDS_A_TURN {
                    break false;
                }
                let Some(path) = peer.endpoint.transmit(now, &mut source) else { break true };
                sent_now += 1;
                if !send(path, peer.endpoint.datagram()) {
                    return Some((id, path));
                }
            };
            if is_idle {
                // Later than now: what could be sent has been sent.
                peer.wake = peer.endpoint.next_wake(now).max(now.saturating_add(LEAST_WAIT));
            }
            sent += sent_now.max(1);
        }
        None
    }

    /// The next client after the one served last that is due at `now`.
    fn next_due(&self, now: Instant) -> Option<PeerId> {
        let is_due = |(_, peer): &(&PeerId, &Peer)| peer.wake <= now;
        let after = self.served.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.peers.range((after, Bound::Unbounded)).find(is_due);
        later.or_else(|| self.peers.iter().find(is_due)).map(|(&id, _)| id)
    }

    /// When to call [`Peers::transmit`] again, unless a datagram arrives before.
    pub(crate) fn next_wake(&self) -> Instant {
        self.peers.values().map(|peer| peer.wake).min().unwrap_or(Instant::MAX)
    }
}

#[cfg(test)]
mod tests;
