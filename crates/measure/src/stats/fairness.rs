//! How a link is shared: evenly or not, by RTT or not, and how soon.

/// Jain's index of fairness (Jain, Chiu & Hawe, 1984): 1 where all get the same, 1/n where one of
/// n gets all; none without flows, or if all get zero.
///
/// ```
/// assert_eq!(exm_measure::jain_index(&[1.0, 1.0]), Some(1.0));
/// assert_eq!(exm_measure::jain_index(&[2.0, 0.0]), Some(0.5));
/// ```
pub fn jain_index(amounts: &[f64]) -> Option<f64> {
    let most = amounts.iter().fold(0.0, |most: f64, amount| most.max(amount.abs()));
    // Of the largest, so that no square is lost to the range of a float.
    let parts = || amounts.iter().map(|amount| amount / most);
    let (sum, squares) = (parts().sum::<f64>(), parts().map(|part| part * part).sum::<f64>());
    (most > 0.0 && most.is_finite()).then(|| sum * sum / (amounts.len() as f64 * squares))
}

/// Each of `amounts` over the sum of all; all 0 where that is 0.
pub fn shares(amounts: &[f64]) -> Vec<f64> {
    let sum: f64 = amounts.iter().sum();
    amounts.iter().map(|amount| if sum > 0.0 { amount / sum } else { 0.0 }).collect()
}

/// How many times the throughput of the flow with the longest RTT the one with the shortest gets:
/// the plainest measure of unfairness by RTT. `flows` are RTTs and throughputs; of several with the
/// same RTT the mean counts. Nothing where there are not two RTTs, and infinite where the longest
/// gets nothing.
pub fn shortest_over_longest(flows: &[(f64, f64)]) -> Option<f64> {
    let rtts = || flows.iter().map(|flow| flow.0);
    let (shortest, longest) = (rtts().fold(f64::INFINITY, f64::min), rtts().fold(0.0, f64::max));
    let mean_at = |rtt: f64| {
        let own = || flows.iter().filter(|flow| flow.0 == rtt).map(|flow| flow.1);
        own().sum::<f64>() / own().count() as f64
    };
    (shortest < longest).then(|| mean_at(shortest) / mean_at(longest))
}

/// The exponent k of the power law throughput ~ RTT^-k that fits `flows` (RTTs and throughputs)
/// best, by least squares of the logarithms: 0 is fair, Reno's own is between 1 and 2 (Lakshman &
/// Madhow, 1997). Nothing where there are not two RTTs among the flows that got anything.
pub fn rtt_exponent(flows: &[(f64, f64)]) -> Option<f64> {
    let positive = flows.iter().filter(|flow| flow.0 > 0.0 && flow.1 > 0.0);
    let logs: Vec<(f64, f64)> =
        positive.map(|flow| (libm::log(flow.0), libm::log(flow.1))).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|log| log.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|log| log.1).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|log| (log.0 - mean_x).powi(2)).sum();
    let joint: f64 = logs.iter().map(|log| (log.0 - mean_x) * (log.1 - mean_y)).sum();
    (spread > 1e-12).then(|| -joint / spread)
}

/// The first time from which on `series`, of times and values, stays within `tolerance` (a part)
/// of `target` to its end; `None` if it ends outside, or is empty. The target of a flow's
/// throughput is its final or its fair share.
///
/// ```
/// let series = [(0.0, 0.2), (1.0, 1.05), (2.0, 0.5), (3.0, 0.96), (4.0, 1.0)];
/// assert_eq!(exm_measure::convergence_time(&series, 1.0, 0.1), Some(3.0));
/// ```
pub fn convergence_time(series: &[(f64, f64)], target: f64, tolerance: f64) -> Option<f64> {
    let band = tolerance * target.abs();
    let settled = series.iter().rev().take_while(|(_, value)| (value - target).abs() <= band);
    settled.last().map(|&(time, _)| time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn jains_index_by_hand() {
        // (1 + 2 + 3)^2 / (3 (1 + 4 + 9)) = 36 / 42.
        let index = jain_index(&[1.0, 2.0, 3.0]).expect("amounts");
        assert!((index - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain_index(&[]), jain_index(&[0.0, 0.0])), (None, None));
        assert_eq!(jain_index(&[1e-200, 1e-200]), Some(1.0));
    }

    #[test]
    fn shares_sum_to_one() {
        assert_eq!(shares(&[1.0, 3.0]), [0.25, 0.75]);
        assert_eq!(shares(&[0.0, 0.0]), [0.0, 0.0]);
    }

    #[test]
    fn unfairness_by_rtt() {
        let flows = [(50.0, 8.0), (100.0, 4.0), (200.0, 2.0), (200.0, 2.0)];
        assert_eq!(shortest_over_longest(&flows), Some(4.0));
        let exponent = rtt_exponent(&flows).expect("several RTTs");
        assert!((exponent - 1.0).abs() < 1e-12, "{exponent}");
        let fair = [(50.0, 3.0), (200.0, 3.0)];
        assert!(rtt_exponent(&fair).expect("two RTTs").abs() < 1e-12);
        assert_eq!(
            (rtt_exponent(&[(50.0, 3.0)]), shortest_over_longest(&[(50.0, 3.0)])),
            (None, None)
        );
        assert_eq!((rtt_exponent(&[]), shortest_over_longest(&[])), (None, None));
        assert_eq!(shortest_over_longest(&[(1.0, 1.0), (2.0, 0.0)]), Some(f64::INFINITY));
    }

    #[test]
    fn what_ends_outside_has_not_converged() {
        let series = [(0.0, 1.0), (1.0, 1.0), (2.0, 5.0)];
        assert_eq!(convergence_time(&series, 1.0, 0.1), None);
        assert_eq!(convergence_time(&series[..2], 1.0, 0.1), Some(0.0));
        assert_eq!(convergence_time(&[], 1.0, 0.1), None);
    }

    proptest! {
        #[test]
        fn jains_index_is_between(amounts in prop::collection::vec(0.0..1e6, 1..40)) {
            prop_assume!(amounts.iter().any(|&amount: &f64| amount > 0.0));
            let index = jain_index(&amounts).expect("amounts");
            let least = 1.0 / amounts.len() as f64;
            prop_assert!((least - 1e-12..=1.0 + 1e-12).contains(&index), "{}", index);
        }
    }
}
