use super::*;
use proptest::prelude::*;

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
pub(crate) fn ip4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&((IPV4_HEADER + payload.len()) as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend_from_slice(payload);
    packet
}

/// An IPv6 packet from fd00::1 to fd00::2.
pub(crate) fn ip6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[protocol, 64]);
    for last in [1, 2] {
        packet.extend_from_slice(&Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).octets());
    }
    packet.extend_from_slice(payload);
    packet
}

fn shown(bytes: &[u8]) -> String {
    Packet::parse(bytes).expect("a packet").flow.to_string()
}

#[test]
fn flows_are_distinguished() {
    let ports = [0x13, 0x88, 0, 80, 0, 0, 0, 0];
    assert_eq!(shown(&ip4(TCP, &ports)), "tcp 10.0.0.1:5000 > 10.0.0.2:80");
    assert_eq!(shown(&ip6(UDP, &ports)), "udp [fd00::1]:5000 > [fd00::2]:80");
    assert_eq!(shown(&ip4(SCTP, &ports)), "protocol-132 10.0.0.1:5000 > 10.0.0.2:80");
    let ping = [8, 0, 0, 0, 0x01, 0x00, 0, 5];
    assert_eq!(shown(&ip4(ICMP, &ping)), "icmp 10.0.0.1:256 > 10.0.0.2:256");
    assert_eq!(shown(&ip6(ICMP6, &[128, 0, 0, 0, 1, 0])), "icmp [fd00::1]:256 > [fd00::2]:256");
    assert_eq!(shown(&ip4(ICMP, &[3, 1, 0, 0, 1, 0])), "icmp 10.0.0.1 > 10.0.0.2");
    assert_eq!(shown(&ip4(47, &ports)), "protocol-47 10.0.0.1 > 10.0.0.2");
    assert_eq!(shown(&ip4(TCP, &[1, 2])), "tcp 10.0.0.1 > 10.0.0.2", "no header to speak of");
}

#[test]
fn extension_headers_are_skipped() {
    let mut inside = vec![ROUTING, 1];
    inside.resize(16, 0);
    inside.extend_from_slice(&[UDP, 0, 0, 0, 0, 0, 0, 0]);
    inside.extend_from_slice(&[0x13, 0x88, 0, 53, 0, 8, 0, 0]);
    let packet = Packet::parse(&ip6(HOP_BY_HOP, &inside)).expect("a packet");
    assert_eq!(packet.flow.to_string(), "udp [fd00::1]:5000 > [fd00::2]:53");
    assert_eq!(packet.transport, 40 + 24);
    inside[0] = HOP_BY_HOP;
    inside[1] = 250;
    assert_eq!(Packet::parse(&ip6(HOP_BY_HOP, &inside)), Err(Malformed), "it ends within one");
}

#[test]
fn fragments_are_recognised() {
    let mut whole = ip4(UDP, &[0x13, 0x88, 0, 53, 0, 8, 0, 0]);
    whole[4..6].copy_from_slice(&[0xab, 0xcd]);
    let fragment = |flags: u8, offset: u8| {
        let mut bytes = whole.clone();
        (bytes[6], bytes[7]) = (flags, offset);
        let packet = Packet::parse(&bytes).expect("a packet");
        (packet.fragment.map(|f| (f.id, f.is_first)), packet.flow.to.1)
    };
    assert_eq!(fragment(0x40, 0), (None, 53), "only not to be cut");
    assert_eq!(fragment(0x20, 0), (Some((0xabcd, true)), 53));
    assert_eq!(fragment(0x20, 7), (Some((0xabcd, false)), 0));
    assert_eq!(fragment(0x00, 7), (Some((0xabcd, false)), 0));

    let six = |place: [u8; 2]| {
        let mut inside = vec![UDP, 0, place[0], place[1], 1, 2, 3, 4];
        inside.extend_from_slice(&[0x13, 0x88, 0, 53, 0, 8, 0, 0]);
        let packet = Packet::parse(&ip6(FRAGMENT, &inside)).expect("a packet");
        (packet.fragment.map(|f| (f.id, f.is_first)), packet.flow.to.1)
    };
    assert_eq!(six([0, 0]), (None, 53), "it is whole");
    assert_eq!(six([0, 1]), (Some((0x0102_0304, true)), 53));
    assert_eq!(six([0, 8]), (Some((0x0102_0304, false)), 0));
}

#[test]
fn invalid_packets_are_rejected() {
    let good = ip4(TCP, &[0; 20]);
    for length in 0..good.len() {
        assert_eq!(Packet::parse(&good[..length]), Err(Malformed), "cut at {length}");
    }
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        Packet::parse(&bytes)
    };
    assert_eq!(changed(0, 0x44), Err(Malformed), "the header is too short");
    assert_eq!(changed(0, 0x55), Err(Malformed), "unknown version");
    assert_eq!(changed(3, 41), Err(Malformed), "the stated length is too long");
    assert_eq!(changed(3, 39), Err(Malformed), "the stated length is too short");
    assert!(changed(0, 0x4a).is_ok(), "options");
}

#[test]
fn headers_are_parsed_whatever_length_they_state() {
    for whole in [ip4(TCP, &[0x13, 0x88, 0, 80, 0, 0]), ip6(TCP, &[0x13, 0x88, 0, 80, 0, 0])] {
        let padded = [&whole[..], &[0; 10]].concat();
        assert_eq!(Packet::read(&padded), Packet::parse(&whole));
        let cut = Packet::read(&whole[..whole.len() - 4]).expect("its header is there");
        assert_eq!((cut.flow.protocol, cut.flow.to.1), (TCP, 0));
        assert_eq!(
            (Packet::parse(&padded), Packet::read(&whole[..19])),
            (Err(Malformed), Err(Malformed))
        );
    }
}

#[test]
fn flows_have_numbers() {
    let flow = Packet::read(&ip4(UDP, &[0x13, 0x88, 0, 53])).expect("a packet").flow;
    assert_eq!(flow.reversed().reversed().hash(), flow.hash());
    assert_ne!(flow.reversed().hash(), flow.hash());
    assert_ne!(Flow { protocol: TCP, ..flow }.hash(), flow.hash());
}

proptest! {
    /// Nothing panics, and no field is read beyond the end.
    #[test]
    fn any_bytes_are_a_packet_or_not(
        version in prop::sample::select(vec![4u8, 6]),
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        mtu: u16,
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | *first & 15;
        }
        let length = bytes.len();
        // Whatever length they state.
        let _ = Packet::read(&bytes);
        if version == 4 && length >= 20 {
            bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        } else if length >= 40 {
            bytes[4..6].copy_from_slice(&(length as u16 - 40).to_be_bytes());
        }
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert!(packet.transport <= length);
            clamp_mss(&mut bytes, &packet, mtu);
            prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
            let router = if version == 4 { IpAddr::from([1; 4]) } else { IpAddr::from([1; 16]) };
            if let Some(error) = too_big(&bytes, &packet, mtu, router) {
                let error = Packet::parse(&error).expect("a packet");
                prop_assert_eq!((error.flow.from.0, error.flow.to.0), (router, packet.flow.from.0));
            }
        }
    }
}
