//! [`HostEvent`]: what a server tells its client in a difference between two states of a terminal.

use crate::protobuf::{DecodeError, fields, parts, put_bytes, put_integer};
use crate::user::{WindowSize, decode_nested, decode_size, put_size};

/// A part of a difference between two states of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostEvent {
    /// Output for a terminal that shows the older state, which makes it show the newer one.
    Bytes(Vec<u8>),
    /// The size has changed.
    Resize(WindowSize),
    /// The newest state of the [`UserStream`](crate::UserStream) whose effects the terminal shows.
    EchoAck(u64),
}

/// The difference with these `events`. Mosh writes at most one of each kind: first the echo
/// acknowledgement, then the size, then the output.
pub fn encode_host(events: &[HostEvent]) -> Vec<u8> {
    let mut diff = Vec::new();
    for event in events {
        let (mut part, mut inner) = (Vec::new(), Vec::new());
        match event {
            HostEvent::Bytes(bytes) => {
                put_bytes(&mut inner, 4, bytes);
                put_bytes(&mut part, 2, &inner);
            }
            HostEvent::Resize(size) => put_size(&mut part, *size),
            HostEvent::EchoAck(number) => {
                put_integer(&mut inner, 8, *number);
                put_bytes(&mut part, 7, &inner);
            }
        }
        put_bytes(&mut diff, 1, &part);
    }
    diff
}

/// The events in the difference `diff`.
///
/// # Errors
/// It is malformed.
pub fn decode_host(diff: &[u8]) -> Result<Vec<HostEvent>, DecodeError> {
    let mut events = Vec::new();
    for part in parts(diff) {
        decode_event(part?, &mut events)?;
    }
    Ok(events)
}

/// Appends the events in a message `Instruction` to `events`.
fn decode_event(message: &[u8], events: &mut Vec<HostEvent>) -> Result<(), DecodeError> {
    for field in fields(message) {
        let field = field?;
        match field.number {
            2 => events.push(HostEvent::Bytes(decode_nested(field.bytes()?, 4)?.to_vec())),
            3 => events.push(HostEvent::Resize(decode_size(field.bytes()?)?)),
            7 => events.push(HostEvent::EchoAck(decode_echo_ack(field.bytes()?)?)),
            _ => {}
        }
    }
    Ok(())
}

fn decode_echo_ack(message: &[u8]) -> Result<u64, DecodeError> {
    let mut number = None;
    for field in fields(message) {
        let field = field?;
        if field.number == 8 {
            number = Some(field.integer()?);
        }
    }
    number.ok_or(DecodeError::Missing("echo acknowledgement"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_on_the_wire() {
        let size = WindowSize { width: 80, height: 24 };
        let events =
            [HostEvent::EchoAck(300), HostEvent::Resize(size), HostEvent::Bytes(b"hi".to_vec())];
        let diff = encode_host(&events);
        let expected = [
            &[10, 5, 58, 3, 64, 0xac, 2][..],
            &[10, 6, 26, 4, 40, 80, 48, 24],
            &[10, 6, 18, 4, 34, 2, b'h', b'i'],
        ];
        assert_eq!(diff, expected.concat());
        assert_eq!(decode_host(&diff).as_deref(), Ok(&events[..]));
    }

    #[test]
    fn malformed_events_are_refused() {
        let missing = DecodeError::Missing("echo acknowledgement");
        assert_eq!(decode_host(&[10, 2, 58, 0]), Err(missing));
        assert_eq!(decode_host(&[8, 1]), Err(DecodeError::WireType { field: 1, kind: 0 }));
        assert_eq!(decode_host(&[10, 5, 58]), Err(DecodeError::Truncated));
        assert_eq!(decode_host(&[16, 1]), Ok(vec![]), "an unknown field");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(events) = decode_host(&bytes) {
                prop_assert_eq!(decode_host(&encode_host(&events)), Ok(events));
            }
        }
    }
}
