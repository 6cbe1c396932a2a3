//! [`StreamLog`] and [`Sided`]: a byte stream inside a synchronised state.

use crate::protobuf::{DecodeError, fields, parts, put_bytes, put_integer};
use crate::state::{DiffError, State};
use std::collections::VecDeque;
use std::sync::Arc;

/// The extension field of a part of a difference that carries bytes of the stream. Mosh's parser skips it.
const FIELD: u64 = 100;
/// The most bytes of a stream that a state of the peer may hold.
const MOST_HELD: usize = 1 << 20;

/// The end of a byte stream: what was appended and not forgotten yet, addressed by offsets from the stream's
/// beginning.
///
/// A clone shares its bytes with the original. Logs are equal if they end at the same offset, since those of
/// one end are parts of one stream.
#[derive(Clone, Debug, Default)]
pub struct StreamLog {
    start: u64,
    end: u64,
    /// Consecutive pieces by the offset of their first byte. The first may begin before `start`, and the last
    /// may go on after `end`.
    chunks: VecDeque<(u64, Arc<[u8]>)>,
}

impl PartialEq for StreamLog {
    fn eq(&self, other: &StreamLog) -> bool {
        self.end == other.end
    }
}

impl Eq for StreamLog {}

impl StreamLog {
    /// An empty stream.
    pub fn new() -> StreamLog {
        StreamLog::default()
    }

    /// The offset of the first byte that is held.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The offset after the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How many bytes are held.
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether no bytes are held.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Appends `bytes`.
    pub fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Some((offset, chunk)) = self.chunks.back_mut()
            && *offset + chunk.len() as u64 > self.end
        {
            *chunk = Arc::from(&chunk[..(self.end - *offset) as usize]);
        }
        self.chunks.push_back((self.end, Arc::from(bytes)));
        self.end += bytes.len() as u64;
    }

    /// Forgets the bytes before `offset`. A log that ends before `offset` is empty afterwards, and ends there.
    pub fn forget(&mut self, offset: u64) {
        self.start = self.start.max(offset);
        self.end = self.end.max(self.start);
        while let Some((first, chunk)) = self.chunks.front()
            && first + chunk.len() as u64 <= self.start
        {
            self.chunks.pop_front();
        }
    }

    /// The same log without what follows `offset`. It is never shorter than nothing.
    pub fn until(&self, offset: u64) -> StreamLog {
        let mut log = self.clone();
        log.end = offset.clamp(log.start, log.end);
        while log.chunks.back().is_some_and(|(first, _)| *first >= log.end) {
            log.chunks.pop_back();
        }
        log
    }

    /// The bytes from `offset` on; `None` if some of them are forgotten. Beyond the end there are none.
    pub fn bytes_from(&self, offset: u64) -> Option<Vec<u8>> {
        if offset < self.start {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.end.saturating_sub(offset) as usize);
        for (first, chunk) in &self.chunks {
            let length = chunk.len() as u64;
            let place = |at: u64| at.saturating_sub(*first).min(length) as usize;
            let (from, to) = (place(offset), place(self.end));
            bytes.extend_from_slice(&chunk[from.min(to)..to]);
        }
        Some(bytes)
    }

    /// Appends the part of a difference that makes this log of `base`, if they differ.
    fn put_difference(&self, base: &StreamLog, diff: &mut Vec<u8>) {
        if self.end == base.end {
            return;
        }
        // The peer has what is forgotten here. A shorter log than its base has no bytes to send.
        let from = base.end.clamp(self.start, self.end);
        let (mut inner, mut part) = (Vec::new(), Vec::new());
        put_integer(&mut inner, 1, from);
        put_bytes(&mut inner, 2, &self.bytes_from(from).unwrap_or_default());
        put_bytes(&mut part, FIELD, &inner);
        put_bytes(diff, 1, &part);
    }

    /// Replaces what follows the offset `from` by `bytes`.
    fn replace(&mut self, from: u64, bytes: &[u8]) -> Result<(), DiffError> {
        if from.checked_add(bytes.len() as u64).is_none() {
            return Err(DiffError::new("the stream is longer than 2^64 bytes"));
        }
        if (self.start..=self.end).contains(&from) {
            *self = self.until(from);
        } else {
            *self = StreamLog { start: from, end: from, chunks: VecDeque::new() };
        }
        if self.len() + bytes.len() > MOST_HELD {
            return Err(DiffError::new("too much of the stream is not acknowledged"));
        }
        self.append(bytes);
        Ok(())
    }

    /// Applies all parts of the stream in `diff`.
    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        for part in parts(diff) {
            for field in fields(part?) {
                let field = field?;
                if field.number == FIELD {
                    let (from, bytes) = decode_part(field.bytes()?)?;
                    self.replace(from, bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// The offset and the bytes of a part.
fn decode_part(message: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    let (mut from, mut bytes) = (None, &[][..]);
    for field in fields(message) {
        let field = field?;
        match field.number {
            1 => from = Some(field.integer()?),
            2 => bytes = field.bytes()?,
            _ => {}
        }
    }
    Ok((from.ok_or(DecodeError::Missing("offset"))?, bytes))
}

/// A state with a byte stream beside it. As long as the stream is empty, its differences are those of the state alone.
///
/// The stream's bytes travel in an extension field of the differences, which an end that does not know it skips.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sided<S> {
    /// The state.
    pub state: S,
    /// The stream.
    pub stream: StreamLog,
}

impl<S> Sided<S> {
    /// `state` with an empty stream.
    pub fn new(state: S) -> Sided<S> {
        Sided { state, stream: StreamLog::new() }
    }
}

impl<S: State> State for Sided<S> {
    fn diff_from(&self, base: &Sided<S>) -> Vec<u8> {
        let mut diff = self.state.diff_from(&base.state);
        self.stream.put_difference(&base.stream, &mut diff);
        diff
    }

    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        self.stream.apply(diff)?;
        self.state.apply(diff)
    }

    fn subtract(&mut self, prefix: &Sided<S>) {
        self.state.subtract(&prefix.state);
        self.stream.forget(prefix.stream.end);
    }

    fn initial_diff(&self) -> Vec<u8> {
        let mut diff = self.state.initial_diff();
        self.stream.put_difference(&StreamLog::new(), &mut diff);
        diff
    }

    fn weight(&self) -> usize {
        self.state.weight() + self.stream.len() + 64 * self.stream.chunks.len()
    }

    fn stream_end(&self) -> u64 {
        self.stream.end
    }
}

/// Reads a peer's stream from its newest states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamReader {
    next: u64,
}

impl StreamReader {
    /// What follows the bytes that were returned before. To be called for each new state of the peer, before
    /// anything of it is forgotten.
    ///
    /// # Errors
    /// Bytes are missing between, which no honest peer causes. They are skipped.
    pub fn read(&mut self, log: &StreamLog) -> Result<Vec<u8>, DiffError> {
        let from = self.next;
        // A retransmission may end earlier than what it repeats.
        self.next = from.max(log.end);
        log.bytes_from(from).ok_or_else(|| DiffError::new("bytes of the stream are missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::UserStream;
    use proptest::prelude::*;

    fn log(bytes: &[u8]) -> StreamLog {
        let mut log = StreamLog::new();
        log.append(bytes);
        log
    }

    #[test]
    fn a_part_on_the_wire() {
        let mut now = Sided::new(UserStream::new());
        now.stream.append(b"ab");
        let before = now.clone();
        now.stream.append(b"c");
        now.state.push_keys(b"k").expect("short");
        let diff = now.diff_from(&before);
        let keys = [10, 5, 18, 3, 34, 1, b'k'];
        let part = [10, 8, 0xa2, 6, 5, 8, 2, 18, 1, b'c'];
        assert_eq!(diff, [&keys[..], &part].concat());
        assert_eq!(UserStream::decode_diff(&diff).map(|events| events.len()), Ok(1));
        let mut made = before.clone();
        made.apply(&diff).expect("our own");
        assert_eq!((made.stream.bytes_from(0), made == now), (Some(b"abc".to_vec()), true));
        assert!(now.diff_from(&now).is_empty());
    }

    #[test]
    fn a_log_is_forgotten_and_cut() {
        let mut all = log(b"abc");
        all.append(b"def");
        let cut = all.until(4);
        assert_eq!((cut.bytes_from(0), cut.end()), (Some(b"abcd".to_vec()), 4));
        let mut other = cut.clone();
        other.append(b"x");
        assert_eq!(other.bytes_from(2).as_deref(), Some(&b"cdx"[..]));
        all.forget(5);
        assert_eq!((all.start(), all.len(), all.bytes_from(4)), (5, 1, None));
        assert_eq!(all.bytes_from(5).as_deref(), Some(&b"f"[..]));
        assert_eq!(all.bytes_from(9).as_deref(), Some(&b""[..]));
        all.forget(9);
        assert_eq!((all.start(), all.end(), all.is_empty()), (9, 9, true));
    }

    #[test]
    fn malformed_parts_are_refused() {
        let apply = |from: Option<u64>, bytes: &[u8]| {
            let (mut inner, mut part, mut diff) = (Vec::new(), Vec::new(), Vec::new());
            from.iter().for_each(|from| put_integer(&mut inner, 1, *from));
            put_bytes(&mut inner, 2, bytes);
            put_bytes(&mut part, FIELD, &inner);
            put_bytes(&mut diff, 1, &part);
            let mut state = Sided::new(UserStream::new());
            state.apply(&diff).map(|()| state.stream.len()).map_err(|error| error.reason().len())
        };
        assert!(apply(None, b"x").is_err());
        assert!(apply(Some(u64::MAX), b"x").is_err());
        assert!(apply(Some(0), &vec![0; MOST_HELD + 1]).is_err());
        assert_eq!(apply(Some(0), &vec![0; MOST_HELD]), Ok(MOST_HELD));
    }

    #[test]
    fn a_reader_notices_a_gap() {
        let mut reader = StreamReader::default();
        assert_eq!(reader.read(&log(b"abc")).as_deref(), Ok(&b"abc"[..]));
        assert_eq!(reader.read(&log(b"ab")).as_deref(), Ok(&b""[..]), "a retransmission");
        let mut later = log(b"abcdefg");
        later.forget(5);
        assert!(reader.read(&later).is_err());
        later.append(b"h");
        assert_eq!(reader.read(&later).as_deref(), Ok(&b"h"[..]));
    }

    proptest! {
        /// The law of [`State`], and that a reader of some states gets the stream, whatever was cut and forgotten.
        #[test]
        fn differences_lead_from_any_state_to_any_other(
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..20), any::<bool>()), 1..20),
            picks in prop::collection::vec((any::<prop::sample::Index>(), 0u64..500), 1..20),
        ) {
            let mut all = StreamLog::new();
            let mut states = vec![Sided::new(UserStream::new())];
            for (bytes, cuts) in &steps {
                all.append(bytes);
                let end = if *cuts { all.end() / 2 } else { all.end() };
                states.push(Sided { state: UserStream::new(), stream: all.until(end) });
            }
            let (mut held, mut reader, mut read) = (states[0].clone(), StreamReader::default(), Vec::new());
            for (pick, _) in picks {
                let state = pick.get(&states);
                let diff = state.diff_from(&held);
                held.apply(&diff).expect("our own");
                prop_assert!(held == *state);
                read.extend(reader.read(&held.stream).expect("no gap"));
                // What was read is forgotten at both ends.
                held.stream.forget(held.stream.end());
            }
            let whole = all.bytes_from(0).expect("all");
            prop_assert_eq!(&whole[..read.len()], &read[..]);
        }

        #[test]
        fn any_bytes_are_applied_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut state = Sided::new(UserStream::new());
            let _ = state.apply(&[&[10, bytes.len() as u8, 0xa2, 6], &bytes[..]].concat());
            prop_assert!(state.stream.len() <= bytes.len());
        }
    }
}
