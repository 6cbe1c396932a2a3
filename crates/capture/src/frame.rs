//! [`LinkType`]: where the IP packet in a frame begins.

use exm_packet::{Flow, Packet};

/// The type of a link, by its number in the registry of tcpdump.org.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u32);

/// What the headers of a frame tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The flow of its packet.
    pub flow: Flow,
    /// The length of its IP packet in bytes, by the IP header; none where that does not state it, as for
    /// packets that the sender's card would have cut into segments.
    pub length: Option<u32>,
    /// Where the IP packet begins in the frame.
    pub begins_at: usize,
}

/// EtherTypes: the two of IP, and those of VLAN tags, which another type follows.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// The most VLAN tags that are skipped.
const MAX_TAGS: usize = 2;

impl LinkType {
    /// BSD's loopback: the address family in four bytes.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IP packets without anything before them.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD's loopback: as [`LinkType::NULL`].
    pub const LOOP: LinkType = LinkType(108);
    /// Linux's "any" interface.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4 packets, and IPv6 packets, alone.
    pub const IPV4: LinkType = LinkType(228);
    /// As [`LinkType::IPV4`].
    pub const IPV6: LinkType = LinkType(229);
    /// Linux's "any" interface, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// Whether [`LinkType::headers`] knows it.
    pub fn is_known(self) -> bool {
        const KNOWN: [LinkType; 8] = [
            LinkType::NULL,
            LinkType::ETHERNET,
            LinkType::RAW,
            LinkType::LOOP,
            LinkType::LINUX_SLL,
            LinkType::IPV4,
            LinkType::IPV6,
            LinkType::LINUX_SLL2,
        ];
        KNOWN.contains(&self)
    }

    /// The headers of `frame`, of which the first bytes suffice; none if it holds no IP packet.
    ///
    /// ```
    /// use exm_capture::LinkType;
    ///
    /// let mut frame = [0; 14 + 28];
    /// frame[12..14].copy_from_slice(&[0x08, 0x00]);
    /// (frame[14], frame[16], frame[17], frame[23]) = (0x45, 0x05, 0xdc, 17);
    /// let headers = LinkType::ETHERNET.headers(&frame).unwrap();
    /// assert_eq!((headers.begins_at, headers.length), (14, Some(1500)));
    /// assert!(LinkType::RAW.headers(&frame).is_none());
    /// ```
    pub fn headers(self, frame: &[u8]) -> Option<Headers> {
        let begins_at = self.ip(frame)?;
        let packet = frame.get(begins_at..)?;
        let flow = Packet::read(packet).ok()?.flow;
        let length = match packet.first()? >> 4 {
            4 => u32::from(number(packet, 2)?),
            _ => u32::from(number(packet, 4)?).checked_add(40).filter(|&length| length > 40)?,
        };
        Some(Headers { flow, length: Some(length).filter(|&length| length > 0), begins_at })
    }

    /// Where the IP packet in `frame` begins.
    fn ip(self, frame: &[u8]) -> Option<usize> {
        let (at, kind) = match self {
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => return Some(0),
            LinkType::NULL | LinkType::LOOP => return Some(4),
            LinkType::ETHERNET => behind_tags(frame)?,
            LinkType::LINUX_SLL => (16, number(frame, 14)?),
            LinkType::LINUX_SLL2 => (20, number(frame, 0)?),
            _ => return None,
        };
        matches!(kind, IPV4 | IPV6).then_some(at)
    }
}

/// Where the payload of an Ethernet frame begins, and its type.
fn behind_tags(frame: &[u8]) -> Option<(usize, u16)> {
    let mut at = 14;
    for _ in 0..=MAX_TAGS {
        let kind = number(frame, at - 2)?;
        if !TAGS.contains(&kind) {
            return Some((at, kind));
        }
        at += 4;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
