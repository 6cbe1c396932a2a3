//! [`Estimate`]: a mean and how sure it is.

/// The normal distribution's 97.5 % quantile: within so many standard errors of a mean lies 95 %.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A mean of independent values and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; infinite where a single value tells nothing of it.
    pub error: f64,
}

impl Estimate {
    /// The mean of `values`, and its standard error as their scatter shows it.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Estimate {
        Estimate::stratified(values, 1)
    }

    /// The mean of `values` that were taken of `strata` fixed things in turn, such as the networks
    /// of a grid: value `i` is of thing `i % strata`. What sets the things apart is no chance, so
    /// the standard error is that of the scatter within each alone.
    ///
    /// # Panics
    /// If there are no values, or not the same number of each thing.
    pub fn stratified(values: &[f64], strata: usize) -> Estimate {
        let count = values.len();
        assert!(count > 0 && count.is_multiple_of(strata), "{count} values of {strata} strata");
        let each = (count / strata) as f64;
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(s, n), value| (s + value, n + 1.0));
            sum / count
        };
        let mut squares = 0.0;
        for stratum in 0..strata {
            let own = || values.iter().skip(stratum).step_by(strata).copied();
            let mean = mean(&mut own());
            squares += own().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        }
        let variance =
            if each > 1.0 { squares / (each - 1.0) / strata as f64 } else { f64::INFINITY };
        Estimate {
            mean: mean(&mut values.iter().copied()),
            error: (variance / count as f64).sqrt(),
        }
    }

    /// The 95 % confidence interval, taking the mean for normally distributed.
    pub fn interval(&self) -> (f64, f64) {
        let reach = NORMAL_975 * self.error;
        (self.mean - reach, self.mean + reach)
    }

    /// Half the length of the interval: what stands after the sign of plus or minus.
    pub fn reach(&self) -> f64 {
        NORMAL_975 * self.error
    }

    /// Whether the interval excludes zero: a difference that is no accident.
    pub fn excludes_zero(&self) -> bool {
        let (low, high) = self.interval();
        low > 0.0 || high < 0.0
    }

    /// The same of `times` as much: a sum of so many.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Estimate {
        Estimate { mean: self.mean * times, error: self.error * times.abs() }
    }
}

/// The quantile `part` (from 0 to 1) of `values`, straight between the two nearest of them;
/// nothing of none.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_interval_by_hand() {
        // Mean 5, squared deviations 9 + 1 + 1 + 9 = 20, variance 20/3, error sqrt(5/3).
        let estimate = Estimate::of(&[2.0, 4.0, 6.0, 8.0]);
        assert_eq!(estimate.mean, 5.0);
        assert!((estimate.error - (5.0f64 / 3.0).sqrt()).abs() < 1e-12, "{estimate:?}");
        let (low, high) = estimate.interval();
        assert!((low - 2.469_70).abs() < 1e-4 && (high - 7.530_30).abs() < 1e-4, "{low} {high}");
        assert!(estimate.excludes_zero());
        assert!(!Estimate::of(&[-1.0, 1.0, 0.5]).excludes_zero());
    }

    #[test]
    fn what_sets_strata_apart_is_no_chance() {
        // Two things, worth 0 and 100, each measured twice: 0 +- 1 and 100 +- 1.
        let values = [-1.0, 99.0, 1.0, 101.0];
        let estimate = Estimate::stratified(&values, 2);
        assert_eq!(estimate.mean, 50.0);
        // Each thing's variance is 2, so that of its mean 1 and of the mean of both 1/2.
        assert!((estimate.error - 0.5f64.sqrt()).abs() < 1e-12, "{estimate:?}");
        assert!(Estimate::of(&values).error > 20.0);
    }

    #[test]
    fn one_value_tells_nothing_of_its_error() {
        assert_eq!(Estimate::of(&[3.0]), Estimate { mean: 3.0, error: f64::INFINITY });
        assert!(!Estimate::of(&[3.0]).excludes_zero());
        assert!(Estimate::stratified(&[1.0, 2.0], 2).error.is_infinite());
        assert_eq!(Estimate::of(&[2.0, 2.0]).error, 0.0);
    }

    #[test]
    fn quantiles_lie_between() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[3.0, 1.0], 0.25), Some(1.5));
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn one_stratum_is_the_plain_estimate(values in prop::collection::vec(-1e3..1e3, 2..40)) {
            let values: Vec<f64> = values;
            let estimate = Estimate::of(&values);
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            prop_assert!((estimate.error - (squares / (n - 1.0) / n).sqrt()).abs() < 1e-9);
            let (low, high) = estimate.interval();
            prop_assert!(low <= estimate.mean && estimate.mean <= high);
        }
    }
}
