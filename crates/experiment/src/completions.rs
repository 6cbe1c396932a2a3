//! The distribution of flow completion times.

use exm_sim::metrics::Histogram;

/// Times in ms, in order, and how many flows took each: within 0.8 %, as a [`Histogram`] stores
/// them.
pub(crate) fn counted(times: &Histogram) -> Vec<(f64, u64)> {
    let count = times.count();
    // Half a rank below, so that rounding does not select another one.
    let percent = |rank: u64| 100.0 * (rank as f64 - 0.5) / count as f64;
    let time = |rank: u64| times.percentile(percent(rank));
    let mut all = Vec::new();
    let mut done = 0;
    while done < count {
        let Some(own) = time(done + 1) else { break };
        // The last rank of the same time, by bisection.
        let (mut low, mut high) = (done + 1, count);
        while low < high {
            let middle = high - (high - low) / 2;
            match time(middle) {
                Some(other) if other == own => low = middle,
                _ => high = middle - 1,
            }
        }
        all.push((own.as_secs_f64() * 1e3, low - done));
        done = low;
    }
    all
}

/// All times of several lists, individually and in order.
pub(crate) fn merged<'a>(lists: impl Iterator<Item = &'a [(f64, u64)]>) -> Vec<f64> {
    let mut all: Vec<f64> = lists
        .flatten()
        .flat_map(|&(time, count)| std::iter::repeat_n(time, usize::try_from(count).unwrap_or(0)))
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// The time that the fraction `part` of all flows does not exceed, from ordered `times`.
pub(crate) fn percentile(times: &[f64], part: f64) -> Option<f64> {
    let rank = (part * times.len() as f64).ceil() as usize;
    times.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;
    use proptest::prelude::*;

    #[test]
    fn percentiles_by_hand() {
        let times = merged([&[(1.0, 3), (5.0, 1)][..], &[(2.0, 96)]].into_iter());
        assert_eq!((times.len(), times[2], times[3], times[99]), (100, 1.0, 2.0, 5.0));
        let at = |part: f64| percentile(&times, part);
        assert_eq!(
            (at(0.0), at(0.03), at(0.5), at(0.99)),
            (Some(1.0), Some(1.0), Some(2.0), Some(2.0))
        );
        assert_eq!((at(1.0), percentile(&[], 0.5)), (Some(5.0), None));
    }

    proptest! {
        #[test]
        fn every_flow_is_counted_once(nanos in prop::collection::vec(0u64..1_000_000_000, 0..200)) {
            let mut histogram = Histogram::new();
            nanos.iter().for_each(|&n| histogram.record(Span::from_nanos(n)));
            let counts = counted(&histogram);
            prop_assert!(counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let times = merged([&counts[..]].into_iter());
            let mut sorted = nanos;
            sorted.sort_unstable();
            prop_assert_eq!(times.len(), sorted.len());
            for (time, nanos) in times.iter().zip(&sorted) {
                let error = (time * 1e6 - *nanos as f64).abs();
                prop_assert!(error <= (*nanos as f64 / 125.0).max(129.0), "{} {}", time, nanos);
            }
        }
    }
}
