//! Parses frames: their flow, the segments of large packets that the kernel has not segmented yet, and how
//! segments are written.
//!
//! Kernels segment TCP data, and compute its checksums, as late as possible: a frame read from a device may
//! have 64 kB after one set of headers (TSO), and a [`VnetHeader`] that describes the segmentation. A link
//! carries segments. So such a frame is segmented in place, without copying; each [`Part`] crosses the link
//! by itself; and consecutive segments that leave at the same time are written as one frame again.

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

/// What precedes the IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Nothing.
    Ip,
    /// An Ethernet header.
    Ethernet,
}

/// A parsed frame: where its headers are, and how it is segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The offset of the IP packet, and its version; 0 if it is not IP.
    ip: usize,
    version: u8,
    /// The offset of the TCP or UDP header.
    transport: usize,
    /// The length of the headers that all segments share.
    headers: usize,
    /// The payload of a segment in bytes; 0 if the frame is not to be segmented.
    segment: usize,
    /// The length of the frame.
    length: usize,
}

/// The frame cannot be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Frame {
    /// Parses `bytes`, a frame of `framing` that follows a [`VnetHeader`].
    ///
    /// # Errors
    /// The frame is to be segmented, but does not match its header.
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

    /// The number of segments.
    pub(crate) fn segments(&self) -> usize {
        match self.segment {
            0 => 1,
            segment => (self.length - self.headers).div_ceil(segment),
        }
    }

    /// The range of the payload of segment `index` in the frame; everything if the frame is not segmented.
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

    /// The flow; `None` if it is not IP.
    #[inline]
    pub(crate) fn flow(&self, frame: &[u8]) -> Option<Flow> {
        // Bytes that are not IP may look like it.
        let packet = frame.get(self.ip..).filter(|_| self.version != 0)?;
        Packet::read(packet).ok().map(|packet| packet.flow)
    }

    /// Whether the frame belongs to the Ethernet network itself instead of crossing it: everything that is
    /// not IP, above all ARP, and the neighbour discovery of IPv6.
    #[inline]
    pub(crate) fn is_housekeeping(&self, frame: &[u8]) -> bool {
        match (self.version, frame.get(self.ip..)) {
            (0, _) => self.ip > 0,
            (6, Some(packet)) => self.ip > 0 && is_neighbour_discovery(packet),
            _ => false,
        }
    }

    /// The ECN codepoint: whether the packet may be marked instead of dropped, or has been.
    #[inline]
    pub(crate) fn ecn(&self, frame: &[u8]) -> Ecn {
        let bits = match (self.version, frame.get(self.ip..self.ip + 2)) {
            (4, Some(bytes)) => bytes[1] & 3,
            (6, Some(bytes)) => bytes[1] >> 4 & 3,
            _ => 0,
        };
        match bits {
            0 => Ecn::NotCapable,
            1 => Ecn::LowLatency,
            2 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }
}

/// Whether `packet`, IPv6, is neighbour discovery (RFC 4861, sections 4, 6.1, 7.1 and 8.1): ICMPv6 of five
/// types, which no router has forwarded.
fn is_neighbour_discovery(packet: &[u8]) -> bool {
    const ICMP6: u8 = 58;
    matches!(packet, [_, _, _, _, _, _, ICMP6, 255, ..])
        && packet.get(40).is_some_and(|kind| (133..=137).contains(kind))
}

/// The offset of the IP packet in an Ethernet frame, and its version; 0 if there is none.
fn below_ethernet(frame: &[u8]) -> (usize, u8) {
    let mut ip = ETHERNET;
    loop {
        match frame.get(ip - 2..ip) {
            Some([0x81, 0x00] | [0x88, 0xa8]) => ip += VLAN_TAG,
            Some([0x08, 0x00]) if frame.len() > ip => return (ip, 4),
            Some([0x86, 0xdd]) if frame.len() > ip => return (ip, 6),
            // Frames that are not IP count as long as the frame without its header.
            _ => return (ETHERNET.min(frame.len()), 0),
        }
    }
}
