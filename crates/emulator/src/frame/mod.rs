//! What is known of the bytes of packets: whose they are, how the large ones that the kernel hands
//! out are cut into segments, and how segments are written again.
//!
//! Kernels do not cut TCP's data into packets of the MTU before they must, nor sum them: what a
//! device hands out may be 64 kB with headers once at the front (TSO), and a [`VnetHeader`] that says
//! how it is to be cut. A link carries segments. So such a packet is split where it is, none of its
//! bytes copied; each [`Part`] crosses the link by itself; and those that leave at one moment, one
//! after the other, are written as one again.

mod arena;
mod check;
mod part;
#[cfg(test)]
mod tests;

pub(crate) use arena::{Arena, Place};
pub use check::check_frame;
pub(crate) use part::{HEADERS, Part, Written};

use exm_link::Ecn;
use exm_os::{Segmentation, VNET_HEADER, VnetHeader};
use exm_packet::{Flow, Packet};

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
        // What is not IP may look like it.
        let packet = frame.get(self.ip..).filter(|_| self.version != 0)?;
        Packet::read(packet).ok().map(|packet| packet.flow)
    }

    /// Whether it is what a network of Ethernet's does for itself, and not what crosses it: all that is
    /// not IP, ARP first of all, and IPv6's neighbour discovery, which does the same.
    #[inline]
    pub(crate) fn is_housekeeping(&self, frame: &[u8]) -> bool {
        match (self.version, frame.get(self.ip..)) {
            (0, _) => self.ip > 0,
            (6, Some(packet)) => self.ip > 0 && is_neighbour_discovery(packet),
            _ => false,
        }
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

/// Whether `packet`, of IPv6, is of neighbour discovery (RFC 4861, sections 4, 6.1, 7.1 and 8.1):
/// ICMPv6 of five types, which no router has passed on.
fn is_neighbour_discovery(packet: &[u8]) -> bool {
    const ICMP6: u8 = 58;
    matches!(packet, [_, _, _, _, _, _, ICMP6, 255, ..])
        && packet.get(40).is_some_and(|kind| (133..=137).contains(kind))
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
