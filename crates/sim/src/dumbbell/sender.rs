//! One sender of the fast path: from ACKs to send times.

use super::merge::Run;
use super::{Observer, Ready};
use crate::active::Periods;
use crate::traffic::{FlowDemand, TrafficSource};
use exm_remy::{Lookup, Memory};
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// Before time zero, yet far from overflow: the last send of a flow that has sent nothing.
const NEVER_SENT: i64 = i64::MIN / 2;
/// Later than any time.
const NEVER: i64 = i64::MAX / 2;
/// The demand of a flow with a duration: more than it can ever deliver.
const ENDLESS: u64 = u64::MAX;
/// After this much silence a flow with an amount of data to deliver deems its packets in flight lost
/// (the initial timeout of RFC 6298, section 2). Flows with a duration have no such timer, as in the
/// original program.
const STALL_TIMEOUT: i64 = 1_000_000_000;
/// Memory for this many arrivals, a megabyte, is never released.
const KEPT_CAPACITY: usize = 65_536;

/// A packet that will reach the receiver, and be acknowledged at once. A sender may have a million of
/// them, so their numbers are not stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sent: i64,
    pub(super) received: i64,
}

/// This many packets from number `at` on will not reach the receiver.
#[derive(Clone, Copy, Debug)]
struct Gap {
    at: u64,
    missing: u64,
}

#[derive(Debug)]
pub(super) struct Sender {
    pub(super) delay: i64,
    source: TrafficSource,
    on: bool,
    /// The next on/off switch known in advance.
    switch_at: i64,
    memory: Memory,
    flow: Flow,
    /// Packets in flight, from `head` on those not yet acknowledged, in order of arrival.
    arrivals: Vec<Arrival>,
    head: usize,
    /// The number of the packet at `head`, or the first of those missing before it.
    number: u64,
    /// The missing packets from there on, except those after the last arrival.
    gaps: VecDeque<Gap>,
    /// When it sends, switches or gives up next, if no ACK arrives before.
    next_own_event: i64,
    delivered: u64,
    rtt_sum: i64,
    periods: Periods,
    /// The number of the first packet of each on-period.
    starts: Vec<u64>,
    /// The number of the next packet given to the link.
    enqueued: u64,
    /// How many packets before that the link dropped or lost in the current gap.
    missing: u64,
    /// Packets the link has dropped or lost.
    lost: u64,
}

/// The state that every packet touches, except the memory; small enough for registers.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// The rule applied last.
    rule: usize,
    window: u32,
    intersend: i64,
    last_send: i64,
    last_ack: i64,
    /// The first packet of the present flow; ACKs of earlier ones are stale.
    start: u64,
    /// The number of the next packet.
    sent: u64,
    /// One above the largest packet number acknowledged or given up.
    acked: u64,
    /// Packets the flow still has to deliver, or [`ENDLESS`] less those delivered.
    to_deliver: u64,
}

/// A time in which a sender does not switch on or off.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The last event before it.
    start: i64,
    /// How many ACKs arrive in it.
    acks: usize,
    end: i64,
    /// Whether the sender switches at the end.
    switches: bool,
}

impl Flow {
    fn new() -> Flow {
        Flow {
            rule: 0,
            window: 0,
            intersend: 0,
            last_send: NEVER_SENT,
            last_ack: NEVER_SENT,
            start: 0,
            sent: 0,
            acked: 0,
            to_deliver: ENDLESS,
        }
    }

    /// The next flow, of `to_deliver` packets.
    fn next(self, to_deliver: u64) -> Flow {
        let Flow { rule, sent, .. } = self;
        Flow { rule, sent, start: sent, acked: sent, to_deliver, ..Flow::new() }
    }

    #[inline]
    fn may_send(&self) -> bool {
        self.sent - self.acked < u64::from(self.window).min(self.to_deliver)
    }

    /// The earliest time, from `now` on, at which a packet may be sent.
    #[inline]
    fn next_send(&self, now: i64) -> i64 {
        now.max(self.last_send + self.intersend)
    }

    /// Sends the packets allowed from `now` on and before `end`.
    #[inline]
    fn send_until(&mut self, now: i64, end: i64, sends: &mut Run<'_>) {
        while self.may_send() {
            let at = self.next_send(now);
            if at >= end {
                break;
            }
            sends.push(at);
            self.last_send = at;
            self.sent += 1;
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Arrival, number: u64, memory: &mut Memory) {
        if number >= self.start {
            let gap = (number + 1).saturating_sub(self.acked);
            let (sent, received) = (at(ack.sent), at(ack.received));
            memory.on_ack(sent, received, received.saturating_since(sent), gap);
            self.last_ack = ack.received;
            // Packets that a completed flow had given up may still arrive.
            self.to_deliver = self.to_deliver.saturating_sub(1);
        }
        self.acked = self.acked.max(number + 1);
    }

    /// Applies the rule of `memory`.
    #[inline]
    fn apply(
        &mut self,
        memory: &Memory,
        rules: Ready<'_, impl Lookup>,
        observer: &mut impl Observer,
    ) {
        let signals = memory.signals();
        self.rule = rules.lookup.find(&signals, self.rule);
        observer.fired(self.rule, &signals);
        let action = &rules.actions[self.rule];
        self.window = action.window(self.window);
        self.intersend = action.intersend().as_nanos() as i64;
    }

    fn is_endless(&self) -> bool {
        self.to_deliver > ENDLESS / 2
    }

    /// When the flow deems its packets in flight lost.
    fn stalls_at(&self) -> i64 {
        if self.is_endless() || self.sent == self.acked {
            return NEVER;
        }
        self.last_send.max(self.last_ack) + STALL_TIMEOUT
    }
}

impl Sender {
    pub(super) fn new(delay: Span, mut source: TrafficSource) -> Sender {
        let start = to_nanos(source.next_start(Instant::ZERO));
        Sender {
            delay: delay.as_nanos() as i64,
            source,
            on: false,
            switch_at: start,
            memory: Memory::new(),
            flow: Flow::new(),
            arrivals: Vec::new(),
            head: 0,
            number: 0,
            gaps: VecDeque::new(),
            next_own_event: start,
            delivered: 0,
            rtt_sum: 0,
            periods: Periods::default(),
            starts: Vec::new(),
            enqueued: 0,
            missing: 0,
            lost: 0,
        }
    }

    /// The time of this sender's next event, as far as it is known.
    #[inline]
    pub(super) fn next_event(&self) -> i64 {
        let ack = self.arrivals.get(self.head).map_or(NEVER, |arrival| arrival.received);
        self.next_own_event.min(ack)
    }

    pub(super) fn sent(&self) -> u64 {
        self.flow.sent
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn rtt_sum(&self) -> Span {
        Span::from_nanos(self.rtt_sum as u64)
    }

    /// When it was on, and when its last packets arrived.
    pub(super) fn periods(&self) -> &Periods {
        &self.periods
    }

    /// Packets that the link has dropped or lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// The next packet given to the link will arrive.
    #[inline]
    pub(super) fn arrive(&mut self, arrival: Arrival) {
        if self.missing > 0 {
            let (at, missing) = (self.enqueued - self.missing, std::mem::take(&mut self.missing));
            self.gaps.push_back(Gap { at, missing });
        }
        self.enqueued += 1;
        self.arrivals.push(arrival);
    }

    /// The next packet given to the link will not arrive; it `counts` as lost if that happens before
    /// the end.
    #[inline]
    pub(super) fn miss(&mut self, counts: bool) {
        self.enqueued += 1;
        self.missing += 1;
        self.lost += u64::from(counts);
    }

    /// Processes everything before `horizon`: all arrivals until then are known.
    pub(super) fn advance(
        &mut self,
        horizon: i64,
        rules: Ready<'_, impl Lookup>,
        sends: &mut Run<'_>,
        observer: &mut impl Observer,
    ) {
        let mut now = i64::MIN;
        loop {
            let stretch = self.next_stretch(now, horizon);
            now = self.live(stretch, rules, sends, observer);
            if stretch.end == horizon && !stretch.switches {
                break;
            }
            now = stretch.end;
            if stretch.switches {
                self.toggle(now, rules, observer);
            } else if self.flow.stalls_at() <= now {
                self.flow.acked = self.flow.sent;
            }
        }
        self.next_own_event = self.plan(now, horizon);
        self.discard_acknowledged();
    }

    /// The time until the next switch, the next possible timeout, or the horizon.
    fn next_stretch(&self, start: i64, horizon: i64) -> Stretch {
        let waiting = &self.arrivals[self.head..];
        let until = |end| waiting.partition_point(|a| a.received <= end);
        let mut stretch = if self.switch_at < horizon {
            Stretch { start, acks: until(self.switch_at), end: self.switch_at, switches: true }
        } else {
            Stretch { start, acks: until(horizon - 1), end: horizon, switches: false }
        };
        if !self.on || self.flow.is_endless() {
            return stretch;
        }
        let stalls_at = self.flow.stalls_at();
        if stalls_at < horizon {
            stretch = Stretch { start, acks: until(stalls_at), end: stalls_at, switches: false };
        }
        let last = self.stale(waiting.len()) + self.flow.to_deliver as usize;
        if last <= stretch.acks {
            stretch =
                Stretch { start, acks: last, end: waiting[last - 1].received, switches: true };
        }
        stretch
    }

    /// How many of the `waiting` arrivals are of packets before the present flow.
    fn stale(&self, waiting: usize) -> usize {
        let start = self.flow.start;
        let earlier = |gap: &&Gap| gap.at < start;
        let missing =
            self.gaps.iter().take_while(earlier).map(|gap| gap.missing.min(start - gap.at));
        let numbers = start.saturating_sub(self.number);
        ((numbers - missing.sum::<u64>()) as usize).min(waiting)
    }

    /// Processes the ACKs of a stretch and sends until its end; returns the time of the last ACK, or
    /// when the stretch starts.
    #[inline]
    fn live(
        &mut self,
        stretch: Stretch,
        rules: Ready<'_, impl Lookup>,
        sends: &mut Run<'_>,
        observer: &mut impl Observer,
    ) -> i64 {
        let mut now = stretch.start;
        let mut memory = self.memory.clone();
        let mut flow = self.flow;
        let mut rtt_sum = 0;
        let mut number = self.number;
        let mut gap_at = self.gaps.front().map_or(u64::MAX, |gap| gap.at);
        let first = self.first_number();
        for ack in &self.arrivals[self.head..self.head + stretch.acks] {
            if number == gap_at {
                number += self.gaps.pop_front().map_or(0, |gap| gap.missing);
                gap_at = self.gaps.front().map_or(u64::MAX, |gap| gap.at);
            }
            if self.on {
                flow.send_until(now, ack.received, sends);
            }
            rtt_sum += ack.received - ack.sent;
            flow.on_ack(ack, number, &mut memory);
            number += 1;
            flow.apply(&memory, rules, observer);
            now = ack.received;
        }
        if self.on {
            flow.send_until(now, stretch.end, sends);
        }
        (self.memory, self.flow) = (memory, flow);
        self.number = number;
        self.rtt_sum += rtt_sum;
        self.head += stretch.acks;
        self.delivered += stretch.acks as u64;
        if stretch.acks > 0 && (!self.on || first < flow.start) {
            self.note_late(first, now);
        }
        now
    }

    /// The number of the packet at `head`.
    fn first_number(&self) -> u64 {
        let gap = self.gaps.front().filter(|gap| gap.at == self.number);
        self.number + gap.map_or(0, |gap| gap.missing)
    }

    /// Packets from number `first` on arrived after their on-period, the last of them at `now`.
    #[cold]
    fn note_late(&mut self, first: u64, now: i64) {
        let period = self.starts.partition_point(|&start| start <= first) - 1;
        self.periods.late(period, at(now));
    }

    /// Switches on or off at `now`.
    fn toggle(&mut self, now: i64, rules: Ready<'_, impl Lookup>, observer: &mut impl Observer) {
        self.on = !self.on;
        if !self.on {
            self.periods.end(at(now));
            self.switch_at = to_nanos(self.source.next_start(at(now)));
            return;
        }
        let (switch_at, to_deliver) = match self.source.next_flow(at(now)) {
            FlowDemand::Until(end) => (to_nanos(end), ENDLESS),
            FlowDemand::Deliver(packets) => (NEVER, packets.get()),
        };
        self.switch_at = switch_at;
        self.memory = Memory::new();
        self.flow = self.flow.next(to_deliver);
        self.periods.start(at(now));
        self.starts.push(self.flow.start);
        self.flow.apply(&self.memory, rules, observer);
    }

    /// When it sends, switches or gives up next, from `horizon` on.
    fn plan(&self, now: i64, horizon: i64) -> i64 {
        if !self.on {
            return self.switch_at;
        }
        let may_send = self.flow.may_send();
        let send = if may_send { self.flow.next_send(now).max(horizon) } else { NEVER };
        self.switch_at.min(send).min(self.flow.stalls_at())
    }

    /// Frees the memory of acknowledged packets once they are at least half.
    fn discard_acknowledged(&mut self) {
        let left = self.arrivals.len() - self.head;
        if self.head >= left {
            self.arrivals.drain(..self.head);
            self.head = 0;
            if self.arrivals.capacity() > KEPT_CAPACITY.max(4 * left) {
                self.arrivals.shrink_to(2 * left);
            }
        }
    }
}

#[inline]
fn at(nanos: i64) -> Instant {
    Instant::from_nanos(nanos as u64)
}

fn to_nanos(instant: Instant) -> i64 {
    i64::try_from(instant.as_nanos()).unwrap_or(NEVER).min(NEVER)
}
