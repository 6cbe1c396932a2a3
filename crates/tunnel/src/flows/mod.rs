//! [`FlowQueues`]: a queue for each flow, served in turn.
//!
//! With a single queue a download would delay a call by all of its own queue. So each flow has a queue, and
//! whenever the session may send a packet, the next flow in turn provides it (thesis, section 2.4.7; NSDI
//! 2013, section 4.3). Together the queues hold no more than the link is forecast to deliver over the life of
//! the forecast; beyond that, the longest queue drops packets at its head, which its sender notices soonest.

mod fragments;
mod lane;
#[cfg(test)]
mod tests;

pub use lane::{FlowState, Tally};

use exm_packet::{Flow, Packet};
use exm_units::{Bytes, Instant};
use fragments::Fragments;
use lane::Lane;
use std::collections::{BTreeMap, VecDeque};

/// The most flows with a queue of their own; further ones share a queue.
const MAX_FLOWS: usize = 1024;
/// The full packets that may always wait, whatever the forecast: otherwise flows could not start, nothing
/// would probe the link's rate after an outage, and a call would lose packets in a slow second.
const LEAST: u64 = 36;
/// The least quantum.
const MIN_QUANTUM: u64 = 64;
/// The most turns that are saved: enough for what a call sends in two seconds.
const MAX_SAVED: u64 = 96;

/// The queues of all flows.
///
/// Service is deficit round robin (Shreedhar & Varghese, SIGCOMM 1995) with a quantum of one full packet:
/// backlogged flows send equal numbers of bytes, whatever their packet sizes. Each packet counts with its
/// overhead on the link.
///
/// A flow without backlog saves the turns that it could have had, up to a bound, and takes them before all
/// others once it has packets. So a call that needs less than its long-term share of the link gets what it
/// needs in a second in which half of the link is too little; a download saves nothing, and a new flow has
/// saved nothing yet.
///
/// It reads no clock and does no I/O: the caller passes in the time and takes packets.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    quantum: u64,
    overhead: u64,
    bound: u64,
    /// The first is shared by the flows without a lane of their own.
    lanes: Vec<Lane>,
    lane_of: BTreeMap<Flow, usize>,
    /// Backlogged lanes with saved turns, in the order in which they take them.
    early: VecDeque<usize>,
    /// Other backlogged lanes, in the order of their turns; the first has its turn.
    round: VecDeque<usize>,
    /// Whether the first lane of the round has received its quantum.
    has_begun: bool,
    /// How much a permanently backlogged flow would have sent.
    share: u64,
    fragments: Fragments,
    waiting: Tally,
    sent: Tally,
    dropped: Tally,
}

/// The lane of flows without one of their own.
const SHARED: usize = 0;

impl FlowQueues {
    /// Empty queues for packets of up to `packet` bytes with an overhead of `overhead` each, before the first
    /// forecast.
    pub fn new(packet: Bytes, overhead: Bytes) -> FlowQueues {
        let quantum = packet.get().saturating_add(overhead.get()).max(MIN_QUANTUM);
        FlowQueues {
            quantum,
            overhead: overhead.get(),
            bound: quantum.saturating_mul(LEAST),
            lanes: vec![Lane::new(None, 0)],
            lane_of: BTreeMap::new(),
            early: VecDeque::new(),
            round: VecDeque::new(),
            has_begun: false,
            share: 0,
            fragments: Fragments::default(),
            waiting: Tally::default(),
            sent: Tally::default(),
            dropped: Tally::default(),
        }
    }

    /// Limits the queues to `deliverable`, the link's deliveries by the receiver's latest forecast,
    /// but not to less than 36 full packets. What exceeds the limit is dropped.
    pub fn set_bound(&mut self, deliverable: Bytes) {
        self.bound = deliverable.get().max(self.quantum.saturating_mul(LEAST));
        self.keep_bound();
    }

    /// The limit in bytes, with overhead.
    pub fn bound(&self) -> Bytes {
        Bytes::new(self.bound)
    }

    /// Queues `bytes`, parsed as `packet`. If that exceeds the limit, the longest queues drop packets at
    /// their heads.
    pub fn push(&mut self, now: Instant, packet: &Packet, bytes: Vec<u8>) {
        let flow = self.fragments.flow_of(packet);
        let index = self.lane_for(flow);
        let cost = self.cost(bytes.len());
        self.waiting.add(cost);
        let lane = &mut self.lanes[index];
        if lane.is_empty() {
            lane.come(self.share, self.quantum * MAX_SAVED);
            self.queue_up(index);
        }
        self.lanes[index].push(now, bytes, cost);
        self.keep_bound();
    }

    /// The length of the packet that [`FlowQueues::pull`] would return, if one waits.
    pub fn next_length(&mut self) -> Option<usize> {
        let index = self.settle()?;
        self.lanes[index].first_length()
    }

    /// Removes the next packet in turn at `now`, and appends it to `out`.
    pub fn pull(&mut self, now: Instant, out: &mut Vec<u8>) {
        let Some(index) = self.settle() else { return };
        let lane = &mut self.lanes[index];
        let Some(packet) = lane.send(now) else { return };
        self.share += packet.cost / (self.early.len() + self.round.len()) as u64;
        if self.lanes[index].is_empty() {
            self.leave(index);
        }
        self.waiting.take(packet.cost);
        self.sent.add(packet.cost);
        out.extend_from_slice(&packet.bytes);
    }

    /// The queued packets, with overhead.
    pub fn waiting(&self) -> Tally {
        self.waiting
    }

    /// The sent packets.
    pub fn sent(&self) -> Tally {
        self.sent
    }

    /// The dropped packets.
    pub fn dropped(&self) -> Tally {
        self.dropped
    }

    /// The flows that have or recently had packets, with their counters. The one without a flow stands for
    /// all that share a queue.
    pub fn flows(&self) -> impl Iterator<Item = FlowState> {
        self.lanes.iter().filter(|lane| lane.is_used()).map(Lane::state)
    }

    /// The size of a packet of `length` bytes on the link.
    fn cost(&self, length: usize) -> u64 {
        length as u64 + self.overhead
    }

    /// The lane of `flow`.
    fn lane_for(&mut self, flow: Flow) -> usize {
        if let Some(&index) = self.lane_of.get(&flow) {
            return index;
        }
        // The shared lane may hold packets of this flow, which must stay before it.
        if !self.lanes[SHARED].is_empty() {
            return SHARED;
        }
        if self.lanes.len() <= MAX_FLOWS {
            self.lanes.push(Lane::new(Some(flow), self.share));
            self.lane_of.insert(flow, self.lanes.len() - 1);
            return self.lanes.len() - 1;
        }
        let own = self.lanes.iter().enumerate().skip(SHARED + 1);
        let idle = own.filter(|(_, lane)| lane.is_empty());
        let Some((index, _)) = idle.min_by_key(|(_, lane)| lane.used_at()) else { return SHARED };
        if let Some(old) = self.lanes[index].flow() {
            self.lane_of.remove(&old);
        }
        self.lanes[index] = Lane::new(Some(flow), self.share);
        self.lane_of.insert(flow, index);
        index
    }

    /// Queues the lane for its turn: among those with saved turns, of which it takes one, or among the
    /// others.
    fn queue_up(&mut self, index: usize) {
        let has_saved = self.lanes[index].take_saved(self.quantum);
        let lanes = if has_saved { &mut self.early } else { &mut self.round };
        lanes.push_back(index);
    }

    /// Advances turns until a lane may send its first packet, and returns that lane.
    fn settle(&mut self) -> Option<usize> {
        while let Some(&index) = self.early.front() {
            if self.lanes[index].may_send() {
                return Some(index);
            }
            self.early.pop_front();
            self.queue_up(index);
        }
        loop {
            let index = *self.round.front()?;
            let lane = &mut self.lanes[index];
            if !self.has_begun {
                lane.credit += self.quantum;
                self.has_begun = true;
            }
            if lane.may_send() {
                return Some(index);
            }
            self.round.rotate_left(1);
            self.has_begun = false;
        }
    }

    fn keep_bound(&mut self) {
        while self.waiting.bytes > self.bound {
            let lanes = self.early.iter().chain(&self.round);
            let Some(&index) = lanes.max_by_key(|&&index| self.lanes[index].cost()) else { return };
            let lane = &mut self.lanes[index];
            let Some(packet) = lane.drop_first() else { return };
            if lane.is_empty() {
                self.leave(index);
            }
            self.waiting.take(packet.cost);
            self.dropped.add(packet.cost);
        }
    }

    /// Removes an empty lane from the rounds.
    fn leave(&mut self, index: usize) {
        let was_early = self.early.contains(&index);
        self.has_begun &= self.round.front() != Some(&index);
        self.early.retain(|&other| other != index);
        self.round.retain(|&other| other != index);
        self.lanes[index].go(self.share, was_early);
    }
}
