//! [`Source`] and [`Sink`]: where a session takes datagrams from and delivers them to; [`Queue`], the simplest
//! source, and [`Mailbox`], the simplest of both.

use exm_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Where a session takes datagrams from. It asks only when it may send one, so that datagrams wait in the source,
/// where they can still be reordered or dropped.
pub trait Source {
    /// The size in bytes of the datagram that [`Source::pull`] would return at `now`, if one waits. Datagrams
    /// that are empty or larger than [`Settings::max_payload`](crate::Settings::max_payload) are dropped.
    fn waiting(&mut self, now: Instant) -> Option<usize>;

    /// Appends that datagram to `payload`, and removes it from the source.
    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>);
}

/// Where a session delivers received datagrams.
pub trait Sink {
    /// Delivers `payload`, received at `now`. Datagrams may arrive out of order.
    fn deliver(&mut self, now: Instant, payload: &[u8]);
}

/// What a full [`Queue`] does with another datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It refuses the datagram.
    Refuse,
    /// It drops the oldest ones to make room.
    DropHead,
}

/// A FIFO queue of datagrams, bounded in bytes.
#[derive(Clone, Debug)]
pub struct Queue {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    bound: usize,
    when_full: WhenFull,
    dropped: u64,
}

/// The queue is full; the datagram may be retried once some have been sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full: {waiting} bytes wait to be sent")]
pub struct QueueFull {
    waiting: usize,
}

impl Queue {
    /// An empty queue with a bound of `bound` bytes.
    pub fn new(bound: Bytes, when_full: WhenFull) -> Queue {
        let bound = bound.get() as usize;
        Queue { waiting: VecDeque::new(), bytes: 0, bound, when_full, dropped: 0 }
    }

    /// Changes the bound. If more is queued already, it is dropped with the next datagram, or stays.
    pub fn set_bound(&mut self, bound: Bytes) {
        self.bound = bound.get() as usize;
    }

    /// Appends `datagram`. An empty queue accepts one of any size.
    ///
    /// # Errors
    /// The queue is full and does not drop; it is unchanged.
    pub fn try_send(&mut self, datagram: Vec<u8>) -> Result<(), QueueFull> {
        if self.when_full == WhenFull::Refuse
            && !self.is_empty()
            && self.bytes + datagram.len() > self.bound
        {
            return Err(QueueFull { waiting: self.bytes });
        }
        self.push(datagram);
        Ok(())
    }

    /// Appends `datagram` even if there is no room; a queue that drops makes room.
    pub fn push(&mut self, datagram: Vec<u8>) {
        let drops = self.when_full == WhenFull::DropHead;
        while drops && !self.is_empty() && self.bytes + datagram.len() > self.bound {
            self.pop();
            self.dropped += 1;
        }
        self.bytes += datagram.len();
        self.waiting.push_back(datagram);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of queued bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes as u64)
    }

    /// The number of datagrams dropped to make room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let datagram = self.waiting.pop_front()?;
        self.bytes -= datagram.len();
        Some(datagram)
    }
}

impl Source for Queue {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        self.waiting.front().map(Vec::len)
    }

    fn pull(&mut self, _now: Instant, payload: &mut Vec<u8>) {
        if let Some(datagram) = self.pop() {
            payload.extend_from_slice(&datagram);
        }
    }
}

/// The simplest traffic: a queue of datagrams to send, and a list of received ones.
#[derive(Clone, Debug)]
pub struct Mailbox {
    /// The datagrams to send.
    pub queue: Queue,
    /// The received datagrams, oldest first, for the user to remove.
    pub delivered: VecDeque<Vec<u8>>,
}

impl Mailbox {
    /// An empty mailbox whose queue has a bound of `bound` bytes.
    pub fn new(bound: Bytes, when_full: WhenFull) -> Mailbox {
        Mailbox { queue: Queue::new(bound, when_full), delivered: VecDeque::new() }
    }
}

impl Source for Mailbox {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.queue.waiting(now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.queue.pull(now, payload);
    }
}

impl Sink for Mailbox {
    fn deliver(&mut self, _now: Instant, payload: &[u8]) {
        self.delivered.push_back(payload.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_queue_refuses_or_drops_the_oldest() {
        let fill = |when_full| {
            let mut queue = Queue::new(Bytes::new(10), when_full);
            queue.try_send(vec![1; 6]).expect("room");
            queue.try_send(vec![2; 4]).expect("room");
            let result = queue.try_send(vec![3; 1]);
            (result.is_ok(), queue.waiting(Instant::ZERO), queue.bytes(), queue.dropped())
        };
        assert_eq!(fill(WhenFull::Refuse), (false, Some(6), Bytes::new(10), 0));
        assert_eq!(fill(WhenFull::DropHead), (true, Some(4), Bytes::new(5), 1));
    }

    #[test]
    fn a_queue_too_small_for_one_datagram_accepts_one() {
        let mut queue = Queue::new(Bytes::ZERO, WhenFull::DropHead);
        queue.try_send(vec![1; 100]).expect("it is empty");
        queue.try_send(vec![2; 100]).expect("it drops");
        assert_eq!((queue.bytes(), queue.dropped()), (Bytes::new(100), 1));
    }

    proptest! {
        /// Every datagram is pulled in order, or counted as dropped.
        #[test]
        fn nothing_is_lost_uncounted(
            steps in prop::collection::vec(prop_oneof![Just(0usize), 1usize..50], 1..100),
            drops in any::<bool>(),
        ) {
            let when_full = if drops { WhenFull::DropHead } else { WhenFull::Refuse };
            let mut queue = Queue::new(Bytes::new(100), when_full);
            let (mut given, mut last, mut pulled) = (0u64, 0, 0);
            for length in steps {
                if length == 0 {
                    let mut payload = Vec::new();
                    queue.pull(Instant::ZERO, &mut payload);
                    if let Some(&number) = payload.first() {
                        prop_assert!(number > last);
                        last = number;
                        pulled += 1;
                    }
                } else if queue.try_send(vec![given as u8 + 1; length]).is_ok() {
                    given += 1;
                }
                prop_assert!(queue.bytes() <= Bytes::new(100));
            }
            prop_assert_eq!(pulled + queue.dropped() + queue.waiting.len() as u64, given);
        }
    }
}
