//! [`MedianInterval`]: a median and how sure it is.

use super::order::median;

/// The probability that the interval misses the median is at most this.
const MISSES: f64 = 0.05;

/// The median of a sample, and a 95 % confidence interval for that of the population, whatever its distribution: between
/// two values of the sample (the interval of the sign test). A few values far out move neither.
///
/// ```
/// use exm_measure::MedianInterval;
///
/// let middle = MedianInterval::of(&[3.0, 1.0, 900.0, 2.0, 5.0, 4.0]).unwrap();
/// assert_eq!((middle.median, middle.low, middle.high), (3.5, 1.0, 900.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianInterval {
    /// The median.
    pub median: f64,
    /// The lower end of its interval. With fewer than six values no interval is sure enough: it is the smallest value.
    pub low: f64,
    /// The upper end of its interval, or the largest value.
    pub high: f64,
}

impl MedianInterval {
    /// Of `values`; none if there are none.
    pub fn of(values: &[f64]) -> Option<MedianInterval> {
        let median = median(values)?;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let outside = outside(sorted.len());
        Some(MedianInterval {
            median,
            low: sorted[outside],
            high: sorted[sorted.len() - 1 - outside],
        })
    }
}

/// How many of `count` values lie below the interval: as many as are below the median with a probability of at most half
/// of [`MISSES`] (a binomial distribution).
fn outside(count: usize) -> usize {
    let mut probability = libm::exp2(-(count as f64));
    let (mut below, mut outside) = (probability, 0);
    for k in 0..count / 2 {
        if below > MISSES / 2.0 {
            break;
        }
        outside = k;
        probability *= (count - k) as f64 / (k + 1) as f64;
        below += probability;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table values of the sign test: the ranks, from 1, of the lower end for samples of so many.
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (50, 18)]
        {
            assert_eq!(outside(count) + 1, rank, "of {count}");
        }
    }

    #[test]
    fn a_value_far_out_moves_nothing() {
        let mut values: Vec<f64> = (0..20).map(f64::from).collect();
        let before = MedianInterval::of(&values);
        values[19] = 1e9;
        assert_eq!(MedianInterval::of(&values), before);
        assert_eq!(before, Some(MedianInterval { median: 9.5, low: 5.0, high: 14.0 }));
        assert_eq!(MedianInterval::of(&[]), None);
    }
}
