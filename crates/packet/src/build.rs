//! Headers of IPv4 packets, as a simulation writes them: the payload is zeros, and is not stored.

use crate::{ICMP, TCP, UDP, checksum};
use std::net::Ipv4Addr;

/// The flags of a TCP header (RFC 9293, section 3.1).
pub mod flags {
    /// The connection is opened.
    pub const SYN: u8 = 0x02;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
    /// The sender has nothing more to send at once.
    pub const PSH: u8 = 0x08;
    /// Congestion was experienced (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

const IPV4: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const TIME_TO_LIVE: u8 = 64;
const DONT_FRAGMENT: u8 = 0x40;
/// RFC 792: a router that drops a packet may tell its sender.
const SOURCE_QUENCH: u8 = 4;

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// The source.
    pub from: Ipv4Addr,
    /// The destination.
    pub to: Ipv4Addr,
    /// The two bits of explicit congestion notification (RFC 3168, section 5).
    pub ecn: u8,
    /// The identification.
    pub id: u16,
}

/// A TCP header with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// The ports, the source's first.
    pub ports: [u16; 2],
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgement number.
    pub acknowledgement: u32,
    /// The [`flags`].
    pub flags: u8,
    /// The window, before it is scaled.
    pub window: u16,
    /// The maximum segment size and the window scale that a SYN offers, with SACK.
    pub offer: Option<(u16, u8)>,
    /// The timestamp, and its echo (RFC 7323).
    pub timestamps: [u32; 2],
    /// SACK blocks (RFC 2018), at most three.
    pub blocks: &'a [(u32, u32)],
}

impl Ipv4 {
    /// Writes into `out` the headers of a TCP segment with `payload` bytes of zeros behind them, and returns
    /// the length of the whole packet.
    ///
    /// ```
    /// use exm_packet::build::{Ipv4, Tcp, flags};
    /// use exm_packet::Packet;
    ///
    /// let ip = Ipv4 { from: [10, 0, 0, 1].into(), to: [10, 0, 0, 2].into(), ecn: 0, id: 1 };
    /// let tcp = Tcp {
    ///     ports: [5000, 80],
    ///     sequence: 1,
    ///     acknowledgement: 1,
    ///     flags: flags::ACK,
    ///     window: 65_535,
    ///     offer: None,
    ///     timestamps: [17, 4],
    ///     blocks: &[],
    /// };
    /// let mut packet = Vec::new();
    /// assert_eq!((ip.tcp(&tcp, 1448, &mut packet), packet.len()), (1500, 52));
    /// let flow = Packet::read(&packet).unwrap().flow;
    /// assert_eq!(flow.to_string(), "tcp 10.0.0.1:5000 > 10.0.0.2:80");
    /// ```
    pub fn tcp(&self, tcp: &Tcp<'_>, payload: u32, out: &mut Vec<u8>) -> u32 {
        out.clear();
        out.resize(IPV4, 0);
        tcp.write(out);
        self.finish(TCP, payload, out)
    }

    /// As [`Ipv4::tcp`], of a UDP datagram whose payload begins with `head`.
    pub fn udp(&self, ports: [u16; 2], head: &[u8], payload: u32, out: &mut Vec<u8>) -> u32 {
        out.clear();
        out.resize(IPV4, 0);
        let length = UDP_HEADER as u32 + payload.max(head.len() as u32);
        for port in ports {
            out.extend(port.to_be_bytes());
        }
        out.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
        out.extend([0; 2]);
        out.extend_from_slice(head);
        self.finish(UDP, payload.saturating_sub(head.len() as u32), out)
    }

    /// Writes into `out` the message by which a router tells that it dropped a packet, which began with
    /// `dropped`: an ICMP source quench (RFC 792). Returns its length.
    pub fn source_quench(&self, dropped: &[u8], out: &mut Vec<u8>) -> u32 {
        out.clear();
        out.resize(IPV4, 0);
        out.extend([SOURCE_QUENCH, 0, 0, 0, 0, 0, 0, 0]);
        // Its header and the eight bytes after it.
        out.extend_from_slice(&dropped[..dropped.len().min(IPV4 + 8)]);
        self.finish(ICMP, 0, out)
    }

    /// The IPv4 header before, and the checksum of, what `out` holds behind it and zeros.
    fn finish(&self, protocol: u8, payload: u32, out: &mut [u8]) -> u32 {
        let length = (out.len() as u32).saturating_add(payload);
        let (ip, inside) = out.split_at_mut(IPV4);
        ip[0] = 0x45;
        ip[1] = self.ecn & 3;
        // A longer packet states no length, as those do that a card will cut into segments.
        ip[2..4].copy_from_slice(&u16::try_from(length).unwrap_or(0).to_be_bytes());
        ip[4..6].copy_from_slice(&self.id.to_be_bytes());
        ip[6] = DONT_FRAGMENT;
        (ip[8], ip[9]) = (TIME_TO_LIVE, protocol);
        ip[12..16].copy_from_slice(&self.from.octets());
        ip[16..20].copy_from_slice(&self.to.octets());
        checksum::write_ipv4(ip);
        let place = match protocol {
            TCP => 16,
            UDP => 6,
            _ => 2,
        };
        let mut sum = checksum::sum(inside);
        if protocol != ICMP {
            // The pseudo-header: RFC 9293, section 3.1.
            let length = length - IPV4 as u32;
            sum += checksum::sum(&ip[12..20])
                + u32::from(protocol)
                + (length >> 16)
                + (length & 0xffff);
        }
        // A UDP checksum of zero says that there is none (RFC 768).
        let check = match !checksum::fold(sum) {
            0 if protocol == UDP => 0xffff,
            check => check,
        };
        inside[place..place + 2].copy_from_slice(&check.to_be_bytes());
        length
    }
}

impl Tcp<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        for port in self.ports {
            out.extend(port.to_be_bytes());
        }
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.acknowledgement.to_be_bytes());
        out.extend([0, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        self.write_options(out);
        out[begin + 12] = ((out.len() - begin) * 4) as u8;
    }

    fn write_options(&self, out: &mut Vec<u8>) {
        if let Some((mss, _)) = self.offer {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
            // SACK permitted.
            out.extend([4, 2]);
        } else {
            out.extend([1, 1]);
        }
        out.extend([8, 10]);
        for stamp in self.timestamps {
            out.extend(stamp.to_be_bytes());
        }
        if let Some((_, scale)) = self.offer {
            out.extend([1, 3, 3, scale]);
        }
        if !self.blocks.is_empty() {
            let blocks = &self.blocks[..self.blocks.len().min(3)];
            out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                out.extend(left.to_be_bytes());
                out.extend(right.to_be_bytes());
            }
        }
    }
}

/// The bytes of the TCP header with timestamps and so many SACK blocks.
pub const fn tcp_header(blocks: usize) -> usize {
    TCP_HEADER + 12 + if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use proptest::prelude::*;

    const IP: Ipv4 = Ipv4 {
        from: Ipv4Addr::new(10, 0, 0, 1),
        to: Ipv4Addr::new(10, 128, 0, 1),
        ecn: 2,
        id: 0xffff,
    };

    /// Whether the checksums of a packet are right, once its payload of zeros is behind its headers.
    fn checks(headers: &[u8], length: u32) -> bool {
        let mut packet = headers.to_vec();
        packet.resize(length as usize, 0);
        let inside = &packet[IPV4..];
        let mut sum = checksum::sum(inside);
        if packet[9] != ICMP {
            sum += checksum::sum(&packet[12..20]) + u32::from(packet[9]) + inside.len() as u32;
        }
        checksum::fold(checksum::sum(&packet[..IPV4])) == 0xffff
            && checksum::fold(sum) == 0xffff
            && Packet::parse(&packet).is_ok()
    }

    proptest! {
        #[test]
        fn checksums_are_right(
            sequence: u32, window: u16, payload in 0u32..3000, count in 0usize..4, is_syn: bool,
        ) {
            let blocks = [(sequence, 1), (2, window.into()), (5, 6)];
            let tcp = Tcp {
                ports: [40_000, 5001],
                sequence,
                acknowledgement: 1,
                flags: flags::ACK,
                window,
                offer: is_syn.then_some((1448, 14)),
                timestamps: [payload, sequence],
                blocks: &blocks[..if is_syn { 0 } else { count }],
            };
            let mut out = Vec::new();
            let length = IP.tcp(&tcp, payload, &mut out);
            prop_assert!(checks(&out, length));
            if !is_syn {
                prop_assert_eq!(out.len(), IPV4 + tcp_header(count));
            }
            let dropped = out.clone();
            let length = IP.udp([1, 2], &sequence.to_be_bytes(), payload, &mut out);
            prop_assert!(checks(&out, length));
            prop_assert_eq!(length, 28 + payload.max(4));
            let length = IP.source_quench(&dropped, &mut out);
            prop_assert!(checks(&out, length));
        }
    }

    #[test]
    fn a_packet_too_long_for_its_header_states_no_length() {
        let mut out = Vec::new();
        assert_eq!(IP.udp([1, 2], &[], 70_000, &mut out), 70_028);
        assert_eq!((&out[2..4], &out[24..26]), (&[0, 0][..], &[0, 0][..]));
    }
}
