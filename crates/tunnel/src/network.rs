//! [`Network`]: the addresses of the two ends of a tunnel.

use exm_units::Fnv1a;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks that servers choose from: 100.96.0.0/24 to 100.127.255.0/24, in the shared address space
/// of RFC 6598. Emulated links use the networks below.
const FIRST: u32 = 0x6460_0000;
const COUNT: u32 = 1 << 13;
const PREFIX: u8 = 24;
/// The unique local prefix (RFC 4193); its 40-bit global ID is "exm" and "tu".
const ULA: [u16; 3] = [0xfd65, 0x786d, 0x7475];

/// The prefix length of the network of one of several clients: room for the two ends.
const LEASE_PREFIX: u8 = 30;

/// The addresses of the two ends of a tunnel: the first and the second of an IPv4 network, and of an IPv6
/// network that is derived from it: the subnet ID is the middle half of the IPv4 network's address, and the
/// interface ID counts from its last quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(Ipv4Net);

impl Network {
    /// The length of the IPv6 prefix of an IPv4 network with a prefix of [`PREFIX`] bits or more.
    const PREFIX6: u8 = 64;
    /// The bits of the longest prefix of a network that several clients share.
    pub const SHARED_PREFIX: u8 = PREFIX;

    /// The network `net`, if it is an assignable IPv4 network with a prefix of 8 to 30 bits. Host bits are
    /// ignored.
    pub fn new(net: IpNet) -> Option<Network> {
        let IpNet::V4(net) = net.trunc() else { return None };
        let fits = (8..=30).contains(&net.prefix_len()) && is_assignable(net.addr());
        fits.then_some(Network(net))
    }

    /// The first network for tunnels, counted from an offset that depends on `name`, that contains none of
    /// the addresses `used`. Tunnels with different names are unlikely to choose the same network.
    pub fn choose(name: &str, used: &[IpAddr]) -> Option<Network> {
        let hash = (Fnv1a::of(name).get() >> 32) as u32;
        let networks = (0..COUNT).map(|step| {
            let number = hash.wrapping_add(step) % COUNT;
            Network(Ipv4Net::new_assert(Ipv4Addr::from(FIRST + (number << 8)), PREFIX))
        });
        let mut free = networks.filter(|network| !used.iter().any(|&ip| network.contains(ip)));
        free.next()
    }

    /// The network of 256 clients that is chosen for a server of several, by a hash of `name`.
    pub fn for_clients(name: &str) -> Network {
        let number = (Fnv1a::of(name).get() >> 32) as u32 % (COUNT >> 8);
        Network(Ipv4Net::new_assert(Ipv4Addr::from(FIRST + (number << 16)), 16))
    }

    /// How many clients can share it: 64 for each /24 in it, none if it is smaller.
    pub fn leases(&self) -> u32 {
        match PREFIX.checked_sub(self.0.prefix_len()) {
            Some(bits) => 64 << bits,
            None => 0,
        }
    }

    /// The network of the client with the number `number`, if there is one. Clients first get a /24 each, and so an
    /// IPv6 subnet; when all have been given out, they share these.
    pub fn lease(&self, number: u32) -> Option<Network> {
        let subnets = self.leases() / 64;
        let base = (number < self.leases()).then(|| {
            u32::from(self.0.addr()) + ((number % subnets) << 8) + ((number / subnets) << 2)
        })?;
        Some(Network(Ipv4Net::new_assert(Ipv4Addr::from(base), LEASE_PREFIX)))
    }

    /// The network of the client whose IPv4 address is `address`, if that is one of the [leases](Network::lease).
    pub fn lease_of(&self, address: Ipv4Addr) -> Option<Network> {
        let lease = Network(Ipv4Net::new_assert(address, LEASE_PREFIX).trunc());
        let is_leased = self.leases() > 0 && self.ipv4().contains(&IpAddr::from(address));
        (is_leased && lease.client() == address).then_some(lease)
    }

    /// Whether `ip` is in the IPv4 or the IPv6 network.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.ipv4().contains(&ip) || self.ipv6().contains(&ip)
    }

    /// The IPv4 network.
    pub fn ipv4(&self) -> IpNet {
        self.0.into()
    }

    /// The IPv6 network.
    pub fn ipv6(&self) -> IpNet {
        let missing = PREFIX.saturating_sub(self.0.prefix_len());
        Ipv6Net::new_assert(self.ipv6_host(0), Network::PREFIX6 - missing).trunc().into()
    }

    /// The server's IPv4 address.
    pub fn server(&self) -> Ipv4Addr {
        self.ipv4_host(1)
    }

    /// The server's IPv6 address.
    pub fn server6(&self) -> Ipv6Addr {
        self.ipv6_host(1)
    }

    /// The client's IPv4 address.
    pub fn client(&self) -> Ipv4Addr {
        self.ipv4_host(2)
    }

    /// The client's IPv6 address.
    pub fn client6(&self) -> Ipv6Addr {
        self.ipv6_host(2)
    }

    fn ipv4_host(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.0.addr()) + host)
    }

    fn ipv6_host(&self, host: u16) -> Ipv6Addr {
        let [a, b, c] = ULA;
        let address = u32::from(self.0.addr());
        Ipv6Addr::new(a, b, c, (address >> 8) as u16, 0, 0, 0, (address & 0xff) as u16 + host)
    }
}

/// Whether `ip` is a unicast address that a host can have.
fn is_assignable(ip: Ipv4Addr) -> bool {
    !(ip.is_loopback() || ip.is_multicast() || ip.octets()[0] == 0 || ip.octets()[0] >= 240)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().expect("a network")
    }

    #[test]
    fn a_network_has_two_ends() {
        let network = Network::new(net("10.9.8.0/30")).expect("room for two");
        assert_eq!(network.server().to_string(), "10.9.8.1");
        assert_eq!(network.client().to_string(), "10.9.8.2");
        assert_eq!(network.client6().to_string(), "fd65:786d:7475:908::2");
        for wrong in ["10.9.8.0/31", "2001:db8::/64", "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/24"] {
            assert_eq!(Network::new(net(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn clients_share_a_network() {
        for (text, leases) in [("10.9.0.0/16", 16_384), ("10.9.8.0/24", 64), ("10.9.8.0/25", 0)] {
            let network = Network::new(net(text)).expect("it is assignable");
            assert_eq!(network.leases(), leases, "{text}");
            assert_eq!(network.lease(leases), None);
            let all: Vec<Network> = (0..leases).filter_map(|n| network.lease(n)).collect();
            assert_eq!(all.len(), leases as usize);
            let mut seen = std::collections::BTreeSet::new();
            for lease in all {
                assert_eq!(network.lease_of(lease.client()), Some(lease));
                assert_eq!(network.lease_of(lease.server()), None, "only the client's address");
                for ip in [lease.client().into(), IpAddr::from(lease.client6())] {
                    assert!(network.contains(ip) && lease.contains(ip), "{ip}");
                    assert!(seen.insert(ip), "{ip} is given out once");
                }
            }
        }
        let network = Network::new(net("10.9.0.0/16")).expect("it is assignable");
        assert_eq!(network.ipv6().to_string(), "fd65:786d:7475:900::/56");
        let text = |n| network.lease(n).map(|l| format!("{} {}", l.client(), l.client6()));
        assert_eq!(text(1).as_deref(), Some("10.9.1.2 fd65:786d:7475:901::2"));
        assert_eq!(text(257).as_deref(), Some("10.9.1.6 fd65:786d:7475:901::6"));
        assert!(Network::for_clients("host").leases() == 16_384);
    }

    #[test]
    fn networks_in_use_are_skipped() {
        let first = Network::choose("host:60001", &[]).expect("all are free");
        assert_eq!(Network::choose("host:60001", &[]), Some(first));
        assert_ne!(Network::choose("host:60002", &[]), Some(first));
        let next = Network::choose("host:60001", &[first.server().into()]).expect("most are free");
        assert_eq!(
            u32::from(next.server()).abs_diff(u32::from(first.server())) % (256 * 8191),
            256
        );
        let six = Network::choose("host:60001", &[first.client6().into()]);
        assert_eq!(six, Some(next));
        let all: Vec<IpAddr> =
            (0..COUNT).map(|number| Ipv4Addr::from(FIRST + (number << 8) + 7).into()).collect();
        assert_eq!(Network::choose("host:60001", &all), None);
    }
}
