//! Frames in datagrams: each begins with the number of its frame, its own place in it, and the count of its datagrams.

use std::collections::BTreeMap;

/// The bytes before the part of a frame in a datagram.
pub(crate) const HEADER: usize = 8;
/// The most frames of which parts wait for others.
const MAX_WAITING: usize = 64;
/// The longest frame.
pub(crate) const MAX_FRAME: usize = 4 << 20;

/// The datagrams of `frame`, of up to `largest` bytes each.
pub(crate) fn datagrams(number: u32, frame: &[u8], largest: usize) -> Vec<Vec<u8>> {
    let parts: Vec<&[u8]> = frame.chunks(largest - HEADER).collect();
    let count = u16::try_from(parts.len()).unwrap_or(u16::MAX);
    let datagram = |(index, part): (u16, &&[u8])| {
        let header = number.to_be_bytes().into_iter();
        let header = header.chain(index.to_be_bytes()).chain(count.to_be_bytes());
        header.chain(part.iter().copied()).collect()
    };
    (0..count).zip(&parts).map(datagram).collect()
}

/// Puts frames together from their datagrams, in any order.
#[derive(Default)]
pub(crate) struct Assembly {
    waiting: BTreeMap<u32, Vec<Option<Vec<u8>>>>,
}

impl Assembly {
    /// A datagram has arrived. Returns the frame that it completes, with its number.
    pub(crate) fn add(&mut self, datagram: &[u8]) -> Option<(u32, Vec<u8>)> {
        let (header, part) = datagram.split_first_chunk::<HEADER>()?;
        let [a, b, c, d, e, f, g, h] = *header;
        let number = u32::from_be_bytes([a, b, c, d]);
        let (index, count) = (u16::from_be_bytes([e, f]), u16::from_be_bytes([g, h]));
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_first();
        }
        let parts = self.waiting.entry(number).or_insert_with(|| vec![None; usize::from(count)]);
        *parts.get_mut(usize::from(index))? = Some(part.to_vec());
        if parts.iter().any(Option::is_none) {
            return None;
        }
        let parts = self.waiting.remove(&number)?;
        Some((number, parts.into_iter().flatten().flatten().collect()))
    }
}
