//! [`Abc`]: a window that follows the routers' marks, accelerate or brake.

use crate::controller::{Ack, Congestion, Controller, Decision, Needs, Start};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::window::{MAX_WINDOW, acked, decide};
use crate::{Cubic, SlowStart};
use exm_units::{Instant, Packets};

/// The sender of ABC (Goyal, Agarwal, Netravali, Alizadeh & Balakrishnan, "ABC: A Simple Explicit Congestion Controller
/// for Wireless Networks", NSDI 2020, section 3): each packet that arrives marked accelerate brings two, each brake
/// none, and either a part of a packet more, so that flows become equal:
///
/// - accelerate: `w += 1 + 1/w`
/// - brake: `w += -1 + 1/w`
///
/// So the window can double in a round trip, or vanish. A window of [`Cubic`] beside it is for bottlenecks without ABC: the
/// smaller of the two holds, and neither may be more than twice the packets in flight, so that the one that does not
/// limit the flow stays near the one that does (section 5.1). Losses and marks of congestion concern Cubic alone.
///
/// Where its host reports no marks of ABC, every packet counts as accelerated, and it is Cubic.
#[derive(Clone, Debug)]
pub struct Abc {
    tuning: Tuning,
    /// The window by accelerate and brake, in packets: the paper's `w_abc`.
    window: f64,
    /// The window for other bottlenecks: `w_nonabc`.
    cubic: Cubic,
    /// The accelerates that were reported so far.
    accelerated: f64,
    /// When the last ACKs came, and the most packets in flight before any of them.
    flight: (Instant, f64),
}

parameters! {
    Abc {
        /// The most that either window may be, in packets in flight (NSDI 2020, section 5.1: 2).
        cap: Number = [2.0, 1.1, 1000.0],
    }
}

impl Abc {
    /// A sender before its first flow.
    pub fn new() -> Abc {
        let start = Start::new(Instant::ZERO);
        Abc {
            tuning: Tuning::default(),
            window: window(start.initial_window),
            // By the length of ACK trains or by delay it would take a change of the link for a full queue.
            cubic: Cubic::new().with_slow_start(SlowStart::Plain),
            accelerated: 0.0,
            flight: (Instant::ZERO, 0.0),
        }
    }

    /// How many packets were in flight before `ack`, and before others that came with it: the sender responds to all of
    /// them at once, so that hardly any packet is in flight at the last.
    fn in_flight(&mut self, ack: &Ack) -> f64 {
        let before = ack.in_flight.get() as f64 + acked(ack);
        let (at, most) = self.flight;
        self.flight = (ack.now, if at == ack.now { most.max(before) } else { before });
        self.flight.1
    }

    /// How many of the packets that `ack` acknowledges were accelerated. Its feedback is their count since the connection began, so
    /// that neither delayed nor lost ACKs hide any.
    fn accelerates(&mut self, ack: &Ack) -> f64 {
        let acked = acked(ack);
        let Some(total) = ack.feedback.filter(|total| total.is_finite()) else { return acked };
        let fresh = total - self.accelerated;
        self.accelerated = total;
        fresh.clamp(0.0, acked)
    }

    /// The decision of the window that limits the flow.
    fn decision(&self) -> Decision {
        decide(self.window.min(self.cubic.cwnd()))
    }
}

/// A window of `packets`.
fn window(packets: Packets) -> f64 {
    (packets.get() as f64).clamp(1.0, MAX_WINDOW)
}

impl Default for Abc {
    fn default() -> Abc {
        Abc::new()
    }
}

impl Controller for Abc {
    fn on_start(&mut self, start: &Start) -> Decision {
        self.window = window(start.initial_window);
        (self.accelerated, self.flight) = (0.0, (Instant::ZERO, 0.0));
        self.cubic.on_start(start);
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        let acked = acked(ack);
        let accelerated = self.accelerates(ack);
        // Of all packets of the ACK at once.
        let change = accelerated - (acked - accelerated) + acked / self.window;
        let most = (self.tuning.cap * self.in_flight(ack)).clamp(1.0, MAX_WINDOW);
        self.window = (self.window + change).clamp(1.0, most);
        self.cubic.on_ack(ack);
        self.cubic.limit(most);
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.cubic.on_congestion(congestion);
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        let cubic = self.cubic.cwnd();
        let state = if self.window <= cubic { "marks" } else { "cubic" };
        Metrics::new(self.window.min(cubic)).state(state)
    }

    fn needs(&self) -> Needs {
        // ECT(1) is accelerate.
        Needs { feedback: true, abc: true, l4s: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;
    use crate::pipe::at;

    /// An ACK for `acked` packets with so many accelerates in total, and the rest of `window` in flight.
    fn ack(total: f64, acked: u64, window: u64) -> Ack {
        let mut ack = Ack::new(0, at(0), at(100));
        ack.acked = Packets::new(acked);
        ack.in_flight = Packets::new(window.saturating_sub(acked));
        ack.feedback = Some(total);
        ack
    }

    fn started(window: u64) -> Abc {
        let mut cc = Abc::new();
        let mut start = Start::new(at(0));
        start.initial_window = Packets::new(window);
        cc.on_start(&start);
        cc
    }

    #[test]
    fn accelerate_brings_two_packets_and_brake_none() {
        let mut cc = started(10);
        cc.on_ack(&ack(1.0, 1, 10));
        assert!((cc.window - 11.1).abs() < 1e-12, "{}", cc.window);
        cc.on_ack(&ack(1.0, 1, 11));
        assert!((cc.window - (10.1 + 1.0 / 11.1)).abs() < 1e-12, "{}", cc.window);
        // Two accelerates and one brake, in one ACK for two segments after a lost one.
        let before = cc.window;
        cc.on_ack(&ack(3.0, 3, 10));
        assert!((cc.window - (before + 1.0 + 3.0 / before)).abs() < 1e-12, "{}", cc.window);
    }

    /// A fraction f of accelerates leaves 2 f of a window after a round trip, and one packet more: with
    /// f = 1/2 - 1/(2 w) it stays.
    #[test]
    fn the_window_stays_where_accelerates_and_brakes_balance() {
        let mut cc = started(100);
        let (mut total, mut tokens) = (0.0, 0.0);
        for _ in 0..10_000 {
            tokens += 0.495;
            if tokens >= 1.0 {
                (total, tokens) = (total + 1.0, tokens - 1.0);
            }
            cc.on_ack(&ack(total, 1, cc.window as u64));
        }
        assert!((cc.window - 100.0).abs() < 3.0, "{}", cc.window);
    }

    #[test]
    fn acks_that_come_together_do_not_shrink_the_window() {
        let mut cc = started(8);
        for left in (0..8).rev() {
            cc.on_ack(&ack((8 - left) as f64, 1, left + 1));
        }
        assert_eq!(cc.decision().cwnd.get(), 16);
    }

    #[test]
    fn neither_window_exceeds_twice_the_packets_in_flight() {
        let mut cc = started(100);
        cc.on_ack(&ack(1.0, 1, 20));
        assert_eq!((cc.window, cc.cubic.cwnd()), (40.0, 40.0));
        let mut wide = started(100);
        wide.tuning.cap = 4.0;
        wide.on_ack(&ack(1.0, 1, 20));
        assert_eq!((wide.window, wide.cubic.cwnd()), (80.0, 80.0));
    }

    /// Without marks it is Cubic, and losses concern that window alone.
    #[test]
    fn cubic_limits_it_where_nothing_brakes() {
        let (mut cc, mut cubic) = (started(100), Cubic::new().with_slow_start(SlowStart::Plain));
        let mut start = Start::new(at(0));
        start.initial_window = Packets::new(100);
        cubic.on_start(&start);
        let lost = Congestion::new(CongestionKind::Lost, at(0), at(100));
        assert_eq!(cc.on_congestion(&lost), cubic.on_congestion(&lost));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 70);
        for round in 0..1000_u64 {
            let window = cubic.cwnd() as u64;
            let mut ack = Ack::new(round, at(10 * round), at(10 * round + 100));
            ack.in_flight = Packets::new(window - 1);
            assert_eq!(cc.on_ack(&ack), cubic.on_ack(&ack), "ACK {round}");
        }
        assert!(cubic.cwnd() > 100.0 && cc.metrics().state == Some("cubic"));
    }

    #[test]
    fn odd_feedback_is_bounded_by_what_was_acknowledged() {
        let mut cc = started(10);
        for total in [f64::NAN, f64::INFINITY, -5.0, 1e300, -1e300, 0.0] {
            let before = cc.window;
            cc.on_ack(&ack(total, 1, 1000));
            assert!((cc.window - before).abs() < 1.0 + 1.0 / before + 1e-9, "{total:e}");
        }
        assert!(cc.needs().feedback && cc.needs().l4s && !cc.needs().marks);
    }
}
