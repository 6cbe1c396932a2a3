//! [`Bootstrap`]: confidence intervals of any statistic, from the sample alone.

use super::order::quantile_of_sorted;
use exm_random::{Purpose, Stream};

/// Bootstrap resampling (Efron, 1979): values are drawn with replacement, as many as the sample
/// has, repeatedly; the percentiles of the resulting statistics bound the interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The seed of the experiment: the same seed gives the same interval.
    pub seed: u64,
    /// The number of resamplings.
    pub resamplings: usize,
    /// The fraction of the resamplings that lies inside the interval.
    pub confidence: f64,
}

/// A statistic with its bootstrap estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampled {
    /// The statistic of the sample itself.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Resampled {
    /// Whether the interval holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl Bootstrap {
    /// Ten thousand resamplings and 95 %, from `seed`.
    pub const fn new(seed: u64) -> Bootstrap {
        Bootstrap { seed, resamplings: 10_000, confidence: 0.95 }
    }

    /// The interval of `statistic` over `sample`; nothing of none. What belongs together, such as
    /// the throughput and the delay of a run, is drawn together where it is one element.
    ///
    /// Resamplings whose statistic is NaN, such as a ratio of nothing to nothing, do not count; if
    /// there are no others, there is nothing either.
    pub fn interval<T: Clone>(
        &self,
        sample: &[T],
        statistic: impl Fn(&[T]) -> f64,
    ) -> Option<Resampled> {
        let mut resampler = Resampler::new(self.seed, 0, sample)?;
        self.over(statistic(sample), || statistic(resampler.draw()))
    }

    /// The intervals of several `statistics` of one sample, which are computed together from the same resamplings,
    /// such as the ranks of several competitors; nothing of none.
    pub fn intervals<T: Clone>(
        &self,
        sample: &[T],
        statistics: impl Fn(&[T]) -> Vec<f64>,
    ) -> Vec<Option<Resampled>> {
        let Some(mut resampler) = Resampler::new(self.seed, 0, sample) else { return Vec::new() };
        let drawn: Vec<Vec<f64>> =
            (0..self.resamplings).map(|_| statistics(resampler.draw())).collect();
        let interval = |(index, value)| {
            let mut each = drawn.iter().map(|of_all: &Vec<f64>| of_all[index]);
            self.over(value, || each.next().unwrap_or(f64::NAN))
        };
        statistics(sample).into_iter().enumerate().map(interval).collect()
    }

    /// The interval of a `statistic` of two samples that are independent of each other, such as
    /// the ratio of their medians; `None` if either is empty.
    pub fn interval_of_two<T: Clone>(
        &self,
        first: &[T],
        second: &[T],
        statistic: impl Fn(&[T], &[T]) -> f64,
    ) -> Option<Resampled> {
        let mut one = Resampler::new(self.seed, 0, first)?;
        let mut other = Resampler::new(self.seed, 1, second)?;
        self.over(statistic(first, second), || statistic(one.draw(), other.draw()))
    }

    fn over(&self, value: f64, draw: impl FnMut() -> f64) -> Option<Resampled> {
        let drawn = std::iter::repeat_with(draw).take(self.resamplings);
        let mut statistics: Vec<f64> = drawn.filter(|statistic| !statistic.is_nan()).collect();
        statistics.sort_by(f64::total_cmp);
        let outside = (1.0 - self.confidence) / 2.0;
        let low = quantile_of_sorted(&statistics, outside)?;
        let high = quantile_of_sorted(&statistics, 1.0 - outside)?;
        Some(Resampled { value, low, high })
    }
}

/// Resamples a sample.
struct Resampler<'a, T> {
    sample: &'a [T],
    stream: Stream,
    drawn: Vec<T>,
}

impl<'a, T: Clone> Resampler<'a, T> {
    /// None if the sample is empty.
    fn new(seed: u64, index: usize, sample: &'a [T]) -> Option<Resampler<'a, T>> {
        let stream = Stream::new(seed, Purpose::Bootstrap, index);
        (!sample.is_empty()).then(|| Resampler { sample, stream, drawn: sample.to_vec() })
    }

    fn draw(&mut self) -> &[T] {
        for place in &mut self.drawn {
            place.clone_from(&self.sample[self.stream.below(self.sample.len())]);
        }
        &self.drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{self, Estimate, median};

    const QUICK: Bootstrap = Bootstrap { seed: 3, resamplings: 2000, confidence: 0.95 };

    fn mean(values: &[f64]) -> f64 {
        stats::mean(values.iter().copied()).unwrap_or(f64::NAN)
    }

    fn sample(index: usize, shift: f64) -> Vec<f64> {
        let mut stream = Stream::new(9, Purpose::Traffic, index);
        std::iter::repeat_with(|| shift + stream.normal()).take(400).collect()
    }

    #[test]
    fn of_a_mean_it_is_the_interval_of_the_mean() {
        let values = sample(0, 5.0);
        let (low, high) = Estimate::of(&values).interval();
        let resampled = QUICK.interval(&values, mean).expect("a sample");
        assert_eq!(resampled.value, mean(&values));
        assert!((resampled.low - low).abs() < 0.012 && (resampled.high - high).abs() < 0.012);
        assert!(resampled.holds(5.0), "{resampled:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
        let values = sample(0, 5.0);
        let first = QUICK.interval(&values, middle);
        assert_eq!(first, QUICK.interval(&values, middle));
        assert_ne!(first, Bootstrap { seed: 4, ..QUICK }.interval(&values, middle));
    }

    #[test]
    fn a_ratio_of_medians() {
        let ratio = |a: &[f64], b: &[f64]| median(a).unwrap_or(f64::NAN) / median(b).unwrap_or(0.0);
        let resampled = QUICK.interval_of_two(&sample(0, 20.0), &sample(1, 10.0), ratio);
        let resampled = resampled.expect("two samples");
        assert!(resampled.holds(2.0) && !resampled.holds(1.9), "{resampled:?}");
        assert_eq!(QUICK.interval_of_two(&[], &[1.0], ratio), None);
    }

    #[test]
    fn pairs_are_drawn_together() {
        let pairs: Vec<(f64, f64)> = sample(0, 5.0).into_iter().map(|x| (x, 3.0 * x)).collect();
        let ratio = |pairs: &[(f64, f64)]| {
            pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.iter().map(|p| p.0).sum::<f64>()
        };
        let resampled = QUICK.interval(&pairs, ratio).expect("pairs");
        assert!(resampled.high - resampled.low < 1e-9 && resampled.holds(3.0), "{resampled:?}");
    }

    #[test]
    fn several_statistics_share_their_resamplings() {
        let values = sample(0, 5.0);
        let both = QUICK.intervals(&values, |drawn| vec![mean(drawn), -mean(drawn), f64::NAN]);
        assert_eq!(both[0], QUICK.interval(&values, mean));
        let (one, other) = (both[0].expect("a sample"), both[1].expect("a sample"));
        assert!((one.low + other.high).abs() < 1e-9 && (one.high + other.low).abs() < 1e-9);
        assert_eq!(both[2], None);
        assert!(QUICK.intervals(&[], |_: &[f64]| vec![1.0]).is_empty());
    }

    #[test]
    fn undefined_statistics_have_no_interval() {
        assert_eq!(QUICK.interval(&[], mean), None);
        assert_eq!(QUICK.interval(&[0.0], |v| v[0] / 0.0), None);
        let one = QUICK.interval(&[7.0], mean);
        assert_eq!(one, Some(Resampled { value: 7.0, low: 7.0, high: 7.0 }));
    }
}
