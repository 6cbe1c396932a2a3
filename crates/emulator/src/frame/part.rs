//! [`Part`]: the segments of a frame that leave together, written as one.

use super::Frame;
use exm_os::{Segmentation, VNET_HEADER, VnetHeader};
use exm_packet::checksum::{fold, sum, write_ipv4};
use exm_packet::{TCP, UDP};

/// The longest headers of a frame that is segmented: Ethernet with two tags, IPv6 with some extensions, TCP
/// with all options.
pub(crate) const HEADERS: usize = 192;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Consecutive segments of a frame that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The first segment.
    pub(crate) first: usize,
    /// The number of segments, at least one.
    pub(crate) count: usize,
    /// Whether they were marked (ECN).
    pub(crate) marked: bool,
}

/// The bytes of a written [`Part`]: its own headers, of which the first [`VNET_HEADER`] bytes are the
/// kernel's, and the range of the frame after them.
pub(crate) struct Written {
    headers: [u8; VNET_HEADER + HEADERS],
    length: usize,
    payload: (usize, usize),
}

impl Written {
    /// Empty.
    pub(crate) fn new() -> Written {
        Written { headers: [0; VNET_HEADER + HEADERS], length: 0, payload: (0, 0) }
    }

    /// The headers, the kernel's first.
    pub(crate) fn headers(&self) -> &[u8] {
        &self.headers[..self.length]
    }

    /// The payload after them in `bytes`, the frame with its [`VnetHeader`].
    pub(crate) fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[VNET_HEADER + self.payload.0..VNET_HEADER + self.payload.1]
    }

    /// Assembles `part` of `frame`, which is `bytes` with its [`VnetHeader`].
    pub(crate) fn write(&mut self, frame: &Frame, bytes: &[u8], part: Part) {
        let whole = part.first == 0 && part.count == frame.segments();
        // A frame that is neither segmented nor marked is written as it was read; one that is only marked
        // needs new headers up to the mark.
        let own = match (whole, part.marked) {
            (true, false) => 0,
            (true, true) => (frame.ip + 60).min(frame.headers).min(HEADERS),
            (false, _) => frame.headers,
        };
        self.length = VNET_HEADER + own;
        self.headers[..self.length].copy_from_slice(&bytes[..self.length]);
        self.payload = (own, frame.length);
        let headers = &mut self.headers[VNET_HEADER..self.length];
        if !whole {
            let (start, _) = frame.range(part.first);
            let (_, end) = frame.range(part.first + part.count - 1);
            self.payload = (start, end);
            cut_headers(frame, part, end - start, headers);
        }
        if part.marked {
            mark(frame, headers);
        }
        if !whole && part.count == 1 {
            let vnet = self.headers.first_chunk_mut::<VNET_HEADER>().expect("it has as many");
            let header = VnetHeader::read(vnet);
            let single = VnetHeader {
                segmentation: Segmentation::None,
                ecn: false,
                header_len: 0,
                gso_size: 0,
                ..header
            };
            *vnet = single.write();
        }
    }
}

/// Changes the headers of a frame to those of a part with `payload` bytes.
fn cut_headers(frame: &Frame, part: Part, payload: usize, headers: &mut [u8]) {
    let (ip, transport) = (frame.ip, frame.transport);
    let below_ip = transport - ip;
    let segment_length = headers.len() - transport + payload;
    let protocol = if headers.len() == transport + 8 { UDP } else { TCP };
    let addresses = if frame.version == 4 {
        let id = u16::from_be_bytes([headers[ip + 4], headers[ip + 5]]);
        let id = id.wrapping_add(part.first as u16);
        put(headers, ip + 2, (below_ip + segment_length) as u16);
        put(headers, ip + 4, id);
        write_ipv4(&mut headers[ip..transport]);
        ip + 12..ip + 20
    } else {
        put(headers, ip + 4, (below_ip - 40 + segment_length) as u16);
        ip + 8..ip + 40
    };
    let pseudo = sum(&headers[addresses]) + u32::from(protocol) + segment_length as u32;
    let check = if protocol == UDP {
        put(headers, transport + 4, segment_length as u16);
        transport + 6
    } else {
        let at = transport + 4;
        let mut sequence = [headers[at], headers[at + 1], headers[at + 2], headers[at + 3]];
        let before = (part.first * frame.segment) as u32;
        sequence = u32::from_be_bytes(sequence).wrapping_add(before).to_be_bytes();
        headers[at..at + 4].copy_from_slice(&sequence);
        let flags = &mut headers[transport + 13];
        if part.first + part.count < frame.segments() {
            *flags &= !(FIN | PSH);
        }
        if part.first > 0 {
            *flags &= !CWR;
        }
        transport + 16
    };
    // The sender completes the checksum; see `VnetHeader::needs_csum`.
    put(headers, check, fold(pseudo));
}

/// Sets the codepoint CE (RFC 3168, section 5).
fn mark(frame: &Frame, headers: &mut [u8]) {
    let ip = frame.ip;
    if frame.version == 4 {
        let length = 4 * usize::from(headers[ip] & 15);
        headers[ip + 1] |= 3;
        if let Some(header) = headers.get_mut(ip..ip + length.max(20)) {
            write_ipv4(header);
        }
    } else if frame.version == 6 {
        headers[ip + 1] |= 3 << 4;
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
