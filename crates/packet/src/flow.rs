//! [`Flow`]: the flow that packets belong to.

use crate::{ICMP, ICMP6, TCP, UDP};
use exm_units::Fnv1a;
use std::fmt;
use std::net::IpAddr;

/// A flow: the packets of one protocol between two addresses and, if the protocol has them, ports, in one
/// direction. Both ports of a ping are its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The protocol number: 6 TCP, 17 UDP, 1 and 58 ICMP.
    pub protocol: u8,
    /// The source; port 0 if the protocol has none.
    pub from: (IpAddr, u16),
    /// The destination.
    pub to: (IpAddr, u16),
}

impl Flow {
    /// The flow of the opposite direction.
    pub fn reversed(&self) -> Flow {
        Flow { from: self.to, to: self.from, ..*self }
    }

    /// A stable 32-bit hash that spreads flows evenly.
    pub fn hash(&self) -> u32 {
        let mut hash = Fnv1a::of([self.protocol]);
        for (ip, port) in [self.from, self.to] {
            match ip {
                IpAddr::V4(ip) => hash.add(&ip.octets()),
                IpAddr::V6(ip) => hash.add(&ip.octets()),
            }
            hash.add(&port.to_be_bytes());
        }
        // SplitMix64's finalizer.
        let hash = hash.get();
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (hash ^ hash >> 32) as u32
    }
}

impl fmt::Display for Flow {
    /// For example `tcp 10.0.0.1:5000 > 10.0.0.2:80`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            TCP => f.write_str("tcp")?,
            UDP => f.write_str("udp")?,
            ICMP | ICMP6 => f.write_str("icmp")?,
            other => write!(f, "protocol-{other}")?,
        }
        let end = |(ip, port): (IpAddr, u16)| match (ip, port) {
            (_, 0) => ip.to_string(),
            (IpAddr::V4(_), _) => format!("{ip}:{port}"),
            (IpAddr::V6(_), _) => format!("[{ip}]:{port}"),
        };
        write!(f, " {} > {}", end(self.from), end(self.to))
    }
}
