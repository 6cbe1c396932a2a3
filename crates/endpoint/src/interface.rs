//! [`Interface`]: the local interface through which a socket sends.

use crate::socket::{SocketOptions, UdpPort};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The longest name of a network device plus one (`IFNAMSIZ`).
const NAME_SIZE: usize = 16;

/// The local interface through which a socket sends and receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The one that the routing table chooses.
    Any,
    /// This network device.
    Device(String),
    /// The one with this address.
    Address(IpAddr),
}

/// A text that names no interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither a device such as wwan0 nor an address")]
pub struct ParseInterfaceError(String);

/// Why no socket can be opened at an interface.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refused.
    #[error("cannot open a UDP socket at {interface}: {source}")]
    Socket {
        /// The interface.
        interface: Interface,
        /// The system's error.
        source: io::Error,
    },
    /// The address of the interface and that of the peer are of different IP versions.
    #[error("{interface} cannot reach {peer}: one is IPv4, the other IPv6")]
    Version {
        /// The interface.
        interface: Interface,
        /// The peer.
        peer: SocketAddr,
    },
}

impl Interface {
    /// Opens a socket at this interface, at any port, for datagrams to `peer`.
    ///
    /// # Errors
    /// There is no such interface, it is of another IP version than `peer`, or this process may not bind
    /// sockets to devices.
    pub fn open(&self, peer: SocketAddr, options: &SocketOptions) -> Result<UdpPort, OpenError> {
        let unspecified: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let (ip, device) = match self {
            Interface::Any => (unspecified, None),
            Interface::Device(name) => (unspecified, Some(name.clone())),
            Interface::Address(address) => (*address, None),
        };
        if ip.is_ipv4() != peer.is_ipv4() {
            return Err(OpenError::Version { interface: self.clone(), peer });
        }
        let options = SocketOptions { device, ..options.clone() };
        UdpPort::bind(SocketAddr::new(ip, 0), &options)
            .map_err(|source| OpenError::Socket { interface: self.clone(), source })
    }
}

impl FromStr for Interface {
    type Err = ParseInterfaceError;

    /// Reads an address or the name of a device.
    fn from_str(text: &str) -> Result<Interface, ParseInterfaceError> {
        if let Ok(address) = text.parse() {
            return Ok(Interface::Address(address));
        }
        // The kernel's rule for names, without wildcards.
        let allowed = |c: char| c.is_ascii_graphic() && !"/:*".contains(c);
        let is_name = (1..NAME_SIZE).contains(&text.len()) && text.chars().all(allowed);
        match is_name {
            true => Ok(Interface::Device(text.to_owned())),
            false => Err(ParseInterfaceError(text.to_owned())),
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interface::Any => f.write_str("any device"),
            Interface::Device(name) => write!(f, "the device {name}"),
            Interface::Address(address) => write!(f, "the address {address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_devices_or_addresses() {
        assert_eq!("wwan0".parse(), Ok(Interface::Device("wwan0".to_owned())));
        let address = Interface::Address(Ipv4Addr::new(192, 0, 2, 1).into());
        assert_eq!("192.0.2.1".parse(), Ok(address));
        for bad in ["", "a/b", "two words", "a-name-of-16-char", "br:0"] {
            assert!(bad.parse::<Interface>().is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_name_the_interface() {
        let (peer, options) = (([127, 0, 0, 1], 9).into(), SocketOptions::default());
        let missing = Interface::Device("exm-none".to_owned());
        let error = missing.open(peer, &options).expect_err("no such device").to_string();
        assert!(error.starts_with("cannot open a UDP socket at the device exm-none: "), "{error}");
        let ipv6 = Interface::Address(Ipv6Addr::LOCALHOST.into());
        let error = ipv6.open(peer, &options).expect_err("another version").to_string();
        assert_eq!(error, "the address ::1 cannot reach 127.0.0.1:9: one is IPv4, the other IPv6");
    }
}
