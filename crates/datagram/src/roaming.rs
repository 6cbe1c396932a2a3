//! [`Roaming`]: where the other party is.

use crate::session::{Opened, Role};
use std::net::SocketAddr;

/// Where to send. A server sends to where the newest authentic datagram came from; that has the
/// highest sequence number so far, so one that was held back or is replayed moves nobody. A client
/// sends to where it was told, always. Source: mosh paper, section 2.2; WireGuard's rule is the same
/// (J. Donenfeld, NDSS 2017, section 2.1).
///
/// The new address need not prove that it is the client's. So one on the path who copies the client's
/// newest datagram and overtakes it, from an address of its choice, receives what the server sends until
/// the client's next datagram arrives: all that it can do with it is to drop it, as it could before. A
/// datagram serves for that once, and never after a newer one came.
#[derive(Clone, Copy, Debug)]
pub struct Roaming {
    follows: bool,
    peer: Option<SocketAddr>,
    moves: u64,
}

impl Roaming {
    /// A client's, of the server at `server`.
    pub fn client(server: SocketAddr) -> Roaming {
        Roaming { follows: false, peer: Some(server), moves: 0 }
    }

    /// A server's, which knows of no client yet.
    pub fn server() -> Roaming {
        Roaming { follows: true, peer: None, moves: 0 }
    }

    /// Whose it is.
    pub fn role(&self) -> Role {
        if self.follows { Role::Server } else { Role::Client }
    }

    /// `opened`, which is authentic, came from `from`. Whether the peer is somewhere else now.
    pub fn heard(&mut self, opened: &Opened<'_>, from: SocketAddr) -> bool {
        if !self.follows || !opened.newest || self.peer == Some(from) {
            return false;
        }
        self.moves += u64::from(self.peer.is_some());
        self.peer = Some(from);
        true
    }

    /// Where to send; nowhere before a server has heard of its client.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// How often the peer went elsewhere; its first appearance is no move.
    pub fn moves(&self) -> u64 {
        self.moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    fn opened(newest: bool) -> Opened<'static> {
        Opened { payload: &[], sequence: 0, newest, rtt: None }
    }

    #[test]
    fn a_server_follows_the_newest_only() {
        let mut roaming = Roaming::server();
        assert_eq!(roaming.peer(), None);
        assert!(roaming.heard(&opened(true), address(1)));
        assert!(!roaming.heard(&opened(true), address(1)));
        assert!(!roaming.heard(&opened(false), address(2)), "it came late");
        assert_eq!((roaming.peer(), roaming.moves()), (Some(address(1)), 0));
        assert!(roaming.heard(&opened(true), address(2)));
        assert_eq!((roaming.peer(), roaming.moves()), (Some(address(2)), 1));
    }

    #[test]
    fn a_client_stays_with_its_server() {
        let mut roaming = Roaming::client(address(1));
        assert!(!roaming.heard(&opened(true), address(2)));
        assert_eq!((roaming.peer(), roaming.role()), (Some(address(1)), Role::Client));
    }
}
