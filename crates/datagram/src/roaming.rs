//! [`Roaming`]: the address of a roaming peer.

use crate::rtt::{IGNORED, SHORTEST};
use crate::session::{HELD, Mark, OVERHEAD, Opened, Role};
use exm_units::{Instant, Span};
use std::net::SocketAddr;

/// How many times the bytes received from an unvalidated address may be sent to it (RFC 9000, section 8).
const AMPLIFICATION: u64 = 3;
/// The most unvalidated addresses that are kept. An honest client needs one; the others keep an attacker who
/// alternates between addresses from displacing it.
const MAX_CANDIDATES: usize = 4;

/// The greatest probability that an address passes although its client never received a challenge there.
const DOUBT: f64 = 1e-7;
/// The same of a server's first address: nothing is lost by it, since no other one is known.
const FIRST_DOUBT: f64 = 0.02;

/// The address to send to.
///
/// A client sends to its server's fixed address. A server sends to its client's last validated address. It
/// moves to another one when the newest authentic datagram, the one with the highest sequence number, comes
/// from there (mosh paper, section 2.2; J. Donenfeld, "WireGuard", NDSS 2017, section 2.1) and challenges
/// have shown that the client receives what is sent there (RFC 9000, sections 8.2 and 9.3). Otherwise an
/// attacker on the path who copies the client's datagrams, and overtakes them from an address of his choice,
/// would receive the session's data.
///
/// A challenge is a datagram whose timestamp is shifted by a random [`Mark`]; the peer echoes it like all
/// timestamps, authenticated and encrypted. So validation takes no field on the wire, and an unmodified mosh
/// client responds as well. Each mark belongs to one address, and its echo spends it: the next challenge has
/// another mark. An echo that fits the marks of two addresses counts for neither.
///
/// A timestamp has 16 bits, and a peer may hold it for a second. So an attacker who withholds the client's
/// datagrams for many seconds finds one among them whose echo fits the mark of an address where the client is
/// not, by chance: the probability is the age of the mark divided by the range of marks, for each echo that he
/// tries. Therefore an address needs as many echoes as make the product of these probabilities at most 10^-7:
/// two with RTTs up to 13 ms, three up to 208 ms, four up to 800 ms. A server that has no address yet settles for 2 %, so
/// for one echo with RTTs up to 1.3 s: it would otherwise send nothing meanwhile.
///
/// Until then:
/// - all other datagrams go to the last validated address, so nothing has to be undone if the new address does
///   not respond;
/// - a new address is sent challenges only: one at once, and another when more arrives from there, but no
///   sooner than a retransmission could be due or the last challenge can no longer be echoed; and at most three
///   times the bytes received from it;
/// - at most four new addresses are kept, each for at most 5 s after its last echo: the longest RTT that
///   timestamps can express.
///
/// An attacker who can both deliver the challenges to the client and overtake their echoes passes for a new
/// path to it, as with mosh, WireGuard and QUIC (RFC 9000, section 9.3.3): relaying everything is what a NAT
/// does. The server returns to the client once its datagrams arrive undisturbed and are validated.
#[derive(Clone, Debug)]
pub struct Roaming {
    follows: bool,
    peer: Option<SocketAddr>,
    moves: u64,
    /// Unvalidated addresses; the most recently active one is last.
    candidates: Vec<Candidate>,
    /// Whether the newest datagram came from that one.
    is_elsewhere: bool,
}

/// An address to be validated.
#[derive(Clone, Debug)]
struct Candidate {
    address: SocketAddr,
    /// The mark of its challenges until one is echoed, and since when.
    mark: Mark,
    since: Instant,
    challenged_at: Option<Instant>,
    /// How many echoes have come from it in this time that could be of a mark.
    guesses: u32,
    /// The probability that the echoes so far fitted by chance.
    doubt: f64,
    last_received_at: Instant,
    /// Bytes received from it, and sent to it.
    received: u64,
    sent: u64,
}

impl Roaming {
    /// A client's, of the server at `server`.
    pub fn client(server: SocketAddr) -> Roaming {
        Roaming { follows: false, peer: Some(server), ..Roaming::server() }
    }

    /// A server's, which does not know its client's address; the first one is validated like any other.
    pub fn server() -> Roaming {
        let (candidates, is_elsewhere) = (Vec::new(), false);
        Roaming { follows: true, peer: None, moves: 0, candidates, is_elsewhere }
    }

    /// A server's, whose client is at `client`, which has been validated otherwise, for instance by a
    /// handshake.
    pub fn server_of(client: SocketAddr) -> Roaming {
        Roaming { peer: Some(client), ..Roaming::server() }
    }

    /// The role of this end.
    pub fn role(&self) -> Role {
        if self.follows { Role::Server } else { Role::Client }
    }

    /// Processes `opened`, an authentic datagram from `from`, received at `now`. Returns whether the peer has
    /// moved to `from`.
    pub fn receive(&mut self, now: Instant, opened: &Opened<'_>, from: SocketAddr) -> bool {
        if !self.follows || !opened.newest {
            return false;
        }
        self.is_elsewhere = self.peer != Some(from) && self.consider(now, from);
        let is_ambiguous =
            self.candidates.iter().filter(|candidate| candidate.is_echoed(now, opened)).count() > 1;
        let Some(candidate) = self.candidates.last_mut().filter(|_| self.is_elsewhere) else {
            return false;
        };
        candidate.last_received_at = now;
        candidate.received += (OVERHEAD + opened.payload.len()) as u64;
        candidate.guesses += u32::from(opened.echoes_a_mark());
        if is_ambiguous || !candidate.is_echoed(now, opened) {
            return false;
        }
        candidate.doubt *= candidate.probability(now);
        let limit = if self.peer.is_some() { DOUBT } else { FIRST_DOUBT };
        if candidate.doubt <= limit {
            self.candidates.pop();
            self.is_elsewhere = false;
            self.moves += u64::from(self.peer.is_some());
            self.peer = Some(from);
            return true;
        }
        match Mark::random() {
            Some(mark) => candidate.begin(now, mark),
            None => drop(self.candidates.pop()),
        }
        self.is_elsewhere = self.candidates.last().is_some_and(|last| last.address == from);
        false
    }

    /// Makes `address` the last candidate; false if the system has no randomness for its mark.
    fn consider(&mut self, now: Instant, address: SocketAddr) -> bool {
        let known = self.candidates.iter().position(|candidate| candidate.address == address);
        let known = known.map(|index| self.candidates.remove(index));
        let candidate = known
            .filter(|known| known.is_recent(now))
            .or_else(|| Mark::random().map(|mark| Candidate::new(now, address, mark)));
        if self.candidates.len() == MAX_CANDIDATES {
            self.candidates.remove(0);
        }
        self.candidates.extend(candidate.iter().cloned());
        candidate.is_some()
    }

    /// The destination and the mark of a path challenge of at most `length` bytes, if one is due at `now`;
    /// [seal](crate::Session::seal_marked) it with that mark. It counts as sent.
    ///
    /// It should be a datagram to which the peer soon replies, since timestamps are echoed within a second or
    /// not at all. A mosh client, for instance, acknowledges a new state within 100 ms, and otherwise sends
    /// every 3 s.
    pub fn challenge(&mut self, now: Instant, length: usize) -> Option<(SocketAddr, Mark)> {
        let candidate = self.candidates.last_mut().filter(|_| self.is_elsewhere)?;
        let sent = candidate.sent + length as u64;
        if !candidate.is_due(now) || sent > candidate.received * AMPLIFICATION {
            return None;
        }
        candidate.sent = sent;
        candidate.challenged_at = Some(now);
        Some((candidate.address, candidate.mark))
    }

    /// The address to send to; `None` before a server has validated one.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// How often the peer has moved; its first address does not count.
    pub fn moves(&self) -> u64 {
        self.moves
    }
}

impl Candidate {
    fn new(now: Instant, address: SocketAddr, mark: Mark) -> Candidate {
        Candidate {
            address,
            mark,
            since: now,
            challenged_at: None,
            guesses: 0,
            doubt: 1.0,
            last_received_at: now,
            received: 0,
            sent: 0,
        }
    }

    /// Spends the mark: challenges from `now` on have the mark `mark`.
    fn begin(&mut self, now: Instant, mark: Mark) {
        (self.mark, self.since, self.challenged_at, self.guesses) = (mark, now, None, 0);
    }

    /// Whether `opened` echoes a challenge to it, as far as can be told.
    fn is_echoed(&self, now: Instant, opened: &Opened<'_>) -> bool {
        self.challenged_at.is_some()
            && self.is_recent(now)
            && opened.echoes(now, self.mark, now.saturating_since(self.since))
    }

    /// The probability that one of the echoes that have come from it fits its mark by chance.
    fn probability(&self, now: Instant) -> f64 {
        let fitting = now.saturating_since(self.since) + Span::from_millis(2);
        let of_one = fitting.as_nanos() as f64 / Mark::RANGE.as_nanos() as f64;
        (of_one * f64::from(self.guesses)).min(1.0)
    }

    /// Whether it can still be validated at `now`, given the range of timestamps.
    fn is_recent(&self, now: Instant) -> bool {
        now.saturating_since(self.since) < IGNORED
    }

    /// Whether a challenge is due.
    fn is_due(&self, now: Instant) -> bool {
        self.is_recent(now)
            && self.challenged_at.is_none_or(|at| {
                let ago = now.saturating_since(at);
                ago >= HELD || (self.last_received_at > at && ago >= SHORTEST)
            })
    }
}

#[cfg(test)]
mod tests;
