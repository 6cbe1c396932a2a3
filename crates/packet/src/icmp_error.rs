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
    icmp_error(bytes, packet, from, [[3, 4, 0, 0, 0, 0, high, low], [2, 0, 0, 0, 0, 0, high, low]])
}

/// The ICMP error of a router at `from` that has no route for `bytes`, parsed as `packet`: network
/// unreachable (RFC 792), or no route to destination (RFC 4443, section 3.1). `None` where no error may be
/// sent, as for [`too_big`].
pub fn no_route(bytes: &[u8], packet: &Packet, from: IpAddr) -> Option<Vec<u8>> {
    icmp_error(bytes, packet, from, [[3, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]])
}

/// An ICMP error with one of these headers, of IPv4 and of IPv6, with the checksum still to be computed.
fn icmp_error(
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
            Some(error4(bytes, header4, from, to))
        }
        // Errors for multicast packets are allowed for these few types (RFC 4443, section 2.4 (e.3)).
        (IpAddr::V6(from), IpAddr::V6(to), IpAddr::V6(_))
            if !to.is_unspecified() && !to.is_multicast() =>
        {
            Some(error6(bytes, header6, from, to))
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

fn error4(bytes: &[u8], header: [u8; ICMP_HEADER], from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let quoted = &bytes[..bytes.len().min(ANSWER4 - IPV4_HEADER - ICMP_HEADER)];
    let total = (IPV4_HEADER + ICMP_HEADER + quoted.len()) as u16;
    let mut message = vec![0x45, 0];
    message.extend_from_slice(&total.to_be_bytes());
    message.extend_from_slice(&[0, 0, 0x40, 0, HOP_LIMIT, ICMP, 0, 0]);
    message.extend_from_slice(&from.octets());
    message.extend_from_slice(&to.octets());
    write_ipv4(&mut message);
    message.extend_from_slice(&header);
    message.extend_from_slice(quoted);
    let check = !fold(sum(&message[IPV4_HEADER..]));
    message[IPV4_HEADER + 2..IPV4_HEADER + 4].copy_from_slice(&check.to_be_bytes());
    message
}

fn error6(bytes: &[u8], header: [u8; ICMP_HEADER], from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let quoted = &bytes[..bytes.len().min(ANSWER6 - IPV6_HEADER - ICMP_HEADER)];
    let length = (ICMP_HEADER + quoted.len()) as u16;
    let mut message = vec![0x60, 0, 0, 0];
    message.extend_from_slice(&length.to_be_bytes());
    message.extend_from_slice(&[ICMP6, HOP_LIMIT]);
    message.extend_from_slice(&from.octets());
    message.extend_from_slice(&to.octets());
    message.extend_from_slice(&header);
    message.extend_from_slice(quoted);
    // The pseudo-header is covered too (RFC 8200, section 8.1).
    let pseudo = sum(&message[8..IPV6_HEADER]) + u32::from(length) + u32::from(ICMP6);
    let check = !fold(pseudo + sum(&message[IPV6_HEADER..]));
    message[IPV6_HEADER + 2..IPV6_HEADER + 4].copy_from_slice(&check.to_be_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ip4, ip6};
    use crate::{TCP, UDP};

    const ROUTER4: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 96, 0, 1));
    const ROUTER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd65, 0, 0, 0, 0, 0, 0, 1));

    fn response_to(bytes: &[u8], from: IpAddr) -> Option<Vec<u8>> {
        too_big(bytes, &Packet::parse(bytes).expect("a packet"), 1288, from)
    }

    #[test]
    fn a_sender_is_notified() {
        let big = ip4(UDP, &[7; 1400]);
        let message = response_to(&big, ROUTER4).expect("a response");
        let parsed = Packet::parse(&message).expect("a packet");
        assert_eq!(parsed.flow.to.0, Packet::parse(&big).expect("a packet").flow.from.0);
        assert_eq!(
            (message.len(), &message[20..22], &message[26..28]),
            (576, &[3, 4][..], &[5, 8][..])
        );
        assert_eq!(message[28..], big[..548]);
        assert_eq!((fold(sum(&message[..20])), fold(sum(&message[20..]))), (0xffff, 0xffff));

        let big = ip6(TCP, &[7; 1400]);
        let message = response_to(&big, ROUTER6).expect("a response");
        assert_eq!(
            (message.len(), &message[40..42], &message[46..48]),
            (1280, &[2, 0][..], &[5, 8][..])
        );
        assert_eq!(message[48..], big[..1232]);
        let pseudo = sum(&message[8..40]) + 1240 + 58;
        assert_eq!(fold(pseudo + sum(&message[40..])), 0xffff);
    }

    #[test]
    fn a_sender_learns_that_there_is_no_route() {
        let packet = ip6(UDP, &[7; 100]);
        let parsed = Packet::parse(&packet).expect("a packet");
        let message = no_route(&packet, &parsed, ROUTER6).expect("a response");
        assert_eq!((&message[40..42], &message[44..48]), (&[1, 0][..], &[0; 4][..]));
        assert_eq!(message[48..], packet);
        assert!(Packet::parse(&message).is_ok());
        let length = message.len() as u32 - 40;
        assert_eq!(fold(sum(&message[8..40]) + length + 58 + sum(&message[40..])), 0xffff);
    }

    #[test]
    fn some_packets_cause_no_errors() {
        let mut error = vec![11, 0];
        error.resize(1400, 0);
        assert_eq!(response_to(&ip4(ICMP, &error), ROUTER4), None, "an error");
        error[0] = 1;
        assert_eq!(response_to(&ip6(ICMP6, &error), ROUTER6), None, "an error");
        let mut later = ip4(UDP, &[7; 1400]);
        later[7] = 100;
        assert_eq!(response_to(&later, ROUTER4), None, "not the first fragment");
        let mut everybody = ip4(UDP, &[7; 1400]);
        everybody[16..20].fill(255);
        assert_eq!(response_to(&everybody, ROUTER4), None, "a broadcast");
        let mut unspecified = ip6(UDP, &[7; 1400]);
        unspecified[8..24].fill(0);
        assert_eq!(response_to(&unspecified, ROUTER6), None, "unspecified source");
        assert_eq!(response_to(&ip6(UDP, &[7; 1400]), ROUTER4), None, "another version");
        let echo = [[8; 1].as_slice(), &[0; 1399]].concat();
        assert!(response_to(&ip4(ICMP, &echo), ROUTER4).is_some(), "a ping");
    }
}
