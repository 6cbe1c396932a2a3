#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Parses IP packets: their flow ([`Flow`]), whether they are fragments, and where their payload begins
//! ([`Packet`]); and does what routers do to them: ICMP errors, MSS clamping, checksums; and builds headers ([`build`]). No I/O.

pub mod build;
pub mod checksum;
mod flow;
mod icmp_error;
mod mss;

pub use flow::Flow;
pub use icmp_error::{no_route, too_big};
pub use mss::clamp_mss;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The protocol number of TCP.
pub const TCP: u8 = 6;
/// The protocol number of UDP.
pub const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// Extension headers of IPv6 (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// The most extension headers that are parsed.
const MAX_HEADERS: usize = 8;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// A fragment of a larger packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The identification that all fragments of the packet share, together with addresses and protocol.
    pub id: u32,
    /// Whether it is the first, which alone has the ports.
    pub is_first: bool,
}

/// A parsed IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its flow; the ports are zero in a fragment that is not the first.
    pub flow: Flow,
    /// Whether it is a fragment.
    pub fragment: Option<Fragment>,
    /// The offset of its payload: the transport header, except in fragments that are not the first.
    pub transport: usize,
}

/// The bytes are not an IP packet: they are too short, or their length differs from that in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no IP packet")]
pub struct Malformed;

impl Packet {
    /// Parses `bytes`, a whole packet.
    ///
    /// # Errors
    /// They are not an IP packet.
    pub fn parse(bytes: &[u8]) -> Result<Packet, Malformed> {
        let packet = Packet::read(bytes)?;
        let length = match bytes[0] >> 4 {
            4 => number(bytes, 2).map(usize::from),
            _ => number(bytes, 4).map(|payload| IPV6_HEADER + usize::from(payload)),
        };
        if length == Some(bytes.len()) && packet.transport <= bytes.len() {
            Ok(packet)
        } else {
            Err(Malformed)
        }
    }

    /// Parses the headers only, whatever length they state: for a packet in a frame, which may be longer, or
    /// one that is not yet segmented.
    ///
    /// # Errors
    /// They are not the headers of an IP packet.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Packet, Malformed> {
        match bytes.first().ok_or(Malformed)? >> 4 {
            4 => read4(bytes),
            6 => read6(bytes),
            _ => Err(Malformed),
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// RFC 791, section 3.1.
fn read4(bytes: &[u8]) -> Result<Packet, Malformed> {
    let header = bytes.first_chunk::<IPV4_HEADER>().ok_or(Malformed)?;
    let transport = 4 * usize::from(header[0] & 15);
    if transport < IPV4_HEADER {
        return Err(Malformed);
    }
    let ip = |at: usize| {
        Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]).into()
    };
    let place = u16::from_be_bytes([header[6], header[7]]);
    let (offset, more) = (place & 0x1fff, place & 0x2000 != 0);
    let fragment = (offset > 0 || more).then(|| Fragment {
        id: u32::from(u16::from_be_bytes([header[4], header[5]])),
        is_first: offset == 0,
    });
    Ok(finish(bytes, header[9], [ip(12), ip(16)], fragment, transport))
}

/// RFC 8200, sections 3 and 4.
fn read6(bytes: &[u8]) -> Result<Packet, Malformed> {
    let header = bytes.first_chunk::<IPV6_HEADER>().ok_or(Malformed)?;
    let ip = |at: usize| {
        let octets = header[at..].first_chunk::<16>().copied().unwrap_or_default();
        Ipv6Addr::from(octets).into()
    };
    let (mut protocol, mut at, mut fragment) = (header[6], IPV6_HEADER, None);
    for _ in 0..MAX_HEADERS {
        let length = match protocol {
            FRAGMENT => 8,
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                8 + 8 * usize::from(*bytes.get(at + 1).ok_or(Malformed)?)
            }
            _ => break,
        };
        let extension = bytes.get(at..at + length).ok_or(Malformed)?;
        if protocol == FRAGMENT {
            let place = u16::from_be_bytes([extension[2], extension[3]]);
            let id = u32::from_be_bytes([extension[4], extension[5], extension[6], extension[7]]);
            // An atomic fragment is not a fragment (RFC 6946).
            fragment = (place & !6 != 0).then_some(Fragment { id, is_first: place >> 3 == 0 });
        }
        (protocol, at) = (extension[0], at + length);
        if fragment.is_some_and(|fragment| !fragment.is_first) {
            break;
        }
    }
    Ok(finish(bytes, protocol, [ip(8), ip(24)], fragment, at))
}

/// Reads ports or the like at `transport`.
fn finish(
    bytes: &[u8],
    protocol: u8,
    [from, to]: [IpAddr; 2],
    fragment: Option<Fragment>,
    transport: usize,
) -> Packet {
    let has_header = fragment.is_none_or(|fragment| fragment.is_first);
    let inside = bytes.get(transport..).filter(|_| has_header).unwrap_or_default();
    let ports = match protocol {
        TCP | UDP | DCCP | SCTP | UDP_LITE => number(inside, 0).zip(number(inside, 2)),
        // Echo and its reply (RFC 792; RFC 4443, section 4).
        ICMP if matches!(inside.first(), Some(0 | 8)) => number(inside, 4).map(|id| (id, id)),
        ICMP6 if matches!(inside.first(), Some(128 | 129)) => number(inside, 4).map(|id| (id, id)),
        _ => None,
    };
    let (source, destination) = ports.unwrap_or_default();
    let flow = Flow { protocol, from: (from, source), to: (to, destination) };
    Packet { flow, fragment, transport }
}

#[cfg(test)]
mod tests;
