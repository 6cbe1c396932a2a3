//! [`clamp_mss`]: limits the maximum segment size of TCP connections.

use crate::checksum::updated;
use crate::{Packet, TCP, number};

const SYN: u8 = 0x02;
const HEADER: usize = 20;
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;

/// If `bytes`, parsed as `packet`, are a TCP SYN whose maximum segment size does not fit packets of `mtu`
/// bytes, reduces it so that it does (RFC 9293, section 3.7.1). Returns whether that was necessary.
///
/// Hosts behind the one with the tunnel's device do not know its MTU, and ICMP errors do not always reach
/// them.
pub fn clamp_mss(bytes: &mut [u8], packet: &Packet, mtu: u16) -> bool {
    let headers = if packet.flow.to.0.is_ipv4() { 40 } else { 60 };
    let is_first = packet.fragment.is_none_or(|fragment| fragment.is_first);
    if packet.flow.protocol != TCP || !is_first {
        return false;
    }
    let Some(segment) = bytes.get_mut(packet.transport..) else { return false };
    match place(segment) {
        Some(at) => lower(segment, at, mtu.saturating_sub(headers)),
        None => false,
    }
}

/// The offset of the maximum segment size option in `segment`, if it is a SYN that has one.
fn place(segment: &[u8]) -> Option<usize> {
    let header = segment.first_chunk::<HEADER>()?;
    if header[13] & SYN == 0 {
        return None;
    }
    let end = 4 * usize::from(header[12] >> 4);
    let mut at = HEADER;
    while at < end {
        match *segment.get(at)? {
            END => return None,
            NO_OPERATION => at += 1,
            kind => {
                let length = usize::from(*segment.get(at + 1)?);
                if kind == MAXIMUM_SEGMENT_SIZE && length == 4 && at + 4 <= end {
                    return (segment.len() >= at + 4).then_some(at + 2);
                }
                at += length.max(2);
            }
        }
    }
    None
}

/// Limits the number at `at` to `most`, and updates the checksum.
fn lower(segment: &mut [u8], at: usize, most: u16) -> bool {
    let (Some(before), Some(check)) = (number(segment, at), number(segment, 16)) else {
        return false;
    };
    if before <= most {
        return false;
    }
    // A word at an odd offset counts with its bytes exchanged.
    let (old, new) = if at.is_multiple_of(2) {
        (before, most)
    } else {
        (before.swap_bytes(), most.swap_bytes())
    };
    segment[at..at + 2].copy_from_slice(&most.to_be_bytes());
    segment[16..18].copy_from_slice(&updated(check, old, new).to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{fold, sum};
    use crate::tests::{ip4, ip6};

    /// A segment with these options, whose checksum is that of itself alone.
    fn segment(flags: u8, options: &[u8]) -> Vec<u8> {
        let mut segment = vec![0; HEADER];
        segment[..4].copy_from_slice(&[0x12, 0x34, 0, 80]);
        segment[12] = (((HEADER + options.len()) / 4) as u8) << 4;
        segment[13] = flags;
        segment.extend_from_slice(options);
        let check = !fold(sum(&segment));
        segment[16..18].copy_from_slice(&check.to_be_bytes());
        segment
    }

    /// The segment size that is announced after the clamp, if it changed; its checksum is right.
    fn clamped(mut bytes: Vec<u8>, mtu: u16, at: usize) -> Option<u16> {
        let before = bytes.clone();
        let packet = Packet::parse(&bytes).expect("a packet");
        let changed = clamp_mss(&mut bytes, &packet, mtu);
        assert_eq!(changed, bytes != before);
        assert_eq!(fold(sum(&bytes[packet.transport..])), 0xffff);
        changed.then(|| number(&bytes, packet.transport + at).expect("it is there"))
    }

    #[test]
    fn only_large_segment_sizes_are_clamped() {
        let syn = || segment(SYN, &[2, 4, 0x05, 0xb4]);
        assert_eq!(clamped(ip4(TCP, &syn()), 1288, 22), Some(1248));
        assert_eq!(clamped(ip6(TCP, &syn()), 1288, 22), Some(1228));
        assert_eq!(clamped(ip4(TCP, &syn()), 1500, 22), None);
        assert_eq!(
            clamped(ip4(TCP, &segment(SYN | 0x10, &[2, 4, 0x05, 0xb4])), 1288, 22),
            Some(1248)
        );
        assert_eq!(
            clamped(ip4(TCP, &segment(0x10, &[2, 4, 0x05, 0xb4])), 1288, 22),
            None,
            "no SYN"
        );
    }

    #[test]
    fn the_option_is_found_at_any_position() {
        let odd = [1, 2, 4, 0x05, 0xb4, 1, 1, 0];
        assert_eq!(clamped(ip4(TCP, &segment(SYN, &odd)), 1288, 23), Some(1248));
        let behind = [4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 0x23, 0x28];
        assert_eq!(clamped(ip4(TCP, &segment(SYN, &behind)), 1288, 34), Some(1248));
    }

    #[test]
    fn malformed_options_change_nothing() {
        for options in [&[0, 0, 0, 0, 2, 4, 5, 0xb4][..], &[2, 0, 5, 0xb4], &[3, 200, 2, 4], &[]] {
            assert_eq!(clamped(ip4(TCP, &segment(SYN, options)), 1288, 22), None, "{options:?}");
        }
    }
}
