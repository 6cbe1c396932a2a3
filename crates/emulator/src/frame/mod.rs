//! What is known of the bytes of packets: whose they are, how the large ones that the kernel hands
//! out are cut into segments, and how segments are written again.
//!
//! Kernels do not cut TCP's data into packets of the MTU before they must, nor sum them: what a
//! device hands out may be 64 kB with headers once at the front (TSO), and a [`VnetHeader`] that says
//! how it is to be cut. A link carries segments. So such a packet is split where it is, none of its
//! bytes copied; each [`Part`] crosses the link by itself; and those that leave at one moment, one
//! after the other, are written as one again.

mod arena;
mod checksum;
mod flow;
mod part;
#[cfg(test)]
mod tests;

pub(crate) use arena::{Arena, Place};
pub use flow::Flow;
pub(crate) use part::{HEADERS, Part, Written};

use exm_link::Ecn;
use exm_os::{Segmentation, VNET_HEADER, VnetHeader};
use std::net::{Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ETHERNET: usize = 14;
const VLAN_TAG: usize = 4;

/// What a frame begins with, before the IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Nothing: it is an IP packet.
    Ip,
    /// A header of Ethernet's.
    Ethernet,
}

/// What a frame is, as far as the link needs to know: where its headers are, and how it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where the IP packet begins, and which version it is; 0 where it is something else.
    ip: usize,
    version: u8,
    /// Where the header of TCP or UDP begins.
    transport: usize,
    /// What all segments begin with.
    headers: usize,
    /// How many bytes of payload a segment has; 0 where it is not to be cut.
    segment: usize,
    /// How long the frame is.
    length: usize,
}

/// Why a frame cannot be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Frame {
    /// What `bytes`, a frame of `framing` with a [`VnetHeader`] before it, is.
    ///
    /// # Errors
    /// It is to be cut, and not what it says it is.
    #[inline]
    pub(crate) fn parse(framing: Framing, bytes: &[u8]) -> Result<Frame, Malformed> {
        let (header, frame) = bytes.split_first_chunk::<VNET_HEADER>().ok_or(Malformed)?;
        let vnet = VnetHeader::read(header);
        let (ip, version) = match framing {
            Framing::Ip => (0, frame.first().map_or(0, |byte| byte >> 4)),
            Framing::Ethernet => below_ethernet(frame),
        };
        let length = frame.len();
        let whole = Frame { ip, version, transport: 0, headers: length, segment: 0, length };
        let version_of_kind = match vnet.segmentation {
            Segmentation::None => return Ok(whole),
            Segmentation::Tcp4 => 4,
            Segmentation::Tcp6 => 6,
            Segmentation::Udp => version,
            Segmentation::Other(_) => return Err(Malformed),
        };
        let (transport, segment) = (usize::from(vnet.csum_start), usize::from(vnet.gso_size));
        let headers = transport
            + match vnet.segmentation {
                Segmentation::Udp => 8,
                _ => 4 * usize::from(frame.get(transport + 12).ok_or(Malformed)? >> 4),
            };
        let ip_header = if version == 4 { 20 } else { 40 };
        let sound = matches!(version, 4 | 6)
            && version == version_of_kind
            && vnet.needs_csum
            && segment > 0
            && transport >= ip + ip_header
            && headers < length
            && (headers >= transport + 20 || vnet.segmentation == Segmentation::Udp)
            && headers <= HEADERS;
        if !sound {
            return Err(Malformed);
        }
        Ok(Frame { transport, headers, segment, ..whole })
    }

    /// How many segments it is to be cut into.
    pub(crate) fn segments(&self) -> usize {
        match self.segment {
            0 => 1,
            segment => (self.length - self.headers).div_ceil(segment),
        }
    }

    /// The part of the payload that segment `index` has: from where to where in the frame. Of a frame
    /// that is not cut, all of it.
    #[inline]
    pub(crate) fn range(&self, index: usize) -> (usize, usize) {
        if self.segment == 0 {
            return (0, self.length);
        }
        let start = self.headers + index * self.segment;
        (start, (start + self.segment).min(self.length))
    }

    /// The size of segment `index` as an IP packet, in bytes.
    #[inline]
    pub(crate) fn size(&self, index: usize) -> u32 {
        let (start, end) = self.range(index);
        let headers = if self.segment == 0 { 0 } else { self.headers };
        (headers + (end - start)).saturating_sub(self.ip) as u32
    }

    /// Whose it is; nothing of what is not IP.
    #[inline]
    pub(crate) fn flow(&self, frame: &[u8]) -> Option<Flow> {
        let packet = frame.get(self.ip..)?;
        let (protocol, from, to, transport, first) = match self.version {
            4 => {
                let header = packet.first_chunk::<20>()?;
                let from = Ipv4Addr::from(*header[12..].first_chunk::<4>()?);
                let to = Ipv4Addr::from(*header[16..].first_chunk::<4>()?);
                let offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
                let length = 4 * usize::from(header[0] & 15);
                (header[9], from.into(), to.into(), length, offset == 0)
            }
            6 => {
                let header = packet.first_chunk::<40>()?;
                let from = Ipv6Addr::from(*header[8..].first_chunk::<16>()?);
                let to = Ipv6Addr::from(*header[24..].first_chunk::<16>()?);
                (header[6], from.into(), to.into(), 40, true)
            }
            _ => return None,
        };
        let has_ports = matches!(protocol, TCP | UDP) && first;
        let ports = packet.get(transport..transport + 4).filter(|_| has_ports);
        let port = |at: usize| ports.map_or(0, |p| u16::from_be_bytes([p[at], p[at + 1]]));
        Some(Flow { protocol, from: (from, port(0)), to: (to, port(2)) })
    }

    /// Whether it may be marked instead of dropped, or was.
    #[inline]
    pub(crate) fn ecn(&self, frame: &[u8]) -> Ecn {
        let bits = match (self.version, frame.get(self.ip..self.ip + 2)) {
            (4, Some(bytes)) => bytes[1] & 3,
            (6, Some(bytes)) => bytes[1] >> 4 & 3,
            _ => 0,
        };
        match bits {
            0 => Ecn::NotCapable,
            3 => Ecn::Marked,
            _ => Ecn::Capable,
        }
    }
}

/// Where the IP packet in a frame of Ethernet's begins, and which version it is; 0 where it has none.
fn below_ethernet(frame: &[u8]) -> (usize, u8) {
    let mut ip = ETHERNET;
    loop {
        match frame.get(ip - 2..ip) {
            Some([0x81, 0x00] | [0x88, 0xa8]) => ip += VLAN_TAG,
            Some([0x08, 0x00]) if frame.len() > ip => return (ip, 4),
            Some([0x86, 0xdd]) if frame.len() > ip => return (ip, 6),
            // What is not IP is as long as its frame less the header, too.
            _ => return (ETHERNET.min(frame.len()), 0),
        }
    }
}
