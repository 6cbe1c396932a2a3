//! Channels of the mobile shell: whatever a peer sends, an end neither panics nor holds more than its limits, and what it
//! sends is understood by an honest peer.

use exm_mosh::Extensions;
use exm_mosh::channels::{CREDIT, Channels, Event, MAX_CHANNELS, Opening, Reason};

const ALL: Extensions =
    Extensions { history: true, tcp: true, listen: true, agent: true, files: true, styles: true };

/// Runs the target on `bytes`: steps of a kind, a length, and so many bytes.
pub fn run(bytes: &[u8]) {
    let [first, rest @ ..] = bytes else { return };
    let mut end = if first % 2 == 0 { Channels::server(ALL) } else { Channels::client(ALL) };
    // Most peers know how to begin.
    if first % 4 < 3 {
        assert!(end.receive(&[0, 2, 1, 31]));
    }
    let mut rest = rest;
    while let [kind, length, after @ ..] = rest {
        let (data, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        step(&mut end, *kind, data);
    }
}

fn step(end: &mut Channels, kind: u8, data: &[u8]) {
    match kind % 4 {
        0 | 1 => {
            end.receive(data);
        }
        2 => {
            let _ = end.open(Opening::Tcp { host: "h".to_owned(), port: 1 });
            let _ = end.open(Opening::Agent);
        }
        _ => {
            assert!(end.pull(data.len()).len() <= data.len());
        }
    }
    let mut events = 0;
    while let Some(event) = end.next_event() {
        events += 1;
        assert!(events <= 6 * MAX_CHANNELS, "events end");
        match event {
            Event::Opened(id, _) if kind & 0x10 == 0 => end.accept(id),
            Event::Opened(id, _) => end.refuse(id, Reason::Unsupported),
            Event::Accepted(id) => assert!(end.write(id, data) <= data.len()),
            Event::Data(id) => {
                assert!(end.read(id, usize::MAX).len() <= CREDIT);
                end.write(id, data);
            }
            Event::Ended(id) => end.end(id),
            Event::Refused(id, _) | Event::Closed(id, _) => assert_eq!(end.writable(id), 0),
            _ => {}
        }
    }
    assert!(!end.has_failed() || end.granted().is_none());
}
