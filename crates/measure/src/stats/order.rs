//! The mean, and what depends on the order of values alone: quantiles and the empirical distribution.

/// The arithmetic mean of `values`; `None` if there are no values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let add = |(sum, count), value| (sum + value, count + 1);
    let (sum, count) = values.into_iter().fold((0.0, 0u64), add);
    (count > 0).then(|| sum / count as f64)
}

/// The quantile `part` (from 0 to 1) of `values`, interpolated linearly between the two nearest;
/// none if there are no values.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, part)
}

/// [`quantile`] of values that are in order already.
pub(super) fn quantile_of_sorted(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // Where the two are equal, as two infinities are, there is nothing between them.
    Some(if low == high { low } else { low + (high - low) * place.fract() })
}

/// The middle of `values`, or the mean of the middle two; `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// [`median`] that reorders `values`: it selects the middle instead of sorting, which is what makes
/// a bootstrap of medians affordable.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    // The difference of two equal infinities is NaN.
    let lower = lower.filter(|lower| *lower != upper);
    Some(lower.map_or(upper, |lower| lower + (upper - lower) / 2.0))
}

/// The empirical distribution of `values`: each of them once, in order, with the part of all
/// values that are no greater.
pub fn empirical_cdf(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (index, &value) in sorted.iter().enumerate() {
        let part = (index + 1) as f64 / sorted.len() as f64;
        match points.last_mut() {
            Some(last) if last.0 == value => last.1 = part,
            _ => points.push((value, part)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_lie_between() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[3.0, 1.0], 0.25), Some(1.5));
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY, f64::INFINITY], 0.75), Some(f64::INFINITY));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }

    #[test]
    fn the_mean_of_nothing_is_none() {
        assert_eq!((mean([1.0, 2.0, 6.0]), mean([])), (Some(3.0), None));
    }

    #[test]
    fn a_distribution_by_hand() {
        let points = empirical_cdf(&[2.0, 1.0, 2.0, 5.0]);
        assert_eq!(points, [(1.0, 0.25), (2.0, 0.75), (5.0, 1.0)]);
        assert!(empirical_cdf(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn the_median_is_the_quantile_of_one_half(values in prop::collection::vec(-9.0..9.0, 0..40)) {
            prop_assert_eq!(median(&values), quantile(&values, 0.5));
        }

        #[test]
        fn a_distribution_rises_to_one(values in prop::collection::vec(-9.0..9.0, 1..60)) {
            let points = empirical_cdf(&values);
            prop_assert!(points.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            prop_assert_eq!(points.last().map(|point| point.1), Some(1.0));
        }

        #[test]
        fn quantiles_rise(values in prop::collection::vec(-9.0..9.0, 1..60), a in 0.0..1.0, b in 0.0..1.0) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(quantile(&values, low) <= quantile(&values, high));
        }
    }
}
