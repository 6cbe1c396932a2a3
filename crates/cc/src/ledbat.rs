//! [`Ledbat`]: a window that keeps the queueing delay it causes at a target (RFC 6817).

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use crate::delays::{Delays, difference};
use crate::parameters::parameters;
use crate::window::{Response, Window, acked, follows_window};
use exm_units::{Packets, Span};

/// libutp: slow start ends at this part of the target.
const SLOW_START_END: f64 = 0.9;
/// RFC 6817, section 2.5: `MIN_CWND`.
pub(crate) const MIN_CWND: f64 = 2.0;
/// RFC 6817, section 2.5: `INIT_CWND`.
pub(crate) const INIT_CWND: Packets = Packets::new(2);

/// LEDBAT, for background transfers: the window grows in proportion to how far the queueing delay is below the
/// target, at most as fast as Reno's, and shrinks in the same way above it. There is no slow start unless
/// [`Ledbat::with_slow_start`] enables it. It uses one-way delays where the receiver reports arrival times, and
/// round-trip times elsewhere; only differences of them matter.
#[derive(Clone, Debug)]
pub struct Ledbat {
    tuning: Tuning,
    window: Window,
    /// Whether they are one-way delays, and the delays.
    delays: Option<(bool, Delays)>,
    /// Whether flows begin with slow start.
    slow_start: bool,
}

parameters! {
    Ledbat {
        /// The queueing delay to keep (RFC 6817, section 2.5: `TARGET`, which must be 100 ms or less).
        target: Duration = [Span::from_millis(100), Span::from_micros(1), Span::from_secs(10)],
        /// How fast the window approaches it (section 2.5: `GAIN`, which must be one or less, so that it grows no faster than Reno).
        gain: Number = [1.0, 0.001, 100.0],
        /// The packets by which the window may exceed what was in flight (section 2.5: `ALLOWED_INCREASE`).
        allowed_increase: Number = [1.0, 0.0, 1000.0],
        /// What is left of the window after a loss (section 2.4.2: half).
        decrease: Number = [0.5, 0.01, 0.99],
    }
}

impl Ledbat {
    /// A sender before its first flow, its target 100 ms.
    pub fn new() -> Ledbat {
        Ledbat {
            tuning: Tuning::default(),
            window: Window::of(INIT_CWND),
            delays: None,
            slow_start: false,
        }
    }

    /// The same with slow start, which RFC 6817 permits (section 2.4.1) and libutp has: the window
    /// doubles each round trip until the queueing delay comes near the target or a packet is lost.
    pub fn with_slow_start(self) -> Ledbat {
        Ledbat { slow_start: true, ..self }
    }

    /// The same with another `target`; the standard allows no more than 100 ms.
    pub fn with_target(self, target: Span) -> Ledbat {
        let target = target.max(Span::from_nanos(1));
        Ledbat { tuning: Tuning { target, ..self.tuning }, ..self }
    }

    /// The queueing delay from `ack` and the samples before it: RFC 6817, section 2.4.2.
    fn queueing(&mut self, ack: &Ack) -> f64 {
        let (one_way, delay) = match ack.received_at {
            Some(received) => (true, difference(received, ack.sent_at)),
            None => (false, difference(ack.now, ack.sent_at).max(0)),
        };
        // One-way delays and round-trip times cannot be compared.
        let delays = self.delays.take().filter(|(of, _)| *of == one_way);
        let (_, mut delays) = delays.unwrap_or_else(|| (one_way, Delays::new(ack.now)));
        delays.observe(delay, ack.now);
        let queueing = delays.queueing();
        self.delays = Some((one_way, delays));
        queueing
    }

    /// RFC 6817, section 2.4.2, on an acknowledgement.
    fn steer(&mut self, ack: &Ack, queueing: f64, may_grow: bool) {
        let target = self.tuning.target.as_nanos() as f64;
        let off_target = (target - queueing) / target;
        if off_target > 0.0 && !may_grow {
            return;
        }
        let cwnd = self.window.cwnd;
        if self.window.in_slow_start() && queueing > SLOW_START_END * target {
            self.window.leave_slow_start();
        }
        let wanted = if self.slow_start && self.window.in_slow_start() {
            cwnd + acked(ack).min(self.window.ssthresh - cwnd)
        } else {
            cwnd + self.tuning.gain * off_target * acked(ack) / cwnd
        };
        let allowed = ack.in_flight.get() as f64 + acked(ack) + self.tuning.allowed_increase;
        self.window.set(wanted.min(allowed).max(MIN_CWND));
    }
}

/// RFC 6817, section 2.4.2, on a loss: the part `decrease` of the window is left, which never grows by that.
pub(crate) fn respond(window: &mut Window, congestion: &Congestion, decrease: f64) {
    if window.classify(congestion) == Response::Reduce {
        let cwnd = window.cwnd;
        window.reduce(congestion, (cwnd * decrease).max(MIN_CWND));
        if congestion.kind != CongestionKind::Timeout {
            window.set(window.cwnd.min(cwnd));
        }
    }
}

impl Default for Ledbat {
    fn default() -> Ledbat {
        Ledbat::new()
    }
}

impl Controller for Ledbat {
    fn on_start(&mut self, start: &Start) -> Decision {
        let window = Window::of(INIT_CWND.min(start.initial_window));
        *self = Ledbat { window, delays: None, ..*self };
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale {
            let may_grow = self.window.may_grow(ack);
            let queueing = self.queueing(ack);
            if !ack.recovering && ack.acked > Packets::ZERO {
                self.steer(ack, queueing, may_grow);
            }
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
    use crate::pipe::{Pipe, at};

    /// The mean queueing delay in milliseconds over the last ten of `seconds`.
    fn mean_queueing(mut cc: Ledbat, seconds: u64) -> f64 {
        let pipe = Pipe::new(1000.0, Span::from_millis(50), 1000);
        let mut waits = Vec::new();
        pipe.run(&mut cc, Span::from_secs(seconds), |seen| {
            if seen.now > at((seconds - 10) * 1000) {
                waits.push(seen.queueing.as_millis_f64());
            }
        });
        waits.iter().sum::<f64>() / waits.len() as f64
    }

    #[test]
    fn converges_to_its_target() {
        let mean = mean_queueing(Ledbat::new(), 50);
        assert!((95.0..103.0).contains(&mean), "{mean}");
        let mean = mean_queueing(Ledbat::new().with_target(Span::from_millis(25)), 50);
        assert!((22.0..27.0).contains(&mean), "{mean}");
    }

    #[test]
    fn slow_start_doubles_until_near_the_target() {
        let pipe = Pipe::new(1000.0, Span::from_millis(150), 1000);
        let run = |mut cc: Ledbat| {
            let mut most = 0.0_f64;
            let run = pipe.run(&mut cc, Span::from_secs(3), |seen| {
                most = most.max(seen.queueing.as_millis_f64());
            });
            (run.delivered, most)
        };
        let (without, _) = run(Ledbat::new());
        let (with, most) = run(Ledbat::new().with_slow_start());
        assert!(with > 5 * without && with > 2000, "{with} {without}");
        // What is in flight as the delay nears the target doubles at most once more.
        assert!((90.0..500.0).contains(&most), "{most}");
        // The overshoot drains by a packet a round trip for each target that it exceeds the target by
        // (RFC 6817, section 2.4.2), which takes minutes here.
        let mean = mean_queueing(Ledbat::new().with_slow_start(), 400);
        assert!((90.0..103.0).contains(&mean), "{mean}");
    }

    fn acked(cc: &mut Ledbat, sent: u64, received: u64) -> f64 {
        let mut ack = Ack::new(0, at(sent), at(sent + 1000));
        ack.received_at = Some(at(received));
        ack.in_flight = Packets::new(100);
        cc.on_ack(&ack);
        cc.window.cwnd
    }

    #[test]
    fn one_way_delays_count_whatever_the_receivers_clock() {
        let mut cc = Ledbat::new();
        cc.on_start(&Start::new(at(0)));
        // The receiver's clock is five seconds behind; 30 ms of propagation delay.
        for k in 0..50 {
            acked(&mut cc, 6000 + k, 1030 + k);
        }
        let grown = cc.window.cwnd;
        assert!(grown > 9.0, "{grown}");
        for k in 0..50 {
            // 300 ms in the queue, though the round-trip time is the same.
            acked(&mut cc, 7000 + k, 2330 + k);
        }
        assert_eq!(cc.window.cwnd, MIN_CWND);
    }

    #[test]
    fn grows_no_further_than_what_is_in_flight_and_halves_at_a_loss() {
        let mut cc = Ledbat::new();
        cc.on_start(&Start::new(at(0)));
        for k in 0..100 {
            let mut ack = Ack::new(0, at(k), at(k + 10));
            ack.in_flight = Packets::new(5);
            cc.on_ack(&ack);
        }
        assert_eq!(cc.window.cwnd, 7.0);
        let lost = Congestion::new(CongestionKind::Lost, at(200), at(300));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 3);
    }
}
