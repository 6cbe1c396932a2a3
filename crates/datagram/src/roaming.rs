//! [`Roaming`]: where the other party is.

use crate::rtt::{IGNORED, SHORTEST};
use crate::session::{HELD, Mark, OVERHEAD, Opened, Role};
use exm_units::Instant;
use std::net::SocketAddr;

/// So many times the bytes that came from an unproven address may be sent to it (RFC 9000, section 8).
const AMPLIFICATION: u64 = 3;
/// No more unproven addresses are remembered. One is enough for an honest client; the others keep an
/// attacker who alternates between addresses from displacing it.
const MOST_CANDIDATES: usize = 4;

/// Where to send.
///
/// A client sends to where it was told, always. A server sends to its client's last proven address, and
/// follows when the newest authentic datagram, which has the highest sequence number so far, comes from
/// another one (mosh paper, section 2.2; J. Donenfeld, "WireGuard", NDSS 2017, section 2.1) and that
/// address has proven that its owner receives what is sent there (RFC 9000, sections 8.2 and 9.3). Else
/// somebody on the path who copies the client's datagrams, and overtakes them from an address of his
/// choice, would have the session's data sent there.
///
/// The proof takes a round trip and no field of its own on the wire. A challenge is a datagram like any
/// other but for its timestamp, which is shifted by a random [`Mark`]; the peer echoes that, as it
/// echoes all timestamps, within authenticated text that nobody else can write. So an unmodified mosh
/// client answers as well. Until then:
/// - all else goes to the last proven address, so there is nothing to return from when the new address
///   does not answer;
/// - a new address is sent challenges only: one at once, another when more comes from there, but no
///   sooner than a retransmission could be due, or when the last would be echoed no more; and in bytes
///   no more than three times what came from it;
/// - nothing is kept for more than four new addresses, and for none longer than 5 s without a fresh
///   start, the longest round trip that timestamps tell.
///
/// Whoever can both deliver the challenge to the client and overtake its echo passes for a new way to
/// it, as with mosh, WireGuard and QUIC (RFC 9000, section 9.3.3): to relay everything is what a NAT does.
/// The client is followed back once one of its datagrams arrives undisturbed and is proven likewise.
#[derive(Clone, Debug)]
pub struct Roaming {
    follows: bool,
    peer: Option<SocketAddr>,
    moves: u64,
    /// Unproven addresses; the one that was heard last comes last.
    candidates: Vec<Candidate>,
    /// Whether the newest datagram came from that one.
    is_elsewhere: bool,
}

/// An address that has to prove that the client is there.
#[derive(Clone, Debug)]
struct Candidate {
    address: SocketAddr,
    mark: Mark,
    since: Instant,
    heard_at: Instant,
    challenged_at: Option<Instant>,
    /// Bytes that came from it, and that were sent to it.
    received: u64,
    sent: u64,
}

impl Roaming {
    /// A client's, of the server at `server`.
    pub fn client(server: SocketAddr) -> Roaming {
        Roaming { follows: false, peer: Some(server), ..Roaming::server() }
    }

    /// A server's, which knows of no client yet. The first address is to be proven like any other.
    pub fn server() -> Roaming {
        let (candidates, is_elsewhere) = (Vec::new(), false);
        Roaming { follows: true, peer: None, moves: 0, candidates, is_elsewhere }
    }

    /// A server's, whose client is at `client`: it has shown, for instance in a
    /// [handshake](crate::Responder::accept), that it received what was sent there.
    pub fn server_of(client: SocketAddr) -> Roaming {
        Roaming { peer: Some(client), ..Roaming::server() }
    }

    /// Whose it is.
    pub fn role(&self) -> Role {
        if self.follows { Role::Server } else { Role::Client }
    }

    /// `opened`, which is authentic, came from `from` at `now`. Whether the peer is somewhere else
    /// now: `from`, which is proven.
    pub fn heard(&mut self, now: Instant, opened: &Opened<'_>, from: SocketAddr) -> bool {
        if !self.follows || !opened.newest {
            return false;
        }
        self.is_elsewhere = self.peer != Some(from) && self.consider(now, from);
        let Some(candidate) = self.candidates.last_mut().filter(|_| self.is_elsewhere) else {
            return false;
        };
        candidate.heard_at = now;
        candidate.received += (OVERHEAD + opened.payload.len()) as u64;
        let is_proven = candidate.challenged_at.is_some()
            && opened.echoes(now, candidate.mark, now.saturating_since(candidate.since));
        if is_proven {
            self.candidates.pop();
            self.is_elsewhere = false;
            self.moves += u64::from(self.peer.is_some());
            self.peer = Some(from);
        }
        is_proven
    }

    /// Makes `address` the last candidate. False where the system has no randomness for its mark.
    fn consider(&mut self, now: Instant, address: SocketAddr) -> bool {
        let known = self.candidates.iter().position(|candidate| candidate.address == address);
        let known = known.map(|index| self.candidates.remove(index));
        let fresh = |mark| Candidate {
            address,
            mark,
            since: now,
            heard_at: now,
            challenged_at: None,
            received: 0,
            sent: 0,
        };
        let candidate =
            known.filter(|known| known.is_recent(now)).or_else(|| Mark::random().map(fresh));
        if self.candidates.len() == MOST_CANDIDATES {
            self.candidates.remove(0);
        }
        self.candidates.extend(candidate.iter().cloned());
        candidate.is_some()
    }

    /// Where to send a challenge of `length` bytes or fewer at `now`, if one is due and may be so long,
    /// and the mark with which to [seal](crate::Session::seal_marked) it. It counts as sent.
    ///
    /// It should be something to which the peer soon sends something back, where there is anything, since
    /// timestamps are echoed within a second or not at all. A mosh client, for instance, acknowledges a
    /// new state within 100 ms, and speaks every 3 s otherwise.
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

    /// Where to send; nowhere before a server's client has proven an address.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// How often the peer went elsewhere; its first appearance is no move.
    pub fn moves(&self) -> u64 {
        self.moves
    }
}

impl Candidate {
    /// Whether it is still to prove itself at `now`, as far as timestamps tell.
    fn is_recent(&self, now: Instant) -> bool {
        now.saturating_since(self.since) < IGNORED
    }

    /// Whether it is to be challenged.
    fn is_due(&self, now: Instant) -> bool {
        self.is_recent(now)
            && self.challenged_at.is_none_or(|at| {
                let ago = now.saturating_since(at);
                ago >= HELD || (self.heard_at > at && ago >= SHORTEST)
            })
    }
}

#[cfg(test)]
mod tests;
