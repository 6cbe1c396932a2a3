//! [`Vivace`]: a rate that climbs the gradient of a utility, tried out in pairs (Dong et al., NSDI 2018), and its scavenger,
//! which also avoids varying RTTs (Proteus: Meng et al., SIGCOMM 2020).

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, INITIAL_WINDOW, Needs,
    Start,
};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use alloc::collections::VecDeque;
use exm_units::{Bytes, Instant, Packets, Span};

/// Section 4.1: rates are tried at this much above and below.
const PROBE: f64 = 0.05;
/// Section 5: pairs of trials in a round of probing, all of which must agree. (In the authors' program two of three
/// suffice to go up, and three are needed to go down: where random losses make single results random, that only goes up.)
const PAIRS: usize = 2;
/// The fewest packets of a monitor interval.
const MIN_PACKETS: f64 = 5.0;
/// The least rate, in Mbps, and the least change of it, as in the authors' program.
const MIN_RATE: f64 = 0.5;
/// Section 4.2: the bound of a change, and its growth with each change that meets it.
const BOUND: f64 = 0.05;
const BOUND_STEP: f64 = 0.05;
/// The power by which the confidence grows with rounds in one direction, as in the authors' program.
const CONFIDENCE: f64 = 1.2;
/// Section 4.1: a slope of the RTT below this, in seconds a second, is noise.
const SLOPE_NOISE: f64 = 0.01;
/// The window, in round trips of packets at its rate: a bound for what losses of all ACKs would send.
const WINDOW_ROUNDS: f64 = 2.5;
/// The intervals that may wait for their ACKs; older ones are given up.
const MAX_WAITING: usize = 64;

/// PCC Vivace: sends at a rate for a monitor interval, about a round trip, and computes its utility from what arrived:
/// x^0.9 - 900 x max(0, dRTT/dt) - 11.35 x L, with x in Mbps and L the part that was lost. It doubles the rate while the utility
/// grows, then tries rates 5 % above and below in pairs, and moves by their gradient, faster the longer the direction
/// is the same.
///
/// [`Vivace::scavenger`] is Proteus-S, for background transfers: the rate times the standard deviation of the RTT is subtracted from the utility
/// too, and one pair of trials suffices to go down. Where others share the queue RTTs vary, so that it yields to them.
#[derive(Clone, Debug)]
pub struct Vivace {
    tuning: Tuning,
    /// Whether the deviation of RTTs counts.
    yields: bool,
    mtu: Bytes,
    /// In Mbps.
    rate: f64,
    srtt: Option<f64>,
    phase: Phase,
    /// What is sent now, and what waits for its ACKs, the oldest first.
    intervals: VecDeque<Interval>,
    /// Which order the next pair of trials has; it alternates.
    turn: bool,
    climb: Climb,
    now: Instant,
}

parameters! {
    Vivace {
        /// The power of the rate in the utility (NSDI 2018, section 4.1: 0.9).
        throughput_power: Number = [0.9, 0.01, 0.99],
        /// The weight of growing RTTs in it (section 4.1: 900).
        latency_weight: Number = [900.0, 0.0, 100000.0],
        /// The weight of losses in it (section 4.1: 11.35, so that 5 % of random loss are tolerated).
        loss_weight: Number = [11.35, 0.0, 1000.0],
        /// The weight in it of the RTT's standard deviation in seconds, for the scavenger only (SIGCOMM 2020, section 4.3: 1500).
        deviation_weight: Number = [1500.0, 0.0, 1000000.0],
    }
}

#[derive(Clone, Debug)]
enum Phase {
    /// Doubling, with the utility of the last rate.
    Starting(Option<f64>),
    /// The trials whose results are in, as rate and utility: pairs one after the other.
    Probing { sent: usize, results: VecDeque<(f64, f64)> },
    /// Waiting for the result of a moved rate; with the rate and utility before.
    Moving { before: (f64, f64) },
}

/// Gradient ascent.
#[derive(Clone, Copy, Debug, Default)]
struct Climb {
    /// Rounds in one direction; positive upwards.
    rounds: i32,
    /// How often in a row the bound was met.
    bounded: i32,
}

/// A monitor interval.
#[derive(Clone, Debug)]
struct Interval {
    rate: f64,
    began: Instant,
    ends: Instant,
    /// Whether its result is waited for; others only fill the time until results are in.
    is_trial: bool,
    acked: f64,
    /// The count of losses when the first of its packets was acknowledged, and the newest one.
    lost: Option<(u64, u64)>,
    rtts: Rtts,
}

/// What an interval shows of the path.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// In seconds a second.
    slope: f64,
    /// The standard deviation of the RTT, in seconds.
    deviation: f64,
    /// The part that was lost.
    loss: f64,
}

/// A linear regression of RTTs over the times at which their packets were sent.
#[derive(Clone, Copy, Debug, Default)]
struct Rtts {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Rtts {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// In seconds a second.
    fn slope(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        if self.count < 2.0 || spread <= 0.0 {
            return 0.0;
        }
        (self.count * self.xy - self.x * self.y) / spread
    }

    /// The standard deviation, in seconds.
    fn deviation(&self) -> f64 {
        let count = self.count.max(1.0);
        let mean = self.y / count;
        libm::sqrt((self.yy / count - mean * mean).max(0.0))
    }
}

impl Climb {
    /// Section 4.2: the rate after `rate`, by the `gradient` of the utility.
    fn step(&mut self, rate: f64, gradient: f64) -> f64 {
        let upwards = gradient > 0.0;
        let same = self.rounds != 0 && (self.rounds > 0) == upwards;
        if !same {
            *self = Climb::default();
        }
        self.rounds = if upwards { self.rounds.max(0) + 1 } else { self.rounds.min(0) - 1 };
        let confidence = libm::pow((f64::from(self.rounds.abs()) + 1.0) / 2.0, CONFIDENCE);
        let bound = rate * (BOUND + BOUND_STEP * f64::from(self.bounded));
        let wanted = gradient * confidence;
        if wanted.abs() > bound {
            self.bounded += 1;
        } else {
            self.bounded = 0;
        }
        rate + wanted.clamp(-bound, bound)
    }
}

impl Vivace {
    /// A sender before its first flow.
    pub fn new() -> Vivace {
        Vivace {
            tuning: Tuning::default(),
            yields: false,
            mtu: DEFAULT_MTU,
            rate: MIN_RATE,
            srtt: None,
            phase: Phase::Starting(None),
            intervals: VecDeque::new(),
            turn: true,
            climb: Climb::default(),
            now: Instant::ZERO,
        }
    }

    /// The scavenger of Proteus, which yields to others.
    pub fn scavenger(self) -> Vivace {
        Vivace { yields: true, ..self }
    }

    /// The time between packets at `rate`, in seconds.
    fn gap(&self, rate: f64) -> f64 {
        self.mtu.get() as f64 * 8e-6 / rate
    }

    /// Section 4.1; for the scavenger, section 4.3 of the paper on Proteus.
    fn utility(&self, rate: f64, outcome: &Outcome) -> f64 {
        let Tuning { throughput_power, latency_weight, loss_weight, deviation_weight } =
            self.tuning;
        let Outcome { slope, deviation, loss } = *outcome;
        let slope = if slope < SLOPE_NOISE { 0.0 } else { slope };
        let varying = if self.yields { deviation_weight * deviation } else { 0.0 };
        libm::pow(rate, throughput_power)
            - rate * (latency_weight * slope + loss_weight * loss + varying)
    }

    /// The rate of the next interval, and whether its result is waited for.
    fn next_rate(&mut self) -> (f64, bool) {
        match &mut self.phase {
            Phase::Starting(_) => {
                // The results of earlier ones are not in yet: it is taken back if they are worse.
                let last = self.intervals.back().map(|interval| 2.0 * interval.rate);
                (last.unwrap_or(self.rate), true)
            }
            Phase::Probing { sent, .. } if *sent < 2 * PAIRS => {
                let is_up = self.turn == (*sent % 2 == 0);
                *sent += 1;
                if *sent % 2 == 0 {
                    self.turn = !self.turn;
                }
                let times = if is_up { 1.0 + PROBE } else { 1.0 - PROBE };
                (self.rate * times, true)
            }
            Phase::Probing { .. } => (self.rate, false),
            Phase::Moving { .. } => {
                let is_first = !self.intervals.iter().any(|interval| interval.is_trial);
                (self.rate, is_first)
            }
        }
    }

    /// Begins the next interval if it is time.
    fn advance(&mut self) {
        let now = self.now;
        let Some(srtt) = self.srtt else { return };
        if self.intervals.back().is_some_and(|interval| now < interval.ends) {
            return;
        }
        let (rate, is_trial) = self.next_rate();
        let rate = rate.max(MIN_RATE);
        let length = Span::from_secs_f64(srtt.max(MIN_PACKETS * self.gap(rate)));
        let ends = now.saturating_add(length);
        let interval = Interval {
            rate,
            began: now,
            ends,
            is_trial,
            acked: 0.0,
            lost: None,
            rtts: Rtts::default(),
        };
        if self.intervals.len() == MAX_WAITING {
            self.intervals.pop_front();
        }
        self.intervals.push_back(interval);
    }

    /// Counts `ack` in its interval, and draws the conclusions of those that are complete.
    fn count(&mut self, ack: &Ack) {
        let lost = ack.delivery.map_or(0, |delivery| delivery.lost);
        let sent = ack.sent_at;
        let rtt = ack.rtt().as_secs_f64();
        for interval in &mut self.intervals {
            if interval.lost.is_some() || sent >= interval.began {
                let (first, _) = *interval.lost.get_or_insert((lost, lost));
                interval.lost = Some((first, lost));
            }
            if (interval.began..interval.ends).contains(&sent) {
                interval.acked += ack.acked.get() as f64;
                interval.rtts.add(sent.saturating_since(interval.began).as_secs_f64(), rtt);
            }
        }
        // A quarter later, since losses are known only once later packets have arrived.
        let is_complete = |interval: &Interval| {
            let quarter = interval.ends.saturating_since(interval.began) / 4;
            sent >= interval.ends.saturating_add(quarter)
        };
        while self.intervals.front().is_some_and(is_complete) {
            if let Some(interval) = self.intervals.pop_front()
                && interval.is_trial
            {
                let (first, last) = interval.lost.unwrap_or((0, 0));
                let lost = last.saturating_sub(first) as f64;
                let outcome = Outcome {
                    slope: interval.rtts.slope(),
                    deviation: interval.rtts.deviation(),
                    loss: lost / (lost + interval.acked).max(1.0),
                };
                let utility = self.utility(interval.rate, &outcome);
                self.conclude(interval.rate, utility);
            }
        }
    }

    /// Continues at `rate` with a new round of trials; those under way are no longer waited for.
    fn probe(&mut self, rate: f64) {
        self.rate = rate.max(MIN_RATE);
        self.climb = Climb::default();
        self.phase = Phase::Probing { sent: 0, results: VecDeque::new() };
        self.restart();
    }

    /// What is under way is no trial of the new phase, which begins now.
    fn restart(&mut self) {
        for interval in &mut self.intervals {
            interval.is_trial = false;
        }
        if let Some(interval) = self.intervals.back_mut() {
            interval.ends = interval.ends.min(self.now);
        }
    }

    /// Takes the step that the `gradient` asks for, from `rate` with this `utility`.
    fn climb(&mut self, (rate, utility): (f64, f64), gradient: f64) {
        self.rate = self.climb.step(rate, gradient).max(MIN_RATE);
        self.phase = Phase::Moving { before: (rate, utility) };
        self.restart();
    }

    /// The result of a trial is in.
    fn conclude(&mut self, rate: f64, utility: f64) {
        match &mut self.phase {
            Phase::Starting(best) => match *best {
                Some(before) if utility <= before => self.probe(rate / 2.0),
                _ => *best = Some(utility),
            },
            Phase::Probing { results, .. } => {
                results.push_back((rate, utility));
                if results.len() == 2 * PAIRS {
                    self.decide();
                }
            }
            Phase::Moving { before } => {
                let before = *before;
                let gradient = (utility - before.1) / (rate - before.0);
                let same = (gradient > 0.0) == (rate > before.0);
                match gradient.is_finite() && same {
                    true => self.climb((rate, utility), gradient),
                    // What the scavenger gave up it does not take back without a new round of trials.
                    false if self.yields => self.probe(rate.min(before.0)),
                    false => self.probe(before.0),
                }
            }
        }
    }

    /// All trials of a round are in: section 4.1.
    fn decide(&mut self) {
        let Phase::Probing { results, .. } = &mut self.phase else { return };
        let results: VecDeque<(f64, f64)> = core::mem::take(results);
        let mut gradients = [0.0; PAIRS];
        for (pair, gradient) in gradients.iter_mut().enumerate() {
            let ((r1, u1), (r2, u2)) = (results[2 * pair], results[2 * pair + 1]);
            *gradient = (u1 - u2) / (r1 - r2);
        }
        let ups = gradients.iter().filter(|&&gradient| gradient > 0.0).count();
        let gradient = gradients.iter().sum::<f64>() / PAIRS as f64;
        let utility =
            results.iter().map(|(_, utility)| utility).sum::<f64>() / results.len() as f64;
        let agree = ups == PAIRS || ups == 0;
        // The scavenger goes down unless all agree to go up.
        let gradient = if agree { gradient } else { -gradient.abs() };
        match (agree || self.yields) && gradient.is_finite() {
            true => self.climb((self.rate, utility), gradient),
            false => self.probe(self.rate),
        }
    }

    fn decision(&self) -> Decision {
        let Some(srtt) = self.srtt else {
            return Decision { cwnd: INITIAL_WINDOW, intersend: Span::ZERO, wake_at: None };
        };
        let gap = self.gap(self.intervals.back().map_or(self.rate, |interval| interval.rate));
        let cwnd = libm::ceil(WINDOW_ROUNDS * srtt / gap + MIN_PACKETS);
        Decision {
            cwnd: Packets::new(cwnd.min(crate::window::MAX_WINDOW) as u64),
            intersend: Span::from_secs_f64(gap),
            wake_at: None,
        }
    }
}

impl Default for Vivace {
    fn default() -> Vivace {
        Vivace::new()
    }
}

impl Controller for Vivace {
    fn on_start(&mut self, start: &Start) -> Decision {
        let Vivace { tuning, yields, .. } = *self;
        *self = Vivace { tuning, yields, mtu: start.mtu, now: start.now, ..Vivace::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        self.now = ack.now;
        let rtt = ack.rtt().as_secs_f64();
        match &mut self.srtt {
            Some(srtt) => *srtt += (rtt - *srtt) / 8.0,
            None => {
                self.srtt = Some(rtt);
                let window = INITIAL_WINDOW.get() as f64 * self.mtu.get() as f64;
                self.rate = (window * 8e-6 / rtt.max(1e-6)).max(MIN_RATE);
            }
        }
        self.count(ack);
        self.advance();
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.now = congestion.now;
        if congestion.kind == CongestionKind::Timeout {
            self.intervals.clear();
            self.probe(self.rate / 2.0);
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        let state = match self.phase {
            Phase::Starting(_) => "starting",
            Phase::Probing { .. } => "probing",
            Phase::Moving { .. } => "moving",
        };
        let cwnd = self.decision().cwnd.get() as f64;
        Metrics::new(cwnd).pacing_rate(1.0 / self.gap(self.rate)).state(state)
    }

    fn needs(&self) -> Needs {
        Needs { delivery: true, own_recovery: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    #[test]
    fn fills_the_link_without_filling_its_buffer() {
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        let mut waits = Vec::new();
        let run = pipe.run(&mut Vivace::new(), Span::from_secs(60), |seen| {
            if seen.now > at(20_000) {
                waits.push(seen.queueing.as_millis_f64());
            }
        });
        let used = run.delivered as f64 / 60_000.0;
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!(used > 0.85, "{used}");
        assert!(mean < 25.0, "{mean}");
    }

    #[test]
    fn a_step_grows_with_rounds_in_one_direction_within_its_bound() {
        let mut climb = Climb::default();
        let first = climb.step(100.0, 1.0) - 100.0;
        let second = climb.step(100.0, 1.0) - 100.0;
        assert!((first - 1.0).abs() < 1e-12 && second > 1.5, "{first} {second}");
        // 5 %, then 5 % more each time.
        let mut climb = Climb::default();
        for percent in [5.0, 10.0, 15.0] {
            assert!((climb.step(100.0, 1000.0) - 100.0 - percent).abs() < 1e-9);
        }
        assert!((climb.step(100.0, -1.0) - 99.0).abs() < 1e-12, "the other direction begins anew");
    }

    #[test]
    fn a_slope_is_that_of_the_points() {
        let mut rtts = Rtts::default();
        for x in 0..10 {
            rtts.add(f64::from(x), 3.0 - 0.25 * f64::from(x));
        }
        assert!((rtts.slope() + 0.25).abs() < 1e-12);
        // The standard deviation of 0 to 9, sqrt(99/12), times the slope.
        assert!((rtts.deviation() - 0.25 * libm::sqrt(8.25)).abs() < 1e-12);
    }

    #[test]
    fn a_scavenger_alone_fills_the_link() {
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        let run = pipe.run(&mut Vivace::new().scavenger(), Span::from_secs(60), |_| {});
        let used = run.delivered as f64 / 60_000.0;
        assert!(used > 0.85, "{used}");
    }

    #[test]
    fn only_the_scavenger_minds_varying_rtts() {
        let outcome = Outcome { slope: 0.0, deviation: 0.001, loss: 0.0 };
        let plain = Vivace::new().utility(10.0, &outcome);
        let yielding = Vivace::new().scavenger().utility(10.0, &outcome);
        assert!((plain - yielding - 15.0).abs() < 1e-9, "1500 x 10 Mbps x 1 ms");
    }
}
