//! [`Estimate`]: a mean and its confidence interval.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The normal distribution's 97.5 % quantile: 95 % lies within this many standard errors of a mean.
const NORMAL_975: f64 = 1.959_963_984_540_054;
/// The 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom.
const STUDENT_975: [f64; 10] =
    [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
/// From so many degrees of freedom on the mean is taken for normally distributed: an interval is
/// then shorter than Student's by 0.6 % at most.
const AS_GOOD_AS_NORMAL: usize = 200;

/// A mean of independent values and its standard error.
///
/// It serialises as `{"mean": 1.5, "interval": [1.2, 1.8]}`, the interval null for a single value,
/// which has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; infinite for a single value.
    pub error: f64,
    /// The degrees of freedom of the standard error: the number of values less the number of means taken of
    /// them.
    pub freedom: usize,
}

impl Estimate {
    /// The mean of `values`, and its standard error as their scatter shows it.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Estimate {
        Estimate::stratified(values, 1)
    }

    /// As [`Estimate::of`]; none if there are no values.
    pub fn of_any(values: &[f64]) -> Option<Estimate> {
        (!values.is_empty()).then(|| Estimate::of(values))
    }

    /// The mean of `values` that were taken of `strata` fixed things in turn, such as the networks
    /// of a grid: value `i` is of thing `i % strata`. What sets the things apart is not random,
    /// so the standard error is that of the scatter within each alone.
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
            freedom: count - strata,
        }
    }

    /// The 95 % confidence interval, by Student's t.
    pub fn interval(&self) -> (f64, f64) {
        let reach = self.reach();
        (self.mean - reach, self.mean + reach)
    }

    /// Half the length of the interval: the number after ±.
    pub fn reach(&self) -> f64 {
        quantile_975(self.freedom) * self.error
    }

    /// Whether the interval excludes zero: a significant difference.
    pub fn excludes_zero(&self) -> bool {
        let (low, high) = self.interval();
        low > 0.0 || high < 0.0
    }

    /// The same multiplied by `times`: the sum of this many.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Estimate {
        Estimate { mean: self.mean * times, error: self.error * times.abs(), ..*self }
    }

    /// As text with this many decimals: "1.62 ±0.04", or "1.62" for a single value.
    pub fn text(&self, decimals: usize) -> String {
        let Estimate { mean, error, .. } = self;
        match error.is_finite() {
            true => format!("{mean:.decimals$} ±{:.decimals$}", self.reach()),
            false => format!("{mean:.decimals$}"),
        }
    }
}

impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Estimate", 2)?;
        fields.serialize_field("mean", &self.mean)?;
        fields.serialize_field("interval", &self.error.is_finite().then(|| self.interval()))?;
        fields.end()
    }
}

/// The 97.5 % quantile of Student's t: beyond the table by its expansion about the normal one
/// (Abramowitz & Stegun, 26.7.5), which is good to three decimals there.
fn quantile_975(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1..=10 => STUDENT_975[freedom - 1],
        AS_GOOD_AS_NORMAL.. => NORMAL_975,
        _ => {
            let (z, n) = (NORMAL_975, freedom as f64);
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            z + first / n + second / n.powi(2) + third / n.powi(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_interval_by_hand() {
        // Mean 5, squared deviations 9 + 1 + 1 + 9 = 20, variance 20/3, error sqrt(5/3); three
        // degrees of freedom, so 3.1824 errors to either side.
        let estimate = Estimate::of(&[2.0, 4.0, 6.0, 8.0]);
        assert_eq!((estimate.mean, estimate.freedom), (5.0, 3));
        assert!((estimate.error - (5.0f64 / 3.0).sqrt()).abs() < 1e-12, "{estimate:?}");
        let (low, high) = estimate.interval();
        assert!((low - 0.891_54).abs() < 1e-4 && (high - 9.108_46).abs() < 1e-4, "{low} {high}");
        assert!(estimate.excludes_zero());
        assert!(!Estimate::of(&[-1.0, 1.0, 0.5]).excludes_zero());
        assert_eq!(Estimate::of(&[1.0, 2.0, 3.0]).text(3), "2.000 ±2.484");
    }

    #[test]
    fn differences_between_strata_are_not_random() {
        // Two things, worth 0 and 100, each measured twice: 0 +- 1 and 100 +- 1.
        let values = [-1.0, 99.0, 1.0, 101.0];
        let estimate = Estimate::stratified(&values, 2);
        assert_eq!((estimate.mean, estimate.freedom), (50.0, 2));
        // Each thing's variance is 2, so that of its mean 1 and of the mean of both 1/2.
        assert!((estimate.error - 0.5f64.sqrt()).abs() < 1e-12, "{estimate:?}");
        assert!(Estimate::of(&values).error > 20.0);
    }

    #[test]
    fn one_value_tells_nothing_of_its_error() {
        let one = Estimate::of(&[3.0]);
        assert_eq!(one, Estimate { mean: 3.0, error: f64::INFINITY, freedom: 0 });
        assert!(!one.excludes_zero());
        assert_eq!(one.text(2), "3.00");
        assert!(Estimate::stratified(&[1.0, 2.0], 2).error.is_infinite());
        assert_eq!(Estimate::of(&[2.0, 2.0]).error, 0.0);
        assert_eq!((Estimate::of_any(&[]), Estimate::of_any(&[3.0])), (None, Some(one)));
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, known) in [(1, 12.7062), (11, 2.2010), (30, 2.0423), (120, 1.9799)] {
            let quantile = quantile_975(freedom);
            assert!((quantile - known).abs() < 2e-4, "{freedom}: {quantile}");
        }
        let quantiles: Vec<f64> = (1..400).map(quantile_975).collect();
        assert!(quantiles.windows(2).all(|pair| pair[0] >= pair[1]));
        let (student, normal) = (quantile_975(AS_GOOD_AS_NORMAL - 1), NORMAL_975);
        assert!(student / normal < 1.0065, "{student}");
    }

    #[test]
    fn an_estimate_is_written_with_its_interval() {
        let json = |values: &[f64]| serde_json::to_string(&Estimate::of(values)).expect("JSON");
        assert_eq!(json(&[2.0]), r#"{"mean":2.0,"interval":null}"#);
        assert_eq!(json(&[2.0, 2.0]), r#"{"mean":2.0,"interval":[2.0,2.0]}"#);
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
