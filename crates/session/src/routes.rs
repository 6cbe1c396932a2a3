//! [`Routes`]: which peers have sent from which addresses.

use crate::peers::PeerId;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The most addresses of a peer that are remembered.
const MAX_ADDRESSES: usize = 4;
/// The most peers of an address: several can be behind one NAT whose ports change owners, and an attacker with a
/// key can send with the source address of another peer, which must not displace that one.
const MAX_PEERS: usize = 4;

/// The last addresses of peers, and the last peers of addresses. Memory is bounded by the number of peers.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Latest last.
    addresses: BTreeMap<PeerId, Vec<SocketAddr>>,
    /// Latest first.
    peers: BTreeMap<SocketAddr, Vec<PeerId>>,
}

impl Routes {
    /// The peers that have sent from `address`, the latest first.
    pub(crate) fn at(&self, address: SocketAddr) -> &[PeerId] {
        self.peers.get(&address).map_or(&[], Vec::as_slice)
    }

    /// Remembers that `peer` has sent from `address`.
    pub(crate) fn note(&mut self, peer: PeerId, address: SocketAddr) {
        let addresses = self.addresses.entry(peer).or_default();
        let peers = self.peers.entry(address).or_default();
        if peers.first() == Some(&peer) && addresses.last() == Some(&address) {
            return;
        }
        peers.retain(|&other| other != peer);
        peers.insert(0, peer);
        let overtaken = if peers.len() > MAX_PEERS { peers.pop() } else { None };
        addresses.retain(|&other| other != address);
        addresses.push(address);
        let old = (addresses.len() > MAX_ADDRESSES).then(|| addresses.remove(0));
        if let Some(addresses) = overtaken.and_then(|other| self.addresses.get_mut(&other)) {
            addresses.retain(|&other| other != address);
        }
        if let Some(old) = old {
            self.leave(peer, old);
        }
    }

    /// Forgets `peer`.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        for address in self.addresses.remove(&peer).unwrap_or_default() {
            self.leave(peer, address);
        }
    }

    fn leave(&mut self, peer: PeerId, address: SocketAddr) {
        let Some(peers) = self.peers.get_mut(&address) else { return };
        peers.retain(|&other| other != peer);
        if peers.is_empty() {
            self.peers.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    #[test]
    fn the_latest_peer_of_an_address_comes_first() {
        let mut routes = Routes::default();
        let [a, b] = [0, 1].map(PeerId::numbered);
        routes.note(a, address(1));
        routes.note(b, address(1));
        assert_eq!(routes.at(address(1)), [b, a]);
        routes.note(a, address(1));
        assert_eq!(routes.at(address(1)), [a, b]);
        for port in 2..=1 + MAX_ADDRESSES as u16 {
            routes.note(a, address(port));
        }
        assert_eq!(routes.at(address(1)), [b], "an old address of a is forgotten");
        routes.forget(a);
        assert!((2..10).all(|port| routes.at(address(port)).is_empty()));
    }

    proptest! {
        /// Whatever is noted and forgotten, both maps agree and are bounded.
        #[test]
        fn both_maps_agree(steps in prop::collection::vec((0u32..12, 0u16..8, any::<bool>()), 0..300)) {
            let mut routes = Routes::default();
            for (peer, port, forgets) in steps {
                let peer = PeerId::numbered(peer);
                if forgets {
                    routes.forget(peer);
                } else {
                    routes.note(peer, address(port));
                    prop_assert_eq!(routes.at(address(port)).first(), Some(&peer));
                }
                for (peer, addresses) in &routes.addresses {
                    prop_assert!(addresses.len() <= MAX_ADDRESSES);
                    prop_assert!(addresses.iter().all(|&address| routes.at(address).contains(peer)));
                }
                for (address, peers) in &routes.peers {
                    prop_assert!((1..=MAX_PEERS).contains(&peers.len()));
                    prop_assert!(peers.iter().all(|peer| routes.addresses[peer].contains(address)));
                }
            }
        }
    }
}
