//! [`Lane`]: the queue of one flow.

use exm_packet::Flow;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// Packets and the bytes they take on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// How many bytes, with what is put around them.
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

/// How a flow is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowState {
    /// Which; nothing where several share a queue.
    pub flow: Option<Flow>,
    /// What waits.
    pub waiting: Tally,
    /// What was sent since the flow is known.
    pub sent: Tally,
    /// What was dropped since.
    pub dropped: Tally,
    /// How long the packet had waited that was sent last.
    pub waited: Span,
    /// When its last packet came or was sent.
    pub used_at: Instant,
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) bytes: Vec<u8>,
    /// What it takes on the link, in bytes.
    pub(super) cost: u64,
    since: Instant,
}

/// The queue of one flow, and what became of its packets.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    queue: VecDeque<Waiting>,
    /// How many bytes it may still send in its turn.
    pub(super) credit: u64,
    /// How many bytes it may send before others' turns.
    saved: u64,
    /// What a flow's share was when the last packet went.
    gone_at: u64,
    state: FlowState,
}

impl Lane {
    /// An empty one, a flow's share having been `share` bytes so far.
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

    /// What its packets take on the link, in bytes.
    pub(super) fn cost(&self) -> u64 {
        self.state.waiting.bytes
    }

    pub(super) fn first_length(&self) -> Option<usize> {
        self.queue.front().map(|packet| packet.bytes.len())
    }

    /// Whether it has credit for its first packet.
    pub(super) fn may_send(&self) -> bool {
        self.queue.front().is_some_and(|packet| packet.cost <= self.credit)
    }

    /// It has packets again: it has saved what a flow's share has grown by since it had none, but no
    /// more than `most`.
    pub(super) fn come(&mut self, share: u64, most: u64) {
        self.saved = (self.saved + (share - self.gone_at)).min(most);
    }

    /// It has no packets any more. What is left of its turn is lost, but if the turn `was_early` it is
    /// saved again.
    pub(super) fn go(&mut self, share: u64, was_early: bool) {
        let left = std::mem::take(&mut self.credit);
        self.saved += if was_early { left } else { 0 };
        self.gone_at = share;
    }

    /// Takes a turn of `quantum` from what it has saved, if that is enough.
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

    /// Its first packet leaves at `now`, at the cost of its credit.
    pub(super) fn send(&mut self, now: Instant) -> Option<Waiting> {
        let packet = self.pop()?;
        self.credit = self.credit.saturating_sub(packet.cost);
        self.state.sent.add(packet.cost);
        self.state.waited = now.saturating_since(packet.since);
        self.state.used_at = now;
        Some(packet)
    }

    /// Its first packet is dropped.
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
