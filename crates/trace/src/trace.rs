//! [`Trace`]: a list of delivery opportunities.

use exm_units::{Bytes, Instant, Rate, Span};
use std::fmt;

/// The size of a delivery opportunity: the largest Ethernet packet, as in Cellsim and mahimahi.
pub const OPPORTUNITY: Bytes = Bytes::new(1500);

/// The latest opportunity that a trace may have, 31 years after its start: late enough for any real
/// trace, and early enough that times of many laps do not overflow.
pub const MAX_TIME: Instant = Instant::from_nanos(1_000_000_000_000_000_000);

/// A sequence of delivery opportunities, repeated endlessly.
///
/// Their times count from the start of the trace; several may coincide. The period is the time of
/// the last one: the second lap begins where the first ends, so an opportunity at time zero of the
/// second lap coincides with the last of the first. Mahimahi and Cellsim repeat traces in the same
/// way.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    /// Never empty, never decreasing, the last within 1 ns and [`MAX_TIME`].
    times: Vec<Instant>,
}

/// Statistics of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The number of opportunities in a lap.
    pub opportunities: usize,
    /// The length of a lap.
    pub period: Span,
    /// Its mean rate.
    pub mean: Rate,
    /// The longest time without an opportunity, including across the end of a lap.
    pub longest_gap: Span,
}

impl Trace {
    /// A trace with opportunities at `times`.
    ///
    /// None if there are none, if they are not in order, or if the last is at zero or after
    /// [`MAX_TIME`].
    pub fn new(times: Vec<Instant>) -> Option<Trace> {
        let last = *times.last()?;
        let sound = last > Instant::ZERO && last <= MAX_TIME && times.is_sorted();
        sound.then_some(Trace { times })
    }

    /// The opportunities of the first lap.
    pub fn times(&self) -> &[Instant] {
        &self.times
    }

    /// The length of a lap; never zero.
    pub fn period(&self) -> Span {
        self.times[self.times.len() - 1] - Instant::ZERO
    }

    /// Its mean rate.
    pub fn mean_rate(&self) -> Rate {
        rate(in_bytes(self.times.len() as u64), self.period())
    }

    /// The number of opportunities before `time`, over all laps.
    ///
    /// Takes time logarithmic in the trace's length, as the other counts do.
    pub fn count_before(&self, time: Instant) -> u64 {
        let period = self.period().as_nanos();
        let (lap, within) = (time.as_nanos() / period, time.as_nanos() % period);
        // The end of a lap is also the start of the next: opportunities there are not before it.
        let (lap, within) = if within == 0 && lap > 0 { (lap - 1, period) } else { (lap, within) };
        let passed = self.times.partition_point(|&at| at.as_nanos() < within);
        lap.saturating_mul(self.times.len() as u64).saturating_add(passed as u64)
    }

    /// The time of opportunity `number`, counted from 0 over all laps; [`Instant::MAX`] if it is
    /// later than that.
    pub fn opportunity(&self, number: u64) -> Instant {
        let length = self.times.len() as u64;
        let within = self.times[(number % length) as usize].as_nanos();
        let lap = self.period().as_nanos().saturating_mul(number / length);
        Instant::from_nanos(lap.saturating_add(within))
    }

    /// The number of opportunities from `from` on and before `to`.
    pub fn count(&self, from: Instant, to: Instant) -> u64 {
        self.count_before(to).saturating_sub(self.count_before(from))
    }

    /// The capacity from `from` on and before `to`.
    pub fn capacity(&self, from: Instant, to: Instant) -> Bytes {
        in_bytes(self.count(from, to))
    }

    /// The capacity in each window of length `window`, from `from` on and before `to`; an
    /// incomplete last window is left out. Empty if `window` is zero.
    pub fn rates(
        &self,
        from: Instant,
        to: Instant,
        window: Span,
    ) -> impl Iterator<Item = Rate> + '_ {
        let windows = to.saturating_since(from).as_nanos().checked_div(window.as_nanos());
        (0..windows.unwrap_or(0)).map(move |index| {
            let start = from + window * index;
            rate(self.capacity(start, start + window), window)
        })
    }

    /// Its statistics.
    pub fn summary(&self) -> Summary {
        let gaps = self.times.windows(2).map(|pair| pair[1] - pair[0]);
        // From the end of a lap to the first opportunity of the next.
        let across = self.times[0] - Instant::ZERO;
        Summary {
            opportunities: self.times.len(),
            period: self.period(),
            mean: self.mean_rate(),
            longest_gap: gaps.chain([across]).max().unwrap_or(Span::ZERO),
        }
    }
}

/// The size of this many opportunities.
fn in_bytes(opportunities: u64) -> Bytes {
    Bytes::new(opportunities.saturating_mul(OPPORTUNITY.get()))
}

/// `bytes` over `time`, to the nearest bit a second; zero if `time` is zero.
pub(crate) fn rate(bytes: Bytes, time: Span) -> Rate {
    let bit_nanos = u128::from(bytes.get()) * 8_000_000_000;
    let nanos = u128::from(time.as_nanos());
    let bps = (bit_nanos + nanos / 2).checked_div(nanos).unwrap_or_default();
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

impl fmt::Debug for Trace {
    /// A trace may have millions of opportunities, so only its summary is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trace").field(&self.summary()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    pub(crate) fn traces() -> impl Strategy<Value = Trace> {
        prop::collection::vec(0u64..40, 1..12).prop_filter_map("no period", |mut times| {
            times.sort_unstable();
            Trace::new(times.into_iter().map(at).collect())
        })
    }

    #[test]
    fn traces_must_have_a_period() {
        assert!(Trace::new(vec![]).is_none());
        assert!(Trace::new(vec![at(0), at(0)]).is_none());
        assert!(Trace::new(vec![at(2), at(1)]).is_none());
        assert!(Trace::new(vec![MAX_TIME + Span::from_nanos(1)]).is_none());
        assert!(Trace::new(vec![MAX_TIME]).is_some());
    }

    #[test]
    fn the_summary_is_exact() {
        let millis = [0, 0, 1, 5, 8].map(|ms| at(ms * 1_000_000)).to_vec();
        let trace = Trace::new(millis).expect("a trace");
        // 5 opportunities of 12 000 bits in 8 ms.
        let expected = Summary {
            opportunities: 5,
            period: Span::from_millis(8),
            mean: Rate::from_bps(7_500_000),
            longest_gap: Span::from_millis(4),
        };
        assert_eq!(trace.summary(), expected);
        assert_eq!(trace.capacity(at(0), at(8_000_000)), Bytes::new(6000));
        // The second lap starts with the two opportunities at its time zero.
        assert_eq!(trace.count(at(8_000_000), at(8_000_001)), 3);
        let rates: Vec<_> = trace.rates(at(0), at(9_000_000), Span::from_millis(4)).collect();
        assert_eq!(rates, [Rate::from_bps(9_000_000), Rate::from_bps(3_000_000)]);
        assert_eq!(trace.rates(at(0), at(9), Span::ZERO).count(), 0);
    }

    proptest! {
        #[test]
        fn counts_agree_with_counting(trace in traces(), from in 0u64..300, to in 0u64..300) {
            let period = trace.period().as_nanos();
            let all = (0..=300 / period)
                .flat_map(|lap| trace.times().iter().map(move |t| t.as_nanos() + lap * period));
            let naive = all.filter(|time| (from..to).contains(time)).count() as u64;
            prop_assert_eq!(trace.count(at(from), at(to)), naive);
        }

        #[test]
        fn numbers_and_times_correspond(trace in traces(), number in 0u64..100) {
            let time = trace.opportunity(number);
            let after = time + Span::from_nanos(1);
            prop_assert!(trace.count_before(time) <= number);
            prop_assert!(trace.count_before(after) > number);
        }

        #[test]
        fn the_largest_times_do_not_overflow(trace in traces(), time in any::<u64>()) {
            trace.count_before(at(time));
            trace.capacity(at(time), Instant::MAX);
            trace.opportunity(time);
        }
    }
}
