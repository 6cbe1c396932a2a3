//! [`Backlog`]: the queue of the disciplines that have only one.

use crate::{Limit, Packet, QueueActions};
use std::collections::VecDeque;

/// Packets in order of arrival, and the sum of their sizes.
#[derive(Clone, Debug)]
pub struct Backlog {
    limit: Limit,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

/// The methods of a [`Discipline`](crate::Discipline) that its field `$queue` answers.
macro_rules! holds_packets_in {
    ($queue:ident) => {
        fn set_limit(&mut self, limit: $crate::Limit) {
            self.$queue.set_limit(limit);
        }

        fn packets(&self) -> usize {
            self.$queue.packets()
        }

        fn bytes(&self) -> u64 {
            self.$queue.bytes()
        }

        fn visit_waiting(&self, visit: &mut dyn FnMut(&$crate::Packet)) {
            self.$queue.visit_waiting(visit);
        }
    };
}
pub(crate) use holds_packets_in;

impl Backlog {
    pub(crate) fn new(limit: Limit) -> Backlog {
        Backlog { limit, waiting: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Whether there is no room for another packet of `size` bytes.
    #[inline]
    pub(crate) fn is_full(&self, size: u32) -> bool {
        self.limit.is_full(self.waiting.len(), self.bytes, size)
    }

    /// Whether a packet of `size` bytes does not fit even into an empty queue.
    #[inline]
    pub(crate) fn can_never_hold(&self, size: u32) -> bool {
        self.limit.is_full(0, 0, size)
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(packet);
    }

    /// Appends `packet`, or drops it if there is no room.
    #[inline]
    pub(crate) fn push_or_drop(&mut self, packet: Packet, actions: &mut QueueActions) {
        if self.is_full(packet.size) {
            actions.drop(packet);
        } else {
            self.push(packet);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// The packet that would leave next.
    pub(crate) fn front(&self) -> Option<&Packet> {
        self.waiting.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter()
    }

    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(visit);
    }
}
