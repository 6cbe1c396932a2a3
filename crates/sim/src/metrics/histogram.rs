//! [`Histogram`]: the distribution of durations, in bounded memory.

use exm_units::Span;

/// Durations are counted in units of 256 ns; those below 16 us exactly so.
const UNIT_BITS: u32 = 8;
/// Each doubling is divided into 64 buckets, so a percentile is within 0.8 % of the true value.
const SUB_BITS: u32 = 6;

/// Counts of durations in buckets whose width grows with the duration, with exact count and sum.
///
/// It grows with the range of its values, to at most 26 kB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Counts from bucket `first` on.
    counts: Vec<u64>,
    first: usize,
    count: u64,
    sum: u128,
    min: Span,
    max: Span,
}

impl Histogram {
    /// An empty histogram.
    pub const fn new() -> Histogram {
        let (min, max) = (Span::MAX, Span::ZERO);
        Histogram { counts: Vec::new(), first: 0, count: 0, sum: 0, min, max }
    }

    /// Counts `span`.
    #[inline(always)]
    pub fn record(&mut self, span: Span) {
        self.count += 1;
        self.sum += u128::from(span.as_nanos());
        if span < self.min {
            self.min = span;
        }
        if span > self.max {
            self.max = span;
        }
        let bucket = bucket_of(span);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.grow_and_count(bucket),
        }
    }

    /// Counts `span` in the count and the sum only: fast, where nothing but the mean is asked for.
    #[inline]
    pub fn record_sum(&mut self, span: Span) {
        self.count += 1;
        self.sum += u128::from(span.as_nanos());
    }

    #[cold]
    fn grow_and_count(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let index = bucket - self.first;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// How many spans were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in nanoseconds, exact.
    pub const fn sum_nanos(&self) -> u128 {
        self.sum
    }

    /// Their mean, rounded down to a nanosecond; none if it is empty.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum.checked_div(u128::from(self.count))?;
        Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The shortest, exact; none if it is empty or has only sums.
    pub fn min(&self) -> Option<Span> {
        (!self.counts.is_empty()).then_some(self.min)
    }

    /// The longest, exact; none if it is empty or has only sums.
    pub fn max(&self) -> Option<Span> {
        (!self.counts.is_empty()).then_some(self.max)
    }

    /// The duration that `percent` of them do not exceed, within 0.8 % or 128 ns, whichever is more;
    /// none if it is empty or has only sums.
    pub fn percentile(&self, percent: f64) -> Option<Span> {
        let rank =
            ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_of(self.first + index).clamp(self.min, self.max))
    }

    /// How many durations were at most `longest`, to the precision of the buckets: all in its own
    /// bucket count. Zero if it has only sums.
    pub fn count_up_to(&self, longest: Span) -> u64 {
        let buckets = (bucket_of(longest) + 1).saturating_sub(self.first).min(self.counts.len());
        self.counts[..buckets].iter().sum()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (index, &count) in other.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            self.grow_and_count(other.first + index);
            self.counts[other.first + index - self.first] += count - 1;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

#[inline]
fn bucket_of(span: Span) -> usize {
    let units = span.as_nanos() >> UNIT_BITS;
    // The first two times 64 buckets are a unit wide each.
    let doublings = (units | ((2 << SUB_BITS) - 1)).ilog2() - SUB_BITS;
    (u64::from(doublings << SUB_BITS) + (units >> doublings)) as usize
}

/// The middle of a bucket.
fn middle_of(bucket: usize) -> Span {
    let doublings = (bucket as u64 >> SUB_BITS).saturating_sub(1);
    let units = bucket as u64 - (doublings << SUB_BITS);
    let middle = u128::from(2 * units + 1) << (doublings + u64::from(UNIT_BITS)) >> 1;
    Span::from_nanos(u64::try_from(middle).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_mean() {
        let none = Histogram::new();
        assert_eq!((none.min(), none.mean(), none.max()), (None, None, None));
        assert_eq!((none.percentile(50.0), none.count_up_to(Span::MAX)), (None, 0));
    }

    #[test]
    fn a_histogram_of_sums_has_only_a_mean() {
        let mut sums = Histogram::new();
        sums.record_sum(Span::from_millis(1));
        sums.record_sum(Span::from_millis(3));
        assert_eq!((sums.count(), sums.mean()), (2, Some(Span::from_millis(2))));
        assert_eq!((sums.min(), sums.max(), sums.percentile(50.0)), (None, None, None));
        assert_eq!(sums.count_up_to(Span::MAX), 0);
    }

    #[test]
    fn the_longest_span_is_counted_too() {
        let mut all = Histogram::new();
        all.record(Span::MAX);
        all.record(Span::ZERO);
        assert_eq!(all.percentile(0.0), Some(Span::from_nanos(128)));
        assert!(all.percentile(99.0) > Some(Span::from_nanos(u64::MAX / 100 * 99)));
        assert!(all.counts.len() < 3600, "{}", all.counts.len());
    }

    proptest! {
        #[test]
        fn percentiles_are_close_and_merging_is_counting_both(
            nanos in prop::collection::vec(0u64..10_000_000_000, 1..200),
            percent in 0.0f64..100.0,
            cut in 0usize..200,
        ) {
            let cut = cut.min(nanos.len());
            let count = |nanos: &[u64]| {
                let mut all = Histogram::new();
                nanos.iter().for_each(|&n| all.record(Span::from_nanos(n)));
                all
            };
            let all = count(&nanos);
            let mut sorted = nanos.clone();
            sorted.sort_unstable();
            let rank = ((percent / 100.0 * nanos.len() as f64).ceil() as usize).max(1);
            let (is, should) = (all.percentile(percent).unwrap().as_nanos(), sorted[rank - 1]);
            prop_assert!(is.abs_diff(should) <= (should / 125).max(128), "{is} {should}");
            // To the precision of the buckets.
            let (least, most) = (should.saturating_sub(should / 64 + 256), should + should / 64 + 256);
            let below = |limit: u64| sorted.iter().filter(|&&nanos| nanos <= limit).count() as u64;
            let counted = all.count_up_to(Span::from_nanos(should));
            prop_assert!((below(least)..=below(most)).contains(&counted), "{counted}");
            prop_assert_eq!(all.min().unwrap().as_nanos(), sorted[0]);
            prop_assert_eq!(all.sum_nanos(), nanos.iter().map(|&n| u128::from(n)).sum());
            let mut merged = count(&nanos[..cut]);
            merged.merge(&count(&nanos[cut..]));
            prop_assert_eq!((merged.count(), merged.mean()), (all.count(), all.mean()));
            prop_assert_eq!((merged.min(), merged.max()), (all.min(), all.max()));
            prop_assert_eq!(merged.percentile(percent), all.percentile(percent));
        }
    }
}
