use super::*;
use exm_packet::checksum::{fold, sum, write_ipv4};
use exm_packet::{TCP, UDP};
use proptest::prelude::*;

/// A TCP or UDP frame to be segmented, as read from the kernel, with its [`VnetHeader`].
#[derive(Clone, Debug)]
struct Super {
    six: bool,
    udp: bool,
    ethernet: bool,
    options: usize,
    segment: usize,
    payload: usize,
    sequence: u32,
    id: u16,
}

const PSH_FIN_CWR_ACK: u8 = 0x99;

impl Super {
    fn ip(&self) -> usize {
        if self.ethernet { 18 } else { 0 }
    }

    fn transport(&self) -> usize {
        self.ip() + if self.six { 40 } else { 20 }
    }

    fn headers(&self) -> usize {
        self.transport() + if self.udp { 8 } else { 20 + self.options }
    }

    fn framing(&self) -> Framing {
        if self.ethernet { Framing::Ethernet } else { Framing::Ip }
    }

    fn bytes(&self) -> Vec<u8> {
        let (ip, transport) = (self.ip(), self.transport());
        let mut frame = vec![0; self.headers()];
        frame.extend((0..self.payload).map(|at| (at * 7 + at / 256) as u8));
        if self.ethernet {
            frame[12..18].copy_from_slice(&[0x81, 0, 0, 5, 0x08, 0]);
            if self.six {
                frame[16..18].copy_from_slice(&[0x86, 0xdd]);
            }
        }
        let below = (frame.len() - transport) as u16;
        if self.six {
            frame[ip] = 0x60;
            frame[ip + 1] = 0x20;
            frame[ip + 4..ip + 6].copy_from_slice(&below.to_be_bytes());
            frame[ip + 6] = if self.udp { UDP } else { TCP };
            (8..40).for_each(|at| frame[ip + at] = at as u8);
        } else {
            frame[ip] = 0x45;
            frame[ip + 1] = 2;
            frame[ip + 2..ip + 4].copy_from_slice(&(below + 20).to_be_bytes());
            frame[ip + 4..ip + 6].copy_from_slice(&self.id.to_be_bytes());
            frame[ip + 8..ip + 10].copy_from_slice(&[64, if self.udp { UDP } else { TCP }]);
            frame[ip + 12..ip + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            write_ipv4(&mut frame[ip..ip + 20]);
        }
        frame[transport..transport + 4].copy_from_slice(&[0x30, 0x39, 0, 80]);
        if self.udp {
            frame[transport + 4..transport + 6].copy_from_slice(&below.to_be_bytes());
        } else {
            frame[transport + 4..transport + 8].copy_from_slice(&self.sequence.to_be_bytes());
            frame[transport + 12] = (((20 + self.options) / 4) << 4) as u8;
            frame[transport + 13] = PSH_FIN_CWR_ACK;
        }
        let check = transport + if self.udp { 6 } else { 16 };
        let so_far = fold(pseudo(self.six, &frame[ip..], transport - ip));
        frame[check..check + 2].copy_from_slice(&so_far.to_be_bytes());
        let segmentation = match (self.udp, self.six) {
            (true, _) => Segmentation::Udp,
            (false, false) => Segmentation::Tcp4,
            (false, true) => Segmentation::Tcp6,
        };
        let vnet = VnetHeader {
            needs_csum: true,
            segmentation,
            header_len: self.headers() as u16,
            gso_size: self.segment as u16,
            csum_start: transport as u16,
            csum_offset: if self.udp { 6 } else { 16 },
            ..VnetHeader::default()
        };
        [&vnet.write()[..], &frame].concat()
    }
}

/// The pseudo-header sum of a whole IP packet.
fn pseudo(six: bool, packet: &[u8], transport: usize) -> u32 {
    let (protocol, addresses) = if six { (packet[6], 8..40) } else { (packet[9], 12..20) };
    sum(&packet[addresses]) + u32::from(protocol) + (packet.len() - transport) as u32
}

/// The packets that a network card would send for a written frame: segmented, with checksums.
fn sent(super_: &Super, written: &[u8]) -> Vec<Vec<u8>> {
    let vnet = VnetHeader::read(written[..VNET_HEADER].try_into().unwrap());
    let frame = &written[VNET_HEADER..];
    let (ip, start) = (super_.ip(), usize::from(vnet.csum_start));
    // The partial sum is that of the pseudo-header.
    let check = start + usize::from(vnet.csum_offset);
    let so_far = u16::from_be_bytes([frame[check], frame[check + 1]]);
    assert_eq!(so_far, fold(pseudo(super_.six, &frame[ip..], start - ip)));
    let headers = super_.headers();
    let size = if vnet.gso_size == 0 { usize::MAX } else { usize::from(vnet.gso_size) };
    let payloads: Vec<_> = frame[headers..].chunks(size).collect();
    let cut = payloads.iter().enumerate().map(|(index, payload)| {
        let mut packet = [&frame[..headers], payload].concat();
        let below = (packet.len() - start) as u16;
        if super_.six {
            packet[ip + 4..ip + 6].copy_from_slice(&below.to_be_bytes());
        } else {
            let id =
                u16::from_be_bytes([packet[ip + 4], packet[ip + 5]]).wrapping_add(index as u16);
            packet[ip + 2..ip + 4].copy_from_slice(&(below + 20).to_be_bytes());
            packet[ip + 4..ip + 6].copy_from_slice(&id.to_be_bytes());
            write_ipv4(&mut packet[ip..ip + 20]);
        }
        if super_.udp {
            packet[start + 4..start + 6].copy_from_slice(&below.to_be_bytes());
        } else {
            let at = start + 4;
            let sequence = u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
            let sequence = sequence.wrapping_add((index * super_.segment) as u32);
            packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
            let clear = if index > 0 { 0x80 } else { 0 }
                | if index + 1 < payloads.len() { 0x09 } else { 0 };
            packet[start + 13] &= !clear;
        }
        packet[check..check + 2].fill(0);
        let whole = pseudo(super_.six, &packet[ip..], start - ip) + sum(&packet[start..]);
        let sum = !fold(whole);
        packet[check..check + 2].copy_from_slice(&sum.to_be_bytes());
        packet
    });
    cut.collect()
}

fn supers() -> impl Strategy<Value = Super> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0usize..11);
    let sizes = (100usize..1460, 1usize..20_000, any::<u32>(), any::<u16>());
    (flags, sizes).prop_map(|((six, udp, ethernet, options), (segment, payload, sequence, id))| {
        Super { six, udp, ethernet, options: options * 4, segment, payload, sequence, id }
    })
}

proptest! {
    /// However a frame's segments leave together, the resulting packets are the same as if it had
    /// never been split.
    #[test]
    fn parts_are_the_same_packets(frame in supers(), cuts in prop::collection::vec(1usize..6, 30)) {
        let bytes = frame.bytes();
        let parsed = Frame::parse(frame.framing(), &bytes).unwrap();
        let segments = parsed.segments();
        prop_assert_eq!(segments, frame.payload.div_ceil(frame.segment));
        let expected = sent(&frame, &bytes);
        for (index, packet) in expected.iter().enumerate() {
            prop_assert_eq!(parsed.size(index) as usize, packet.len() - frame.ip());
        }
        let mut packets = Vec::new();
        let (mut first, mut cuts) = (0, cuts.into_iter().cycle());
        while first < segments {
            let count = cuts.next().unwrap().min(segments - first);
            let mut written = Written::new();
            written.write(&parsed, &bytes, Part { first, count, marked: false });
            let whole = [written.headers(), written.payload(&bytes)].concat();
            packets.extend(sent(&frame, &whole));
            first += count;
        }
        prop_assert_eq!(packets, expected);
    }

    /// A mark changes the codepoint and the header's checksum, and nothing else.
    #[test]
    fn marks_change_only_the_header(frame in supers(), first in 0usize..5) {
        let bytes = frame.bytes();
        let parsed = Frame::parse(frame.framing(), &bytes).unwrap();
        prop_assert_eq!(parsed.ecn(&bytes[VNET_HEADER..]), Ecn::Capable);
        let first = first.min(parsed.segments() - 1);
        let write = |marked| {
            let mut written = Written::new();
            written.write(&parsed, &bytes, Part { first, count: 1, marked });
            [written.headers(), written.payload(&bytes)].concat()
        };
        let (plain, marked) = (write(false), write(true));
        prop_assert_eq!(parsed.ecn(&marked[VNET_HEADER..]), Ecn::Marked);
        let ip = VNET_HEADER + frame.ip();
        let changed: Vec<_> = (0..plain.len()).filter(|&at| plain[at] != marked[at]).collect();
        let may = if frame.six { vec![ip + 1] } else { vec![ip + 1, ip + 10, ip + 11] };
        prop_assert!(changed.iter().all(|at| may.contains(at)), "{changed:?}");
        if !frame.six {
            prop_assert_eq!(fold(sum(&marked[ip..ip + 20])), 0xffff);
        }
    }

    /// Any bytes are rejected or carried, without a fault.
    #[test]
    fn any_frame_is_safe(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        kind in 0u8..6,
        ethernet: bool,
        start in 0u16..200,
        marked: bool,
    ) {
        let framing = if ethernet { Framing::Ethernet } else { Framing::Ip };
        if bytes.len() > VNET_HEADER {
            bytes[..2].copy_from_slice(&[1, kind]);
            bytes[6..8].copy_from_slice(&start.to_ne_bytes());
        }
        let Ok(frame) = Frame::parse(framing, &bytes) else { return Ok(()) };
        let rest = &bytes[VNET_HEADER..];
        frame.flow(rest);
        let marked = marked && frame.ecn(rest) == Ecn::Capable;
        for first in 0..frame.segments() {
            frame.size(first);
            let mut written = Written::new();
            written.write(&frame, &bytes, Part { first, count: 1, marked });
            prop_assert!(written.headers().len() + written.payload(&bytes).len() <= 2 * bytes.len());
        }
    }
}

#[test]
fn flows_are_distinguished() {
    let of = |frame: Super| {
        let bytes = frame.bytes();
        Frame::parse(frame.framing(), &bytes).unwrap().flow(&bytes[VNET_HEADER..]).unwrap()
    };
    let frame = Super {
        six: false,
        udp: false,
        ethernet: true,
        options: 12,
        segment: 1448,
        payload: 5000,
        sequence: 1,
        id: 1,
    };
    let tcp = of(frame.clone());
    assert_eq!(tcp.to_string(), "tcp 10.0.0.1:12345 > 10.0.0.2:80");
    let udp = of(Super { udp: true, six: true, ..frame });
    assert!(udp.to_string().starts_with("udp [809:a0b:"), "{udp}");
    assert_ne!(tcp.hash(), udp.hash());
    let arp = [&[0; VNET_HEADER + 12][..], &[8, 6], &[0; 28]].concat();
    let frame = Frame::parse(Framing::Ethernet, &arp).unwrap();
    assert_eq!((frame.flow(&arp[VNET_HEADER..]), frame.size(0)), (None, 28));
}

/// Frames that belong to the Ethernet network itself are distinguished from those that cross it,
/// tagged or not; on a device without Ethernet headers all cross the link.
#[test]
fn link_local_protocols_bypass_the_link() {
    let frame = |kind: &[u8], rest: &[u8]| [&[0; VNET_HEADER + 12], kind, rest].concat();
    let is_housekeeping = |framing, bytes: &[u8]| {
        Frame::parse(framing, bytes).unwrap().is_housekeeping(&bytes[VNET_HEADER..])
    };
    let icmp6 = |hops: u8, kind: u8| {
        let mut packet = [0; 64];
        (packet[0], packet[6], packet[7], packet[40]) = (0x60, 58, hops, kind);
        packet
    };
    let six: &[u8] = &[0x86, 0xdd];
    for (kind, rest, expected) in [
        (&[0x08, 0x06][..], &[0; 28][..], true),
        (&[0x81, 0, 0, 5, 0x08, 0x06], &[0; 28], true),
        (&[0x88, 0xcc], &[], true),
        (&[0x08, 0x00], &[0x45; 40], false),
        (six, &icmp6(255, 135), true),
        (six, &icmp6(255, 136), true),
        (six, &icmp6(64, 135), false),
        (six, &icmp6(255, 128), false),
        (six, &icmp6(255, 135)[..40], false),
    ] {
        assert_eq!(is_housekeeping(Framing::Ethernet, &frame(kind, rest)), expected, "{kind:?}");
    }
    let alone = [&[0; VNET_HEADER][..], &icmp6(255, 135)].concat();
    assert!(!is_housekeeping(Framing::Ip, &alone));
}
