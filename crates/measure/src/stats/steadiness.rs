//! How soon a rate settles, how much it varies, how much of the capacity it uses, and how evenly flows
//! share in short intervals: the metrics of RFC 8868, section 3, that are computed from rates over time.

use super::{jain_index, mean};

/// The first time from which on `series`, of times and values, stays between the ends of `band`, both
/// included, for `hold`, in the unit of its times; `None` if it never does, or ends before.
///
/// For convergence of a rate (RFC 8868, section 3, item 8), the band lies around its fair share and `hold`
/// says for how long a rate is called stable: the RFC sets neither. Where the series ends with the state that is
/// waited for, [`convergence_time`](super::convergence_time) asks that it stay until the end.
///
/// ```
/// let series = [(0.0, 0.2), (1.0, 1.05), (2.0, 0.5), (3.0, 0.96), (4.0, 1.0), (5.0, 3.0)];
/// assert_eq!(exm_measure::settling_time(&series, (0.9, 1.1), 1.0), Some(3.0));
/// assert_eq!(exm_measure::settling_time(&series, (0.9, 1.1), 2.0), None);
/// ```
pub fn settling_time(series: &[(f64, f64)], band: (f64, f64), hold: f64) -> Option<f64> {
    // Times that are multiples of a step are not exact.
    let hold = hold * (1.0 - 1e-9);
    let mut since = None;
    for &(time, value) in series {
        if !(band.0..=band.1).contains(&value) {
            since = None;
            continue;
        }
        let start = *since.get_or_insert(time);
        if time - start >= hold {
            return Some(start);
        }
    }
    None
}

/// The standard deviation of `values` relative to their mean (the coefficient of variation), of a rate
/// its instability; `None` for fewer than two values, or of mean zero.
///
/// ```
/// let deviation = exm_measure::relative_deviation(&[1.0, 2.0, 3.0]).unwrap();
/// assert!((deviation - 0.5).abs() < 1e-12);
/// ```
pub fn relative_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values.iter().copied()).filter(|&mean| mean != 0.0)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean.abs())
}

/// How often `series`, of times and values, goes from the lower of the `watermarks` or below to the upper or
/// above, or back, within `window`, in the unit of its times (RFC 8868, section 3, item 9, whose example is
/// watermarks that differ by a factor of four, and 500 ms).
///
/// ```
/// let series = [(0.0, 0.4), (0.2, 1.0), (0.4, 2.1), (1.0, 1.0), (1.2, 0.4)];
/// assert_eq!(exm_measure::swings(&series, (0.5, 2.0), 0.5), 1);
/// assert_eq!(exm_measure::swings(&series, (0.5, 2.0), 1.0), 2);
/// ```
pub fn swings(series: &[(f64, f64)], watermarks: (f64, f64), window: f64) -> usize {
    // Times that are multiples of a step are not exact.
    let window = window * (1.0 + 1e-9);
    // The last time at a watermark, and whether it was the upper one.
    let mut last: Option<(f64, bool)> = None;
    let mut count = 0;
    for &(time, value) in series {
        let is_high = value >= watermarks.1;
        if !is_high && value > watermarks.0 {
            continue;
        }
        let turned = last.is_some_and(|(at, was)| was != is_high && time - at <= window);
        count += usize::from(turned);
        last = Some((time, is_high));
    }
    count
}

/// The mean of each `width` values in turn: a rate in intervals that many times longer. Values at the end
/// that fill no interval are left out, and so are all if `width` is zero.
///
/// ```
/// assert_eq!(exm_measure::coarser(&[1.0, 2.0, 3.0, 5.0, 9.0], 2), [1.5, 4.0]);
/// ```
pub fn coarser(values: &[f64], width: usize) -> Vec<f64> {
    let intervals = values.chunks_exact(width.max(1)).filter(|_| width > 0);
    intervals.map(|values| values.iter().sum::<f64>() / width as f64).collect()
}

/// Jain's index of the rates of `flows` in each interval of `width` values: fairness on that timescale
/// (RFC 8868, section 3, item 7: for example at 1, 5 and 20 s). Intervals in which no flow has a rate are
/// left out; the flow with the fewest values ends the last.
///
/// ```
/// let flows = [[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]];
/// assert_eq!(exm_measure::interval_fairness(&flows, 1), [0.5, 0.5, 1.0]);
/// assert_eq!(exm_measure::interval_fairness(&flows, 2), [1.0]);
/// ```
pub fn interval_fairness<R: AsRef<[f64]>>(flows: &[R], width: usize) -> Vec<f64> {
    let rates: Vec<Vec<f64>> = flows.iter().map(|flow| coarser(flow.as_ref(), width)).collect();
    let count = rates.iter().map(Vec::len).min().unwrap_or(0);
    let of = |interval: usize| rates.iter().map(|flow| flow[interval]).collect::<Vec<f64>>();
    (0..count).filter_map(|interval| jain_index(&of(interval))).collect()
}

/// How much of a capacity is used, see [`utilisation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation {
    /// The mean ratio of rate to capacity.
    pub mean: f64,
    /// The mean part of the capacity that is left idle: of intervals in which the rate is below it.
    pub unused: f64,
    /// The part of the intervals in which the rate is above the capacity: while a rate is that of senders, a
    /// queue grows.
    pub over: f64,
}

/// How much of the capacity is used, by the rate and the capacity of each interval in turn (RFC 8868, section
/// 3, item 10: the ratio of the instantaneous sending rate to the instantaneous capacity). Intervals without
/// capacity are left out; `None` if there are no others.
///
/// ```
/// let used = exm_measure::utilisation([(0.5, 1.0), (3.0, 2.0)]).unwrap();
/// assert_eq!((used.mean, used.unused, used.over), (1.0, 0.25, 0.5));
/// ```
pub fn utilisation(intervals: impl IntoIterator<Item = (f64, f64)>) -> Option<Utilisation> {
    let intervals = intervals.into_iter().filter(|&(_, capacity)| capacity > 0.0);
    let ratios: Vec<f64> = intervals.map(|(rate, capacity)| rate / capacity).collect();
    let of = |part: &dyn Fn(f64) -> f64| mean(ratios.iter().map(|&ratio| part(ratio)));
    Some(Utilisation {
        mean: of(&|ratio| ratio)?,
        unused: of(&|ratio| (1.0 - ratio).max(0.0))?,
        over: of(&|ratio| f64::from(u8::from(ratio > 1.0)))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(index, &value)| (index as f64 * 0.2, value)).collect()
    }

    #[test]
    fn what_leaves_the_band_starts_anew() {
        let rates = series(&[9.0, 1.0, 1.1, 9.0, 0.9, 1.0, 1.1, 1.0, 9.0]);
        assert_eq!(settling_time(&rates, (0.9, 1.1), 0.2), Some(0.2));
        let late = settling_time(&rates, (0.9, 1.1), 0.6).expect("four values");
        assert!((late - 0.8).abs() < 1e-12, "{late}");
        assert_eq!(settling_time(&rates, (0.9, 1.1), 0.8), None);
        assert_eq!(settling_time(&rates, (0.9, 1.1), 0.0), Some(0.2));
        assert_eq!(settling_time(&[], (0.9, 1.1), 0.0), None);
        assert_eq!(settling_time(&[(0.0, f64::NAN)], (0.9, 1.1), 0.0), None);
    }

    #[test]
    fn the_deviation_by_hand() {
        // The squares of -1, -1, 1 and 1 over three: the deviation is sqrt(4 / 3), of a mean of 4.
        let deviation = relative_deviation(&[3.0, 3.0, 5.0, 5.0]).expect("four values");
        assert!((deviation - (4.0f64 / 3.0).sqrt() / 4.0).abs() < 1e-12, "{deviation}");
        assert_eq!(relative_deviation(&[2.0, 2.0]), Some(0.0));
        for values in [&[][..], &[1.0], &[0.0, 0.0], &[-1.0, 1.0]] {
            assert_eq!(relative_deviation(values), None, "{values:?}");
        }
    }

    #[test]
    fn swings_count_both_ways_once() {
        let marks = (0.5, 2.0);
        let quick = series(&[0.5, 2.0, 2.5, 0.4, 0.3, 1.0, 3.0]);
        assert_eq!(swings(&quick, marks, 0.4), 3);
        assert_eq!(swings(&quick, marks, 0.2), 2, "the last takes two intervals");
        assert_eq!(swings(&series(&[0.6, 2.5, 0.6, 1.9]), marks, 9.0), 0, "one watermark alone");
        assert_eq!(swings(&[], marks, 9.0), 0);
    }

    #[test]
    fn fairness_grows_with_the_interval() {
        // Two flows that take turns are unfair in each interval, and fair over two.
        let turns = [[1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0]];
        assert_eq!(interval_fairness(&turns, 1), [0.5; 4], "the last is idle");
        assert_eq!(interval_fairness(&turns, 2), [1.0; 2]);
        assert_eq!(interval_fairness(&turns, 0), [0.0; 0]);
        assert_eq!(interval_fairness::<[f64; 1]>(&[], 1), [0.0; 0]);
    }

    #[test]
    fn idle_capacity_does_not_make_up_for_a_queue() {
        let used = utilisation([(2.0, 1.0), (0.0, 1.0), (1.0, 1.0), (5.0, 0.0)]).expect("capacity");
        assert_eq!(used.mean, 1.0);
        assert!((used.unused - 1.0 / 3.0).abs() < 1e-12 && (used.over - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(utilisation([]), None);
        assert_eq!(utilisation([(1.0, 0.0)]), None);
    }

    proptest! {
        #[test]
        fn what_settles_stays_in_the_band(values in prop::collection::vec(0.0..2.0, 0..60), hold in 0usize..9) {
            let rates: Vec<(f64, f64)> = series(&values);
            let inside = |at: usize| (0.5..=1.5).contains(&values[at]);
            let first = (0..values.len().saturating_sub(hold)).find(|&at| (at..=at + hold).all(inside));
            let found = settling_time(&rates, (0.5, 1.5), hold as f64 * 0.2);
            prop_assert_eq!(found, first.map(|at| rates[at].0));
        }
    }
}
