//! [`UserStream`]: what the user of a terminal has done.

use crate::protobuf::{DecodeError, fields, parts, put_bytes, put_integer};
use crate::state::{DiffError, State};
use std::collections::VecDeque;

/// The most bytes of keys that [`UserStream::push_keys`] lets wait for an acknowledgement.
const CAPACITY: usize = 1 << 20;
/// The most events that a stream of this end holds, so that a flood of resizes is bounded too.
const MAX_EVENTS: usize = 1 << 14;

/// The size of a terminal in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// Something that a user did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserEvent {
    /// Typed these bytes.
    Keys(Vec<u8>),
    /// Changed the size of the terminal.
    Resize(WindowSize),
}

/// Too much waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too much input waits for an acknowledgement: at most {CAPACITY} bytes may")]
pub struct FullError;

/// What a user did, in order. It only grows, except that what the other end has is forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserStream {
    /// Keys are never empty, and never follow other keys, so that equal streams have equal events.
    events: VecDeque<UserEvent>,
    /// The bytes of all keys.
    keys: usize,
}

impl UserStream {
    /// An empty one: the initial state.
    pub fn new() -> UserStream {
        UserStream::default()
    }

    /// Appends typed bytes, all or none.
    ///
    /// # Errors
    /// More than 1 MiB would wait for an acknowledgement. Try again later.
    pub fn push_keys(&mut self, keys: &[u8]) -> Result<(), FullError> {
        if self.keys + keys.len() > CAPACITY || self.events.len() >= MAX_EVENTS {
            return Err(FullError);
        }
        self.append_keys(keys);
        Ok(())
    }

    /// Appends a change of the terminal's size.
    ///
    /// # Errors
    /// More than 2^14 events would wait for an acknowledgement. Try again later.
    pub fn push_resize(&mut self, size: WindowSize) -> Result<(), FullError> {
        if self.events.len() >= MAX_EVENTS {
            return Err(FullError);
        }
        self.events.push_back(UserEvent::Resize(size));
        Ok(())
    }

    /// The events that have not been forgotten, in order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &UserEvent> {
        self.events.iter()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The bytes of all keys that have not been forgotten.
    pub fn key_bytes(&self) -> usize {
        self.keys
    }

    /// The events of the difference `diff`. A server applies only the last of consecutive resizes.
    ///
    /// # Errors
    /// It is malformed.
    pub fn decode_diff(diff: &[u8]) -> Result<Vec<UserEvent>, DecodeError> {
        let mut events = Vec::new();
        for part in parts(diff) {
            decode_event(part?, &mut events)?;
        }
        Ok(events)
    }

    fn append_keys(&mut self, keys: &[u8]) {
        self.keys += keys.len();
        match self.events.back_mut() {
            Some(UserEvent::Keys(last)) => last.extend_from_slice(keys),
            _ if !keys.is_empty() => self.events.push_back(UserEvent::Keys(keys.to_vec())),
            _ => {}
        }
    }

    /// Where this stream goes on after the longest common prefix with `other`: whole events, and bytes of
    /// the keys that follow.
    fn common_prefix(&self, other: &UserStream) -> (usize, usize) {
        let alike = self.events.iter().zip(&other.events).take_while(|(a, b)| a == b).count();
        match (self.events.get(alike), other.events.get(alike)) {
            (Some(UserEvent::Keys(ours)), Some(UserEvent::Keys(theirs))) => {
                (alike, ours.iter().zip(theirs).take_while(|(a, b)| a == b).count())
            }
            _ => (alike, 0),
        }
    }
}

impl State for UserStream {
    fn diff_from(&self, base: &UserStream) -> Vec<u8> {
        let (events, mut bytes) = self.common_prefix(base);
        let mut diff = Vec::new();
        for event in self.events.range(events..) {
            let mut part = Vec::new();
            match event {
                UserEvent::Keys(keys) => {
                    let mut keystroke = Vec::new();
                    put_bytes(&mut keystroke, 4, &keys[bytes..]);
                    put_bytes(&mut part, 2, &keystroke);
                }
                UserEvent::Resize(size) => put_size(&mut part, *size),
            }
            put_bytes(&mut diff, 1, &part);
            bytes = 0;
        }
        diff
    }

    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        for event in UserStream::decode_diff(diff)? {
            match event {
                UserEvent::Keys(keys) => self.append_keys(&keys),
                resize @ UserEvent::Resize(_) => self.events.push_back(resize),
            }
        }
        Ok(())
    }

    fn subtract(&mut self, prefix: &UserStream) {
        let (events, bytes) = self.common_prefix(prefix);
        for event in self.events.drain(..events) {
            if let UserEvent::Keys(keys) = event {
                self.keys -= keys.len();
            }
        }
        if bytes > 0
            && let Some(UserEvent::Keys(keys)) = self.events.front_mut()
        {
            keys.drain(..bytes);
            self.keys -= bytes;
        }
        // All of the prefix's last keys, and nothing follows them here.
        if matches!(self.events.front(), Some(UserEvent::Keys(keys)) if keys.is_empty()) {
            self.events.pop_front();
        }
    }

    fn initial_diff(&self) -> Vec<u8> {
        self.diff_from(&UserStream::new())
    }

    fn weight(&self) -> usize {
        size_of::<UserStream>() + self.keys + self.events.len() * size_of::<UserEvent>()
    }
}

/// Appends the event in a message `Instruction` to `events`.
fn decode_event(message: &[u8], events: &mut Vec<UserEvent>) -> Result<(), DecodeError> {
    for field in fields(message) {
        let field = field?;
        match field.number {
            2 => {
                let keys = decode_nested(field.bytes()?, 4)?;
                events.extend((!keys.is_empty()).then(|| UserEvent::Keys(keys.to_vec())));
            }
            3 => events.push(UserEvent::Resize(decode_size(field.bytes()?)?)),
            _ => {}
        }
    }
    Ok(())
}

/// The bytes in field `number` of `message`; empty if absent.
pub(crate) fn decode_nested(message: &[u8], number: u64) -> Result<&[u8], DecodeError> {
    let mut found: &[u8] = &[];
    for field in fields(message) {
        let field = field?;
        if field.number == number {
            found = field.bytes()?;
        }
    }
    Ok(found)
}

/// Appends a message with a terminal's size: field 3 of both directions.
pub(crate) fn put_size(message: &mut Vec<u8>, size: WindowSize) {
    let mut resize = Vec::new();
    put_integer(&mut resize, 5, u64::from(size.width));
    put_integer(&mut resize, 6, u64::from(size.height));
    put_bytes(message, 3, &resize);
}

/// Decodes what [`put_size`] writes.
pub(crate) fn decode_size(message: &[u8]) -> Result<WindowSize, DecodeError> {
    let (mut width, mut height) = (None, None);
    for field in fields(message) {
        let field = field?;
        // The kernel's sizes have 16 bits; the wire's have 32 and a sign.
        let cells = |name| u16::try_from(field.integer()?).map_err(|_| DecodeError::Range(name));
        match field.number {
            5 => width = Some(cells("width")?),
            6 => height = Some(cells("height")?),
            _ => {}
        }
    }
    Ok(WindowSize {
        width: width.ok_or(DecodeError::Missing("width"))?,
        height: height.ok_or(DecodeError::Missing("height"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: WindowSize = WindowSize { width: 80, height: 24 };

    fn typed(keys: &[u8]) -> UserStream {
        let mut stream = UserStream::new();
        stream.push_keys(keys).expect("short");
        stream
    }

    #[test]
    fn a_difference_on_the_wire() {
        let mut stream = typed(b"ab");
        let before = stream.clone();
        stream.push_keys(b"c").expect("short");
        stream.push_resize(SIZE).expect("few");
        let diff = stream.diff_from(&before);
        let expected = [10, 5, 18, 3, 34, 1, b'c', 10, 6, 26, 4, 40, 80, 48, 24];
        assert_eq!(diff, expected);
        let events = [UserEvent::Keys(b"c".to_vec()), UserEvent::Resize(SIZE)];
        assert_eq!(UserStream::decode_diff(&diff).as_deref(), Ok(&events[..]));
        assert!(stream.diff_from(&stream).is_empty());
    }

    #[test]
    fn the_common_prefix_is_forgotten() {
        let mut stream = typed(b"abc");
        stream.push_resize(SIZE).expect("few");
        stream.subtract(&typed(b"ab"));
        assert_eq!((stream.key_bytes(), stream.events().len()), (1, 2));
        let copy = stream.clone();
        stream.subtract(&copy);
        assert!(stream.is_empty() && stream.key_bytes() == 0);
        assert_eq!(stream, UserStream::new());
    }

    #[test]
    fn input_is_bounded() {
        let mut stream = typed(&[0; CAPACITY]);
        assert_eq!(stream.push_keys(b"x"), Err(FullError));
        stream.subtract(&typed(&[0; 1]));
        assert_eq!(stream.push_keys(b"x"), Ok(()));
        let mut resized = UserStream::new();
        (0..MAX_EVENTS).for_each(|_| resized.push_resize(SIZE).expect("few"));
        assert_eq!(resized.push_resize(SIZE), Err(FullError));
        assert_eq!(resized.push_keys(b"x"), Err(FullError));
    }

    #[test]
    fn malformed_sizes_are_refused() {
        let size = |bytes: &[u8]| {
            let mut message = Vec::new();
            put_bytes(&mut message, 3, bytes);
            let mut diff = Vec::new();
            put_bytes(&mut diff, 1, &message);
            UserStream::decode_diff(&diff).err()
        };
        assert_eq!(size(&[40, 80]), Some(DecodeError::Missing("height")));
        assert_eq!(size(&[48, 24]), Some(DecodeError::Missing("width")));
        let mut negative = vec![48, 24, 40];
        negative.extend([0xff; 9]);
        negative.push(1);
        assert_eq!(size(&negative), Some(DecodeError::Range("width")));
        assert_eq!(size(&[40, 0, 48, 0]), None);
    }

    #[test]
    fn empty_keys_are_no_event() {
        let mut stream = UserStream::new();
        stream.apply(&[10, 4, 18, 2, 34, 0, 10, 0]).expect("well-formed");
        stream.push_keys(b"").expect("short");
        assert_eq!(stream, UserStream::new());
    }

    fn events() -> impl Strategy<Value = Vec<Result<Vec<u8>, u16>>> {
        let keys = prop::collection::vec(0u8..3, 0..4);
        prop::collection::vec(prop_oneof![keys.prop_map(Ok), (0u16..2).prop_map(Err)], 0..12)
    }

    fn push(stream: &mut UserStream, event: &Result<Vec<u8>, u16>) {
        match event {
            Ok(keys) => stream.push_keys(keys).expect("short"),
            Err(width) => {
                stream.push_resize(WindowSize { width: *width, height: 1 }).expect("few");
            }
        }
    }

    proptest! {
        /// The law of [`State`], before and after a common prefix is forgotten.
        #[test]
        fn differences_lead_from_any_earlier_state(all in events(), cuts: [prop::sample::Index; 2]) {
            let mut states = vec![UserStream::new()];
            for event in &all {
                let mut next = states[states.len() - 1].clone();
                push(&mut next, event);
                states.push(next);
            }
            let mut cuts = cuts.map(|cut| cut.index(states.len()));
            cuts.sort_unstable();
            let [prefix, base] = cuts.map(|cut| states[cut].clone());
            let last = states[states.len() - 1].clone();
            let mut made = base.clone();
            made.apply(&last.diff_from(&base)).expect("our own");
            prop_assert_eq!(&made, &last);
            let [mut base, mut last] = [base, last];
            base.subtract(&prefix);
            last.subtract(&prefix);
            base.apply(&last.diff_from(&base)).expect("our own");
            prop_assert_eq!(&base, &last);
            made.subtract(&prefix);
            prop_assert_eq!(&made, &last);
            let keys = last.events().map(|event| match event {
                UserEvent::Keys(keys) => keys.len(),
                UserEvent::Resize(_) => 0,
            });
            prop_assert_eq!(keys.sum::<usize>(), last.key_bytes());
        }

        #[test]
        fn any_bytes_are_applied_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut stream = UserStream::new();
            let _ = stream.apply(&bytes);
            prop_assert!(stream.weight() <= 200 + 8 * bytes.len());
        }
    }
}
