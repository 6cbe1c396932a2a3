//! [`DropHead`]: the plain queue that gives up the oldest.

use crate::backlog::Backlog;
use crate::fifo::{Admission, Fifo};
use crate::parameters::parameters;
use crate::{Packet, QueueActions};

/// First in, first out; a packet that finds the queue full takes the place of the oldest ones.
///
/// Senders learn of congestion a queue's length sooner than from [`crate::DropTail`], and what
/// waits is never staler than it must be (Lakshman, Neidhardt & Ott, INFOCOM 1996).
pub type DropHead = Fifo<ForgetOldest>;

/// What makes a queue [`DropHead`].
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
        // For what never fits, nothing else shall go.
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
    fn the_oldest_make_room_and_the_hopeless_is_refused() {
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
