//! [`DropTail`]: a FIFO queue that drops the newest packets.

use crate::backlog::Backlog;
use crate::fifo::{Admission, Fifo};
use crate::parameters::parameters;
use crate::{Packet, QueueActions};

/// A FIFO queue; a packet that finds it full is dropped.
pub type DropTail = Fifo<RefuseNewest>;

/// The admission rule of [`DropTail`].
#[derive(Clone, Debug)]
pub struct RefuseNewest;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DropTailSettings {}

parameters!(DropTailSettings {});

impl Admission for RefuseNewest {
    const NAME: &'static str = "drop-tail";

    type Settings = DropTailSettings;

    fn new(_settings: &DropTailSettings) -> RefuseNewest {
        RefuseNewest
    }

    #[inline]
    fn admit(&self, backlog: &mut Backlog, packet: Packet, actions: &mut QueueActions) {
        backlog.push_or_drop(packet, actions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Discipline, Limit, QueueConfig};
    use exm_random::{Purpose, Stream};
    use exm_units::{Bytes, Instant, Packets, Rate};
    use proptest::prelude::*;

    fn queue(limit: Limit) -> DropTail {
        let stream = Stream::new(1, Purpose::Queue, 0);
        DropTail::new(&DropTailSettings {}, QueueConfig { limit, rate: Rate::from_bps(1), stream })
    }

    proptest! {
        /// For any arrivals and departures: FIFO order, never above the limit, no packet vanishes.
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
            let mut actions = QueueActions::default();
            let (mut taken, mut last, mut lost) = (0, None, 0);
            let mut sent = 0;
            for step in steps {
                if let Some(size) = step {
                    queue.enqueue(Instant::ZERO, Packet::new(0, sent, size, Instant::ZERO), &mut actions);
                    sent += 1;
                    lost += actions.take_dropped().count() as u64;
                } else if let Some(packet) = queue.dequeue(Instant::ZERO, &mut actions) {
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
