//! [`FlowQueues`]: a queue for each flow, in turn.
//!
//! A tunnel that put all packets into one queue would let a download delay a call by all that waits of
//! the download. So each flow has a queue of its own, and whenever the session has room for a packet
//! the next flow in turn gives it (thesis, section 2.4.7; NSDI 2013, section 4.3). All of them
//! together hold no more than the link is forecast to deliver over the life of the forecast; above
//! that the longest loses packets from its head, which its sender hears of soonest.

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

/// No more flows have a queue of their own; further ones share one.
const MOST_FLOWS: usize = 1024;
/// So many full packets may wait whatever is forecast: flows could not start otherwise, after an outage
/// there would be nothing to find the link's rate by, and a call would lose what it sends in a slow second.
const LEAST: u64 = 36;
/// Flows take turns by no less than this.
const LEAST_QUANTUM: u64 = 64;
/// No more turns are saved: enough for what a call sends in two seconds.
const MOST_SAVED: u64 = 96;

/// The queues of all flows.
///
/// Turns are those of deficit round robin (Shreedhar & Varghese, SIGCOMM 1995), whose quantum is a
/// full packet: flows that have packets waiting send as many bytes as each other, whatever the sizes
/// of these. Each packet counts for what it takes on the link, with all that is put around it.
///
/// A flow that has nothing waiting saves the turns it could have had, up to a bound, and takes them
/// before all others' once it has. So a call that needs less than its share of the link in the long
/// run gets what it needs in a second in which half of the link is too little; a download saves
/// nothing, and one that begins has saved nothing yet.
///
/// It reads no clock and sends nothing: it is told the time, and asked for packets.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    quantum: u64,
    overhead: u64,
    bound: u64,
    /// The first is for the flows that have none of their own.
    lanes: Vec<Lane>,
    lane_of: BTreeMap<Flow, usize>,
    /// The lanes with packets that have saved turns, in the order in which they take them.
    early: VecDeque<usize>,
    /// The other lanes with packets, in the order of their turns; it is the first one's.
    round: VecDeque<usize>,
    /// Whether the first of the round has got its quantum.
    has_begun: bool,
    /// How much a flow would have sent that always had packets waiting.
    share: u64,
    fragments: Fragments,
    waiting: Tally,
    sent: Tally,
    dropped: Tally,
}

/// The lane of flows that have none of their own.
const SHARED: usize = 0;

impl FlowQueues {
    /// Empty queues for packets of up to `packet` bytes, each of which takes `overhead` more on the
    /// link. Nothing is forecast yet.
    pub fn new(packet: Bytes, overhead: Bytes) -> FlowQueues {
        let quantum = packet.get().saturating_add(overhead.get()).max(LEAST_QUANTUM);
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

    /// `deliverable` is what the receiver's latest forecast says the link delivers over what is left
    /// of its life: no more than that is to wait, but thirty-six full packets may always. What is too
    /// much is dropped.
    pub fn set_bound(&mut self, deliverable: Bytes) {
        self.bound = deliverable.get().max(self.quantum.saturating_mul(LEAST));
        self.keep_bound();
    }

    /// How many bytes may wait, with what is put around them.
    pub fn bound(&self) -> Bytes {
        Bytes::new(self.bound)
    }

    /// `bytes`, which are `packet`, are to be sent. If that is too much, the longest queues lose
    /// packets from their heads.
    pub fn push(&mut self, now: Instant, packet: &Packet, bytes: Vec<u8>) {
        let flow = self.fragments.flow_of(packet);
        let index = self.lane_for(flow);
        let cost = self.cost(bytes.len());
        self.waiting.add(cost);
        let lane = &mut self.lanes[index];
        if lane.is_empty() {
            lane.come(self.share, self.quantum * MOST_SAVED);
            self.queue_up(index);
        }
        self.lanes[index].push(now, bytes, cost);
        self.keep_bound();
    }

    /// The length of the packet that [`FlowQueues::pull`] would give, if one waits.
    pub fn next_length(&mut self) -> Option<usize> {
        let index = self.settle()?;
        self.lanes[index].first_length()
    }

    /// Takes the next packet in turn at `now`, and appends it to `out`.
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

    /// What waits, with what is put around it.
    pub fn waiting(&self) -> Tally {
        self.waiting
    }

    /// What was sent.
    pub fn sent(&self) -> Tally {
        self.sent
    }

    /// What was dropped because it was too much.
    pub fn dropped(&self) -> Tally {
        self.dropped
    }

    /// The flows that have packets waiting or had some of late, each with what became of its packets
    /// since. The one without a name is of all that have no queue of their own.
    pub fn flows(&self) -> impl Iterator<Item = FlowState> {
        self.lanes.iter().filter(|lane| lane.is_used()).map(Lane::state)
    }

    /// What a packet of `length` bytes takes on the link.
    fn cost(&self, length: usize) -> u64 {
        length as u64 + self.overhead
    }

    /// The lane of `flow`.
    fn lane_for(&mut self, flow: Flow) -> usize {
        if let Some(&index) = self.lane_of.get(&flow) {
            return index;
        }
        // Packets of this flow may be among those there, which are to stay before it.
        if !self.lanes[SHARED].is_empty() {
            return SHARED;
        }
        if self.lanes.len() <= MOST_FLOWS {
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

    /// The lane waits for its turn: among those that have saved turns, of which it takes one, or among
    /// the others.
    fn queue_up(&mut self, index: usize) {
        let has_saved = self.lanes[index].take_saved(self.quantum);
        let lanes = if has_saved { &mut self.early } else { &mut self.round };
        lanes.push_back(index);
    }

    /// Turns go on until the lane whose turn it is may send its first packet; which lane that is.
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

    /// The lane has no packets any more, and takes no turns.
    fn leave(&mut self, index: usize) {
        let was_early = self.early.contains(&index);
        self.has_begun &= self.round.front() != Some(&index);
        self.early.retain(|&other| other != index);
        self.round.retain(|&other| other != index);
        self.lanes[index].go(self.share, was_early);
    }
}
