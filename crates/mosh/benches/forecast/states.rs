//! What the ends synchronise: a screen, and a stream that always has bytes.

use exm_ssp::{DiffError, HostEvent, State, decode_host, encode_host};

/// The bytes of a screen of 79 columns and 23 rows that is drawn anew.
pub(crate) const REDRAW: usize = 1850;
/// Bytes that do not compress, more than a compressor looks back.
const NOISE: usize = 1 << 16;

/// `length` bytes that no compressor makes shorter; other ones for another `number`.
pub(crate) fn noise(number: u64, length: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length.min(NOISE) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A server's screen: how many letters it shows, and how often all of it was drawn anew.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub(crate) letters: u64,
    pub(crate) redraws: u64,
}

impl State for Shown {
    fn diff_from(&self, base: &Shown) -> Vec<u8> {
        if self == base {
            return Vec::new();
        }
        let mut bytes = [self.letters.to_be_bytes(), self.redraws.to_be_bytes()].concat();
        if self.redraws != base.redraws {
            bytes.extend(noise(self.redraws, REDRAW));
        }
        encode_host(&[HostEvent::Bytes(bytes)])
    }

    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        for event in decode_host(diff)? {
            let HostEvent::Bytes(bytes) = event else { continue };
            let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
            let numbers = number(0).zip(number(8));
            (self.letters, self.redraws) = numbers.ok_or_else(|| DiffError::new("it is short"))?;
        }
        Ok(())
    }

    fn initial_diff(&self) -> Vec<u8> {
        self.diff_from(&Shown::default())
    }

    fn weight(&self) -> usize {
        64
    }
}

/// Stands for the session's channels: one that always has bytes to send, and a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channels {
    pub(crate) is_bulk: bool,
    pulled: u64,
    pub(crate) read: u64,
}

impl Channels {
    pub(crate) fn bulk(is_bulk: bool) -> Channels {
        Channels { is_bulk, ..Channels::default() }
    }

    pub(crate) fn has_output(&self) -> bool {
        self.is_bulk
    }

    pub(crate) fn pull(&mut self, most: usize) -> Vec<u8> {
        self.pulled += 1;
        noise(self.pulled, most)
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> bool {
        self.read += bytes.len() as u64;
        true
    }

    pub(crate) fn fail(&mut self) {}
}
