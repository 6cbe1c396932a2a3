//! [`Receiver`]: puts segments in order and acknowledges them.

use crate::ranges::Ranges;
use crate::segment::{Acknowledgement, MAX_BLOCKS, Segment};
use crate::settings::DelayedAcks;
use exm_units::{Instant, Span};

const NO_BLOCKS: [(u64, u64); MAX_BLOCKS] = [(0, 0); MAX_BLOCKS];

/// An arriving segment.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What arrives.
    pub segment: Segment,
    /// When it was sent.
    pub sent_at: Instant,
    /// Whether a queue marked it.
    pub marked: bool,
    /// The feedback of the path's routers, if any (XCP).
    pub feedback: Option<f64>,
}

/// The segment that an ACK acknowledges.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    sequence: u64,
    sent_at: Instant,
    received_at: Instant,
    feedback: Option<f64>,
}

/// The receiving end of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    delayed: Option<DelayedAcks>,
    /// The next segment expected: all before it have arrived.
    next: u64,
    /// Segments received out of order.
    beyond: Ranges,
    /// Segments whose ranges changed last, newest first (RFC 2018, section 4).
    recent: [Option<u64>; MAX_BLOCKS],
    marked: u64,
    /// Whether the last segment was marked: a change is reported at once (RFC 8257, section 3.2).
    last_marked: bool,
    /// Whether the last segment was a duplicate.
    duplicate: bool,
    /// Segments in order not yet acknowledged, and the first of them.
    held: u32,
    held_since: Option<Acknowledged>,
}

impl Receiver {
    /// The receiver of a connection, before its first segment.
    pub fn new(delayed: Option<DelayedAcks>) -> Receiver {
        Receiver {
            delayed,
            next: 0,
            beyond: Ranges::default(),
            recent: [None; MAX_BLOCKS],
            marked: 0,
            last_marked: false,
            duplicate: false,
            held: 0,
            held_since: None,
        }
    }

    /// The number of segments received in order: what its application could read.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// A segment arrives at `now`. Returns the ACK, unless it is delayed.
    // Where a simulator's receiver and sender are one function, the ACK is not copied.
    #[inline(always)]
    pub fn receive(&mut self, now: Instant, arrival: &Arrival) -> Option<Acknowledgement> {
        let &Arrival { segment, sent_at, marked, feedback } = arrival;
        let Segment::Data(sequence) = segment else {
            return Some(self.acknowledge_syn(now, sent_at, feedback));
        };
        let segment = Acknowledged { sequence, sent_at, received_at: now, feedback };
        self.marked += u64::from(marked);
        let changed = marked != self.last_marked;
        self.last_marked = marked;
        let in_order = sequence == self.next && self.beyond.is_empty();
        self.duplicate = sequence < self.next || !in_order && self.beyond.contains(sequence);
        self.store(sequence);
        match self.delayed {
            Some(delayed) if in_order && !changed => self.hold(delayed, segment),
            _ => Some(self.acknowledge(segment)),
        }
    }

    #[cold]
    fn acknowledge_syn(
        &mut self,
        now: Instant,
        sent_at: Instant,
        feedback: Option<f64>,
    ) -> Acknowledgement {
        let segment = Acknowledged { sequence: 0, sent_at, received_at: now, feedback };
        Acknowledgement { syn: true, ..self.acknowledge(segment) }
    }

    #[inline]
    fn store(&mut self, sequence: u64) {
        if sequence == self.next && self.beyond.is_empty() {
            self.next += 1;
        } else {
            self.store_beside_gap(sequence);
        }
    }

    /// Stores a segment that is out of order, or comes before others that are.
    #[cold]
    fn store_beside_gap(&mut self, sequence: u64) {
        if sequence == self.next {
            self.next += 1;
            if let Some((_, end)) = self.beyond.first().filter(|&(start, _)| start == self.next) {
                self.next = end;
            }
            self.beyond.remove_below(self.next);
        } else if sequence > self.next && sequence < u64::MAX {
            self.beyond.insert(sequence, sequence + 1);
            let range = self.beyond.around(sequence);
            let known = |n: &u64| range.is_some_and(|(start, end)| (start..end).contains(n));
            let kept = self.recent.iter().flatten().filter(|n| !known(n)).copied();
            let mut recent = [Some(sequence), None, None];
            recent[1..].iter_mut().zip(kept).for_each(|(slot, number)| *slot = Some(number));
            self.recent = recent;
        }
    }

    #[inline(never)]
    fn hold(&mut self, delayed: DelayedAcks, segment: Acknowledged) -> Option<Acknowledgement> {
        self.held += 1;
        let first = *self.held_since.get_or_insert(segment);
        (self.held >= delayed.segments).then(|| {
            let Acknowledged { sent_at, .. } = if delayed.latest { segment } else { first };
            self.acknowledge(Acknowledged { sent_at, ..segment })
        })
    }

    /// When a delayed ACK must be sent; [`Instant::MAX`] if there is none.
    pub fn deadline(&self) -> Instant {
        match (self.held_since, self.delayed) {
            (Some(first), Some(delayed)) => first.received_at.saturating_add(delayed.wait),
            _ => Instant::MAX,
        }
    }

    /// Returns the delayed ACK; called at [`Receiver::deadline`].
    pub fn release(&mut self) -> Option<Acknowledgement> {
        let first = self.held_since?;
        let last = self.next - 1;
        let delay = self.delayed.map_or(Span::ZERO, |delayed| delayed.wait);
        Some(Acknowledgement {
            delay,
            ..self.acknowledge(Acknowledged { sequence: last, ..first })
        })
    }

    #[inline(always)]
    fn acknowledge(&mut self, segment: Acknowledged) -> Acknowledgement {
        (self.held, self.held_since) = (0, None);
        Acknowledgement {
            cumulative: self.next,
            blocks: if self.beyond.is_empty() { NO_BLOCKS } else { self.blocks() },
            sequence: segment.sequence,
            sent_at: segment.sent_at,
            delay: Span::ZERO,
            received_at: segment.received_at,
            marked: self.marked,
            feedback: segment.feedback,
            syn: false,
            duplicate: self.duplicate,
        }
    }

    /// The ranges beyond what is in order that changed last.
    #[inline(never)]
    fn blocks(&self) -> [(u64, u64); MAX_BLOCKS] {
        let mut blocks = NO_BLOCKS;
        for (block, number) in blocks.iter_mut().zip(self.recent.iter().flatten()) {
            *block = self.beyond.around(*number).unwrap_or_default();
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn receive(receiver: &mut Receiver, ms: u64, number: u64) -> Option<Acknowledgement> {
        let (segment, sent_at) = (Segment::Data(number), at(ms.saturating_sub(50)));
        receiver.receive(at(ms), &Arrival { segment, sent_at, marked: false, feedback: None })
    }

    #[test]
    fn reports_the_newest_block_first() {
        let mut receiver = Receiver::new(None);
        let blocks = |receiver: &mut Receiver, number| {
            let ack = receive(receiver, 60, number).expect("one a segment");
            (ack.cumulative, ack.blocks)
        };
        assert_eq!(blocks(&mut receiver, 0), (1, [(0, 0); 3]));
        assert_eq!(blocks(&mut receiver, 2), (1, [(2, 3), (0, 0), (0, 0)]));
        assert_eq!(blocks(&mut receiver, 6), (1, [(6, 7), (2, 3), (0, 0)]));
        assert_eq!(blocks(&mut receiver, 3), (1, [(2, 4), (6, 7), (0, 0)]));
        assert_eq!(blocks(&mut receiver, 8), (1, [(8, 9), (2, 4), (6, 7)]));
        assert_eq!(blocks(&mut receiver, 10), (1, [(10, 11), (8, 9), (2, 4)]));
        assert_eq!(blocks(&mut receiver, 1).0, 4);
        assert_eq!(blocks(&mut receiver, 4).0, 5);
        assert_eq!(blocks(&mut receiver, 5), (7, [(10, 11), (8, 9), (0, 0)]));
    }

    #[test]
    fn delays_acks_of_segments_in_order_only() {
        let mut receiver = Receiver::new(Some(DelayedAcks::default()));
        assert_eq!(receive(&mut receiver, 60, 0), None);
        assert_eq!(receiver.deadline(), at(100));
        let ack = receive(&mut receiver, 70, 1).expect("the second is acknowledged at once");
        assert_eq!((ack.cumulative, ack.sent_at, receiver.deadline()), (2, at(10), Instant::MAX));
        assert!(receive(&mut receiver, 80, 3).is_some(), "a gap is reported at once");
        assert!(receive(&mut receiver, 90, 2).is_some(), "a filled gap too");
        assert_eq!(receive(&mut receiver, 95, 4), None);
        let ack = receiver.release().expect("it is delayed");
        assert_eq!((ack.cumulative, ack.sequence, ack.delay), (5, 4, Span::from_millis(40)));
        assert_eq!(receiver.release(), None);
    }
}
