//! ICMP errors: [`too_big`] for packets that exceed the MTU, [`no_route`] for unreachable destinations.

use crate::checksum::{fold, sum, write_ipv4};
use crate::{ICMP, ICMP6, IPV4_HEADER, IPV6_HEADER, Packet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The largest ICMP error, which every host must accept (RFC 1812, section 4.3.2.3; RFC 4443, section 3.2).
const ANSWER4: usize = 576;
const ANSWER6: usize = 1280;
const ICMP_HEADER: usize = 8;
const HOP_LIMIT: u8 = 64;

/// The ICMP error of a router at `from` for `bytes`, parsed as `packet`, which exceed `mtu` (RFC 1191,
/// section 4; RFC 4443, section 3.2). `None` where no error may be sent (RFC 1122, section 3.2.2).
pub fn too_big(bytes: &[u8], packet: &Packet, mtu: u16, from: IpAddr) -> Option<Vec<u8>> {
    let [high, low] = mtu.to_be_bytes();
    // Destination unreachable, fragmentation needed; packet too big.
    answer(bytes, packet, from, [[3, 4, 0, 0, 0, 0, high, low], [2, 0, 0, 0, 0, 0, high, low]])
}

/// The ICMP error of a router at `from` that has no route for `bytes`, parsed as `packet`: network
/// unreachable (RFC 792), or no route to destination (RFC 4443, section 3.1). `None` where no error may be
/// sent, as for [`too_big`].
pub fn no_route(bytes: &[u8], packet: &Packet, from: IpAddr) -> Option<Vec<u8>> {
    answer(bytes, packet, from, [[3, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])
}

/// An ICMP error with one of these headers, of IPv4 and of IPv6, with the checksum still to be computed.
fn answer(
    bytes: &[u8],
    packet: &Packet,
    from: IpAddr,
    [header4, header6]: [[u8; ICMP_HEADER]; 2],
) -> Option<Vec<u8>> {
    let is_first = packet.fragment.is_none_or(|fragment| fragment.is_first);
    if !is_first || is_error(bytes, packet) {
        return None;
    }
    match (from, packet.flow.from.0, packet.flow.to.0) {
        (IpAddr::V4(from), IpAddr::V4(to), IpAddr::V4(destination))
            if is_unicast(to) && is_unicast(destination) =>
        {
            Some(answer4(bytes, header4, from, to))
        }
        // Errors for multicast packets are allowed for these few types (RFC 4443, section 2.4 (e.3)).
        (IpAddr::V6(from), IpAddr::V6(to), IpAddr::V6(_))
            if !to.is_unspecified() && !to.is_multicast() =>
        {
            Some(answer6(bytes, header6, from, to))
        }
        _ => None,
    }
}

fn is_unicast(ip: Ipv4Addr) -> bool {
    !(ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast())
}

/// Whether the packet is an ICMP error itself.
fn is_error(bytes: &[u8], packet: &Packet) -> bool {
    let kind = bytes.get(packet.transport);
    match packet.flow.protocol {
        ICMP => kind.is_none_or(|kind| matches!(kind, 3..=5 | 11 | 12)),
        ICMP6 => kind.is_none_or(|kind| *kind < 128),
        _ => false,
    }
}

fn answer4(bytes: &[u8], header: [u8; ICMP_HEADER], from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let quoted = &bytes[..bytes.len().min(ANSWER4 - IPV4_HEADER - ICMP_HEADER)];
    let total = (IPV4_HEADER + ICMP_HEADER + quoted.len()) as u16;
    let mut answer = vec![0x45, 0];
    answer.extend_from_slice(&total.to_be_bytes());
    answer.extend_from_slice(&[0, 0, 0x40, 0, HOP_LIMIT, ICMP, 0, 0]);
    answer.extend_from_slice(&from.octets());
    answer.extend_from_slice(&to.octets());
    write_ipv4(&mut answer);
    answer.extend_from_slice(&header);
    answer.extend_from_slice(quoted);
    let check = !fold(sum(&answer[IPV4_HEADER..]));
    answer[IPV4_HEADER + 2..IPV4_HEADER + 4].copy_from_slice(&check.to_be_bytes());
    answer
}

fn answer6(bytes: &[u8], header: [u8; ICMP_HEADER], from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let quoted = &bytes[..bytes.len().min(ANSWER6 - IPV6_HEADER - ICMP_HEADER)];
    let length = (ICMP_HEADER + quoted.len()) as u16;
    let mut answer = vec![0x60, 0, 0, 0];
    answer.extend_from_slice(&length.to_be_bytes());
    answer.extend_from_slice(&[ICMP6, HOP_LIMIT]);
    answer.extend_from_slice(&from.octets());
    answer.extend_from_slice(&to.octets());
    answer.extend_from_slice(&header);
    answer.extend_from_slice(quoted);
    // The pseudo-header is covered too (RFC 8200, section 8.1).
    let pseudo = sum(&answer[8..IPV6_HEADER]) + u32::from(length) + u32::from(ICMP6);
    let check = !fold(pseudo + sum(&answer[IPV6_HEADER..]));
    answer[IPV6_HEADER + 2..IPV6_HEADER + 4].copy_from_slice(&check.to_be_bytes());
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ip4, ip6};
    use crate::{TCP, UDP};

    const ROUTER4: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 96, 0, 1));
    const ROUTER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 1));

    fn answered(bytes: &[u8], from: IpAddr) -> Option<Vec<u8>> {
        too_big(bytes, &Packet::parse(bytes).expect("a packet"), 1288, from)
    }

    #[test]
    fn a_sender_is_told() {
        let big = ip4(UDP, &[7; 1400]);
        let answer = answered(&big, ROUTER4).expect("an answer");
        let parsed = Packet::parse(&answer).expect("a packet");
        assert_eq!(parsed.flow.to.0, Packet::parse(&big).expect("a packet").flow.from.0);
        assert_eq!(
            (answer.len(), &answer[20..22], &answer[26..28]),
            (576, &[3, 4][..], &[5, 8][..])
        );
        assert_eq!(answer[28..], big[..548]);
        assert_eq!((fold(sum(&answer[..20])), fold(sum(&answer[20..]))), (0xffff, 0xffff));

        let big = ip6(TCP, &[7; 1400]);
        let answer = answered(&big, ROUTER6).expect("an answer");
        assert_eq!(
            (answer.len(), &answer[40..42], &answer[46..48]),
            (1280, &[2, 0][..], &[5, 8][..])
        );
        assert_eq!(answer[48..], big[..1232]);
        let pseudo = sum(&answer[8..40]) + 1240 + 58;
        assert_eq!(fold(pseudo + sum(&answer[40..])), 0xffff);
    }

    #[test]
    fn a_sender_learns_that_there_is_no_route() {
        let packet = ip6(UDP, &[7; 100]);
        let parsed = Packet::parse(&packet).expect("a packet");
        let answer = no_route(&packet, &parsed, ROUTER6).expect("an answer");
        assert_eq!((&answer[40..42], &answer[44..48]), (&[1, 0][..], &[0; 4][..]));
        assert_eq!(answer[48..], packet);
        assert!(Packet::parse(&answer).is_ok());
        let length = answer.len() as u32 - 40;
        assert_eq!(fold(sum(&answer[8..40]) + length + 58 + sum(&answer[40..])), 0xffff);
    }

    #[test]
    fn not_everybody_is_told() {
        let mut error = vec![11, 0];
        error.resize(1400, 0);
        assert_eq!(answered(&ip4(ICMP, &error), ROUTER4), None, "an error");
        error[0] = 1;
        assert_eq!(answered(&ip6(ICMP6, &error), ROUTER6), None, "an error");
        let mut later = ip4(UDP, &[7; 1400]);
        later[7] = 100;
        assert_eq!(answered(&later, ROUTER4), None, "not the first fragment");
        let mut everybody = ip4(UDP, &[7; 1400]);
        everybody[16..20].fill(255);
        assert_eq!(answered(&everybody, ROUTER4), None, "a broadcast");
        let mut nobody = ip6(UDP, &[7; 1400]);
        nobody[8..24].fill(0);
        assert_eq!(answered(&nobody, ROUTER6), None, "from nobody");
        assert_eq!(answered(&ip6(UDP, &[7; 1400]), ROUTER4), None, "another version");
        let echo = [[8; 1].as_slice(), &[0; 1399]].concat();
        assert!(answered(&ip4(ICMP, &echo), ROUTER4).is_some(), "a ping");
    }
}
