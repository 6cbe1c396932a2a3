//! [`Cubic`]: a window that is a cubic function of the time since the last congestion (RFC 9438).

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use crate::hystart::{self, Beginning, SlowStart};
use crate::parameters::parameters;
use crate::window::{MAX_WINDOW, Response, Window, acked, follows_window};
use exm_units::Instant;

/// While the path's capacity is unknown, the window grows by at least one packet per this many
/// acknowledged: 5 % a round trip, as in Linux. The RFC lets the curve start flat.
const UNKNOWN_GROWTH: f64 = 20.0;
/// RFC 9438, section 4.2: the window grows to no more than this multiple in a round trip.
const MAX_GROWTH: f64 = 1.5;

/// CUBIC. It counts in whole packets, as Linux does: a peak within the same packet as the last one does
/// not count as lower, and so does not trigger fast convergence. Its first slow start ends by the length
/// of ACK trains unless another is chosen; RFC 9438, section 4.10, recommends HyStart++, Linux runs
/// HyStart.
#[derive(Clone, Debug)]
pub struct Cubic {
    tuning: Tuning,
    window: Window,
    beginning: Beginning,
    curve: Curve,
    /// The curve before the last loss or timeout, should that prove spurious (section 4.9).
    curve_before: Curve,
    /// Smoothed round-trip time, in seconds (RFC 6298, rules 2.2 and 2.3).
    srtt: Option<f64>,
    /// The least round-trip time since the start or the last timeout, in seconds.
    least_rtt: Option<f64>,
    lookahead: Lookahead,
    /// Since when the application has had too little to send (section 5.8).
    idle_since: Option<Instant>,
}

parameters! {
    Cubic {
        /// What is left of the window after congestion (RFC 9438, section 4.6).
        beta: Number = [0.7, 0.1, 0.99],
        /// How fast the window grows away from its last maximum, in packets per second cubed (RFC 9438, sections 4.1.1 and 5.1).
        c: Number = [0.4, 0.001, 100.0],
    }
}

impl Tuning {
    /// RFC 9438, section 4.3: the additive increase that, with `beta`, is as fast as Reno. Beyond the window
    /// of the last loss the RFC grows by a whole packet a round trip; Linux does not.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// How far ahead the curve is evaluated, to set the window for when the packets sent now are acknowledged.
#[derive(Clone, Copy, Debug)]
enum Lookahead {
    /// A smoothed round-trip time from now: RFC 9438, section 4.2.
    Smoothed,
    /// The minimum RTT from now: Linux (`delay_min`). In a deep buffer that is much less than the smoothed
    /// RTT, so the window follows the curve that much later.
    Least,
}

/// The curve that the window follows, in the names of RFC 9438, section 4.1.2.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// The window before the last reduction, or less by fast convergence; zero before the first.
    w_max: f64,
    /// Whether the path's capacity is known, from a loss or a mark since the last timeout.
    capacity_known: bool,
    /// None until congestion avoidance begins.
    epoch: Option<Epoch>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// Seconds until the curve is at `w_max` again.
    k: f64,
    /// [`Tuning::alpha`].
    alpha: f64,
    /// The window that Reno would have now.
    w_est: f64,
}

impl Cubic {
    /// A sender before its first flow.
    pub fn new() -> Cubic {
        Cubic {
            tuning: Tuning::default(),
            window: Window::default(),
            beginning: Beginning::new(SlowStart::AckTrain),
            curve: Curve::default(),
            curve_before: Curve::default(),
            srtt: None,
            least_rtt: None,
            lookahead: Lookahead::Smoothed,
            idle_since: None,
        }
    }

    /// A sender as in Linux, where that differs from RFC 9438: slow start ends by HyStart, and the curve
    /// is evaluated one minimum RTT ahead.
    pub fn linux() -> Cubic {
        let lookahead = Lookahead::Least;
        Cubic { lookahead, ..Cubic::new().with_slow_start(SlowStart::HyStart) }
    }

    /// The same with another slow start.
    pub fn with_slow_start(self, kind: SlowStart) -> Cubic {
        Cubic { beginning: Beginning::new(kind), ..self }
    }

    /// Its window, in packets with their fraction.
    pub(crate) fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Cuts the window to `most` packets, without a congestion event.
    pub(crate) fn limit(&mut self, most: f64) {
        self.window.set(self.window.cwnd.min(most));
    }

    /// The window as it grows in congestion avoidance: RFC 9438, sections 4.2 to 4.5. The curve is counted
    /// in whole packets, rounded towards its plateau, as in Linux: the window reaches the plateau as soon
    /// as less than a packet is missing.
    fn avoid(&mut self, now: Instant, acked: f64) {
        let cwnd = self.window.cwnd;
        let tuning = self.tuning;
        let curve = &mut self.curve;
        let epoch = curve.epoch.get_or_insert_with(|| {
            // After a timeout, or where slow start ended without a loss, the plateau is here.
            curve.w_max = curve.w_max.max(cwnd);
            let k = libm::cbrt((curve.w_max - cwnd) / tuning.c);
            Epoch { began: now, k, alpha: tuning.alpha(), w_est: cwnd }
        });
        if let Some(since) = self.idle_since.take() {
            epoch.began = epoch.began.saturating_add(now.saturating_since(since));
        }
        epoch.w_est = (epoch.w_est + epoch.alpha * acked / cwnd).min(MAX_WINDOW);
        // Section 4.2: where the curve will be in a round trip.
        let since_began = now.saturating_since(epoch.began).as_secs_f64();
        let ahead = match self.lookahead {
            Lookahead::Smoothed => self.srtt,
            Lookahead::Least => self.least_rtt,
        };
        let t = since_began + ahead.unwrap_or(0.0) - epoch.k;
        let w_cubic = curve.w_max + libm::trunc(tuning.c * t * t * t);
        let target = w_cubic.min(MAX_GROWTH * cwnd).max(epoch.w_est);
        let mut each = if target > cwnd { cwnd / (target - cwnd) } else { f64::INFINITY };
        if !curve.capacity_known {
            each = each.min(UNKNOWN_GROWTH);
        }
        self.window.increase(each, acked);
    }

    fn reduce(&mut self, congestion: &Congestion) {
        let cwnd = libm::floor(self.window.cwnd);
        let beta = self.tuning.beta;
        self.curve_before = self.curve;
        let w_max = match congestion.kind {
            // Section 4.8: the plateau is where congestion avoidance will begin.
            CongestionKind::Timeout => 0.0,
            // Section 4.7, fast convergence: the window did not reach the last peak, so other flows need
            // room.
            _ if cwnd < self.curve.w_max => libm::round(cwnd * (1.0 + beta) / 2.0),
            _ => cwnd,
        };
        let capacity_known = congestion.kind != CongestionKind::Timeout;
        self.curve = Curve { w_max, capacity_known, epoch: None };
        self.idle_since = None;
        if congestion.kind == CongestionKind::Timeout {
            self.least_rtt = None;
        }
        self.window.reduce(congestion, libm::round(cwnd * beta));
    }
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic::new()
    }
}

impl Controller for Cubic {
    fn on_start(&mut self, start: &Start) -> Decision {
        let (window, beginning) = (Window::new(start), self.beginning.again());
        let Cubic { tuning, lookahead, .. } = *self;
        *self = Cubic { tuning, window, beginning, lookahead, ..Cubic::new() };
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.window.decision();
        }
        let rtt = ack.rtt().as_secs_f64();
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        if self.window.may_grow(ack) {
            let mut acked = acked(ack);
            if self.window.in_slow_start() {
                acked = hystart::slow_start(&mut self.window, &mut self.beginning, ack);
            }
            if acked > 0.0 {
                self.avoid(ack.now, acked);
            }
        } else if ack.app_limited && self.curve.epoch.is_some() {
            self.idle_since.get_or_insert(ack.now);
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match self.window.classify(congestion) {
            Response::Reduce => self.reduce(congestion),
            Response::Undone => self.curve = self.curve_before,
            Response::None => {}
        }
        self.window.decision()
    }

    follows_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};
    use exm_units::{Packets, Span};

    /// Of the defaults.
    const C: f64 = 0.4;
    const ALPHA: f64 = 3.0 * (1.0 - 0.7) / (1.0 + 0.7);

    /// A sender whose window was `cwnd` when a loss cut it at `ms`.
    fn cut(cwnd: u64, ms: u64) -> Cubic {
        let mut cc = Cubic::new().with_slow_start(SlowStart::Plain);
        let mut start = Start::new(at(0));
        start.initial_window = Packets::new(cwnd);
        cc.on_start(&start);
        cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(0), at(ms)));
        cc
    }

    /// Acknowledges a window of packets each 100 ms round trip from `from` ms up to `to`.
    fn feed(cc: &mut Cubic, from: u64, to: u64) -> f64 {
        let mut now = from;
        while now < to {
            let window = cc.window.cwnd as u64;
            for packet in 0..window {
                let sent = at(now + 100 * packet / window);
                cc.on_ack(&Ack::new(0, sent, sent + Span::from_millis(100)));
            }
            now += 100;
        }
        cc.window.cwnd
    }

    #[test]
    fn follows_the_cubic_of_the_standard() {
        // Section 4.2 with a window of 1000: K = cbrt(300 / 0.4) = 9.086 s.
        for seconds in [2_u64, 5, 9, 12, 15] {
            let mut cc = cut(1000, 0);
            let reached = feed(&mut cc, 0, seconds * 1000);
            let epoch = cc.curve.epoch.unwrap();
            assert!((epoch.k - 9.0856).abs() < 1e-3, "{}", epoch.k);
            let t = seconds as f64 + 0.1 - epoch.began.as_millis_f64() / 1000.0 - epoch.k;
            let wanted = C * t * t * t + 1000.0;
            assert!((reached - wanted).abs() < 0.01 * wanted, "{reached} for {wanted}");
        }
    }

    #[test]
    fn keeps_up_with_reno_where_the_cubic_is_slower() {
        // Section 4.3: 0.529 packets a round trip, beyond the old window as well.
        let mut cc = cut(20, 0);
        let after = feed(&mut cc, 0, 1000);
        assert!((after - (14.0 + 10.0 * ALPHA)).abs() < 0.5, "{after}");
        let later = feed(&mut cc, 1000, 3000);
        assert!(later > 20.0 + 7.0, "{later}");
        assert!((later - (14.0 + 30.0 * ALPHA)).abs() < 1.0, "{later}");
    }

    #[test]
    fn converges_fast_when_it_did_not_reach_its_last_peak() {
        let mut cc = cut(1000, 0);
        assert_eq!((cc.window.cwnd, cc.curve.w_max), (700.0, 1000.0));
        cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(10), at(20)));
        assert_eq!((cc.window.cwnd, cc.curve.w_max), (490.0, 595.0));
        // The next peak is as high: a fraction of a packet does not make it a lower one.
        cc.window.cwnd = 595.9;
        cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(30), at(40)));
        assert_eq!(cc.curve.w_max, 595.0);
    }

    #[test]
    fn a_spurious_loss_leaves_no_trace() {
        let mut cc = cut(1000, 0);
        feed(&mut cc, 0, 3000);
        let (cwnd, curve) = (cc.window.cwnd, cc.curve);
        cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(3000), at(3200)));
        assert!(cc.window.cwnd < cwnd);
        cc.on_congestion(&Congestion::new(CongestionKind::Spurious, at(3000), at(3300)));
        assert_eq!(cc.window.cwnd, cwnd);
        assert_eq!(cc.curve.w_max, curve.w_max);
        assert_eq!(cc.curve.epoch.unwrap().began, curve.epoch.unwrap().began);
    }

    #[test]
    fn time_without_data_does_not_count() {
        let (mut busy, mut idle) = (cut(1000, 0), cut(1000, 0));
        feed(&mut busy, 0, 2000);
        feed(&mut idle, 0, 2000);
        let mut ack = Ack::new(0, at(2000), at(2100));
        ack.app_limited = true;
        idle.on_ack(&ack);
        let after_idling = feed(&mut idle, 62_000, 63_000);
        let without = feed(&mut busy, 2000, 3000);
        assert!((after_idling - without).abs() < 0.02 * without, "{after_idling} {without}");
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_slow_start_ends() {
        let mut cc = cut(1000, 0);
        cc.on_congestion(&Congestion::new(CongestionKind::Timeout, at(50), at(500)));
        assert_eq!(cc.window.cwnd, 1.0);
        feed(&mut cc, 500, 2000);
        assert_eq!(cc.curve.epoch.unwrap().k, 0.0);
        assert!((cc.curve.w_max - 490.0).abs() < 1.0, "{}", cc.curve.w_max);
    }

    /// Linux 6.18 leaves slow start at 256 packets (`TCPHystartTrainCwnd`) over 15 Mbps and 150 ms with an
    /// acknowledgement for every packet, where the link is on time.
    #[test]
    fn leaves_slow_start_by_hystart_where_linux_does() {
        let pipe = Pipe::new(1250.0, Span::from_millis(150), 1000);
        let mut cc = Cubic::linux();
        pipe.run(&mut cc, Span::from_secs(2), |_| {});
        assert!((254.0..=258.0).contains(&cc.window.ssthresh), "{}", cc.window.ssthresh);
    }

    /// Linux 6.18 in the same buffer, which it fills 14.8 s after the SYN: the window at each second
    /// until then.
    #[test]
    fn fills_a_deep_buffer_when_linux_does() {
        const LINUX: [u64; 14] =
            [257, 317, 380, 442, 505, 567, 630, 692, 755, 818, 880, 942, 1005, 1077];
        let handshake = Span::from_millis(150);
        let pipe = Pipe::new(1250.0, handshake, 1000);
        let (mut seen, mut windows) = (0, Vec::new());
        pipe.run(&mut Cubic::linux(), Span::from_millis(14_500), |ack| {
            let second = (ack.now + handshake).as_nanos() / 1_000_000_000;
            if second > seen {
                seen = second;
                windows.push(ack.decision.cwnd.get());
            }
        });
        for (ours, linux) in windows.iter().zip(LINUX) {
            assert!(ours.abs_diff(linux) <= linux / 100 + 2, "{windows:?}");
        }
        assert_eq!(windows.len(), LINUX.len());
    }

    #[test]
    fn fills_a_long_fat_pipe_and_saws_by_three_tenths() {
        let pipe = Pipe::new(10_000.0, Span::from_millis(100), 500);
        let mut windows = Vec::new();
        let run = pipe.run(&mut Cubic::new(), Span::from_secs(60), |seen| {
            if seen.now > at(30_000) {
                windows.push(seen.decision.cwnd.get());
            }
        });
        assert!(run.delivered as f64 > 0.95 * 600_000.0, "{}", run.delivered);
        let (low, high) = (*windows.iter().min().unwrap(), *windows.iter().max().unwrap());
        assert!((1480..1560).contains(&high), "{high}");
        assert!((low as f64 / high as f64 - 0.7).abs() < 0.02, "{low} of {high}");
    }
}
