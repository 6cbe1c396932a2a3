//! The response of version 2 to ECN marks. The draft, of version 3, has none; constants are those of Google's version 2
//! (docs/deviations.md).

use super::Bbr;
use super::model::Sample;
use super::state::Version;
use crate::controller::Ack;
use crate::window::acked;

/// A round trip in which more than this part was marked has too much in flight.
const TOO_MANY: f64 = 0.5;
/// After so many of them in a row Startup ends.
const STARTUP_ROUNDS: u32 = 2;

/// The marks seen.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// The average of the marked fraction. It starts at one, as in DCTCP, so that the first mark counts in full.
    alpha: f64,
    /// Packets acknowledged in this round trip, and how many of them were marked.
    acked: f64,
    marked: f64,
    /// Round trips of Startup in a row with too many.
    startup_rounds: u32,
}

impl Marks {
    pub(super) fn new() -> Marks {
        Marks { alpha: 1.0, acked: 0.0, marked: 0.0, startup_rounds: 0 }
    }

    /// Ends a round trip. Returns the fraction that was marked in it; none where nothing was acknowledged.
    fn end_round(&mut self, gain: f64) -> Option<f64> {
        let fraction = (self.acked > 0.0).then(|| self.marked / self.acked)?;
        (self.acked, self.marked) = (0.0, 0.0);
        self.alpha += gain * (fraction - self.alpha);
        Some(fraction)
    }
}

impl Bbr {
    pub(super) fn update_marks(&mut self, ack: &Ack, sample: &Sample) {
        if self.version != Version::Two {
            return;
        }
        if self.model.round_start
            && let Some(fraction) = self.marks.end_round(self.tuning.ecn_gain)
        {
            self.respond_to_marks(fraction, sample);
        }
        self.marks.acked += acked(ack);
        self.marks.marked += (ack.marked.get() as f64).min(acked(ack));
    }

    fn respond_to_marks(&mut self, fraction: f64, sample: &Sample) {
        let too_many = fraction > TOO_MANY;
        if !self.cycle.full_bw_reached {
            self.marks.startup_rounds = if too_many { self.marks.startup_rounds + 1 } else { 0 };
            if self.marks.startup_rounds >= STARTUP_ROUNDS {
                self.cycle.full_bw_reached = true;
                let bdp = self.bdp_multiple(self.model.bw, 1.0);
                self.loss.inflight_longterm = bdp.max(self.model.inflight_latest);
            }
        } else if too_many && self.loss.is_bw_probe_sample {
            self.handle_inflight_too_high(sample, 0.0);
        }
        // While it probes, marks are what it looks for.
        if fraction > 0.0 && !self.cycle.state.is_probing() {
            let part = 1.0 - self.tuning.ecn_factor * self.marks.alpha;
            self.model.lower_inflight(self.cwnd, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::State;
    use super::*;
    use crate::controller::{CongestionKind, Controller, Start};
    use crate::pipe::{Pipe, at};
    use crate::{Congestion, Parameters, Value};
    use exm_units::Span;

    fn version_2() -> Bbr {
        Bbr::new(1).version_2()
    }

    #[test]
    fn gains_are_those_of_the_version() {
        use State::{Cruise, Down, Drain, ProbeRtt, Refill, Startup, Up};
        use Version::{Three, Two};
        let pacing = |state: State| (state.pacing_gain(Two), state.pacing_gain(Three));
        assert_eq!(pacing(Startup), (2.885, 2.77));
        assert!((Drain.pacing_gain(Two) * Startup.pacing_gain(Two) - 1.0).abs() < 1e-12);
        assert_eq!((pacing(Down), pacing(Up)), ((0.75, 0.9), (1.25, 1.25)));
        for state in [Cruise, Refill, ProbeRtt] {
            assert_eq!(pacing(state), (1.0, 1.0));
        }
        assert_eq!((Up.cwnd_gain(Two), Up.cwnd_gain(Three)), (2.0, 2.25));
        for state in [Startup, Drain, Down, Cruise, Refill, ProbeRtt] {
            assert_eq!(state.cwnd_gain(Two), state.cwnd_gain(Three));
        }
    }

    #[test]
    fn the_version_outlives_seeds_and_flows() {
        let mut cc = version_2();
        cc.set_parameter("ecn_factor", Value::Number(0.5)).expect("a parameter");
        cc.seed(7);
        // 2.885 * 10 packets in a millisecond.
        assert_eq!(cc.on_start(&Start::new(at(0))).intersend, Span::from_nanos(34_662));
        assert_eq!(cc.parameter("ecn_factor"), Some(Value::Number(0.5)));
        assert!(cc.needs().marks && !Bbr::new(1).needs().marks);
    }

    #[test]
    fn a_round_with_marks_leaves_one_minus_a_third_of_alpha() {
        let mut cc = version_2();
        cc.cycle.full_bw_reached = true;
        cc.cycle.state = State::Cruise;
        cc.cwnd = 90.0;
        let sample = Sample::new(&Ack::new(0, at(0), at(100)), 0, 90.0, false);
        cc.marks = Marks { alpha: 0.5, acked: 100.0, marked: 25.0, ..Marks::new() };
        let fraction = cc.marks.end_round(1.0 / 16.0).expect("of 100");
        // alpha becomes 0.5 + (0.25 - 0.5) / 16.
        assert_eq!((fraction, cc.marks.alpha), (0.25, 0.484375));
        cc.respond_to_marks(fraction, &sample);
        let left = 1.0 - 0.484375 / 3.0;
        assert!((cc.model.inflight_shortterm - 90.0 * left).abs() < 1e-9);
        cc.respond_to_marks(0.01, &sample);
        assert!((cc.model.inflight_shortterm - 90.0 * left * left).abs() < 1e-9);
        let before = cc.model.inflight_shortterm;
        cc.respond_to_marks(0.0, &sample);
        assert_eq!(cc.model.inflight_shortterm, before, "no marks, no response");
        assert_eq!(cc.model.bw_shortterm, f64::INFINITY, "the bandwidth stays");
        cc.on_congestion(&Congestion::new(CongestionKind::Marked, at(90), at(100)));
        assert!(!cc.model.is_loss_in_round, "marks are no losses");
    }

    #[test]
    fn startup_ends_after_two_rounds_that_are_mostly_marked() {
        let sample = Sample::new(&Ack::new(0, at(0), at(100)), 0, 10.0, false);
        let mut cc = version_2();
        for (fraction, done) in [(0.6, false), (0.5, false), (0.6, false), (0.6, true)] {
            cc.respond_to_marks(fraction, &sample);
            assert_eq!(cc.cycle.full_bw_reached, done);
        }
        assert_eq!(cc.model.inflight_shortterm, f64::INFINITY, "not while it probes");
    }

    #[test]
    fn marks_keep_its_queue_shorter_than_that_of_version_three() {
        // 15 Mbps, 80 ms: 100 packets. Marked above 5 waiting.
        let plain = Pipe::new(1250.0, Span::from_millis(80), 1000);
        let pipe = plain.marking_above(5);
        let waits = |pipe: Pipe, mut cc: Bbr| pipe.second_half(&mut cc);
        let (two, three) = (waits(pipe, version_2()), waits(pipe, Bbr::new(1)));
        println!("marked: version 2 {two:.1?}, version 3 {three:.1?}");
        assert!(two.1 < 0.7 * three.1, "{two:?} {three:?}");
        assert!(two.0 > 0.9 * 1250.0, "{two:?}");
        let (two, three) = (waits(plain, version_2()), waits(plain, Bbr::new(1)));
        println!("unmarked: version 2 {two:.1?}, version 3 {three:.1?}");
        assert!((two.0 / three.0 - 1.0).abs() < 0.03, "{two:?} {three:?}");
    }
}
