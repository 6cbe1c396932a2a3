//! [`Compound`]: Reno's window plus a delay window that grows fast while there is no queue.

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::reno;
use crate::window::{MAX_WINDOW, Response, RoundTrip, Window, acked, decide};
use exm_units::{Instant, Span};

/// The usual exponent, whose powers need only square roots.
const K: f64 = 0.75;

/// Compound TCP: the window is the sum of Reno's and of a *delay window*, which grows by `alpha *
/// win^k` each round trip (`k` = 0.75) while fewer than `gamma` packets wait in the queue, and
/// shrinks as a queue builds.
///
/// `gamma` stays at 30 packets; the draft's tuning of it from Reno's behaviour is left out.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    tuning: Tuning,
    /// Reno's window.
    window: Window,
    /// The delay window; zero in slow start.
    dwnd: f64,
    /// Its value before the last loss or timeout, in case that proves spurious.
    dwnd_before: f64,
    /// The least round-trip time of the flow.
    base_rtt: Option<Span>,
    round: Round,
}

// draft-sridharan-tcpm-ctcp-02, and Tan, Song, Zhang & Sridharan, INFOCOM 2006, section III.
parameters! {
    Compound {
        /// How fast the delay window grows: by `alpha` times the `k`-th power of the window in a round trip (Tan et al. 2006, section III).
        alpha: Number = [0.125, 0.001, 10.0],
        /// The part of the whole window given up at a loss (section III).
        beta: Number = [0.5, 0.01, 0.99],
        /// The power of the window by which the delay window grows (section III).
        k: Number = [K, 0.0, 1.0],
        /// With more packets of its own in the queue, the delay window shrinks (section III).
        gamma: Number = [30.0, 0.0, 10000.0],
        /// The packets it shrinks by for each packet in the queue (section III; `eta` in draft-sridharan-tcpm-ctcp-02).
        zeta: Number = [1.0, 0.0, 100.0],
    }
}

/// The round-trip times of the current round trip, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    trip: RoundTrip,
    sum: f64,
    samples: f64,
}

impl Compound {
    /// A sender before its first flow.
    pub fn new() -> Compound {
        Compound::default()
    }

    /// The whole window.
    fn win(&self) -> f64 {
        self.window.cwnd + self.dwnd
    }

    /// The delay window at the end of a round trip.
    fn steer(&mut self) {
        let tuning = self.tuning;
        let win = self.win();
        let rtt = self.round.sum / self.round.samples;
        let base = self.base_rtt.map_or(rtt, Span::as_secs_f64);
        let waiting = if rtt > 0.0 { win * (1.0 - base / rtt) } else { 0.0 };
        let change = if waiting < tuning.gamma {
            // Subtracts the one packet that Reno's window adds.
            (tuning.alpha * power(win, tuning.k) - 1.0).max(0.0)
        } else {
            -tuning.zeta * waiting
        };
        self.dwnd = (self.dwnd + change).clamp(0.0, MAX_WINDOW);
    }

    fn reduce(&mut self, congestion: &Congestion) {
        let (win, cwnd) = (self.win(), self.window.cwnd);
        self.dwnd_before = self.dwnd;
        self.round = Round::default();
        if congestion.kind == CongestionKind::Timeout {
            self.dwnd = 0.0;
            self.window.reduce(congestion, libm::floor(win * (1.0 - self.tuning.beta)));
        } else {
            self.dwnd = (win * (1.0 - self.tuning.beta) - cwnd * reno::BETA).max(0.0);
            self.window.reduce(congestion, libm::floor(cwnd * reno::BETA));
        }
    }

    fn decision(&self) -> Decision {
        decide(self.win())
    }
}

/// `x^k`; with the draft's `k`, 0.75, by square roots, which are exact.
fn power(x: f64, k: f64) -> f64 {
    if k != K {
        return libm::pow(x, k);
    }
    let root = libm::sqrt(x);
    root * libm::sqrt(root)
}

impl Controller for Compound {
    fn on_start(&mut self, start: &Start) -> Decision {
        *self = Compound { tuning: self.tuning, window: Window::new(start), ..Compound::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        let rtt = ack.rtt();
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.round.sum += rtt.as_secs_f64();
        self.round.samples += 1.0;
        let round_ends = self.round.trip.ends(ack);
        if self.window.may_grow(ack) {
            let mut acked = acked(ack);
            if self.window.in_slow_start() {
                acked = self.window.slow_start(acked);
            } else if round_ends {
                self.steer();
            }
            self.window.increase(libm::floor(self.win()), acked);
        }
        if round_ends || ack.recovering {
            self.round = Round { trip: self.round.trip, ..Round::default() };
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if congestion.kind == CongestionKind::Idle {
            self.dwnd = 0.0;
        }
        match self.window.classify(congestion) {
            Response::Reduce => self.reduce(congestion),
            Response::Undone => self.dwnd = self.dwnd_before,
            Response::None => {}
        }
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        Metrics { cwnd: Some(self.window.cwnd + self.dwnd), ..self.window.metrics() }
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    /// In congestion avoidance with a window of `cwnd`, its round-trip time 100 ms.
    fn avoiding(cwnd: f64) -> Compound {
        let mut cc = Compound::new();
        cc.on_start(&Start::new(at(0)));
        cc.window.set(cwnd);
        cc.window.leave_slow_start();
        cc.on_ack(&Ack::new(0, at(0), at(100)));
        cc
    }

    /// One round trip of acknowledgements.
    fn round(cc: &mut Compound, sent: u64, rtt: u64) {
        for _ in 0..cc.win() as u64 {
            cc.on_ack(&Ack::new(0, at(sent), at(sent + rtt)));
        }
    }

    #[test]
    fn the_delay_window_grows_by_the_papers_law() {
        let mut cc = avoiding(256.0);
        round(&mut cc, 100, 100);
        // 0.125 * 256^0.75 - 1 = 7: with Reno's one packet, 8 a round trip.
        assert_eq!((cc.window.cwnd, cc.dwnd), (256.0, 7.0));
        round(&mut cc, 200, 100);
        assert!((cc.dwnd - 7.0 - (0.125 * libm::pow(264.0, 0.75) - 1.0)).abs() < 0.2);
    }

    #[test]
    fn the_delay_window_gives_way_to_a_queue() {
        let mut cc = avoiding(200.0);
        cc.dwnd = 100.0;
        round(&mut cc, 100, 125);
        // A quarter longer: a fifth of the window of 300 waits. The round that ends with the first
        // ACK has too few samples, so only the next one counts.
        assert!(cc.dwnd < 100.0 - 30.0, "{}", cc.dwnd);
    }

    #[test]
    fn a_loss_halves_the_whole_and_a_timeout_ends_the_delay_window() {
        let mut cc = avoiding(60.0);
        cc.dwnd = 40.0;
        let lost = Congestion::new(CongestionKind::Lost, at(200), at(300));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 50);
        assert_eq!((cc.window.cwnd, cc.dwnd), (30.0, 20.0));
        let spurious = Congestion::new(CongestionKind::Spurious, at(200), at(310));
        assert_eq!(cc.on_congestion(&spurious).cwnd.get(), 100);
        let timeout = Congestion::new(CongestionKind::Timeout, at(300), at(900));
        assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
        assert_eq!((cc.window.ssthresh, cc.dwnd), (50.0, 0.0));
    }

    #[test]
    fn fills_a_fat_pipe_sooner_than_reno() {
        let pipe = Pipe::new(10_000.0, Span::from_millis(100), 200);
        let length = Span::from_secs(60);
        let compound = pipe.run(&mut Compound::new(), length, |_| {}).delivered;
        let reno = pipe.run(&mut reno::Reno::new(), length, |_| {}).delivered;
        assert!(compound as f64 > 1.05 * reno as f64, "{compound} {reno}");
    }
}
