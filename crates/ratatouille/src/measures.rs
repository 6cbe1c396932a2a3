//! [`Measures`]: what a flow's course is like, in numbers.

use crate::watch::Gates;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// The windows in which a period is looked for, in samples.
const WINDOWS: [usize; 5] = [512, 2_048, 8_192, 32_768, 131_072];
/// A window is reduced to this many points: more would show no longer period.
const POINTS: usize = 512;
/// The fraction of the ideal number at which a ramp-up ends.
const RAMPED: f64 = 0.9;
/// A period is one if the course a period later is correlated with itself at least so much.
const LEAST_CORRELATION: f64 = 0.4;
/// And it must explain at least this part of the variation of all samples: else it is a ripple on something longer.
const LEAST_EXPLAINED: f64 = 0.05;

/// The measures of a flow: of its packets in flight, sampled at a fixed interval that is a fraction of an RTT.
#[derive(Clone, Debug)]
pub struct Measures {
    rtt: Span,
    interval: Span,
    most: usize,
    samples: VecDeque<Sample>,
    started: Option<Instant>,
    ramped: Option<Instant>,
}

/// A flow at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The time.
    pub at: Instant,
    /// Whether it is on.
    pub on: bool,
    /// Its packets in flight.
    pub in_flight: f64,
    /// The ideal number of packets in flight: the BDP divided by the number of flows.
    pub ideal: f64,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Packets sent so far.
    pub gates: Gates,
}

/// The measures, each absent where there is nothing to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// Mean packets in flight over the ideal number.
    pub in_flight: Option<f64>,
    /// The period of the orbit, in RTTs: absent where the course does not repeat.
    pub period: Option<f64>,
    /// From the start of the flow until nine tenths of the ideal number are in flight, in RTTs.
    pub ramp_up: Option<f64>,
    /// The share of packets that the window held back.
    pub by_window: Option<f64>,
    /// The share of packets that the pace held back.
    pub by_pace: Option<f64>,
}

impl Measures {
    /// Of a flow with this propagation RTT, over the last `most` samples, one each `interval`.
    pub fn new(rtt: Span, interval: Span, most: usize) -> Measures {
        Measures { rtt, interval, most, samples: VecDeque::new(), started: None, ramped: None }
    }

    /// Adds the next sample.
    pub fn add(&mut self, sample: Sample) {
        let was_on = self.samples.back().is_some_and(|last| last.on);
        if sample.on && !was_on {
            self.started = Some(sample.at);
            self.ramped = None;
        }
        if sample.on && self.ramped.is_none() && sample.in_flight >= RAMPED * sample.ideal {
            self.ramped = Some(sample.at);
        }
        self.samples.push_back(sample);
        if self.samples.len() > self.most {
            self.samples.pop_front();
        }
    }

    /// Forgets what came after `time`.
    pub fn rewind(&mut self, time: Instant) {
        while self.samples.back().is_some_and(|last| last.at > time) {
            self.samples.pop_back();
        }
        self.ramped = self.ramped.filter(|ramped| *ramped <= time);
        self.started = self.started.filter(|started| *started <= time);
    }

    /// Forgets all samples, but not when the flow started: what is measured of a steady state leaves the start out.
    pub fn settle(&mut self) {
        let last = self.samples.pop_back();
        self.samples.clear();
        self.samples.extend(last);
    }

    /// Packets delivered per second over the last `rtts` RTTs.
    pub fn throughput(&self, rtts: usize) -> Option<f64> {
        let last = self.samples.back()?;
        let over = (rtts as f64 * self.samples_per_rtt()).ceil() as usize;
        let first = &self.samples[self.samples.len().saturating_sub(1 + over)];
        let seconds = (last.at - first.at).as_secs_f64();
        (seconds > 0.0).then(|| (last.delivered - first.delivered) as f64 / seconds)
    }

    /// The measures of the samples kept, while the flow was on.
    pub fn measured(&self) -> Measured {
        let on: Vec<&Sample> = self.samples.iter().filter(|sample| sample.on).collect();
        let (Some(first), Some(last)) = (on.first(), on.last()) else { return Measured::default() };
        let sum = |of: fn(&Sample) -> f64| on.iter().map(|sample| of(sample)).sum::<f64>();
        let ideal = sum(|sample| sample.ideal);
        let sent = |gates: &Gates| gates.window + gates.pace + gates.data;
        let all = sent(&last.gates) - sent(&first.gates);
        let share = |count: u64| (all > 0).then(|| count as f64 / all as f64);
        Measured {
            in_flight: (ideal > 0.0).then(|| sum(|sample| sample.in_flight) / ideal),
            period: self.period(),
            ramp_up: self.ramp_up(),
            by_window: share(last.gates.window - first.gates.window),
            by_pace: share(last.gates.pace - first.gates.pace),
        }
    }

    fn samples_per_rtt(&self) -> f64 {
        self.rtt.as_secs_f64() / self.interval.as_secs_f64()
    }

    fn ramp_up(&self) -> Option<f64> {
        let took = self.ramped? - self.started?;
        (!self.rtt.is_zero()).then(|| took.as_secs_f64() / self.rtt.as_secs_f64())
    }

    /// The period of the packets in flight since the flow started, in RTTs.
    ///
    /// It is looked for in the latest samples, in windows of growing length, since a short period is lost in a window of
    /// many; and the window counts whose repetition explains most of the whole variation. So neither the ripple on a
    /// long sawtooth is taken for its period, nor a slow drift below a fast orbit.
    pub fn period(&self) -> Option<f64> {
        let on = self.samples.iter().rev().take_while(|sample| sample.on);
        let mut course: Vec<f64> = on.map(|sample| sample.in_flight).collect();
        course.reverse();
        let total = variance(&course);
        let lengths = WINDOWS.iter().copied().filter(|length| *length < course.len());
        let mut best = None;
        for length in lengths.chain([course.len()]) {
            let window = &course[course.len() - length..];
            let step = length.div_ceil(POINTS).max(1);
            let points: Vec<f64> = window.chunks_exact(step).map(mean).collect();
            let Some((lag, explained)) = repetition(&points) else { continue };
            let explained = explained / total;
            if explained >= best.map_or(LEAST_EXPLAINED, |(_, most)| most) {
                best = Some((lag * step as f64 / self.samples_per_rtt(), explained));
            }
        }
        best.map(|(period, _)| period)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
}

/// The lag after which `points`, without their linear trend, repeat themselves best for the first time, and how much of
/// their variance that explains. A lag must fit in three times.
fn repetition(points: &[f64]) -> Option<(f64, f64)> {
    let points = without_trend(points);
    let variance = variance(&points);
    if points.len() < 12 || variance <= 1e-9 {
        return None;
    }
    let longest = points.len() / 3;
    let correlation = |lag: usize| {
        let pairs = points.iter().zip(&points[lag..]);
        let sum: f64 = pairs.map(|(one, later)| one * later).sum();
        sum / (points.len() - lag) as f64 / variance
    };
    let correlations: Vec<f64> = (0..=longest).map(correlation).collect();
    let first_low = correlations.iter().position(|correlation| *correlation < 0.0)?;
    let peak = (first_low + 1..longest)
        .filter(|&lag| correlations[lag] >= LEAST_CORRELATION)
        .find(|&lag| {
            correlations[lag] > correlations[lag - 1] && correlations[lag] >= correlations[lag + 1]
        })?;
    let [before, at, after] = [peak - 1, peak, peak + 1].map(|lag| correlations[lag]);
    // The vertex of the parabola through the three.
    let bend = before - 2.0 * at + after;
    let offset = if bend < 0.0 { (before - after) / (2.0 * bend) } else { 0.0 };
    Some((peak as f64 + offset, at * variance))
}

/// The differences of `points` from the straight line that fits them best.
fn without_trend(points: &[f64]) -> Vec<f64> {
    let middle = (points.len() as f64 - 1.0) / 2.0;
    let mean = mean(points);
    let offsets = || (0..points.len()).map(|index| index as f64 - middle);
    let spread: f64 = offsets().map(|offset| offset * offset).sum();
    let rise: f64 = offsets().zip(points).map(|(offset, point)| offset * (point - mean)).sum();
    let slope = if spread > 0.0 { rise / spread } else { 0.0 };
    offsets().zip(points).map(|(offset, point)| point - mean - slope * offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Fnv1a;
    use proptest::prelude::*;

    const RTT: Span = Span::from_millis(160);
    const SAMPLES_PER_RTT: u64 = 16;
    const INTERVAL: Span = Span::from_millis(10);

    /// A flow that is on, and has `course(RTTs since the start)` packets in flight.
    fn measures(rtts: usize, course: impl Fn(f64) -> f64) -> Measures {
        let mut measures = Measures::new(RTT, INTERVAL, rtts * SAMPLES_PER_RTT as usize);
        for index in 0..rtts as u64 * SAMPLES_PER_RTT {
            let at = Instant::ZERO + INTERVAL * index;
            let in_flight = course(index as f64 / SAMPLES_PER_RTT as f64);
            let gates = Gates::default();
            let on = true;
            measures.add(Sample { at, on, in_flight, ideal: 100.0, delivered: index, gates });
        }
        measures
    }

    fn sawtooth(rtts: f64, period: f64) -> f64 {
        100.0 * (0.5 + 0.5 * (rtts / period).fract())
    }

    #[test]
    fn the_period_of_a_sawtooth_is_found() {
        for period in [2.0, 5.3, 31.0, 240.0, 900.0] {
            let found = measures(4_000, |rtts| sawtooth(rtts, period)).period().expect("a period");
            assert!((found / period - 1.0).abs() < 0.02, "{found} of {period}");
        }
    }

    #[test]
    fn a_ripple_is_not_the_period() {
        let course = |rtts: f64| sawtooth(rtts, 60.0) + 2.0 * (rtts * std::f64::consts::TAU).sin();
        let found = measures(2_000, course).period().expect("a period");
        assert!((found / 60.0 - 1.0).abs() < 0.05, "{found}");
    }

    /// A sawtooth that is too long to be seen three times hides no period in its ripple.
    #[test]
    fn a_ripple_is_no_period_without_the_sawtooth() {
        let course = |rtts: f64| sawtooth(rtts, 1_500.0) + (rtts * std::f64::consts::TAU).sin();
        assert_eq!(measures(2_000, course).period(), None);
    }

    #[test]
    fn a_drift_is_not_the_period() {
        let course = |rtts: f64| rtts * 0.01 + 10.0 * (rtts / 3.0 * std::f64::consts::TAU).sin();
        let found = measures(300, course).period().expect("a period");
        assert!((found / 3.0 - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn what_does_not_repeat_has_no_period() {
        assert_eq!(measures(500, |_| 40.0).period(), None);
        assert_eq!(measures(500, |rtts| rtts).period(), None);
        let noise = |rtts: f64| {
            let index = (rtts * SAMPLES_PER_RTT as f64) as u64;
            (Fnv1a::of(index.to_le_bytes()).get() % 1000) as f64
        };
        assert_eq!(measures(500, noise).period(), None);
        assert_eq!(Measures::new(RTT, INTERVAL, 10).period(), None);
    }

    #[test]
    fn the_ramp_and_the_mean_are_measured() {
        let mut measures = measures(200, |rtts| (10.0 * rtts).min(120.0));
        assert_eq!(measures.measured().ramp_up, Some(9.0));
        measures.settle();
        for _ in 0..10 {
            let last = *measures.samples.back().expect("one");
            measures.add(Sample { at: last.at + INTERVAL, ..last });
        }
        let measured = measures.measured();
        assert_eq!((measured.ramp_up, measured.in_flight), (Some(9.0), Some(1.2)));
        assert_eq!((measured.by_window, measured.by_pace), (None, None));
        measures.rewind(Instant::ZERO + RTT);
        assert_eq!(measures.measured().ramp_up, None);
    }

    #[test]
    fn a_new_on_period_is_a_new_ramp() {
        let mut measures = Measures::new(RTT, Span::from_millis(160), 100);
        let mut add = |millis: u64, on, in_flight| {
            let at = Instant::ZERO + Span::from_millis(millis);
            let gates = Gates::default();
            measures.add(Sample { at, on, in_flight, ideal: 10.0, delivered: millis, gates });
            measures.measured()
        };
        assert_eq!(add(0, true, 9.0).ramp_up, Some(0.0));
        assert_eq!(add(160, false, 0.0).in_flight, Some(0.9));
        assert_eq!(add(320, true, 1.0).ramp_up, None);
        assert_eq!(add(800, true, 9.5).ramp_up, Some(3.0));
    }

    proptest! {
        /// Whatever the course, nothing panics, and a period is positive and fits in three times.
        #[test]
        fn any_course_is_measured(course in prop::collection::vec(0.0..1e6_f64, 0..700)) {
            let rtts = course.len() / SAMPLES_PER_RTT as usize;
            let at = |rtts: f64| course[(rtts * SAMPLES_PER_RTT as f64) as usize];
            let measured = measures(rtts, at).measured();
            if let Some(period) = measured.period {
                prop_assert!(period > 0.0 && period <= rtts as f64 / 3.0 + 1.0);
            }
        }
    }
}
