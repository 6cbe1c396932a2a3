//! [`DropTail`]: the plain queue.

use crate::backlog::Backlog;
use crate::{Discipline, Packet, Site, Verdict};
use exm_units::Instant;
use serde::Deserialize;

/// First in, first out; a packet that finds the queue full is dropped.
#[derive(Clone, Debug)]
pub struct DropTail(Backlog);

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTailSettings {}

impl Discipline for DropTail {
    const NAME: &'static str = "drop-tail";

    type Settings = DropTailSettings;

    fn new(_settings: &DropTailSettings, site: Site) -> DropTail {
        DropTail(Backlog::new(site.limit))
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, verdict: &mut Verdict) {
        if self.0.is_full(packet.size) {
            verdict.drop(packet);
        } else {
            self.0.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _verdict: &mut Verdict) -> Option<Packet> {
        self.0.pop()
    }

    fn packets(&self) -> usize {
        self.0.packets()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use exm_random::{Purpose, Stream};
    use exm_units::{Bytes, Packets, Rate};
    use proptest::prelude::*;

    fn queue(limit: Limit) -> DropTail {
        let stream = Stream::new(1, Purpose::Queue, 0);
        DropTail::new(&DropTailSettings {}, Site { limit, rate: Rate::from_bps(1), stream })
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
            let mut queue = queue(limit);
            let mut verdict = Verdict::default();
            let (mut taken, mut last, mut lost) = (0, None, 0);
            let mut sent = 0;
            for step in steps {
                if let Some(size) = step {
                    queue.enqueue(Instant::ZERO, Packet::new(0, sent, size, Instant::ZERO), &mut verdict);
                    sent += 1;
                    lost += verdict.take_dropped().count() as u64;
                } else if let Some(packet) = queue.dequeue(Instant::ZERO, &mut verdict) {
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
