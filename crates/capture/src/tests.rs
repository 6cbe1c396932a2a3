use super::*;
use proptest::prelude::*;

/// A classic capture of packets of three bytes at these seconds and fractional parts.
fn classic(magic: u32, packets: &[(u32, u32)], bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [magic, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend(bytes(word));
    }
    for &(seconds, parts) in packets {
        for number in [seconds, parts, 3, 1500] {
            file.extend(bytes(number));
        }
        file.extend(b"abc");
    }
    file
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8], bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let length = bytes(body.len() as u32 + 12);
    [&bytes(kind)[..], &length, body, &length].concat()
}

/// A capture in pcapng of one packet at `ticks`, on an interface with these options.
fn next(options: &[u8], ticks: u64, is_big: bool) -> Vec<u8> {
    let bytes = if is_big { u32::to_be_bytes } else { u32::to_le_bytes };
    let half = |n: u16| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let section = [&bytes(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let interface = [&half(1)[..], &half(0), &bytes(0), options].concat();
    let head = [0, (ticks >> 32) as u32, ticks as u32, 3, 1514].map(bytes).concat();
    let packet = [&head[..], b"abc\0"].concat();
    [
        block(0x0a0d_0d0a, &section, bytes),
        block(1, &interface, bytes),
        block(5, &[0; 8], bytes),
        block(6, &packet, bytes),
    ]
    .concat()
}

/// A packet that was read: its time, its length on the link, its first bytes.
type Read = (Option<u64>, u32, Vec<u8>);

/// The packets of a capture.
fn read(file: &[u8]) -> Result<Vec<Read>, CaptureError> {
    let mut reader = Reader::new(file, "c.pcap")?;
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet()? {
        packets.push((packet.time, packet.original_length, packet.bytes.to_vec()));
    }
    Ok(packets)
}

#[test]
fn classic_files_of_all_four_kinds_are_read() {
    for bytes in [u32::to_le_bytes, u32::to_be_bytes] {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let file = classic(magic, &[(1_700_000_000, 5), (1_700_000_001, 7)], bytes);
            let times: Vec<_> = read(&file).expect("a capture").iter().map(|p| p.0).collect();
            let time = |second: u64, part: u64| Some(second * 1_000_000_000 + part * unit);
            assert_eq!(times, [time(1_700_000_000, 5), time(1_700_000_001, 7)]);
        }
    }
}

#[test]
fn next_generation_files_are_read_in_both_byte_orders_and_all_resolutions() {
    let second = 1_000_000_000;
    let option = |resolution| [[9, 0, 1, 0], [resolution, 0, 0, 0]].concat();
    let cases = [
        (vec![], 1_500_000, second + second / 2),
        (option(9), 7, 7),
        (option(3), 2_500, 2 * second + second / 2),
        (option(12), 5_999, 5),
        (option(0x80 | 10), 1 << 9, second / 2),
    ];
    for (options, ticks, expected) in cases {
        let packets = read(&next(&options, ticks, false)).expect("a capture");
        assert_eq!(packets, [(Some(expected), 1514, b"abc".to_vec())], "{options:?}");
        let swapped: Vec<u8> = options
            .chunks(4)
            .flat_map(|o| match *o {
                [9, 0, 1, 0] => [0, 9, 0, 1],
                [a, b, c, d] => [a, b, c, d],
                _ => unreachable!("options are words"),
            })
            .collect();
        assert_eq!(read(&next(&swapped, ticks, true)).expect("a capture"), packets);
    }
    let offset = [&[14, 0, 8, 0][..], &100u64.to_le_bytes()].concat();
    assert_eq!(read(&next(&offset, 1, false)).expect("a capture")[0].0, Some(100 * second + 1000));
}

#[test]
fn invalid_captures_are_rejected_with_place_and_way_out() {
    let error = |file: &[u8]| read(file).expect_err("none").to_string();
    assert!(error(b"1\n2\n3\n").starts_with("c.pcap, byte 0: this is no capture"));
    let whole = classic(0xa1b2_c3d4, &[(5, 0), (6, 0)], u32::to_le_bytes);
    assert!(
        error(&whole[..10]).starts_with("c.pcap, byte 10: the file ends within the file's header")
    );
    assert!(error(&whole[..30]).contains("byte 30: the file ends within the header of a packet"));
    let cut = error(&whole[..whole.len() - 1]);
    assert!(
        cut.contains("byte 61: the file ends within a packet") && cut.contains("editcap"),
        "{cut}"
    );
    let file = next(&[], 0, false);
    for length in 1..file.len() {
        // A file that ends between two blocks is whole.
        let cut = read(&file[..length]);
        assert!(cut.is_err() || [28, 48, 68].contains(&length), "{length}");
    }
    let mut unequal = file.clone();
    *unequal.last_mut().expect("bytes") = 1;
    assert!(error(&unequal).contains("begins with a length of"));
    let mut unknown = file.clone();
    unknown[68 + 8] = 9;
    assert!(error(&unknown).contains("byte 68: the packet was captured on interface 9"));
    let finest = [[9, 0, 1, 0], [0x7f, 0, 0, 0]].concat();
    assert!(error(&next(&finest, 0, false)).contains("resolution 0x7f"));
}

#[test]
fn what_is_written_is_read() {
    let mut writer = Writer::new(Vec::new(), "test").expect("a vector");
    let [a, b] = ["a", "b"]
        .map(|name| writer.interface(&Interface::new(name, "of a test")).expect("a vector"));
    let long: Vec<u8> = (0..200).collect();
    writer
        .packet(a, 1 << 40, &Frame { bytes: &long, length: 1500, comment: None })
        .expect("a vector");
    writer
        .packet(b, u64::MAX, &Frame { bytes: b"xyz", length: 2, comment: Some("dropped") })
        .expect("a vector");
    let file = writer.finish().expect("a vector");
    let packets = read(&file).expect("a capture");
    assert_eq!(packets[0], (Some(1 << 40), 1500, long[..96].to_vec()));
    assert_eq!(packets[1], (Some(u64::MAX), 3, b"xyz".to_vec()));
}

#[test]
fn ip_packets_are_found_in_frames() {
    let mut ip = vec![0; 28];
    (ip[0], ip[3], ip[9]) = (0x45, 28, 17);
    let cases: [(LinkType, Vec<u8>); 7] = [
        (LinkType::RAW, vec![]),
        (LinkType::NULL, vec![2, 0, 0, 0]),
        (LinkType::ETHERNET, [&[0; 12][..], &[8, 0]].concat()),
        (LinkType::ETHERNET, [&[0; 12][..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        (LinkType::LINUX_SLL, [&[0; 14][..], &[8, 0]].concat()),
        (LinkType::LINUX_SLL2, [&[8, 0][..], &[0; 18]].concat()),
        (LinkType::LOOP, vec![0, 0, 0, 2]),
    ];
    for (link_type, mut frame) in cases {
        let begins_at = frame.len();
        frame.extend(&ip);
        let headers = link_type.headers(&frame).expect("an IP packet");
        assert_eq!((headers.begins_at, headers.length), (begins_at, Some(28)), "{link_type:?}");
    }
    assert!(LinkType::ETHERNET.headers(&[[0; 12], [6; 12]].concat()).is_none(), "ARP");
    assert!(!LinkType(127).is_known() && LinkType(127).headers(&ip).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        begun in 0..3,
    ) {
        let mut file = match begun {
            0 => vec![],
            1 => classic(0xa1b2_c3d4, &[(1, 0)], u32::to_le_bytes),
            _ => next(&[], 1, false),
        };
        file.extend(bytes);
        let _ = read(&file);
    }

    #[test]
    fn any_change_of_a_byte_is_read_or_rejected(at in 0usize..108, value: u8, is_big: bool) {
        let mut file = next(&[9, 0, 1, 0, 9, 0, 0, 0], 1 << 33, is_big);
        let at = at.min(file.len() - 1);
        file[at] = value;
        let _ = read(&file);
    }

    #[test]
    fn any_frame_is_read_or_rejected(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        link_type in prop::sample::select(vec![0, 1, 101, 108, 113, 228, 229, 276, 5]),
    ) {
        let _ = LinkType(link_type).headers(&bytes);
    }
}
