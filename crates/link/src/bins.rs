//! [`Bins`]: hashed per-flow queues, served in turn.
//!
//! The part that FQ-CoDel and sfqCoDel share: flows are hashed into bins, each with a queue and a
//! CoDel of its own, and the bins that have packets are served by deficit round robin (Shreedhar &
//! Varghese, SIGCOMM 1995). Everything is in arrays, linked by index: nothing is allocated, and a
//! bin fits a cache line.

use crate::dropper::{Dropper, Law};
use crate::slab::{List, Slab};
use crate::{ImpossibleSetting, Limit, Packet, QueueActions, QueueConfig};
use exm_units::{Bytes, Instant};
use std::collections::VecDeque;

/// No bin.
const NONE: u32 = u32::MAX;

/// The maximum number of bins: RFC 8290 (section 5.2.5) leaves it to the user.
const MAX_BINS: u32 = 65_536;

/// How bins are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOrder {
    /// Bins that were empty go before the others until their first quantum is spent; the fattest
    /// bin has the most bytes (RFC 8290).
    SparseFirst,
    /// All bins are equal; the longest bin has the most packets (McKenney, INFOCOM 1990).
    Plain,
}

/// How many bins there are and how they are served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) bins: u32,
    pub(crate) quantum: Bytes,
    pub(crate) law: Law,
    pub(crate) order: BinOrder,
}

impl Plan {
    /// Checks that such bins can be built.
    pub(crate) fn check(&self) -> Result<(), ImpossibleSetting> {
        if !(1..=MAX_BINS).contains(&self.bins) {
            let must = format!("it must be from 1 to {MAX_BINS}, such as 1024");
            return Err(ImpossibleSetting::new("bins", self.bins, must));
        }
        if !(1..=i32::MAX as u64).contains(&self.quantum.get()) {
            let must = "it must be from 1 B to 2 GB, such as \"1514 B\"";
            return Err(ImpossibleSetting::new("quantum", self.quantum, must));
        }
        self.law.check()
    }
}

#[derive(Clone, Debug)]
struct Bin {
    dropper: Dropper,
    waiting: List,
    packets: u32,
    /// The next bin in its round.
    next: u32,
    bytes: u64,
    /// How many bytes it may still send in its turn; negative after a packet that was larger than
    /// the rest of its quantum.
    credit: i32,
    /// Whether it is in a round.
    listed: bool,
}

/// Bins in the order of their turns, as a linked list.
#[derive(Clone, Copy, Debug)]
struct Round {
    head: u32,
    tail: u32,
}

/// All bins and their packets.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    law: Law,
    order: BinOrder,
    quantum: i32,
    limit: Limit,
    /// Mixed into the hash, so that the flows that share a bin differ between links and seeds (RFC
    /// 8290, section 4.1; McKenney's perturbation, which here is constant for a run).
    salt: u64,
    slab: Slab,
    bins: Box<[Bin]>,
    /// Bins on their first quantum.
    fresh: Round,
    /// The other bins with packets, or that had some a round ago.
    old: Round,
    packets: usize,
    bytes: u64,
}

impl Bins {
    pub(crate) fn new(plan: &Plan, mut config: QueueConfig) -> Bins {
        let bin = Bin {
            dropper: Dropper::NEW,
            waiting: List::EMPTY,
            packets: 0,
            next: NONE,
            bytes: 0,
            credit: 0,
            listed: false,
        };
        let count = plan.bins.clamp(1, MAX_BINS) as usize;
        Bins {
            law: plan.law,
            order: plan.order,
            quantum: i32::try_from(plan.quantum.get().max(1)).unwrap_or(i32::MAX),
            limit: config.limit,
            salt: config.stream.seed(),
            slab: Slab::new(),
            bins: vec![bin; count].into_boxed_slice(),
            fresh: Round::EMPTY,
            old: Round::EMPTY,
            packets: 0,
            bytes: 0,
        }
    }

    /// Limits the queue to `limit` from now on: when the next packet arrives, the longest bins drop
    /// the excess.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bin of `flow`: the high half of the mixed number, scaled to the number of bins.
    #[inline]
    fn bin_of(&self, flow: u32) -> u32 {
        let hash = mix(u64::from(flow) ^ self.salt) >> 32;
        ((hash * self.bins.len() as u64) >> 32) as u32
    }

    /// Enqueues `packet`; if that exceeds the limit, the longest bins drop packets from their heads
    /// (RFC 8290, section 4.1).
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet, actions: &mut QueueActions) {
        let index = self.bin_of(packet.flow);
        let bin = &mut self.bins[index as usize];
        self.slab.push(&mut bin.waiting, packet);
        bin.packets += 1;
        bin.bytes += u64::from(packet.size);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if !bin.listed {
            bin.listed = true;
            bin.credit = self.quantum;
            let round = match self.order {
                BinOrder::SparseFirst => &mut self.fresh,
                BinOrder::Plain => &mut self.old,
            };
            round.push(index, &mut self.bins);
        }
        while self.limit.is_exceeded(self.packets, self.bytes) {
            self.drop_from_longest(actions);
        }
    }

    /// The next packet in turn (RFC 8290, section 4.2).
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        loop {
            let is_fresh = self.fresh.head != NONE;
            let round = if is_fresh { &mut self.fresh } else { &mut self.old };
            let index = round.head;
            if index == NONE {
                return None;
            }
            let bin = &mut self.bins[index as usize];
            if bin.credit <= 0 {
                bin.credit += self.quantum;
                round.pop(&mut self.bins);
                self.old.push(index, &mut self.bins);
                continue;
            }
            let slab = &mut self.slab;
            let Bin { dropper, waiting, packets, bytes, .. } = bin;
            let (all_packets, all_bytes) = (&mut self.packets, &mut self.bytes);
            let packet = dropper.dequeue(&self.law, now, actions, || {
                let packet = slab.pop(waiting)?;
                *packets -= 1;
                *bytes -= u64::from(packet.size);
                *all_packets -= 1;
                *all_bytes -= u64::from(packet.size);
                Some((packet, *bytes))
            });
            if let Some(mut packet) = packet {
                self.law.early.mark(now, &mut packet, actions);
                bin.credit =
                    bin.credit.saturating_sub(i32::try_from(packet.size).unwrap_or(i32::MAX));
                return Some(packet);
            }
            // A new bin that is now empty waits a round before it may be new again; otherwise a
            // flow that sends one packet at a time would starve the others.
            round.pop(&mut self.bins);
            if is_fresh {
                self.old.push(index, &mut self.bins);
            } else {
                self.bins[index as usize].listed = false;
            }
        }
    }

    /// Visits the packets in the order of [`Bins::dequeue`], as long as CoDel drops none.
    pub(crate) fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet)) {
        let turns = |round: &Round| -> VecDeque<_> {
            let turn = |index: u32| {
                let bin = &self.bins[index as usize];
                (i64::from(bin.credit), self.slab.iter(&bin.waiting).peekable())
            };
            round.indices(&self.bins).map(turn).collect()
        };
        let (mut fresh, mut old) = (turns(&self.fresh), turns(&self.old));
        let quantum = i64::from(self.quantum);
        while let Some((mut credit, mut packets)) = fresh.pop_front().or_else(|| old.pop_front()) {
            while credit > 0
                && let Some(packet) = packets.next()
            {
                credit -= i64::from(packet.size);
                visit(packet);
            }
            // An empty bin leaves, or waits a round without effect on the others.
            if packets.peek().is_some() {
                old.push_back((credit + quantum, packets));
            }
        }
    }

    /// Drops the packet at the head of the longest bin. It is searched for among the bins that have
    /// packets: there are as few of them as flows, and the search runs only when a packet is
    /// dropped.
    #[cold]
    fn drop_from_longest(&mut self, actions: &mut QueueActions) {
        let length = |bin: &Bin| match self.order {
            BinOrder::SparseFirst => bin.bytes,
            BinOrder::Plain => u64::from(bin.packets),
        };
        let (mut longest, mut most) = (NONE, None);
        for index in self.fresh.indices(&self.bins).chain(self.old.indices(&self.bins)) {
            let bin = &self.bins[index as usize];
            // Packets without bytes count in the choice of a bin, too.
            let size = (bin.packets > 0).then(|| length(bin));
            if size > most {
                (longest, most) = (index, size);
            }
        }
        let bin = &mut self.bins[longest as usize];
        let packet = self.slab.pop(&mut bin.waiting).expect("the longest bin has a packet");
        bin.packets -= 1;
        bin.bytes -= u64::from(packet.size);
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        actions.drop(packet);
    }
}

impl Round {
    const EMPTY: Round = Round { head: NONE, tail: NONE };

    #[inline]
    fn push(&mut self, index: u32, bins: &mut [Bin]) {
        bins[index as usize].next = NONE;
        if self.head == NONE {
            self.head = index;
        } else {
            bins[self.tail as usize].next = index;
        }
        self.tail = index;
    }

    /// Its bins, in the order of their turns.
    fn indices(self, bins: &[Bin]) -> impl Iterator<Item = u32> {
        let bin = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(bin(self.head), move |&index| bin(bins[index as usize].next))
    }

    /// Removes the first bin, which must exist.
    #[inline]
    fn pop(&mut self, bins: &mut [Bin]) {
        self.head = bins[self.head as usize].next;
    }
}

/// The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
#[inline]
fn mix(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

const _: () = assert!(size_of::<Bin>() == 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dropper::{Early, INTERVAL, MTU, Root, TARGET};
    use crate::tests::config;
    use exm_units::Packets;

    fn bins(order: BinOrder, limit: Limit) -> Bins {
        let root = Root::Newton;
        let law = Law {
            target: TARGET,
            interval: INTERVAL,
            mtu: MTU,
            ecn: true,
            root,
            early: Early::NONE,
        };
        Bins::new(&Plan { bins: 1024, quantum: Bytes::new(1514), law, order }, config(limit))
    }

    fn put(bins: &mut Bins, flow: u32, size: u32) {
        let mut actions = QueueActions::default();
        bins.enqueue(Packet::new(flow, 0, size, Instant::ZERO), &mut actions);
        assert!(actions.is_empty());
    }

    fn take(bins: &mut Bins) -> Option<u32> {
        bins.dequeue(Instant::ZERO, &mut QueueActions::default()).map(|packet| packet.flow)
    }

    /// Backlogged flows get equal bytes, whatever the sizes of their packets.
    #[test]
    fn packet_sizes_do_not_affect_fairness() {
        for order in [BinOrder::SparseFirst, BinOrder::Plain] {
            let mut bins = bins(order, Limit::Unlimited);
            let sizes = [1500, 100, 700, 9000, 1];
            let mut sent = [0u64; 5];
            for (flow, size) in (0..).zip(sizes) {
                for _ in 0..100_000 / size {
                    put(&mut bins, flow, size);
                }
            }
            while bins.packets() > 10 && sent.iter().all(|&bytes| bytes < 80_000) {
                let flow = take(&mut bins).expect("a packet");
                sent[flow as usize] += u64::from(sizes[flow as usize]);
            }
            // No two flows are ever further apart than a packet and a quantum of each.
            for bytes in sent {
                assert!((80_000 - 9000 - 3028..=80_000 + 9000).contains(&bytes), "{sent:?}");
            }
        }
    }

    #[test]
    fn a_sparse_flow_goes_first_in_fq_codel_only() {
        for (order, place) in [(BinOrder::SparseFirst, 1), (BinOrder::Plain, 4)] {
            let mut bins = bins(order, Limit::Unlimited);
            for flow in 0..4 {
                (0..10).for_each(|_| put(&mut bins, flow, 1500));
            }
            // Two packets each: the first quantum is spent.
            (0..8).for_each(|_| assert!(take(&mut bins).is_some()));
            put(&mut bins, 9, 100);
            let turns = (1..20).find(|_| take(&mut bins) == Some(9));
            assert!(turns.is_some_and(|turns| turns >= place && turns <= 2 * place), "{turns:?}");
        }
    }

    /// Packets that it sends within the round wait for its turn.
    #[test]
    fn a_flow_cannot_stay_new_by_sending_a_packet_at_a_time() {
        let mut bins = bins(BinOrder::SparseFirst, Limit::Unlimited);
        (0..100).for_each(|_| put(&mut bins, 0, 1500));
        let mut shares = [0u32; 2];
        for _ in 0..60 {
            if bins.bins[bins.bin_of(1) as usize].packets == 0 {
                put(&mut bins, 1, 1500);
            }
            shares[take(&mut bins).expect("a packet") as usize] += 1;
        }
        assert!(shares[0].abs_diff(shares[1]) <= 2, "{shares:?}");
    }

    #[test]
    fn the_longest_bin_drops_the_excess() {
        for (order, loser) in [(BinOrder::SparseFirst, 1), (BinOrder::Plain, 0)] {
            let mut bins = bins(order, Limit::Packets(Packets::new(15)));
            (0..10).for_each(|_| put(&mut bins, 0, 100));
            (0..5).for_each(|_| put(&mut bins, 1, 1500));
            let mut actions = QueueActions::default();
            bins.enqueue(Packet::new(2, 0, 40, Instant::ZERO), &mut actions);
            let dropped: Vec<u32> = actions.take_dropped().map(|packet| packet.flow).collect();
            assert_eq!(dropped, [loser]);
            assert_eq!(bins.packets(), 15);
        }
    }

    /// A different salt gives different bin sharing; and bins are evenly filled.
    #[test]
    fn flows_are_spread_evenly() {
        let mut bins = bins(BinOrder::Plain, Limit::Unlimited);
        let mut counts = vec![0u32; 1024];
        (0..102_400).for_each(|flow| counts[bins.bin_of(flow) as usize] += 1);
        // 100 each, with a standard deviation of 10.
        assert!(counts.iter().all(|count| (50..160).contains(count)));
        let before: Vec<u32> = (0..100).map(|flow| bins.bin_of(flow)).collect();
        bins.salt += 1;
        let same = (0..100).filter(|&flow| before[flow as usize] == bins.bin_of(flow)).count();
        assert!(same < 5, "{same}");
    }
}
