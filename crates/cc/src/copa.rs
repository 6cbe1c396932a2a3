//! [`Copa`]: a window that keeps a few packets of its own in the queue, and empties it every few round trips
//! (Arun & Balakrishnan, NSDI 2018).

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, Needs, Start,
};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::window::{Response, RoundTrip, Window, acked};
use crate::windowed::WindowedMin;
use exm_units::{Instant, Packets, Span};

/// The period of the least RTT: section 2.1 (10 s); at least so many of them, for long paths, as in the authors' program.
const MIN_RTT_PERIOD: Span = Span::from_secs(10);
const MIN_RTT_ROUNDS: f64 = 20.0;
/// The weight of the newest RTT in their average, as in the authors' program.
const SRTT_GAIN: f64 = 1.0 / 16.0;
/// Section 2.2: the velocity doubles only once the direction has been the same for so many round trips.
const STEADY_ROUNDS: u32 = 3;
/// Section 2.2: the range of the RTT that "nearly empty" is a part of is that of the last four round trips.
const RANGE_ROUNDS: f64 = 4.0;
/// Section 2.1: packets are paced at this many windows a round trip.
const PACING: f64 = 2.0;
const MIN_WINDOW: f64 = 2.0;

/// Copa: each flow aims at 1/delta packets in the queue, by a target rate of 1/(delta queueing delay). The window
/// moves towards it by 1/delta packets a round trip, faster the longer the direction is the same. All flows of a path empty its
/// queue every few round trips, which tells them the propagation delay; where that does not
/// happen, others fill the queue, and delta falls until Copa competes with them.
///
/// As in the paper, and unlike the authors' program, losses matter only while it competes (parameter `decrease`), and
/// the velocity waits for three round trips. Unlike both, it looks longer for an empty queue (`patience`, `nearly_empty`).
#[derive(Clone, Debug)]
pub struct Copa {
    tuning: Tuning,
    /// Whether it detects senders that fill the queue, and then competes with them (section 2.2).
    may_compete: bool,
    window: Window,
    /// The smoothed RTT, in seconds.
    srtt: Option<f64>,
    min_rtt: WindowedMin,
    /// The least RTT of the newest half of a round trip: what waits in the queue now, without the noise of ACKs.
    standing_rtt: WindowedMin,
    /// The greatest RTT of the last round trips, as the least of its negative.
    max_rtt: WindowedMin,
    velocity: Velocity,
    round: RoundTrip,
    mode: Mode,
    /// When it last responded to losses.
    responded: Option<Instant>,
    /// The time between two packets.
    intersend: Span,
}

parameters! {
    Copa {
        /// One over the packets of its own in the queue that it aims at (NSDI 2018, section 2.1: 0.5).
        delta: Number = [0.5, 0.001, 10.0],
        /// It competes if the queue was not nearly empty for so many round trips. In section 2.2 they are 5: but then two
        /// flows alone take each other for senders that fill the queue, sooner or later.
        patience: Number = [10.0, 1.0, 1000.0],
        /// Nearly empty is a queueing delay below this part of the range of the last round trips: 0.1 in section 2.2, with which ten
        /// flows do.
        nearly_empty: Number = [0.2, 0.0, 1.0],
        /// What is left of the window after losses: all of it in the paper, 0.7 in the authors' program.
        decrease: Number = [1.0, 0.1, 1.0],
    }
}

#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    /// The window at the start of the round trip.
    began: f64,
    upwards: bool,
    /// The round trips in which the direction was the same.
    rounds: u32,
}

impl Velocity {
    fn new(cwnd: f64) -> Velocity {
        Velocity { value: 1.0, began: cwnd, upwards: true, rounds: 0 }
    }

    /// At the end of a round trip: section 2.1.
    fn update(&mut self, cwnd: f64) {
        let upwards = cwnd > self.began;
        self.rounds = if upwards == self.upwards { self.rounds.saturating_add(1) } else { 0 };
        self.value = match self.rounds {
            0 => 1.0,
            rounds if rounds >= STEADY_ROUNDS => 2.0 * self.value,
            _ => self.value,
        };
        (self.upwards, self.began) = (upwards, cwnd);
    }
}

#[derive(Clone, Copy, Debug)]
struct Mode {
    /// When the queue was last nearly empty.
    emptied: Instant,
    /// 1/delta while it competes; none otherwise.
    packets: Option<f64>,
    /// Whether packets were lost in this round trip.
    lost: bool,
}

impl Copa {
    /// A sender before its first flow.
    pub fn new() -> Copa {
        let window = Window::of(INITIAL_WINDOW);
        Copa {
            tuning: Tuning::default(),
            may_compete: true,
            srtt: None,
            min_rtt: WindowedMin::default(),
            standing_rtt: WindowedMin::default(),
            max_rtt: WindowedMin::default(),
            velocity: Velocity::new(window.cwnd),
            round: RoundTrip::default(),
            mode: Mode { emptied: Instant::ZERO, packets: None, lost: false },
            responded: None,
            intersend: Span::ZERO,
            window,
        }
    }

    /// The same always in its default mode, for paths on which nobody else fills the queue.
    pub fn without_competition(self) -> Copa {
        Copa { may_compete: false, ..self }
    }

    fn delta(&self) -> f64 {
        self.mode.packets.map_or(self.tuning.delta, |packets| 1.0 / packets)
    }

    /// The least RTT and the standing one, with that of `ack`, in seconds.
    fn observe(&mut self, ack: &Ack) -> (f64, f64) {
        let (now, rtt) = (ack.now, ack.rtt().as_secs_f64());
        let srtt = self.srtt.map_or(rtt, |srtt| srtt + SRTT_GAIN * (rtt - srtt));
        self.srtt = Some(srtt);
        let seconds = |s: f64| Span::from_secs_f64(s);
        let min =
            self.min_rtt.observe(rtt, now, MIN_RTT_PERIOD.max(seconds(MIN_RTT_ROUNDS * srtt)));
        let standing = self.standing_rtt.observe(rtt, now, seconds(srtt / 2.0)).max(min);
        let max = -self.max_rtt.observe(-rtt, now, seconds(RANGE_ROUNDS * srtt));
        if rtt <= min + self.tuning.nearly_empty * (max - min) {
            self.mode.emptied = now;
        }
        (min, standing)
    }

    /// Section 2.2, at the end of a round trip.
    fn choose_mode(&mut self, now: Instant) {
        let patience = self.tuning.patience * self.srtt.unwrap_or(0.0);
        let filled = now.saturating_since(self.mode.emptied).as_secs_f64() > patience;
        let least = 1.0 / self.tuning.delta;
        let competes = self.may_compete && filled && !self.window.in_slow_start();
        self.mode.packets = competes.then(|| match self.mode.packets {
            None => least,
            Some(packets) if self.mode.lost => (packets / 2.0).max(least),
            Some(packets) => packets + 1.0,
        });
        self.mode.lost = false;
    }

    /// Section 2.1: towards the target rate, with `waiting` seconds of queueing delay.
    fn steer(&mut self, ack: &Ack, (standing, waiting): (f64, f64)) {
        let (cwnd, delta) = (self.window.cwnd, self.delta());
        let below = cwnd * delta * waiting <= standing;
        if self.window.in_slow_start() {
            if below {
                self.window.slow_start(acked(ack));
            } else {
                self.window.leave_slow_start();
                self.velocity = Velocity::new(cwnd);
            }
            return;
        }
        // A velocity of several round trips in one direction would overshoot in the other one.
        if self.velocity.value > 1.0 && below != self.velocity.upwards {
            self.velocity = Velocity { upwards: below, ..Velocity::new(cwnd) };
        }
        // At most twice or half the window in a round trip, as in the authors' program.
        let velocity = self.velocity.value.min((cwnd * delta).max(1.0));
        let step = acked(ack) * velocity / (delta * cwnd);
        let next = if below { cwnd + step } else { cwnd - step };
        self.window.set(next.max(MIN_WINDOW));
        self.window.ssthresh = self.window.cwnd;
    }

    fn decision(&self) -> Decision {
        Decision { intersend: self.intersend, ..self.window.decision() }
    }
}

impl Default for Copa {
    fn default() -> Copa {
        Copa::new()
    }
}

impl Controller for Copa {
    fn on_start(&mut self, start: &Start) -> Decision {
        let window = Window::new(start);
        let mode = Mode { emptied: start.now, packets: None, lost: false };
        let velocity = Velocity::new(window.cwnd);
        let Copa { tuning, may_compete, .. } = *self;
        *self = Copa { tuning, may_compete, window, velocity, mode, ..Copa::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        let (min, standing) = self.observe(ack);
        if self.round.ends(ack) {
            self.choose_mode(ack.now);
            if !self.window.in_slow_start() {
                self.velocity.update(self.window.cwnd);
            }
        }
        // Losses are no reason not to grow.
        if self.window.may_grow(ack) || ack.recovering && ack.acked > Packets::ZERO {
            self.steer(ack, (standing, standing - min));
        }
        self.intersend = Span::from_secs_f64(standing / (PACING * self.window.cwnd));
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if self.window.classify(congestion) == Response::Reduce {
            let ongoing = self.responded.is_some_and(|at| congestion.sent_at < at);
            match congestion.kind {
                CongestionKind::Timeout => {
                    self.window.reduce(congestion, self.window.cwnd / 2.0);
                }
                CongestionKind::Lost if !ongoing => {
                    self.responded = Some(congestion.now);
                    self.mode.lost = true;
                    self.window.set((self.window.cwnd * self.tuning.decrease).max(MIN_WINDOW));
                    self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
                }
                _ => {}
            }
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        let state = match (self.window.in_slow_start(), self.mode.packets) {
            (true, _) => "slow start",
            (false, None) => "default",
            (false, Some(_)) => "competitive",
        };
        Metrics::new(self.window.cwnd).state(state)
    }

    fn needs(&self) -> Needs {
        Needs { own_recovery: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    #[test]
    fn keeps_about_two_packets_in_the_queue() {
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        let mut waits = Vec::new();
        let run = pipe.run(&mut Copa::new(), Span::from_secs(30), |seen| {
            if seen.now > at(10_000) {
                waits.push(seen.queueing.as_millis_f64());
            }
        });
        // A packet a millisecond.
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((1.5..4.0).contains(&mean), "{mean}");
        assert!(run.delivered > 29_000, "{}", run.delivered);
        assert_eq!(run.drops, 0);
        // Section 2.2: mostly between empty and 2.5/delta, and nearly empty in every five round trips.
        let high = waits.iter().filter(|&&wait| wait > 6.0).count();
        assert!(high < waits.len() / 5, "{high} of {}", waits.len());
        let full = |five_rounds: &&[f64]| five_rounds.iter().all(|&wait| wait > 1.5);
        let full = waits.chunks(250).filter(full).count();
        assert!(full <= 8, "{full} of {} times", waits.len() / 250);
    }

    #[test]
    fn follows_a_rate_that_falls_and_rises_again() {
        for (before, after) in [(1000.0, 250.0), (250.0, 1000.0)] {
            let pipe = Pipe::new(before, Span::from_millis(50), 1000).then(at(10_000), after);
            let (mut waits, mut late) = (Vec::new(), 0);
            // The minimum RTT is that of short transmission times for ten seconds, so that a slower link never
            // looks empty, and it would compete.
            let mut cc = Copa::new().without_competition();
            pipe.run(&mut cc, Span::from_secs(20), |seen| {
                if seen.now > at(13_000) {
                    late += 1;
                    waits.push(seen.queueing.as_secs_f64() * after);
                }
            });
            let mean = waits.iter().sum::<f64>() / waits.len() as f64;
            assert!((0.5..4.0).contains(&mean), "{mean} packets at {after}");
            assert!(f64::from(late) > 0.95 * 7.0 * after, "{late} at {after}");
        }
    }

    #[test]
    fn loses_nothing_by_random_losses_unless_told_to() {
        let mut cc = Copa::new();
        cc.on_start(&Start::new(at(0)));
        let lost = Congestion::new(CongestionKind::Lost, at(50), at(100));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 10);
        cc.tuning.decrease = 0.7;
        let lost = Congestion::new(CongestionKind::Lost, at(150), at(200));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 7);
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 7, "of the same round trip");
        let timeout = Congestion::new(CongestionKind::Timeout, at(250), at(300));
        assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
    }

    /// A queue that others keep at 30 to 40 ms.
    fn with_a_standing_queue(cc: &mut Copa) -> Option<f64> {
        cc.on_start(&Start::new(at(0)));
        let rtt = |ms: u64| if ms < 200 { 50 } else { 80 + ms % 10 };
        for ms in 100..2000 {
            cc.on_ack(&Ack::new(ms, at(ms - rtt(ms).min(ms)), at(ms)));
        }
        cc.mode.packets
    }

    #[test]
    fn competes_where_others_fill_the_queue() {
        let packets = with_a_standing_queue(&mut Copa::new()).expect("it competes");
        // It begins with two packets after ten round trips, and each further one adds one.
        assert!((5.0..16.0).contains(&packets), "{packets}");
        assert_eq!(with_a_standing_queue(&mut Copa::new().without_competition()), None);
    }
}
