//! [`Line`]: packets in propagation.

use super::Reordering;
use super::propagation::Propagation;
use exm_link::Packet;
use exm_random::Stream;
use exm_units::Instant;
use std::collections::VecDeque;

/// Packets in propagation, each with its arrival time in `at`.
///
/// They keep their order even if the delay decreases. Delayed packets keep their order among themselves, and
/// others overtake them.
#[derive(Clone, Debug)]
pub(super) struct Line {
    propagation: Propagation,
    reordering: Option<(Reordering, Stream)>,
    ordinary: VecDeque<Packet>,
    held_back: VecDeque<Packet>,
}

impl Line {
    pub(super) fn new(propagation: Propagation, reordering: Option<(Reordering, Stream)>) -> Line {
        let (ordinary, held_back) = (VecDeque::new(), VecDeque::new());
        Line { propagation, reordering, ordinary, held_back }
    }

    /// Sends `packet` at `now`.
    #[inline]
    pub(super) fn push(&mut self, now: Instant, mut packet: Packet) {
        let (mut travel, mut line) = (self.propagation.at(now), &mut self.ordinary);
        if let Some((Reordering { probability, extra }, stream)) = &mut self.reordering
            && stream.uniform() < probability.get()
        {
            (travel, line) = (travel.saturating_add(*extra), &mut self.held_back);
        }
        let last = line.back().map_or(Instant::ZERO, |packet| packet.at);
        packet.at = now.saturating_add(travel).max(last);
        line.push_back(packet);
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn next(&self) -> Instant {
        let first = |line: &VecDeque<Packet>| line.front().map_or(Instant::MAX, |packet| packet.at);
        first(&self.ordinary).min(first(&self.held_back))
    }

    /// The next packet to arrive.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let held_back = self.held_back.front().map(|packet| packet.at);
        let line = match (self.ordinary.front(), held_back) {
            (Some(first), Some(at)) if at < first.at => &mut self.held_back,
            (None, _) => &mut self.held_back,
            _ => &mut self.ordinary,
        };
        line.pop_front()
    }

    pub(super) fn packets(&self) -> usize {
        self.ordinary.len() + self.held_back.len()
    }
}
