//! [`Network`]: the addresses of the two ends of a tunnel.

use exm_units::Fnv1a;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses whose first bits are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    ip: IpAddr,
    prefix: u8,
}

/// What is no range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give addresses as ADDRESS/BITS, such as 10.0.0.0/8 or 2001:db8::/32")]
pub struct NoCidr;

impl Cidr {
    /// The addresses whose first `prefix` bits are those of `ip`; nothing where it has not as many.
    pub fn new(ip: IpAddr, prefix: u8) -> Option<Cidr> {
        let ip: IpAddr = match ip {
            IpAddr::V4(ip) if prefix <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                Ipv4Addr::from(u32::from(ip) & mask).into()
            }
            IpAddr::V6(ip) if prefix <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                Ipv6Addr::from(u128::from(ip) & mask).into()
            }
            _ => return None,
        };
        Some(Cidr { ip, prefix })
    }

    /// The first address.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// How many bits are alike.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether `ip` is one of them.
    pub fn contains(&self, ip: IpAddr) -> bool {
        Cidr::new(ip, self.prefix).is_some_and(|cidr| cidr == *self)
    }
}

#[cfg(target_os = "linux")]
impl From<Cidr> for exm_os::Address {
    fn from(cidr: Cidr) -> exm_os::Address {
        exm_os::Address { ip: cidr.ip, prefix: cidr.prefix }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

impl FromStr for Cidr {
    type Err = NoCidr;

    /// Without a number of bits it is a single address. Bits beyond it are ignored.
    fn from_str(text: &str) -> Result<Cidr, NoCidr> {
        let (ip, prefix) = text.split_once('/').map_or((text, None), |(ip, p)| (ip, Some(p)));
        let ip: IpAddr = ip.parse().map_err(|_| NoCidr)?;
        let all = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(all), str::parse).map_err(|_| NoCidr)?;
        Cidr::new(ip, prefix).ok_or(NoCidr)
    }
}

/// The networks that servers choose from, one after the other: 100.96.0.0/24 to 100.127.255.0/24,
/// which are for such uses (RFC 6598). An emulated link's come from below.
const FIRST: u32 = 0x6460_0000;
const COUNT: u32 = 1 << 13;
const PREFIX: u8 = 24;
/// A unique local network (RFC 4193); its 40 bits say "exm" and "tu".
const SIX: [u16; 3] = [0xfd65, 0x786d, 0x7475];

/// The addresses of the two ends of a tunnel: the first and the second of a network of IPv4, and of
/// one of IPv6 that is numbered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    ip: Ipv4Addr,
    prefix: u8,
}

impl Network {
    /// The bits of the network of IPv6.
    pub const PREFIX6: u8 = 64;

    /// The network of `cidr`, where that is of IPv4 and has room for two.
    pub fn new(cidr: Cidr) -> Option<Network> {
        match cidr.ip {
            IpAddr::V4(ip) if (8..=30).contains(&cidr.prefix) && is_usual(ip) => {
                Some(Network { ip, prefix: cidr.prefix })
            }
            _ => None,
        }
    }

    /// The first of the networks meant for tunnels, counted from a place that `name` says, in which
    /// there is none of `used`. Tunnels of different names are unlikely to have the same.
    pub fn choose(name: &str, used: &[IpAddr]) -> Option<Network> {
        let hash = (Fnv1a::of(name).get() >> 32) as u32;
        let networks = (0..COUNT).map(|step| {
            let number = hash.wrapping_add(step) % COUNT;
            Network { ip: Ipv4Addr::from(FIRST + (number << 8)), prefix: PREFIX }
        });
        let mut free = networks.filter(|network| !used.iter().any(|&ip| network.contains(ip)));
        free.next()
    }

    /// Whether `ip` is one of its addresses.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.cidr().contains(ip) || self.cidr6().contains(ip)
    }

    /// Its addresses of IPv4.
    pub fn cidr(&self) -> Cidr {
        Cidr { ip: self.ip.into(), prefix: self.prefix }
    }

    /// Its addresses of IPv6.
    pub fn cidr6(&self) -> Cidr {
        Cidr { ip: self.six(0).into(), prefix: Network::PREFIX6 }
    }

    /// The server's address.
    pub fn server(&self) -> Ipv4Addr {
        self.four(1)
    }

    /// The server's address of IPv6.
    pub fn server6(&self) -> Ipv6Addr {
        self.six(1)
    }

    /// The client's address.
    pub fn client(&self) -> Ipv4Addr {
        self.four(2)
    }

    /// The client's address of IPv6.
    pub fn client6(&self) -> Ipv6Addr {
        self.six(2)
    }

    fn four(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.ip) + host)
    }

    fn six(&self, host: u16) -> Ipv6Addr {
        let [a, b, c] = SIX;
        let number = (u32::from(self.ip) >> 8) as u16;
        Ipv6Addr::new(a, b, c, number, 0, 0, 0, host)
    }
}

/// Whether hosts have such addresses.
fn is_usual(ip: Ipv4Addr) -> bool {
    !(ip.is_loopback() || ip.is_multicast() || ip.octets()[0] == 0 || ip.octets()[0] >= 240)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().expect("a range")
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(cidr("10.1.2.3/8").to_string(), "10.0.0.0/8");
        assert_eq!(cidr("10.1.2.3").to_string(), "10.1.2.3/32");
        assert_eq!(cidr("0.0.0.0/0").to_string(), "0.0.0.0/0");
        assert_eq!(cidr("2001:db8::1/32").to_string(), "2001:db8::/32");
        assert!(cidr("128.0.0.0/1").contains("200.1.1.1".parse().expect("an address")));
        assert!(!cidr("128.0.0.0/1").contains("100.1.1.1".parse().expect("an address")));
        assert!(!cidr("0.0.0.0/0").contains("::1".parse().expect("an address")));
        for wrong in ["", "10.0.0.0/33", "2001:db8::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1"] {
            assert_eq!(wrong.parse::<Cidr>(), Err(NoCidr), "{wrong}");
        }
    }

    #[test]
    fn a_network_has_two_ends() {
        let network = Network::new(cidr("10.9.8.0/30")).expect("room for two");
        assert_eq!(network.server().to_string(), "10.9.8.1");
        assert_eq!(network.client().to_string(), "10.9.8.2");
        assert_eq!(network.client6().to_string(), "fd65:786d:7475:908::2");
        for wrong in ["10.9.8.0/31", "2001:db8::/64", "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/24"] {
            assert_eq!(Network::new(cidr(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn networks_in_use_are_passed_over() {
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
