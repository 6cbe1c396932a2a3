//! [`check_frame`]: invariants of any frame.

use super::{Frame, Framing, Part, Written};
use exm_link::Ecn;
use exm_os::VNET_HEADER;

/// The most segments that are checked.
const MOST_SEGMENTS: usize = 100;

/// Processes `bytes`, an Ethernet frame or an IP packet that follows the kernel's header, as the emulator
/// does with any frame. For fuzzing.
///
/// # Panics
/// The segments do not add up to the frame, or are not written with the sizes that were announced.
#[doc(hidden)]
pub fn check_frame(is_ethernet: bool, bytes: &[u8]) {
    let framing = if is_ethernet { Framing::Ethernet } else { Framing::Ip };
    let Ok(frame) = Frame::parse(framing, bytes) else { return };
    let body = &bytes[VNET_HEADER..];
    frame.is_housekeeping(body);
    let flow = frame.flow(body);
    let may_be_marked = matches!(frame.ecn(body), Ecn::Capable | Ecn::LowLatency);
    let mut written = Written::new();
    let mut expected = if frame.segment == 0 { 0 } else { frame.headers };
    let segments = frame.segments();
    for first in 0..segments.min(MOST_SEGMENTS) {
        let (start, end) = frame.range(first);
        assert!(start == expected && start <= end && end <= body.len(), "segment {first}");
        expected = end;
        for marked in [false, may_be_marked] {
            written.write(&frame, bytes, Part { first, count: 1, marked });
            let segment = [written.headers(), written.payload(bytes)].concat();
            let size = (segment.len() - VNET_HEADER).saturating_sub(frame.ip);
            assert_eq!(size, frame.size(first) as usize, "segment {first}");
            let again = Frame::parse(framing, &segment).expect("what was written is a frame");
            assert_eq!((again.ip, again.version), (frame.ip, frame.version));
        }
    }
    assert!(segments > MOST_SEGMENTS || expected == body.len(), "the last segment ends it");
    // All segments together are written as the frame was read.
    written.write(&frame, bytes, Part { first: 0, count: segments, marked: false });
    assert_eq!([written.headers(), written.payload(bytes)].concat(), bytes);
    assert_eq!(frame.flow(body), flow);
}
