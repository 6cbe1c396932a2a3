//! [`Verus`]: a window read from a learned profile of delays over windows (Zaki et al., SIGCOMM 2015).

mod profile;

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, Needs, Start,
};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::window::{MAX_WINDOW, acked};
use exm_units::{Instant, Packets, Span};
use profile::Profile;

/// Section 4: the delay is compared, and the window set, once in an epoch.
const EPOCH: Span = Span::from_millis(5);
/// Section 4: how far the aim falls while delays grow (`delta1`) and how far it moves otherwise (`delta2`), in seconds.
const SMALL_STEP: f64 = 0.001;
const STEP: f64 = 0.002;
/// Section 4: slow start ends at so many times the least delay.
const START_RATIO: f64 = 15.0;
/// The weight of an epoch's greatest delay in their average.
const DELAY_GAIN: f64 = 0.25;
/// Packets are paced at this many windows a round trip: in place of the paper's number of packets in each epoch.
const PACING: f64 = 1.25;
const MIN_WINDOW: f64 = 2.0;

/// Verus, for links whose rate varies fast, as cellular ones: each ACK adds to a profile of which delay followed which window. Each
/// 5 ms it aims at a smaller delay if delays grew and at a greater one if they did not, at most `ratio` times the least one, and
/// reads from the profile the window that has it. A loss halves the window.
#[derive(Clone, Debug)]
pub struct Verus {
    tuning: Tuning,
    window: f64,
    phase: Phase,
    /// Seconds.
    srtt: Option<f64>,
    least: f64,
    /// The delay aimed at, in seconds.
    aim: f64,
    epoch: Epoch,
    profile: Profile,
}

parameters! {
    Verus {
        /// The most that the delay may be, in least delays (SIGCOMM 2015, section 4: `R`, 2, 4 or 6).
        ratio: Number = [4.0, 1.1, 100.0],
        /// What is left of the window after a loss (section 4: half).
        decrease: Number = [0.5, 0.1, 0.99],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Profile,
    /// Until a packet that was sent after this is acknowledged.
    Recovery(Instant),
}

/// The delays of 5 ms.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    began: Option<Instant>,
    most: f64,
    /// The average of the greatest delays of epochs.
    average: Option<f64>,
}

impl Verus {
    /// A sender before its first flow.
    pub fn new() -> Verus {
        Verus {
            tuning: Tuning::default(),
            window: INITIAL_WINDOW.get() as f64,
            phase: Phase::SlowStart,
            srtt: None,
            least: f64::INFINITY,
            aim: 0.0,
            epoch: Epoch::default(),
            profile: Profile::default(),
        }
    }

    /// Section 4: a delay of `rtt` seconds; at the end of an epoch the average before and after it.
    fn observe(&mut self, ack: &Ack, rtt: f64) -> Option<(f64, f64)> {
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        self.least = self.least.min(rtt);
        if !matches!(self.phase, Phase::Recovery(_))
            && let Some(delivery) = ack.delivery
        {
            self.profile.add(delivery.in_flight_at_send.get(), rtt);
        }
        let epoch = &mut self.epoch;
        epoch.most = epoch.most.max(rtt);
        let began = *epoch.began.get_or_insert(ack.now);
        if ack.now.saturating_since(began) < EPOCH {
            return None;
        }
        let before = epoch.average.unwrap_or(epoch.most);
        let average = before + DELAY_GAIN * (epoch.most - before);
        *epoch = Epoch { began: Some(ack.now), most: 0.0, average: Some(average) };
        self.profile.refresh(ack.now);
        Some((before, average))
    }

    /// Section 4: the delay aimed at, and the window that has it.
    fn estimate(&mut self, before: f64, average: f64) {
        let most = self.tuning.ratio * self.least;
        self.aim = if average > most {
            self.aim.min(average) - STEP
        } else if average > before {
            self.aim - SMALL_STEP
        } else {
            self.aim + STEP
        };
        self.aim = self.aim.clamp(self.least, most);
        if let Some(window) = self.profile.window(self.aim) {
            self.window = window.clamp(MIN_WINDOW, MAX_WINDOW);
        }
    }

    /// Continues by the profile, from the delay that it has for the window.
    fn follow(&mut self) {
        self.phase = Phase::Profile;
        self.aim = self.profile.delay(self.window).unwrap_or(self.least);
    }

    fn decision(&self) -> Decision {
        let pace = self.srtt.filter(|_| self.phase != Phase::SlowStart);
        Decision {
            cwnd: Packets::new(self.window as u64),
            intersend: pace
                .map_or(Span::ZERO, |srtt| Span::from_secs_f64(srtt / (PACING * self.window))),
            wake_at: None,
        }
    }
}

impl Default for Verus {
    fn default() -> Verus {
        Verus::new()
    }
}

impl Controller for Verus {
    fn on_start(&mut self, start: &Start) -> Decision {
        let window = (start.initial_window.get() as f64).clamp(1.0, MAX_WINDOW);
        *self = Verus { tuning: self.tuning, window, ..Verus::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        let rtt = ack.rtt().as_secs_f64();
        let epoch = self.observe(ack, rtt);
        match self.phase {
            Phase::SlowStart => {
                if !ack.app_limited {
                    self.window = (self.window + acked(ack)).min(MAX_WINDOW);
                }
                if rtt > START_RATIO * self.least {
                    self.follow();
                }
            }
            Phase::Recovery(since) => {
                self.window = (self.window + acked(ack) / self.window).min(MAX_WINDOW);
                if ack.sent_at > since {
                    self.follow();
                }
            }
            Phase::Profile => {
                if let Some((before, average)) = epoch {
                    self.estimate(before, average);
                }
            }
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost | CongestionKind::Marked => {
                if !matches!(self.phase, Phase::Recovery(since) if congestion.sent_at <= since) {
                    self.window = (self.window * self.tuning.decrease).max(MIN_WINDOW);
                    self.phase = Phase::Recovery(congestion.now);
                }
            }
            CongestionKind::Timeout => {
                self.window = MIN_WINDOW;
                self.phase = Phase::SlowStart;
            }
            CongestionKind::Idle | CongestionKind::Spurious => {}
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        let state = match self.phase {
            Phase::SlowStart => "slow start",
            Phase::Profile => "delay profile",
            Phase::Recovery(_) => "recovery",
        };
        Metrics::new(self.window).state(state)
    }

    fn needs(&self) -> Needs {
        Needs { delivery: true, own_recovery: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    /// The part of the link that is used, and the mean queueing delay in ms.
    fn run(ratio: f64) -> (f64, f64) {
        let mut cc = Verus::new();
        cc.tuning.ratio = ratio;
        let (mut waits, mut count) = (0.0, 0.0);
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        pipe.run(&mut cc, Span::from_secs(60), |seen| {
            if seen.now > at(30_000) {
                waits += seen.queueing.as_millis_f64();
                count += 1.0;
            }
        });
        (count / 30_000.0, waits / count)
    }

    #[test]
    fn fills_the_link_and_trades_delay_for_it() {
        let (used, wait) = run(2.0);
        let (more, longer) = run(6.0);
        println!("{used} {wait} {more} {longer}");
        assert!(used > 0.8 && more > 0.9, "{used} {more}");
        assert!(wait < longer, "{wait} {longer}");
    }

    #[test]
    fn a_loss_halves_the_window_once() {
        let mut cc = Verus::new();
        cc.on_start(&Start::new(at(0)));
        cc.window = 40.0;
        for sent in [900, 950] {
            cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(sent), at(1000)));
            assert!((cc.window - 20.0).abs() < 1e-12);
        }
        cc.on_ack(&Ack::new(1, at(990), at(1050)));
        assert!((cc.window - 20.05).abs() < 1e-12, "{}", cc.window);
    }

    #[test]
    fn aims_lower_while_delays_grow() {
        let mut cc = Verus::new();
        (cc.least, cc.aim) = (0.050, 0.100);
        cc.estimate(0.090, 0.095);
        assert!((cc.aim - 0.099).abs() < 1e-12);
        cc.estimate(0.095, 0.095);
        assert!((cc.aim - 0.101).abs() < 1e-12);
        // Above four times the least.
        cc.estimate(0.210, 0.205);
        assert!((cc.aim - 0.099).abs() < 1e-12);
    }
}
