//! [`Reno`]: slow start and one packet more each round trip, half the window at a loss.

use crate::controller::{Ack, Congestion, Controller, Decision, Start};
use crate::hystart::{self, Beginning, SlowStart};
use crate::parameters::parameters;
use crate::window::{Response, Window, acked, follows_window};

/// RFC 5681, equation 4: what is left of the window after congestion.
pub(crate) const BETA: f64 = 0.5;

/// NewReno: the window rules of RFC 5681 and RFC 6582, counted in whole packets as Linux counts
/// them. The window halves from what it was, not from what was in flight (RFC 5681 has the
/// latter): hosts that report [`Ack::app_limited`] keep the two together.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    tuning: Tuning,
    window: Window,
    beginning: Beginning,
}

parameters! {
    Reno {
        /// The packets added in each round trip of congestion avoidance (RFC 5681, section 3.1: one).
        increase: Number = [1.0, 0.001, 1000.0],
        /// What is left of the window after a loss (RFC 5681, equation 4: half).
        decrease: Number = [BETA, 0.01, 0.99],
    }
}

impl Reno {
    /// A sender before its first flow, with the plain slow start of RFC 5681.
    pub fn new() -> Reno {
        Reno::default()
    }

    /// The same with another slow start.
    pub fn with_slow_start(self, kind: SlowStart) -> Reno {
        Reno { beginning: Beginning::new(kind), ..self }
    }
}

impl Controller for Reno {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.window = Window::new(start);
        self.beginning = self.beginning.again();
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if self.window.may_grow(ack) {
            let mut acked = acked(ack);
            if self.window.in_slow_start() {
                acked = hystart::slow_start(&mut self.window, &mut self.beginning, ack);
            }
            grow(&mut self.window, self.tuning.increase * acked);
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        respond(&mut self.window, congestion, self.tuning.decrease);
        self.window.decision()
    }

    follows_window!();
}

/// Congestion avoidance: one packet more for each window acknowledged (RFC 5681, section 3.1).
pub(crate) fn grow(window: &mut Window, acked: f64) {
    window.increase(libm::floor(window.cwnd), acked);
}

/// Half the window for a loss or a mark, and for a timeout as threshold (RFC 5681, equation 4).
pub(crate) fn on_congestion(window: &mut Window, congestion: &Congestion) -> Response {
    respond(window, congestion, BETA)
}

/// As [`on_congestion`], with the part `beta` of the window left.
fn respond(window: &mut Window, congestion: &Congestion, beta: f64) -> Response {
    let response = window.classify(congestion);
    if response == Response::Reduce {
        window.reduce(congestion, libm::floor(window.cwnd * beta));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::CongestionKind;
    use crate::pipe::{Pipe, at};
    use exm_units::{Packets, Span};

    fn ack(cc: &mut Reno, acked: u64) -> u64 {
        let mut ack = Ack::new(0, at(0), at(100));
        ack.acked = Packets::new(acked);
        cc.on_ack(&ack).cwnd.get()
    }

    #[test]
    fn grows_by_one_packet_for_each_window_acknowledged() {
        let mut cc = Reno::new();
        cc.on_start(&Start::new(at(0)));
        assert_eq!(ack(&mut cc, 10), 20);
        let lost = Congestion::new(CongestionKind::Lost, at(0), at(100));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 10);
        assert_eq!(ack(&mut cc, 9), 10);
        assert_eq!(ack(&mut cc, 1), 11);
        assert_eq!(ack(&mut cc, 22), 13, "two windows at once");
    }

    #[test]
    fn neither_recovery_nor_an_idle_application_nor_a_stale_flow_makes_it_grow() {
        let mut cc = Reno::new();
        cc.on_start(&Start::new(at(0)));
        for flag in 0..3 {
            let mut ack = Ack::new(0, at(0), at(100));
            (ack.recovering, ack.app_limited, ack.stale) = (flag == 0, flag == 1, flag == 2);
            assert_eq!(cc.on_ack(&ack).cwnd.get(), 10);
        }
    }

    #[test]
    fn after_a_timeout_slow_start_runs_to_half_the_window() {
        let mut cc = Reno::new();
        cc.on_start(&Start::new(at(0)));
        ack(&mut cc, 30);
        let timeout = Congestion::new(CongestionKind::Timeout, at(0), at(900));
        assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
        assert_eq!(cc.on_congestion(&timeout).cwnd.get(), 1);
        assert_eq!(ack(&mut cc, 19), 20);
        assert_eq!(ack(&mut cc, 19), 20);
        assert_eq!(ack(&mut cc, 1), 21);
    }

    #[test]
    fn saws_between_the_full_buffer_and_half_of_it() {
        // A BDP of 100 packets and as much buffer: 200 at the teeth, 100 after them.
        let pipe = Pipe::new(1000.0, Span::from_millis(100), 100);
        let mut windows = Vec::new();
        let run = pipe.run(&mut Reno::new(), Span::from_secs(120), |seen| {
            if seen.now > at(40_000) {
                windows.push(seen.decision.cwnd.get());
            }
        });
        let (low, high) = (windows.iter().min().unwrap(), windows.iter().max().unwrap());
        assert!((98..=102).contains(low), "{low}");
        assert!((199..=204).contains(high), "{high}");
        assert!(run.delivered as f64 > 0.97 * 120_000.0, "{}", run.delivered);
    }

    #[test]
    fn hystart_spares_it_the_first_losses() {
        let pipe = Pipe::new(1000.0, Span::from_millis(100), 1000);
        let second = Span::from_secs(4);
        let plain = pipe.run(&mut Reno::new(), second, |_| {});
        let careful =
            pipe.run(&mut Reno::new().with_slow_start(SlowStart::HyStartPlusPlus), second, |_| {});
        assert!(plain.drops > 200, "{}", plain.drops);
        assert_eq!(careful.drops, 0);
        assert!(careful.delivered as f64 > 0.9 * 4000.0, "{}", careful.delivered);
    }
}
