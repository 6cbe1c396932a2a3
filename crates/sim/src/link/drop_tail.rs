//! [`DropTail`]: the plain queue.

use super::{Discipline, Dropped, Packet};
use exm_units::{Bytes, Instant, Packets};
use std::collections::VecDeque;
use std::fmt;

/// How much may wait in a queue, besides the packet that the link is transmitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets.
    Packets(Packets),
    /// At most so many bytes.
    Bytes(Bytes),
    /// No limit.
    Unlimited,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(packets) => write!(f, "{packets}"),
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// First in, first out; a packet that finds the queue full is dropped.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

impl Discipline for DropTail {
    const NAME: &'static str = "drop-tail";

    fn new(limit: Limit) -> DropTail {
        DropTail { limit, waiting: VecDeque::new(), bytes: 0 }
    }

    fn limit(&self) -> Limit {
        self.limit
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, dropped: &mut Dropped) {
        let after = self.bytes + u64::from(packet.size);
        let full = match self.limit {
            Limit::Packets(limit) => self.waiting.len() as u64 >= limit.get(),
            Limit::Bytes(limit) => after > limit.get(),
            Limit::Unlimited => false,
        };
        if full {
            dropped.push(packet);
        } else {
            self.bytes = after;
            self.waiting.push_back(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _dropped: &mut Dropped) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;
    use proptest::prelude::*;

    fn packet(sequence: u64, size: u32) -> Packet {
        let (at, waited) = (Instant::ZERO, Span::ZERO);
        Packet { sent_at: at, at, waited, sequence, flow: 0, epoch: 1, size, hop: 0 }
    }

    proptest! {
        /// Whatever comes and goes: first in, first out, never above the limit, nothing vanishes.
        #[test]
        fn keeps_order_limit_and_count(
            steps in prop::collection::vec(prop::option::of(40u32..1500), 1..300),
            limit in prop_oneof![
                Just(Limit::Unlimited),
                (1u64..20).prop_map(|n| Limit::Packets(Packets::new(n))),
                (1500u64..9000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
            ],
        ) {
            let mut queue = DropTail::new(limit);
            let mut dropped = Dropped::default();
            let (mut taken, mut last, mut lost) = (0, None, 0);
            let mut sent = 0;
            for step in steps {
                if let Some(size) = step {
                    queue.enqueue(Instant::ZERO, packet(sent, size), &mut dropped);
                    sent += 1;
                    lost += dropped.drain().count() as u64;
                } else if let Some(packet) = queue.dequeue(Instant::ZERO, &mut dropped) {
                    prop_assert!(last < Some(packet.sequence));
                    last = Some(packet.sequence);
                    taken += 1;
                }
                prop_assert_eq!(sent, taken + lost + queue.packets() as u64);
                match limit {
                    Limit::Packets(most) => prop_assert!(queue.packets() as u64 <= most.get()),
                    Limit::Bytes(most) => prop_assert!(queue.bytes() <= most.get()),
                    Limit::Unlimited => prop_assert_eq!(lost, 0),
                }
            }
        }
    }
}
