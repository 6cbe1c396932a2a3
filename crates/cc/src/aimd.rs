//! [`Aimd`]: additive increase, multiplicative decrease, the papers' plain TCP-like sender.

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, Start,
};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use exm_units::{Instant, Packets, Span};

/// Slow start, one packet more each round trip, half the window at a loss (RFC 5681 without its
/// recovery: in the bare sender a lost packet is only a gap).
#[derive(Clone, Debug)]
pub struct Aimd {
    tuning: Tuning,
    cwnd: f64,
    ssthresh: f64,
    /// Losses of packets sent before this belong to the congestion event already responded to.
    recovered_at: Option<Instant>,
}

parameters! {
    Aimd {
        /// The packets added in each round trip of congestion avoidance (RFC 5681, section 3.1: one).
        increase: Number = [1.0, 0.001, 1000.0],
        /// What is left of the window after a loss (RFC 5681, equation 4: half).
        decrease: Number = [0.5, 0.01, 0.99],
    }
}

impl Aimd {
    /// A sender before its first flow.
    pub fn new() -> Aimd {
        Aimd {
            tuning: Tuning::default(),
            cwnd: INITIAL_WINDOW.get() as f64,
            ssthresh: f64::INFINITY,
            recovered_at: None,
        }
    }

    fn decision(&self) -> Decision {
        Decision { cwnd: Packets::new(self.cwnd as u64), intersend: Span::ZERO, wake_at: None }
    }
}

impl Default for Aimd {
    fn default() -> Aimd {
        Aimd::new()
    }
}

impl Controller for Aimd {
    fn on_start(&mut self, start: &Start) -> Decision {
        let cwnd = start.initial_window.get() as f64;
        *self = Aimd { tuning: self.tuning, cwnd, ..Aimd::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale && !ack.recovering {
            let acked = ack.acked.get() as f64;
            let slow_start = self.cwnd < self.ssthresh;
            self.cwnd += if slow_start { acked } else { self.tuning.increase * acked / self.cwnd };
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        let ongoing = self.recovered_at.is_some_and(|at| congestion.sent_at < at);
        let floor = match congestion.kind {
            CongestionKind::Spurious => return self.decision(),
            CongestionKind::Idle => {
                self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
                self.cwnd = self.cwnd.min(congestion.packets.get() as f64);
                return self.decision();
            }
            CongestionKind::Timeout => 1.0,
            CongestionKind::Lost | CongestionKind::Marked if ongoing => return self.decision(),
            CongestionKind::Lost | CongestionKind::Marked => f64::INFINITY,
        };
        self.ssthresh = (self.cwnd * self.tuning.decrease).max(2.0);
        self.cwnd = self.ssthresh.min(floor);
        self.recovered_at = Some(congestion.now);
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        let state = if self.cwnd < self.ssthresh { "slow start" } else { "congestion avoidance" };
        Metrics::new(self.cwnd).ssthresh(self.ssthresh).state(state)
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(cc: &mut Aimd, ms: u64) -> u64 {
        let now = Instant::ZERO + Span::from_millis(ms);
        cc.on_ack(&Ack::new(0, Instant::ZERO, now)).cwnd.get()
    }

    #[test]
    fn doubles_each_round_trip_then_adds_one() {
        let mut cc = Aimd::new();
        assert_eq!(cc.on_start(&Start::new(Instant::ZERO)).cwnd.get(), 10);
        for _ in 0..10 {
            ack(&mut cc, 100);
        }
        assert_eq!(cc.cwnd, 20.0);
        let lost = Congestion::new(
            CongestionKind::Lost,
            Instant::ZERO,
            Instant::ZERO + Span::from_millis(100),
        );
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 10);
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 10, "one reduction a round trip");
        for _ in 0..10 {
            ack(&mut cc, 200);
        }
        assert!((10.9..11.0).contains(&cc.cwnd), "{}", cc.cwnd);
    }

    #[test]
    fn a_timeout_starts_over() {
        let mut cc = Aimd::new();
        cc.on_start(&Start::new(Instant::ZERO));
        let now = Instant::ZERO + Span::from_secs(1);
        let timeout = Congestion::new(CongestionKind::Timeout, Instant::ZERO, now);
        assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
        assert_eq!(ack(&mut cc, 1100), 2);
    }
}
