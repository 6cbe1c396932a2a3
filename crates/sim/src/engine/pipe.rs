//! [`Pipe`]: packets in propagation.

use exm_link::Packet;
use exm_units::Instant;
use std::collections::VecDeque;

/// Packets in propagation, by time of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    packets: VecDeque<Packet>,
    /// When each of them left its link, in simulations whose packets may be inspected; otherwise empty.
    left: VecDeque<Instant>,
    /// When the last packet arrives that may not be overtaken.
    in_order: Instant,
}

impl Pipe {
    /// Adds `packet`, which arrives no earlier than those before it. Returns its arrival if it is the first.
    #[inline(always)]
    pub(super) fn append(&mut self, packet: &Packet) -> Option<Instant> {
        let alone = self.packets.is_empty();
        self.packets.push_back(*packet);
        alone.then_some(packet.at)
    }

    /// Adds `packet`, which arrives no earlier than those that may not be overtaken, even if its delay is
    /// shorter than theirs; others may overtake it if it is `held_back`. If `LIVE`, it is recorded that it left
    /// its link at `left_at`. Returns its arrival if it is the first.
    pub(super) fn insert<const LIVE: bool>(
        &mut self,
        mut packet: Packet,
        left_at: Instant,
        held_back: bool,
    ) -> Option<Instant> {
        packet.at = packet.at.max(self.in_order);
        if !held_back {
            self.in_order = packet.at;
        }
        let after = self.packets.iter().rev().take_while(|other| other.at > packet.at).count();
        let index = self.packets.len() - after;
        self.packets.insert(index, packet);
        if LIVE {
            self.left.insert(index, left_at);
        }
        (index == 0).then_some(packet.at)
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    #[inline]
    pub(super) fn pop_front<const LIVE: bool>(&mut self) -> Option<Packet> {
        if LIVE {
            self.left.pop_front();
        }
        self.packets.pop_front()
    }

    /// Each packet with the time at which it leaves, or left, its link. Only for pipes that are `LIVE`.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Packet, Instant)> {
        self.packets.iter().zip(self.left.iter().copied())
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}
