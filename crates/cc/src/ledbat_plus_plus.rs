//! [`LedbatPlusPlus`]: LEDBAT that shares with its own kind, and slows down to see the path without its queue
//! (draft-irtf-iccrg-ledbat-plus-plus).

use crate::controller::{Ack, Congestion, Controller, Decision, Start};
use crate::delays::{Delays, difference};
use crate::ledbat::{INIT_CWND, MIN_CWND, respond};
use crate::parameters::parameters;
use crate::window::{Window, acked, follows_window};
use exm_units::{Instant, Span};

/// Section 4.3: the gain is at least one over this.
const LEAST_GAIN: f64 = 16.0;
/// Section 4.1: slow start ends at this part of the target.
const SLOW_START_END: f64 = 0.75;
/// Section 4.4: the first slowdown begins so many round trips after slow start, and each lasts as many.
const SLOWDOWN_ROUNDS: u64 = 2;

/// LEDBAT++, for background transfers: like [`Ledbat`](crate::Ledbat) it keeps the queueing delay at a target, but it
/// decreases multiplicatively, so that flows share, grows more slowly than Reno on short paths, and
/// now and then falls to two packets, so that a latecomer does not take others' queue for propagation delay. Delays
/// are round-trip times.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    tuning: Tuning,
    window: Window,
    delays: Delays,
    phase: Phase,
}

parameters! {
    LedbatPlusPlus {
        /// The queueing delay to keep (draft-irtf-iccrg-ledbat-plus-plus-01, section 4.2: 60 ms).
        target: Duration = [Span::from_millis(60), Span::from_micros(1), Span::from_secs(10)],
        /// How long the time between slowdowns is, in durations of the last one (section 4.4: 9, so that they take a tenth).
        slowdown_interval: Number = [9.0, 1.0, 1000.0],
        /// What is left of the window after a loss (RFC 6817, section 2.4.2: half).
        decrease: Number = [0.5, 0.01, 0.99],
    }
}

/// Where it is between slowdowns.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The first slow start.
    Starting,
    /// Until the next slowdown.
    Steering { until: Instant },
    /// With two packets in flight.
    Slow { began: Instant, until: Instant },
    /// Back to the window before, by slow start.
    Returning { began: Instant },
}

impl LedbatPlusPlus {
    /// A sender before its first flow, its target 60 ms.
    pub fn new() -> LedbatPlusPlus {
        LedbatPlusPlus {
            tuning: Tuning::default(),
            window: Window::of(INIT_CWND),
            delays: Delays::new(Instant::ZERO),
            phase: Phase::Starting,
        }
    }

    /// Section 4.3: as fast as Reno only where the path is long beside the target.
    fn gain(&self) -> f64 {
        let base = (self.delays.base() as f64).max(1.0);
        let rounds = libm::ceil(2.0 * self.tuning.target.as_nanos() as f64 / base);
        1.0 / rounds.clamp(1.0, LEAST_GAIN)
    }

    fn steer(&mut self, ack: &Ack, queueing: f64) {
        let target = self.tuning.target.as_nanos() as f64;
        let (cwnd, gain) = (self.window.cwnd, self.gain());
        if self.window.in_slow_start() && queueing <= SLOW_START_END * target {
            self.window.slow_start(gain * acked(ack));
            return;
        }
        if self.window.in_slow_start() {
            self.window.leave_slow_start();
        }
        let excess = queueing / target - 1.0;
        // Sections 4.2 and 4.3, a round trip's change spread over its ACKs.
        let change = if excess <= 0.0 { gain } else { (gain - cwnd * excess).max(-cwnd / 2.0) };
        self.window.set((cwnd + change * acked(ack) / cwnd).max(MIN_CWND));
        self.window.ssthresh = self.window.cwnd;
    }

    /// Section 4.4: begins and ends slowdowns.
    fn advance(&mut self, ack: &Ack) {
        let now = ack.now;
        let rounds = ack.rtt() * SLOWDOWN_ROUNDS;
        match self.phase {
            Phase::Starting if !self.window.in_slow_start() => {
                self.phase = Phase::Steering { until: now.saturating_add(rounds) };
            }
            Phase::Steering { until } if now >= until => {
                self.window.ssthresh = self.window.cwnd.max(MIN_CWND);
                self.window.set(MIN_CWND);
                self.phase = Phase::Slow { began: now, until: now.saturating_add(rounds) };
            }
            Phase::Slow { began, until } if now >= until => {
                self.phase = Phase::Returning { began };
            }
            Phase::Returning { began } if !self.window.in_slow_start() => {
                let lasted = now.saturating_since(began).as_secs_f64();
                let pause = Span::from_secs_f64(self.tuning.slowdown_interval * lasted);
                self.phase = Phase::Steering { until: now.saturating_add(pause) };
            }
            _ => {}
        }
    }
}

impl Default for LedbatPlusPlus {
    fn default() -> LedbatPlusPlus {
        LedbatPlusPlus::new()
    }
}

impl Controller for LedbatPlusPlus {
    fn on_start(&mut self, start: &Start) -> Decision {
        let window = Window::of(INIT_CWND.min(start.initial_window));
        let delays = Delays::new(start.now);
        *self = LedbatPlusPlus { window, delays, phase: Phase::Starting, ..*self };
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale {
            self.delays.observe(difference(ack.now, ack.sent_at).max(0), ack.now);
            let is_slow = matches!(self.phase, Phase::Slow { .. });
            if self.window.may_grow(ack) && !is_slow {
                self.steer(ack, self.delays.queueing());
            }
            self.advance(ack);
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        respond(&mut self.window, congestion, self.tuning.decrease);
        self.window.decision()
    }

    follows_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::CongestionKind;
    use crate::pipe::{Pipe, at};

    #[test]
    fn stays_at_or_below_its_target_and_loses_a_tenth_to_slowdowns() {
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        let (mut waits, mut slow) = (Vec::new(), 0);
        let run = pipe.run(&mut LedbatPlusPlus::new(), Span::from_secs(120), |seen| {
            if seen.now > at(20_000) {
                waits.push(seen.queueing.as_millis_f64());
                slow += u32::from(seen.decision.cwnd.get() == 2);
            }
        });
        waits.sort_by(f64::total_cmp);
        let (middle, most) = (waits[waits.len() / 2], waits[waits.len() - 1]);
        assert!((50.0..62.0).contains(&middle), "{middle}");
        assert!(most < 75.0, "{most}");
        assert!(slow > 0, "no slowdown");
        let used = run.delivered as f64 / 120_000.0;
        assert!((0.85..0.97).contains(&used), "{used}");
    }

    #[test]
    fn grows_no_faster_than_its_gain_on_a_short_path() {
        let mut cc = LedbatPlusPlus::new();
        cc.on_start(&Start::new(at(0)));
        let mut ack = |at_ms: u64| cc.on_ack(&Ack::new(0, at(at_ms - 10), at(at_ms)));
        // ceil(2 * 60 / 10) = 12 ACKs make a packet.
        assert_eq!((10..21).map(&mut ack).last().map(|decision| decision.cwnd.get()), Some(2));
        assert_eq!(ack(21).cwnd.get(), 3);
    }

    #[test]
    fn halves_at_a_loss() {
        let mut cc = LedbatPlusPlus::new();
        cc.on_start(&Start::new(at(0)));
        cc.window.set(40.0);
        let lost = Congestion::new(CongestionKind::Lost, at(200), at(300));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 20);
    }
}
