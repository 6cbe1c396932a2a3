//! [`Arena`]: the memory into which packets are read.

/// The size of a chunk. Packets are read into the current chunk in turn until the largest packet would not
/// fit.
const CHUNK: usize = 512 << 10;

/// Packets in chunks of memory. A packet stays where it was read, without being copied, until all of its
/// parts have been [released](Arena::release); a chunk is reused once all packets in it have been.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    current: u32,
    /// Where the next packet is read to.
    position: usize,
    /// The size of the largest packet, with headers.
    room: usize,
    most: usize,
}

#[derive(Debug)]
struct Chunk {
    bytes: Box<[u8]>,
    /// The number of parts of packets in it that are in use, plus one while it is read into.
    held: u32,
}

/// The location of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    chunk: u32,
    start: u32,
    length: u32,
}

impl Arena {
    /// An arena for packets of up to `room` bytes, with at most `most` bytes in total.
    pub(crate) fn new(room: usize, most: usize) -> Arena {
        let chunks = vec![Chunk::new()];
        let most = (most / CHUNK).max(2);
        Arena { chunks, free: Vec::new(), current: 0, position: 0, room, most }
    }

    /// The memory into which the next packet may be read; `None` if the arena is full.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        if self.position + self.room > CHUNK {
            let next = self.next_chunk()?;
            self.drop_held(self.current);
            self.chunks[next as usize].held = 1;
            (self.current, self.position) = (next, 0);
        }
        let start = self.position;
        Some(&mut self.chunks[self.current as usize].bytes[start..start + self.room])
    }

    /// Keeps the packet of `length` bytes that was read into the [space](Arena::space), of which `parts`
    /// parts will be [released](Arena::release).
    pub(crate) fn keep(&mut self, length: usize, parts: u32) -> Place {
        let start = self.position as u32;
        self.chunks[self.current as usize].held += parts;
        // Even, so that headers are at even addresses.
        self.position += length.next_multiple_of(8);
        Place { chunk: self.current, start, length: length as u32 }
    }

    /// The bytes of the packet at `place`.
    #[inline]
    pub(crate) fn bytes(&self, place: Place) -> &[u8] {
        let start = place.start as usize;
        &self.chunks[place.chunk as usize].bytes[start..start + place.length as usize]
    }

    /// Releases one part of the packet at `place`.
    #[inline]
    pub(crate) fn release(&mut self, place: Place) {
        self.drop_held(place.chunk);
    }

    fn drop_held(&mut self, chunk: u32) {
        let held = &mut self.chunks[chunk as usize].held;
        *held -= 1;
        if *held == 0 {
            self.free.push(chunk);
        }
    }

    fn next_chunk(&mut self) -> Option<u32> {
        if let Some(chunk) = self.free.pop() {
            return Some(chunk);
        }
        if self.chunks.len() >= self.most {
            return None;
        }
        self.chunks.push(Chunk::new());
        Some(self.chunks.len() as u32 - 1)
    }
}

impl Chunk {
    fn new() -> Chunk {
        Chunk { bytes: vec![0; CHUNK].into_boxed_slice(), held: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn a_full_arena_recovers() {
        let mut arena = Arena::new(CHUNK / 2, 3 * CHUNK);
        let mut places = VecDeque::new();
        while arena.space().is_some() {
            places.push_back(arena.keep(CHUNK / 2, 1));
        }
        assert_eq!(places.len(), 6);
        arena.release(places.pop_front().unwrap());
        assert!(arena.space().is_none(), "half of the chunk is still held");
        arena.release(places.pop_front().unwrap());
        assert!(arena.space().is_some());
    }

    proptest! {
        /// Whatever is added and released, kept packets do not change.
        #[test]
        fn bytes_stay(steps in prop::collection::vec((1usize..60_000, 1u32..4, 0usize..4), 1..200)) {
            let mut arena = Arena::new(65_536, 64 << 20);
            let mut held: VecDeque<(Place, u32, u8)> = VecDeque::new();
            for (number, (length, parts, release)) in steps.into_iter().enumerate() {
                arena.space().unwrap()[..length].fill(number as u8);
                held.push_back((arena.keep(length, parts), parts, number as u8));
                for _ in 0..release {
                    let Some((place, parts, mark)) = held.pop_front() else { break };
                    prop_assert!(arena.bytes(place).iter().all(|&byte| byte == mark));
                    (0..parts).for_each(|_| arena.release(place));
                }
            }
            for &(place, _, mark) in &held {
                prop_assert!(arena.bytes(place).iter().all(|&byte| byte == mark));
            }
        }
    }
}
