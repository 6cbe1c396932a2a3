//! [`Dctcp`]: a window cut by the part of its packets that were marked (RFC 8257).

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Needs, Start};
use crate::parameters::parameters;
use crate::reno;
use crate::window::{Response, RoundTrip, Window, acked, follows_window};

/// DCTCP: grows as Reno does, keeps an average `alpha` of the fraction of packets that were marked,
/// and after marks reduces the window by half that fraction. Losses are handled as Reno handles
/// them.
#[derive(Clone, Debug)]
pub struct Dctcp {
    tuning: Tuning,
    window: Window,
    alpha: f64,
    round: RoundTrip,
    /// Packets acknowledged in the current round trip, and how many of them were marked.
    acked: f64,
    marked: f64,
}

parameters! {
    Dctcp {
        /// The weight of the newest window in the average of the marked fraction (RFC 8257, section 4.2).
        g: Number = [0.0625, 0.0001, 1.0],
        /// The average at the start (RFC 8257, section 3.3: one, so that the first mark halves the window).
        initial_alpha: Number = [1.0, 0.0, 1.0],
    }
}

impl Dctcp {
    /// A sender before its first flow.
    pub fn new() -> Dctcp {
        let window = Window::default();
        let round = RoundTrip::default();
        let tuning = Tuning::default();
        Dctcp { tuning, window, alpha: tuning.initial_alpha, round, acked: 0.0, marked: 0.0 }
    }

    /// RFC 8257, section 3.3, steps 2 to 8.
    fn observe(&mut self, ack: &Ack) {
        self.acked += acked(ack);
        self.marked += (ack.marked.get() as f64).min(acked(ack));
        if self.round.ends(ack) && self.acked > 0.0 {
            self.alpha += self.tuning.g * (self.marked / self.acked - self.alpha);
            (self.acked, self.marked) = (0.0, 0.0);
        }
    }
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp::new()
    }
}

impl Controller for Dctcp {
    fn on_start(&mut self, start: &Start) -> Decision {
        let (tuning, window) = (self.tuning, Window::new(start));
        *self = Dctcp { tuning, window, alpha: tuning.initial_alpha, ..Dctcp::new() };
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.window.decision();
        }
        self.observe(ack);
        if self.window.may_grow(ack) {
            let mut acked = acked(ack);
            if self.window.in_slow_start() {
                acked = self.window.slow_start(acked);
            }
            reno::grow(&mut self.window, acked);
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if congestion.kind != CongestionKind::Marked {
            reno::on_congestion(&mut self.window, congestion);
        } else if self.window.classify(congestion) == Response::Reduce {
            // RFC 8257, section 3.3, step 9.
            self.window.reduce(congestion, self.window.cwnd * (1.0 - self.alpha / 2.0));
        }
        self.window.decision()
    }

    follows_window!();

    fn needs(&self) -> Needs {
        Needs { marks: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};
    use exm_units::{Packets, Span};

    #[test]
    fn alpha_converges_to_the_marked_fraction() {
        let mut cc = Dctcp::new();
        cc.on_start(&Start::new(at(0)));
        // Every fourth of 20 packets in a round trip is marked.
        for round in 0..100_u64 {
            let before = cc.alpha;
            for packet in 0..20 {
                let mut ack = Ack::new(0, at(10 * round), at(10 * round + 10));
                ack.marked = Packets::new(u64::from(packet % 4 == 0));
                ack.recovering = true;
                cc.on_ack(&ack);
            }
            let wanted = if round == 0 { 1.0 } else { before + (0.25 - before) / 16.0 };
            assert!((cc.alpha - wanted).abs() < 5e-3, "{} for {wanted}", cc.alpha);
        }
        assert!((cc.alpha - 0.25).abs() < 0.01, "{}", cc.alpha);
    }

    #[test]
    fn gives_up_half_of_alpha_once_a_window() {
        let mut cc = Dctcp::new();
        cc.on_start(&Start::new(at(0)));
        cc.window.set(100.0);
        cc.alpha = 0.2;
        let marked = Congestion::new(CongestionKind::Marked, at(50), at(100));
        assert_eq!(cc.on_congestion(&marked).cwnd.get(), 90);
        assert_eq!(cc.on_congestion(&marked).cwnd.get(), 90);
        let lost = Congestion::new(CongestionKind::Lost, at(100), at(200));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 45);
        assert!(cc.needs().marks);
    }

    #[test]
    fn keeps_the_queue_near_the_marking_threshold() {
        // 10 Gbps of 1500-byte packets, 100 us, K = 65: Alizadeh et al., SIGCOMM 2010, figure 1.
        let pipe = Pipe::new(833_333.0, Span::from_micros(100), 1000).marking_above(65);
        let mut waits = Vec::new();
        let run = pipe.run(&mut Dctcp::new(), Span::from_millis(200), |seen| {
            if seen.now > at(100) {
                waits.push(seen.queueing.as_secs_f64() * 833_333.0);
            }
        });
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((30.0..75.0).contains(&mean), "{mean}");
        assert_eq!(run.drops, 0);
        assert!(run.delivered as f64 > 0.99 * 166_667.0, "{}", run.delivered);
    }
}
