//! [`Prague`]: a window cut by the fraction of its packets that were marked, at any RTT alike (TCP Prague).

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Needs, Start};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::reno;
use crate::window::{RoundTrip, Window, acked};
use exm_units::{Instant, Span};

const MIN_WINDOW: f64 = 2.0;
/// Packets are paced at this many windows a round trip below half of the slow start threshold, as in Linux.
const STARTING_PACE: f64 = 2.0;

/// TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04): a scalable controller for L4S. Its packets carry
/// ECT(1) (RFC 9331), which a queue such as [DualPI2](https://www.rfc-editor.org/rfc/rfc9332) marks early and often. Once a
/// virtual round trip, which is never below 25 ms, it averages the fraction `alpha` that was marked and cuts the window by half
/// of it; each unmarked packet lets the window grow as it would on a path of that RTT. So the rate is
/// 2(1-p)/p packets each 25 ms at a marking probability of p, whatever shorter RTT the path has.
///
/// The receiver must report each mark (AccECN, RFC 9768). [`Prague::without_accurate_feedback`] is what it falls back to:
/// ECT(0) and Reno.
#[derive(Clone, Debug)]
pub struct Prague {
    tuning: Tuning,
    accurate: bool,
    window: Window,
    /// The average of the marked fraction, from the first mark on.
    alpha: Option<f64>,
    /// Smoothed round-trip time, in seconds (RFC 6298).
    srtt: Option<f64>,
    /// Packets acknowledged in the current virtual round trip, and how many of them were marked.
    acked: f64,
    marked: f64,
    virtual_round: VirtualRound,
}

parameters! {
    Prague {
        /// The weight of the newest virtual round trip in the average of the marked fraction (section 2.4.2).
        g: Number = [0.0625, 0.0001, 1.0],
        /// The least virtual round-trip time (section 2.4.4): flows of shorter RTTs grow as if they had it.
        virtual_rtt: Duration = [Span::from_millis(25), Span::from_nanos(1), Span::from_secs(10)],
    }
}

/// Delimits virtual round trips.
#[derive(Clone, Copy, Debug, Default)]
struct VirtualRound {
    round: RoundTrip,
    began: Option<Instant>,
    /// When it last responded to marks.
    reduced: Option<Instant>,
}

impl Prague {
    /// A sender before its first flow.
    pub fn new() -> Prague {
        Prague {
            tuning: Tuning::default(),
            accurate: true,
            window: Window::default(),
            alpha: None,
            srtt: None,
            acked: 0.0,
            marked: 0.0,
            virtual_round: VirtualRound::default(),
        }
    }

    /// The same towards a receiver that cannot report each mark: Reno, whose packets carry ECT(0).
    pub fn without_accurate_feedback(self) -> Prague {
        Prague { accurate: false, ..self }
    }

    fn virtual_rtt(&self) -> f64 {
        self.srtt.unwrap_or(0.0).max(self.tuning.virtual_rtt.as_secs_f64())
    }

    /// Section 2.4.2: alpha, at the end of a virtual round trip.
    fn observe(&mut self, ack: &Ack) {
        let rtt = ack.rtt().as_secs_f64();
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
        self.acked += acked(ack);
        self.marked += (ack.marked.get() as f64).min(acked(ack));
        let began = *self.virtual_round.began.get_or_insert(ack.now);
        // A round trip ends as well, so that a long one is counted whole.
        let ended = self.virtual_round.round.ends(ack);
        let elapsed = ack.now.saturating_since(began).as_secs_f64();
        if !ended || elapsed < self.virtual_rtt() || self.acked == 0.0 {
            return;
        }
        let fraction = self.marked / self.acked;
        self.alpha = self.alpha.map(|alpha| alpha + self.tuning.g * (fraction - alpha));
        (self.acked, self.marked, self.virtual_round.began) = (0.0, 0.0, Some(ack.now));
    }

    /// Section 2.4.4: growth as at the virtual round-trip time.
    fn grow(&mut self, ack: &Ack) {
        let unmarked = acked(ack) - (ack.marked.get() as f64).min(acked(ack));
        if self.window.in_slow_start() {
            if ack.marked.get() == 0 && self.window.may_grow(ack) {
                self.window.slow_start(acked(ack));
            }
        } else if !ack.app_limited {
            let ratio = self.srtt.unwrap_or(0.0) / self.virtual_rtt();
            self.window.set(self.window.cwnd + unmarked * ratio * ratio / self.window.cwnd);
        }
    }

    /// Section 2.4.3: once a virtual round trip.
    fn on_mark(&mut self, congestion: &Congestion) {
        let span = Span::from_secs_f64(self.virtual_rtt());
        let reduced = self.virtual_round.reduced;
        if reduced.is_some_and(|at| congestion.now.saturating_since(at) < span) {
            return;
        }
        self.virtual_round.reduced = Some(congestion.now);
        // From the first mark on; it halves the window.
        let alpha = *self.alpha.get_or_insert(1.0);
        self.window.set((self.window.cwnd * (1.0 - alpha / 2.0)).max(MIN_WINDOW));
        self.window.ssthresh = self.window.cwnd;
    }

    fn decision(&self) -> Decision {
        let Some(srtt) = self.srtt.filter(|_| self.accurate) else { return self.window.decision() };
        let fast = self.window.cwnd < self.window.ssthresh / 2.0;
        let windows = if fast { STARTING_PACE } else { 1.0 };
        let intersend = Span::from_secs_f64(srtt / (windows * self.window.cwnd));
        Decision { intersend, ..self.window.decision() }
    }
}

impl Default for Prague {
    fn default() -> Prague {
        Prague::new()
    }
}

impl Controller for Prague {
    fn on_start(&mut self, start: &Start) -> Decision {
        let Prague { tuning, accurate, .. } = *self;
        *self = Prague { tuning, accurate, window: Window::new(start), ..Prague::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        if self.accurate {
            self.observe(ack);
            self.grow(ack);
        } else if self.window.may_grow(ack) {
            let mut acked = acked(ack);
            if self.window.in_slow_start() {
                acked = self.window.slow_start(acked);
            }
            reno::grow(&mut self.window, acked);
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if self.accurate && congestion.kind == CongestionKind::Marked {
            self.on_mark(congestion);
        } else {
            reno::on_congestion(&mut self.window, congestion);
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        self.window.metrics()
    }

    fn needs(&self) -> Needs {
        let accurate = self.accurate;
        Needs { marks: true, l4s: accurate, own_recovery: accurate, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};
    use exm_units::Packets;

    /// The mean number of packets each 25 ms of an RTT of `rtt_us`, if packets are marked with
    /// `probability`, at random or `even`ly.
    fn packets_each_25_ms(rtt_us: u64, probability: f64, even: bool) -> f64 {
        let mut cc = Prague::new();
        cc.on_start(&Start::new(at(0)));
        let (mut now, mut sent, rtt) =
            (Instant::ZERO + Span::from_secs(1), 0, Span::from_micros(rtt_us));
        let mut random = 1_u64;
        let (mut delivered, mut time) = (0.0, 0.0);
        let end = Instant::ZERO + Span::from_secs(300);
        while now < end {
            // A window of packets takes a round trip.
            let gap = rtt.as_secs_f64() / cc.window.cwnd;
            now += Span::from_secs_f64(gap);
            let mut ack = Ack::new(sent, now - rtt, now);
            sent += 1;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let marked = if even {
                sent % (1.0 / probability) as u64 == 0
            } else {
                ((random >> 11) as f64) < probability * (1_u64 << 53) as f64
            };
            ack.marked = Packets::new(u64::from(marked));
            cc.on_ack(&ack);
            if marked {
                cc.on_congestion(&Congestion::new(CongestionKind::Marked, now - rtt, now));
            }
            if now > at(30_000) {
                (delivered, time) = (delivered + 1.0, time + gap);
            }
        }
        delivered * 0.025 / time
    }

    /// The law 2(1-p)/p for marks that are evenly spread, as RFC 9332 does it, whatever RTT of 25 ms or less the path
    /// has. At random the window grows until the next mark comes, 1/p packets later in the mean: with x marks each
    /// 25 ms the interval between cuts is 1 + 1/x, and x^2 = 2(1-p)(x+1).
    #[test]
    fn the_rate_depends_on_the_marks_and_not_on_the_rtt() {
        for (rtt_us, p) in [(25_000, 0.02), (12_000, 0.04), (5_000, 0.02), (25_000, 0.005)] {
            let at_random = 1.0 - p + libm::sqrt((1.0 - p) * (3.0 - p));
            for (even, law) in [(true, 2.0 * (1.0 - p) / p), (false, at_random / p)] {
                let found = packets_each_25_ms(rtt_us, p, even);
                assert!(
                    (found / law - 1.0).abs() < 0.03,
                    "{found} for {law}: RTT {rtt_us} us, p {p}, {even}"
                );
            }
        }
    }

    #[test]
    fn keeps_the_queue_near_a_marking_threshold() {
        let pipe = Pipe::new(10_000.0, Span::from_millis(10), 1000).marking_above(10);
        let mut waits = Vec::new();
        let run = pipe.run(&mut Prague::new(), Span::from_secs(10), |seen| {
            if seen.now > at(3000) {
                waits.push(seen.queueing.as_secs_f64() * 10_000.0);
            }
        });
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((2.0..15.0).contains(&mean), "{mean}");
        assert_eq!(run.drops, 0);
        assert!(run.delivered as f64 > 0.97 * 100_000.0, "{}", run.delivered);
    }

    #[test]
    fn halves_at_the_first_mark_and_at_losses() {
        let mut cc = Prague::new();
        cc.on_start(&Start::new(at(0)));
        cc.window.set(100.0);
        let marked = Congestion::new(CongestionKind::Marked, at(50), at(100));
        assert_eq!(cc.on_congestion(&marked).cwnd.get(), 50);
        assert_eq!(cc.on_congestion(&marked).cwnd.get(), 50, "within a virtual round trip");
        let lost = Congestion::new(CongestionKind::Lost, at(150), at(200));
        assert_eq!(cc.on_congestion(&lost).cwnd.get(), 25);
        let spurious = Congestion::new(CongestionKind::Spurious, at(150), at(210));
        assert_eq!(cc.on_congestion(&spurious).cwnd.get(), 50, "it was reordering");
        assert!(cc.needs().l4s && cc.needs().marks);
    }

    #[test]
    fn falls_back_to_reno_and_ect_0() {
        let mut cc = Prague::new().without_accurate_feedback();
        cc.on_start(&Start::new(at(0)));
        assert!(!cc.needs().l4s && cc.needs().marks);
        for time in [100, 200] {
            let before = cc.window.cwnd;
            let marked = Congestion::new(CongestionKind::Marked, at(time - 50), at(time));
            assert_eq!(cc.on_congestion(&marked).cwnd.get() as f64, libm::floor(before / 2.0));
        }
    }
}
