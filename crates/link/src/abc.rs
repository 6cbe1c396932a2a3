//! [`Abc`]: a router that marks each packet accelerate or brake.

use crate::backlog::{Backlog, holds_packets_in};
use crate::parameters::parameters;
use crate::{Discipline, Ecn, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_trace::Trace;
use exm_units::{Instant, Rate, Span};
use std::collections::VecDeque;
use std::sync::Arc;

/// The router of ABC (Goyal, Agarwal, Netravali, Alizadeh & Balakrishnan, "ABC: A Simple Explicit Congestion Controller
/// for Wireless Networks", NSDI 2020, section 3), over a drop-tail queue.
///
/// It computes the rate at which its senders should arrive, `tr = eta mu - mu / delta max(x - threshold, 0)`, of the
/// capacity `mu` of its link and the queueing delay `x`. As each accelerate brings two packets and each brake none, the
/// fraction `tr / (2 cr)` of what it dequeues at the rate `cr` keeps accelerate, at even distances, and
/// the rest becomes brake. ECT(1) is accelerate, ECT(0) is brake: a router never turns brake into
/// accelerate, so that the one on a path that allows the least decides.
///
/// It knows its link: the rate that is fixed, or the opportunities of the trace that the link follows, used or not. Both
/// `cr` and the opportunities are counted over a sliding window. Packets that are not ECN-capable pass unchanged.
#[derive(Clone, Debug)]
pub struct Abc {
    settings: AbcSettings,
    capacity: Capacity,
    backlog: Backlog,
    departures: Departures,
    /// How many packets may still keep accelerate: the paper's `token`.
    tokens: f64,
}

/// The parameters of [`Abc`], by default the paper's for cellular links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbcSettings {
    /// The part of the capacity to use: 0.98 (section 3).
    pub eta: f64,
    /// In which time a queue beyond the threshold is to drain: 133 ms. Above two thirds of the RTT the loop is stable (section 3).
    pub delta: Span,
    /// The queueing delay that is tolerated: 20 ms.
    pub threshold: Span,
    /// Over which time rates are measured: 40 ms.
    pub window: Span,
    /// How many accelerates may be saved up: 10.
    pub token_limit: f64,
}

parameters!(AbcSettings { eta, delta, threshold, window, token_limit });

impl Default for AbcSettings {
    fn default() -> AbcSettings {
        AbcSettings {
            eta: 0.98,
            delta: Span::from_millis(133),
            threshold: Span::from_millis(20),
            window: Span::from_millis(40),
            token_limit: 10.0,
        }
    }
}

/// What the link can carry.
#[derive(Clone, Debug)]
enum Capacity {
    /// So many bytes a second.
    Fixed(f64),
    /// The opportunities of a trace.
    Trace(Arc<Trace>),
}

impl Capacity {
    /// The bytes that the link can carry from `from` until `to`.
    fn between(&self, from: Instant, to: Instant) -> f64 {
        match self {
            Capacity::Fixed(rate) => rate * to.saturating_since(from).as_secs_f64(),
            Capacity::Trace(trace) => trace.capacity(from, to).get() as f64,
        }
    }
}

/// What was dequeued lately: the bytes at each time.
///
/// The interval over which rates are measured begins with a departure, the last one that is at least a window ago. Then a busy link
/// of a fixed rate is measured exactly, also one that takes longer than a window to transmit a packet.
#[derive(Clone, Debug, Default)]
struct Departures {
    at: VecDeque<(Instant, u64)>,
    /// The sum of the bytes.
    bytes: u64,
}

impl Departures {
    /// Forgets what is before the interval of `window` that ends at `now`.
    fn forget(&mut self, now: Instant, window: Span) {
        while self.at.get(1).is_some_and(|&(at, _)| now.saturating_since(at) >= window) {
            self.bytes -= self.at.pop_front().map_or(0, |(_, bytes)| bytes);
        }
    }

    /// When the interval began, and the bytes dequeued in it before `now`. None if nothing was.
    fn before(&self, now: Instant) -> Option<(Instant, u64)> {
        let (began, _) = self.at.front().filter(|&&(at, _)| at < now)?;
        let present = self.at.back().filter(|&&(at, _)| at == now).map_or(0, |&(_, bytes)| bytes);
        Some((*began, self.bytes - present))
    }

    fn push(&mut self, now: Instant, size: u32) {
        let size = u64::from(size);
        self.bytes += size;
        match self.at.back_mut().filter(|(at, _)| *at == now) {
            Some((_, bytes)) => *bytes += size,
            None => self.at.push_back((now, size)),
        }
    }
}

impl Abc {
    /// The fraction f(t) of packets that keep accelerate, by the queueing delay of a packet that arrived at `arrived` and leaves at `now`.
    fn fraction(&self, now: Instant, arrived: Instant) -> f64 {
        let AbcSettings { eta, delta, threshold, .. } = self.settings;
        let Some((began, dequeued)) = self.departures.before(now).filter(|&(_, bytes)| bytes > 0)
        else {
            return 1.0;
        };
        let queueing = now.saturating_since(arrived).saturating_sub(threshold);
        let share = eta - queueing.as_secs_f64() / delta.as_secs_f64();
        // The rates are over the same interval, so that the bytes stand for them.
        let target = share * self.capacity.between(began, now);
        (target / (2.0 * dequeued as f64)).clamp(0.0, 1.0)
    }

    /// Algorithm 1: `packet` leaves at `now`.
    fn mark(&mut self, now: Instant, packet: &mut Packet) {
        self.departures.forget(now, self.settings.window);
        let fraction = self.fraction(now, packet.at);
        self.tokens = (self.tokens + fraction).min(self.settings.token_limit);
        if packet.ecn != Ecn::LowLatency {
            return;
        }
        if self.tokens > 1.0 {
            self.tokens -= 1.0;
        } else {
            packet.ecn = Ecn::Capable;
        }
    }
}

/// In bytes a second.
fn bytes_per_second(rate: Rate) -> Capacity {
    Capacity::Fixed(rate.as_bps() as f64 / 8.0)
}

impl Discipline for Abc {
    const NAME: &'static str = "abc";

    type Settings = AbcSettings;

    fn check(settings: &AbcSettings) -> Result<(), ImpossibleSetting> {
        let AbcSettings { eta, delta, window, token_limit, .. } = *settings;
        ImpossibleSetting::unless_positive("eta", eta, 0.98)?;
        for (name, span, usual) in [("delta", delta, "133 ms"), ("window", window, "40 ms")] {
            if span.is_zero() {
                let must = format!("it must be longer than zero, such as \"{usual}\"");
                return Err(ImpossibleSetting::new(name, span, must));
            }
        }
        if token_limit.is_finite() && token_limit > 1.0 {
            return Ok(());
        }
        let must = "it must be above 1, such as 10, or no packet could accelerate";
        Err(ImpossibleSetting::new("token_limit", token_limit, must))
    }

    fn new(settings: &AbcSettings, config: QueueConfig) -> Abc {
        Abc {
            settings: *settings,
            capacity: bytes_per_second(config.rate),
            backlog: Backlog::new(config.limit),
            departures: Departures::default(),
            tokens: 0.0,
        }
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.backlog.push_or_drop(packet, actions);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        let mut packet = self.backlog.pop()?;
        if packet.ecn != Ecn::NotCapable {
            self.mark(now, &mut packet);
        }
        self.departures.push(now, packet.size);
        Some(packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.capacity = bytes_per_second(rate);
    }

    fn follow(&mut self, trace: &Arc<Trace>) {
        self.capacity = Capacity::Trace(Arc::clone(trace));
    }

    holds_packets_in!(backlog);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use crate::tests::config;
    use proptest::prelude::*;

    /// 10 Mbps, 1500-byte packets.
    const SERVICE: Span = Span::from_micros(1200);

    /// A busy link of 10 Mbps for `packets` packets, each of which waited for `queueing`: the part that keeps
    /// accelerate, of the second half.
    fn accelerated(settings: AbcSettings, queueing: Span, packets: u64) -> f64 {
        let mut queue = Abc::new(&settings, config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        let mut kept = 0;
        for number in 0..packets {
            let arrived = Instant::ZERO + SERVICE * number;
            let packet = Packet { ecn: Ecn::LowLatency, ..Packet::new(0, number, 1500, arrived) };
            queue.enqueue(arrived, packet, &mut actions);
            let packet = queue.dequeue(arrived + queueing, &mut actions).expect("it waits");
            kept += u64::from(number >= packets / 2 && packet.ecn == Ecn::LowLatency);
        }
        kept as f64 / (packets / 2) as f64
    }

    /// Where the link is busy, so that cr is mu: f = (0.98 - (x - 20 ms) / 133 ms) / 2.
    #[test]
    fn the_fraction_follows_the_queueing_delay() {
        for (millis, expected) in [
            (0, 0.49),
            (20, 0.49),
            (50, (0.98 - 30.0 / 133.0) / 2.0),
            (100, (0.98 - 80.0 / 133.0) / 2.0),
            (151, 0.0),
            (5000, 0.0),
        ] {
            let found = accelerated(AbcSettings::default(), Span::from_millis(millis), 4000);
            // One mark in the 2000 counted, and the saved tokens.
            assert!((found - expected).abs() < 0.002, "{millis} ms: {found} for {expected}");
        }
        let half = AbcSettings { eta: 0.5, ..AbcSettings::default() };
        assert!((accelerated(half, Span::ZERO, 4000) - 0.25).abs() < 0.002);
    }

    /// A link of which a third is used may have three times as much: f = 0.98 / (2 / 3), at most 1.
    #[test]
    fn an_idle_link_accelerates() {
        let mut queue = Abc::new(&AbcSettings::default(), config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        let mut brakes = 0;
        for number in 0..100 {
            let now = Instant::ZERO + SERVICE * (3 * number);
            let packet = Packet { ecn: Ecn::LowLatency, ..Packet::new(0, number, 1500, now) };
            queue.enqueue(now, packet, &mut actions);
            let packet = queue.dequeue(now, &mut actions).expect("it waits");
            brakes += u64::from(packet.ecn == Ecn::Capable);
        }
        assert_eq!(brakes, 1, "the first, since one token is not more than one");
    }

    /// On a trace the capacity is that of the opportunities, used or not: with half of them used, f = 0.98.
    #[test]
    fn a_trace_counts_by_its_opportunities() {
        let times = (1..=1000).map(|ms| Instant::ZERO + Span::from_millis(ms)).collect();
        let mut queue = Abc::new(&AbcSettings::default(), config(Limit::Unlimited));
        queue.follow(&Arc::new(Trace::new(times).expect("a trace")));
        let mut actions = QueueActions::default();
        for (each, expected) in [(1, 0.49), (2, 0.98), (3, 1.0)] {
            let mut kept = 0.0;
            for number in 0..1000 {
                let now = Instant::ZERO + Span::from_millis(1 + each * (number + 10_000 * each));
                let packet = Packet { ecn: Ecn::LowLatency, ..Packet::new(0, number, 1500, now) };
                queue.enqueue(now, packet, &mut actions);
                let packet = queue.dequeue(now, &mut actions).expect("it waits");
                kept += f64::from(u8::from(packet.ecn == Ecn::LowLatency)) / 1000.0;
            }
            // Within the first window, and with up to ten saved tokens, more accelerate.
            assert!((kept - expected).abs() < 0.03, "each {each}: {kept} for {expected}");
        }
    }

    /// Brake stays brake, marks of other routers stay, and what is not ECN-capable passes.
    #[test]
    fn only_accelerate_is_changed() {
        let mut queue = Abc::new(&AbcSettings::default(), config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        for ecn in [Ecn::NotCapable, Ecn::Capable, Ecn::Marked] {
            let packet = Packet { ecn, ..Packet::new(0, 0, 1500, Instant::ZERO) };
            queue.enqueue(Instant::ZERO, packet, &mut actions);
            let later = Instant::ZERO + Span::from_secs(1);
            assert_eq!(queue.dequeue(later, &mut actions).map(|packet| packet.ecn), Some(ecn));
        }
        assert_eq!(actions.take_marked().len(), 0, "brakes are not congestion marks");
    }

    proptest! {
        /// The sliding sum is that of the departures since the last one that is at least a window ago.
        #[test]
        fn departures_agree_with_a_naive_sum(
            steps in prop::collection::vec((0u64..30, 1u32..2000), 1..100),
            window in 0u64..60,
        ) {
            let window = Span::from_millis(window);
            let (mut found, mut all) = (Departures::default(), Vec::new());
            let mut now = Instant::ZERO;
            for (pause, size) in steps {
                now += Span::from_millis(pause);
                found.forget(now, window);
                let old = all.iter().rev().find(|&&(at, _)| now - at >= window && at < now);
                let began = old.or(all.first()).map(|&(at, _)| at).filter(|&at| at < now);
                let sum = |began| {
                    let inside = all.iter().filter(|&&(at, _)| at >= began && at < now);
                    (began, inside.map(|&(_, size)| u64::from(size)).sum::<u64>())
                };
                if !window.is_zero() {
                    prop_assert_eq!(found.before(now), began.map(sum));
                }
                found.push(now, size);
                all.push((now, size));
            }
        }
    }
}
