//! [`Lane`]: the queue of one flow.

use exm_packet::Flow;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// Packets and their bytes on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes, with overhead.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(super) fn take(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowState {
    /// The flow; `None` for the shared queue.
    pub flow: Option<Flow>,
    /// The queued packets.
    pub waiting: Tally,
    /// The packets sent since the flow is known.
    pub sent: Tally,
    /// The packets dropped since.
    pub dropped: Tally,
    /// The queueing delay of the last packet sent.
    pub waited: Span,
    /// When a packet last arrived or was sent.
    pub used_at: Instant,
}

/// A queued packet.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) bytes: Vec<u8>,
    /// Its bytes on the link.
    pub(super) cost: u64,
    since: Instant,
}

/// The queue of one flow, and its counters.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    queue: VecDeque<Waiting>,
    /// The bytes that it may still send in its turn.
    pub(super) credit: u64,
    /// The bytes that it may send before the turns of others.
    saved: u64,
    /// A flow's share when the queue became empty.
    gone_at: u64,
    state: FlowState,
}

impl Lane {
    /// An empty lane, created when a flow's share is `share` bytes.
    pub(super) fn new(flow: Option<Flow>, share: u64) -> Lane {
        let (zero, none) = (Tally::default(), Span::ZERO);
        let state = FlowState {
            flow,
            waiting: zero,
            sent: zero,
            dropped: zero,
            waited: none,
            used_at: Instant::ZERO,
        };
        Lane { queue: VecDeque::new(), credit: 0, saved: 0, gone_at: share, state }
    }

    pub(super) fn flow(&self) -> Option<Flow> {
        self.state.flow
    }

    pub(super) fn state(&self) -> FlowState {
        self.state
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether it ever had a packet.
    pub(super) fn is_used(&self) -> bool {
        let FlowState { waiting, sent, dropped, .. } = self.state;
        waiting.packets + sent.packets + dropped.packets > 0
    }

    pub(super) fn used_at(&self) -> Instant {
        self.state.used_at
    }

    /// The bytes of its packets on the link.
    pub(super) fn cost(&self) -> u64 {
        self.state.waiting.bytes
    }

    pub(super) fn first_length(&self) -> Option<usize> {
        self.queue.front().map(|packet| packet.bytes.len())
    }

    /// Whether its credit suffices for its first packet.
    pub(super) fn may_send(&self) -> bool {
        self.queue.front().is_some_and(|packet| packet.cost <= self.credit)
    }

    /// Notes that it has packets again: it has saved the growth of a flow's share since it became empty, at
    /// most `most`.
    pub(super) fn come(&mut self, share: u64, most: u64) {
        self.saved = (self.saved + (share - self.gone_at)).min(most);
    }

    /// Notes that it is empty. The rest of its turn is lost, but returns to the savings if the turn
    /// `was_early`.
    pub(super) fn go(&mut self, share: u64, was_early: bool) {
        let left = std::mem::take(&mut self.credit);
        self.saved += if was_early { left } else { 0 };
        self.gone_at = share;
    }

    /// Takes a turn of `quantum` from its savings, if they suffice.
    pub(super) fn take_saved(&mut self, quantum: u64) -> bool {
        let rest = self.saved.checked_sub(quantum);
        if let Some(rest) = rest {
            self.saved = rest;
            self.credit += quantum;
        }
        rest.is_some()
    }

    pub(super) fn push(&mut self, now: Instant, bytes: Vec<u8>, cost: u64) {
        self.queue.push_back(Waiting { bytes, cost, since: now });
        self.state.waiting.add(cost);
        self.state.used_at = now;
    }

    /// Removes its first packet, sent at `now`, and reduces its credit.
    pub(super) fn send(&mut self, now: Instant) -> Option<Waiting> {
        let packet = self.pop()?;
        self.credit = self.credit.saturating_sub(packet.cost);
        self.state.sent.add(packet.cost);
        self.state.waited = now.saturating_since(packet.since);
        self.state.used_at = now;
        Some(packet)
    }

    /// Drops its first packet.
    pub(super) fn drop_first(&mut self) -> Option<Waiting> {
        let packet = self.pop()?;
        self.state.dropped.add(packet.cost);
        Some(packet)
    }

    fn pop(&mut self) -> Option<Waiting> {
        let packet = self.queue.pop_front()?;
        self.state.waiting.take(packet.cost);
        Some(packet)
    }
}
