//! [`DropHead`]: a FIFO queue that drops the oldest packets.

use crate::backlog::Backlog;
use crate::fifo::{Admission, Fifo};
use crate::parameters::parameters;
use crate::{Packet, QueueActions};

/// A FIFO queue; a packet that finds it full replaces the oldest ones.
///
/// Senders learn of congestion one queueing delay sooner than from [`crate::DropTail`], and the
/// waiting packets are as recent as possible (Lakshman, Neidhardt & Ott, INFOCOM 1996).
pub type DropHead = Fifo<ForgetOldest>;

/// The admission rule of [`DropHead`].
#[derive(Clone, Debug)]
pub struct ForgetOldest;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DropHeadSettings {}

parameters!(DropHeadSettings {});

impl Admission for ForgetOldest {
    const NAME: &'static str = "drop-head";

    type Settings = DropHeadSettings;

    fn new(_settings: &DropHeadSettings) -> ForgetOldest {
        ForgetOldest
    }

    #[inline]
    fn admit(&self, backlog: &mut Backlog, packet: Packet, actions: &mut QueueActions) {
        // A packet that never fits must not displace others.
        if backlog.can_never_hold(packet.size) {
            actions.drop(packet);
            return;
        }
        while backlog.is_full(packet.size) {
            let Some(oldest) = backlog.pop() else { break };
            actions.drop(oldest);
        }
        backlog.push(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Discipline, Limit};
    use exm_units::{Bytes, Instant};

    #[test]
    fn the_oldest_make_room_and_a_packet_that_never_fits_is_dropped() {
        let mut queue = DropHead::new(&DropHeadSettings {}, config(Limit::Bytes(Bytes::new(3000))));
        let mut actions = QueueActions::default();
        for (sequence, size) in [(0, 1000), (1, 1000), (2, 1000), (3, 1500), (4, 3001)] {
            let packet = Packet::new(0, sequence, size, Instant::ZERO);
            queue.enqueue(Instant::ZERO, packet, &mut actions);
        }
        let dropped: Vec<u64> = actions.take_dropped().map(|packet| packet.sequence).collect();
        assert_eq!(dropped, [0, 1, 4]);
        assert_eq!((queue.packets(), queue.bytes()), (2, 2500));
    }
}
