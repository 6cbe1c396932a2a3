//! Histograms of delay: how much time, or how many packets, had each delay.

use exm_units::Span;

/// The narrowest bins are 65.5 us wide, for delays up to 34 s.
const UNIT_BITS: u32 = 16;
/// Beyond that, each doubling of the delay is divided into 2^18 bins: less than 4e-6 of the delay
/// each.
const SUB_BITS: u32 = 18;

/// A bin's number, its first nanosecond and its width.
#[derive(Clone, Copy)]
struct Bin {
    index: usize,
    start: u64,
    width: u64,
}

fn bin_of(delay: Span) -> Bin {
    let units = delay.as_nanos() >> UNIT_BITS;
    let doublings = (u64::BITS - units.leading_zeros()).saturating_sub(SUB_BITS + 1);
    bin_at((u64::from(doublings << SUB_BITS) + (units >> doublings)) as usize)
}

fn bin_at(index: usize) -> Bin {
    let doublings = (index as u64 >> SUB_BITS).saturating_sub(1);
    let units = index as u64 - (doublings << SUB_BITS);
    let shift = doublings as u32 + UNIT_BITS;
    Bin { index, start: units << shift, width: 1 << shift }
}

/// How long the delay had each value: the distribution of a sawtooth over time.
///
/// Each segment of a sawtooth rises by one second a second, so the density of time over delay is
/// the number of segments that cover that delay. Segment starts and ends are counted per bin, with
/// the part of the bin that they cover, in whole nanoseconds: the distribution is exact at the
/// edges of bins. It takes 16 bytes per bin, up to the longest delay measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sawtooth {
    bins: Vec<Edge>,
}

/// The segments that start or end within a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Edge {
    /// Segments that start in it, less those that end in it.
    covering: i64,
    /// How many nanoseconds of the bin, up to its end, are covered by segments that start in it,
    /// less the same for those that end in it.
    partly: i64,
}

impl Sawtooth {
    /// A segment in which the delay rose from `low` to `high`.
    pub(super) fn rise(&mut self, low: Span, high: Span) {
        self.turn(low, 1);
        self.turn(high, -1);
    }

    fn turn(&mut self, delay: Span, sign: i64) {
        let bin = bin_of(delay);
        if bin.index >= self.bins.len() {
            self.bins.resize(bin.index + 1, Edge::default());
        }
        let edge = &mut self.bins[bin.index];
        edge.covering += sign;
        // The last bin extends beyond [`Instant::MAX`].
        edge.partly += sign * (bin.width - (delay.as_nanos() - bin.start)) as i64;
    }

    /// Each bin with the time spent in it, in nanoseconds.
    fn times(&self) -> impl Iterator<Item = (Bin, u64)> + '_ {
        self.bins.iter().enumerate().scan(0_i64, |covering, (index, edge)| {
            let bin = bin_at(index);
            let time = i128::from(*covering) * i128::from(bin.width) + i128::from(edge.partly);
            *covering += edge.covering;
            Some((bin, u64::try_from(time).unwrap_or_default()))
        })
    }

    /// The delay that was not exceeded `percent` of the time; none if no time was scored.
    pub(super) fn percentile(&self, percent: f64) -> Option<Span> {
        percentile(percent, || self.times())
    }
}

/// How many packets had each delay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    bins: Vec<u64>,
}

impl Counts {
    pub(super) fn record(&mut self, delay: Span) {
        let bin = bin_of(delay);
        if bin.index >= self.bins.len() {
            self.bins.resize(bin.index + 1, 0);
        }
        self.bins[bin.index] += 1;
    }

    /// The delay that `percent` of the packets did not exceed; none without packets.
    pub(super) fn percentile(&self, percent: f64) -> Option<Span> {
        let counted = || self.bins.iter().enumerate().map(|(at, &count)| (bin_at(at), count));
        percentile(percent, counted)
    }
}

/// The delay at which `percent` of the total is reached, interpolated linearly within a bin.
fn percentile<I: Iterator<Item = (Bin, u64)>>(percent: f64, bins: impl Fn() -> I) -> Option<Span> {
    let total: u128 = bins().map(|(_, amount)| u128::from(amount)).sum();
    let wanted = (percent / 100.0).clamp(0.0, 1.0) * total as f64;
    let mut passed = 0.0;
    let mut last = None;
    for (bin, amount) in bins().filter(|&(_, amount)| amount > 0) {
        let within = (wanted - passed) / amount as f64;
        last = Some(bin.start.saturating_add((bin.width as f64 * within.min(1.0)) as u64));
        if within <= 1.0 {
            break;
        }
        passed += amount as f64;
    }
    last.map(Span::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_tile_all_delays(nanos in any::<u64>(), shift in 0u32..64) {
            let nanos = nanos >> shift;
            let bin = bin_of(Span::from_nanos(nanos));
            prop_assert!(bin.start <= nanos && nanos - bin.start < bin.width);
            prop_assert!(bin.width == 65_536 || nanos / bin.width >= 1 << SUB_BITS);
            let next = bin_at(bin.index + 1).start;
            prop_assert_eq!(u128::from(next), u128::from(bin.start) + u128::from(bin.width));
        }
    }

    #[test]
    fn the_longest_delay_has_a_bin() {
        let mut saw = Sawtooth::default();
        saw.rise(Span::ZERO, Span::from_secs(400 * 86_400));
        let half = saw.percentile(50.0).expect("time").as_secs_f64();
        assert!((half / (200.0 * 86_400.0) - 1.0).abs() < 1e-5, "{half}");
        assert_eq!(bin_of(Span::MAX).start, u64::MAX - bin_of(Span::MAX).width + 1);
    }
}
