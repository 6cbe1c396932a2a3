//! Captures: any bytes are read or refused, in either format and either byte order.

use exm_capture::{LinkType, Reader};

/// What captures begin with: pcap's headers, and a section of pcapng with an interface, each in both byte orders.
const HEADS: [&[u8]; 4] = [
    b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0",
    b"\xa1\xb2\x3c\x4d\0\x02\0\x04\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\x65",
    b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\
      \x01\0\0\0\x14\0\0\0\x71\0\0\0\0\0\0\0\x14\0\0\0",
    b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x1c\
      \0\0\0\x01\0\0\0\x14\0\x01\0\0\0\0\0\0\0\0\0\x14",
];

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let [kind, rest @ ..] = bytes else { return };
    let head = HEADS.get(usize::from(kind % 5)).copied().unwrap_or_default();
    let file = [head, rest].concat();
    let Ok(mut reader) = Reader::new(&file[..], "fuzzed") else { return };
    let mut offset = 0;
    while let Ok(Some(packet)) = reader.next_packet() {
        assert!(packet.offset >= offset && packet.bytes.len() <= 256);
        offset = packet.offset;
        let _ = packet.link_type.headers(packet.bytes);
    }
    for link_type in [0, 1, 101, 108, 113, 228, 229, 276] {
        let _ = LinkType(link_type).headers(rest);
    }
}
