//! [`Fragment`]: a part of a compressed instruction that fits a datagram.

use crate::zlib::LIMIT;
use std::collections::BTreeMap;

/// The bytes before a fragment's data.
pub const HEADER: usize = 10;
/// The bit of the second field that marks the last fragment; the others are the index.
const FINAL: u16 = 1 << 15;

/// Why a payload is not a fragment, or not one that fits those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// It is shorter than a header.
    #[error("a payload of {length} bytes is shorter than a fragment's header, {HEADER}")]
    Short {
        /// Its length.
        length: usize,
    },
    /// There is a fragment after the last one, or a second last one.
    #[error("the fragments of instruction {id} contradict each other")]
    Inconsistent {
        /// The number of the instruction.
        id: u64,
    },
    /// The fragments are longer together than an instruction may be.
    #[error("the fragments of instruction {id} have more than {LIMIT} bytes together")]
    TooLong {
        /// The number of the instruction.
        id: u64,
    },
}

/// A part of a compressed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The number of the instruction.
    pub id: u64,
    /// The number of this fragment, below 2^15.
    pub index: u16,
    /// Whether it is the last one.
    pub last: bool,
    /// Its part.
    pub data: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Cuts the compressed `instruction` into fragments with at most `capacity` bytes of data; one at least.
    ///
    /// # Panics
    /// `capacity` is zero, or there would be more than 2^15 fragments. The longest instruction fits from a
    /// capacity of 128 bytes.
    pub fn split(
        id: u64,
        instruction: &'a [u8],
        capacity: usize,
    ) -> impl Iterator<Item = Fragment<'a>> {
        let count = instruction.len().div_ceil(capacity).max(1);
        assert!(count <= usize::from(FINAL), "{count} fragments have no numbers");
        (0..count).map(move |index| {
            let start = index * capacity;
            let data = &instruction[start..instruction.len().min(start + capacity)];
            Fragment { id, index: index as u16, last: index + 1 == count, data }
        })
    }

    /// The payload of its datagram.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(HEADER + self.data.len());
        payload.extend_from_slice(&self.id.to_be_bytes());
        let place = self.index | if self.last { FINAL } else { 0 };
        payload.extend_from_slice(&place.to_be_bytes());
        payload.extend_from_slice(self.data);
        payload
    }

    /// The fragment in `payload`.
    ///
    /// # Errors
    /// It is shorter than a header.
    pub fn decode(payload: &'a [u8]) -> Result<Fragment<'a>, FragmentError> {
        let short = FragmentError::Short { length: payload.len() };
        let (id, rest) = payload.split_first_chunk::<8>().ok_or(short)?;
        let (place, data) = rest.split_first_chunk::<2>().ok_or(short)?;
        let place = u16::from_be_bytes(*place);
        let (index, last) = (place & !FINAL, place & FINAL != 0);
        Ok(Fragment { id: u64::from_be_bytes(*id), index, last, data })
    }
}

/// Puts the fragments of one instruction together, in any order. A fragment of another instruction discards
/// what is there: a newer instruction replaces the older one anyway.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    id: u64,
    parts: BTreeMap<u16, Vec<u8>>,
    /// Bytes of data in all parts.
    length: usize,
    /// The number of fragments, once the last one is known.
    total: Option<usize>,
}

impl Assembler {
    /// An empty one.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// Adds `fragment`; returns the compressed instruction if it is complete. A copy of a fragment that is
    /// there already is ignored.
    ///
    /// # Errors
    /// It contradicts the others, or all are too long; they are discarded.
    pub fn add(&mut self, fragment: Fragment<'_>) -> Result<Option<Vec<u8>>, FragmentError> {
        let Fragment { id, index, last, data } = fragment;
        if id != self.id {
            *self = Assembler { id, ..Assembler::default() };
        }
        let count = usize::from(index) + 1;
        if last && self.total.is_none() {
            self.total = Some(count);
        }
        let highest = self.parts.last_key_value().map_or(0, |(&index, _)| usize::from(index) + 1);
        let fits = match self.total {
            Some(total) => highest <= total && count <= total && last == (count == total),
            None => true,
        };
        if !fits {
            self.discard();
            return Err(FragmentError::Inconsistent { id });
        }
        if self.parts.contains_key(&index) {
            return Ok(None);
        }
        self.length += data.len();
        if self.length > LIMIT {
            self.discard();
            return Err(FragmentError::TooLong { id });
        }
        self.parts.insert(index, data.to_vec());
        Ok((self.total == Some(self.parts.len())).then(|| self.discard()))
    }

    /// Empties it; returns all parts in order.
    fn discard(&mut self) -> Vec<u8> {
        let parts = std::mem::take(self).parts;
        parts.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragment(id: u64, index: u16, last: bool, data: &[u8]) -> Fragment<'_> {
        Fragment { id, index, last, data }
    }

    #[test]
    fn a_fragment_on_the_wire() {
        let payload = fragment(258, 3, true, b"x").encode();
        assert_eq!(payload, [0, 0, 0, 0, 0, 0, 1, 2, 0x80, 3, b'x']);
        assert_eq!(Fragment::decode(&payload), Ok(fragment(258, 3, true, b"x")));
        assert_eq!(Fragment::decode(&payload[..9]), Err(FragmentError::Short { length: 9 }));
        assert_eq!(Fragment::decode(&payload[..10]), Ok(fragment(258, 3, true, b"")));
    }

    #[test]
    fn another_instruction_discards_the_one_before() {
        let mut assembler = Assembler::new();
        assert_eq!(assembler.add(fragment(1, 0, false, b"a")), Ok(None));
        assert_eq!(assembler.add(fragment(2, 0, true, b"b")), Ok(Some(b"b".to_vec())));
        assert_eq!(assembler.add(fragment(1, 1, true, b"c")), Ok(None), "the first part is gone");
        assert_eq!(assembler.add(fragment(1, 0, false, b"a")), Ok(Some(b"ac".to_vec())));
    }

    #[test]
    fn contradictions_are_refused() {
        let inconsistent = Err(FragmentError::Inconsistent { id: 1 });
        for other in [
            fragment(1, 3, false, b""),
            fragment(1, 3, true, b""),
            fragment(1, 1, true, b""),
            fragment(1, 2, false, b""),
        ] {
            let mut assembler = Assembler::new();
            assert_eq!(assembler.add(fragment(1, 2, true, b"c")), Ok(None));
            assert_eq!(assembler.add(other), inconsistent, "{other:?}");
        }
        let mut assembler = Assembler::new();
        assert_eq!(assembler.add(fragment(1, 2, false, b"c")), Ok(None));
        assert_eq!(assembler.add(fragment(1, 1, true, b"b")), inconsistent);
    }

    #[test]
    fn the_length_is_bounded() {
        let half = vec![0; LIMIT / 2 + 1];
        let mut assembler = Assembler::new();
        assert_eq!(assembler.add(fragment(1, 0, false, &half)), Ok(None));
        assert_eq!(assembler.add(fragment(1, 0, false, &half)), Ok(None), "a copy");
        let error = assembler.add(fragment(1, 1, false, &half));
        assert_eq!(error, Err(FragmentError::TooLong { id: 1 }));
        assert!(assembler.parts.is_empty());
    }

    proptest! {
        #[test]
        fn an_instruction_comes_back_in_any_order(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            capacity in 1usize..50,
            keys in prop::collection::vec(any::<u32>(), 300),
        ) {
            let mut fragments: Vec<_> =
                Fragment::split(7, &bytes, capacity).map(|f| f.encode()).collect();
            prop_assert!(fragments.iter().all(|f| f.len() <= HEADER + capacity));
            fragments.sort_by_key(|fragment| keys[usize::from(fragment[9])]);
            let last = fragments.pop().expect("one at least");
            let mut assembler = Assembler::new();
            for payload in &fragments {
                let fragment = Fragment::decode(payload).expect("a fragment");
                prop_assert_eq!(assembler.add(fragment), Ok(None));
                prop_assert_eq!(assembler.add(fragment), Ok(None));
            }
            let fragment = Fragment::decode(&last).expect("a fragment");
            prop_assert_eq!(assembler.add(fragment), Ok(Some(bytes)));
        }
    }
}
