//! [`Statistics`]: the properties of a trace.

use crate::{OPPORTUNITY, Trace};
use exm_units::{Instant, Rate, Span};

const SECOND: Span = Span::from_secs(1);

/// Outside an outage, opportunities nearly always follow each other within this time (NSDI 2013,
/// section 3.1); beyond it, times between opportunities are heavy-tailed.
const NEAR: Span = Span::from_millis(20);

/// The ticks in which opportunities are counted, and how many of them make up a second.
const TICK: Span = Span::from_millis(20);
const TICKS: usize = 50;

/// For 95 % of the seconds of a Poisson process, the sum of squared deviations of the counts of
/// [`TICKS`] ticks, divided by their mean, lies in this range: the 2.5 % and 97.5 % points of
/// chi-square with 49 degrees of freedom.
const DISPERSION: (f64, f64) = (31.555, 70.222);

/// How many opportunities per second that test needs.
const ENOUGH: usize = 100;

/// The number of bins per decade of the time between opportunities.
const BIN_FACTOR: f64 = 1.15;

/// Statistics of one repetition of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The number of opportunities.
    pub opportunities: usize,
    /// The period.
    pub period: Span,
    /// Its mean rate.
    pub mean: Rate,
    /// The rate in each whole second; empty if the trace is shorter.
    pub rates: Option<Rates>,
    /// The times between opportunities.
    pub inter_arrivals: InterArrivals,
    /// Its outages.
    pub outages: Outages,
    /// Of the seconds with at least 100 opportunities, the fraction whose counts per 20 ms tick
    /// scatter as in a Poisson process: for such a process it is 0.95. None if there are no such
    /// seconds.
    pub poisson_like: Option<f64>,
}

/// The rates of whole seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// How many seconds have no opportunity (a trace may have 31 years of them).
    empty: u64,
    /// The rates of the other seconds, in increasing order.
    sorted: Vec<Rate>,
}

/// The times between one opportunity and the next.
#[derive(Clone, Debug, PartialEq)]
pub struct InterArrivals {
    /// How many there are.
    pub count: u64,
    /// The fraction of them that is at most 20 ms.
    pub near: f64,
    /// Their histogram from zero up, in bins at least as wide as the trace's resolution; empty bins
    /// after the last are left out.
    pub bins: Vec<InterArrivalBin>,
    /// The fit to those longer than 20 ms; none if there are fewer than ten.
    pub tail: Option<PowerLaw>,
}

/// A bin of the histogram of times between opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterArrivalBin {
    /// Its lower edge, inclusive.
    pub from: Span,
    /// Its upper edge, exclusive.
    pub to: Span,
    /// The count.
    pub count: u64,
}

/// A density that falls as time^-exponent above a minimum time: Sprout's authors found 3.27 beyond
/// 20 ms for the Verizon LTE downlink (the thesis, figure 2-4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// The maximum likelihood estimate of the exponent.
    pub exponent: f64,
    /// Its standard error.
    pub error: f64,
    /// The minimum time.
    pub above: Span,
    /// The number of samples fitted.
    pub count: u64,
}

/// The outages: long times without an opportunity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outages {
    /// The threshold: longer times are outages.
    pub threshold: Span,
    /// How many there are.
    pub count: u64,
    /// The fraction of time that they take.
    pub share: f64,
    /// The longest time without an opportunity, outage or not, including across the end of a lap.
    pub longest: Span,
}

impl Statistics {
    /// The statistics of `trace`; times without an opportunity longer than `outage` count as
    /// outages.
    pub fn of(trace: &Trace, outage: Span) -> Statistics {
        Statistics {
            opportunities: trace.times().len(),
            period: trace.period(),
            mean: trace.mean_rate(),
            rates: Rates::of(trace),
            inter_arrivals: InterArrivals::of(trace),
            outages: Outages::of(trace, outage),
            poisson_like: poisson_like(trace),
        }
    }
}

/// The opportunities in each whole second that has any.
fn seconds(trace: &Trace) -> impl Iterator<Item = &[Instant]> {
    let second = |time: &Instant| time.as_nanos() / SECOND.as_nanos();
    let whole = trace.period().as_nanos() / SECOND.as_nanos();
    let all = trace.times().chunk_by(move |a, b| second(a) == second(b));
    all.take_while(move |times| second(&times[0]) < whole)
}

impl Rates {
    fn of(trace: &Trace) -> Option<Rates> {
        let whole = trace.period().as_nanos() / SECOND.as_nanos();
        let bits = |times: &[Instant]| times.len() as u64 * OPPORTUNITY.get() * 8;
        let mut sorted: Vec<Rate> = seconds(trace).map(|s| Rate::from_bps(bits(s))).collect();
        sorted.sort_unstable();
        (whole > 0).then(|| Rates { empty: whole - sorted.len() as u64, sorted })
    }

    /// The rate that `percent` of the seconds do not exceed.
    pub fn percentile(&self, percent: f64) -> Rate {
        let count = self.empty + self.sorted.len() as u64;
        let rank = (percent / 100.0 * count as f64).ceil() as u64;
        let index = rank.clamp(1, count) - 1;
        let filled = index.checked_sub(self.empty).map(|index| self.sorted[index as usize]);
        filled.unwrap_or_default()
    }
}

/// The times between the opportunities of a lap.
fn gaps(trace: &Trace) -> impl Iterator<Item = Span> + '_ {
    trace.times().windows(2).map(|pair| pair[1] - pair[0])
}

impl InterArrivals {
    fn of(trace: &Trace) -> InterArrivals {
        let resolution = resolution(trace);
        let mut bins = Bins::new(resolution);
        let (mut count, mut near) = (0, 0);
        // Times are rounded to the resolution: one is longer than 20 ms from half a step above.
        let above = NEAR + resolution / 2;
        let (mut long, mut logarithms) = (0u64, 0.0);
        for gap in gaps(trace) {
            bins.count(gap);
            count += 1;
            if gap <= NEAR {
                near += 1;
            } else {
                long += 1;
                logarithms += libm::log(gap.as_secs_f64() / above.as_secs_f64()).max(0.0);
            }
        }
        // The maximum likelihood exponent (Clauset, Shalizi & Newman, SIAM Review 2009, section
        // 3.1).
        let tail = (long >= 10 && logarithms > 0.0).then(|| {
            let slope = long as f64 / logarithms;
            let error = slope / (long as f64).sqrt();
            PowerLaw { exponent: 1.0 + slope, error, above, count: long }
        });
        let near = if count == 0 { 1.0 } else { near as f64 / count as f64 };
        InterArrivals { count, near, bins: bins.all, tail }
    }
}

impl PowerLaw {
    /// The density at `time`, per second, relative to all `total` times, of which the fitted ones
    /// are a part.
    pub fn density(&self, time: Span, total: u64) -> f64 {
        let least = self.above.as_secs_f64();
        let share = self.count as f64 / total.max(1) as f64;
        let falls = libm::pow(time.as_secs_f64() / least, -self.exponent);
        share * (self.exponent - 1.0) / least * falls
    }
}

impl InterArrivalBin {
    /// The density in this bin, per second, relative to all `total` times.
    pub fn density(&self, total: u64) -> f64 {
        self.count as f64 / total.max(1) as f64 / (self.to - self.from).as_secs_f64()
    }

    /// The geometric middle of the bin.
    pub fn middle(&self) -> Span {
        let product = self.from.as_secs_f64() * self.to.as_secs_f64();
        Span::from_secs_f64(product.sqrt())
    }
}

/// The resolution of `trace`: the largest step, from 1 us to 1 ms, of which all times are
/// multiples.
fn resolution(trace: &Trace) -> Span {
    let divisor = trace.times().iter().fold(0, |divisor, time| gcd(divisor, time.as_nanos()));
    Span::from_nanos(divisor).clamp(Span::from_micros(1), Span::from_millis(1))
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Bins whose edges lie between the multiples of a resolution.
struct Bins {
    resolution: Span,
    all: Vec<InterArrivalBin>,
}

impl Bins {
    fn new(resolution: Span) -> Bins {
        Bins { resolution, all: Vec::new() }
    }

    fn count(&mut self, gap: Span) {
        while self.all.last().is_none_or(|last| last.to <= gap) {
            self.grow();
        }
        let index = self.all.partition_point(|bin| bin.to <= gap);
        self.all[index].count += 1;
    }

    fn grow(&mut self) {
        let half = self.resolution / 2;
        let Some(last) = self.all.last() else {
            self.all.push(InterArrivalBin { from: Span::ZERO, to: half, count: 0 });
            return;
        };
        let steps = (last.to - half).as_nanos() / self.resolution.as_nanos();
        let steps = ((steps as f64 * BIN_FACTOR) as u64).max(steps + 1);
        let to = self.resolution * steps + half;
        self.all.push(InterArrivalBin { from: last.to, to, count: 0 });
    }
}

impl Outages {
    fn of(trace: &Trace, threshold: Span) -> Outages {
        // The end of a lap is the start of the next, which may have no opportunity.
        let across = trace.times()[0] - Instant::ZERO;
        let all = || gaps(trace).chain([across]);
        let (count, time) = all()
            .filter(|gap| *gap > threshold)
            .fold((0, Span::ZERO), |(count, time), gap| (count + 1, time + gap));
        let share = time.as_secs_f64() / trace.period().as_secs_f64();
        Outages { threshold, count, share, longest: all().max().unwrap_or_default() }
    }
}

/// The fraction of seconds that pass the test of [`DISPERSION`].
fn poisson_like(trace: &Trace) -> Option<f64> {
    let (mut tested, mut passed) = (0u64, 0u64);
    for times in seconds(trace).filter(|times| times.len() >= ENOUGH) {
        let mut counts = [0u32; TICKS];
        for time in times {
            let within = time.as_nanos() % SECOND.as_nanos();
            counts[(within / TICK.as_nanos()) as usize] += 1;
        }
        let mean = times.len() as f64 / TICKS as f64;
        let squares = counts.map(|count| (f64::from(count) - mean) * (f64::from(count) - mean));
        let dispersion = squares.iter().sum::<f64>() / mean;
        tested += 1;
        passed += u64::from((DISPERSION.0..=DISPERSION.1).contains(&dispersion));
    }
    (tested > 0).then(|| passed as f64 / tested as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cox, Synthetic};
    use exm_random::{Purpose, Stream};

    fn trace(millis: &[f64]) -> Trace {
        let at = |&ms: &f64| Instant::ZERO + Span::from_millis_f64(ms);
        Trace::new(millis.iter().map(at).collect()).expect("a trace")
    }

    #[test]
    fn statistics_of_a_few_opportunities() {
        let trace = trace(&[0.0, 0.0, 1.0, 20.0, 45.0, 2000.0, 3500.0]);
        let all = Statistics::of(&trace, SECOND);
        assert_eq!((all.opportunities, all.period), (7, Span::from_millis(3500)));
        let rates = all.rates.expect("whole seconds");
        let kbps = [0.0, 50.0, 100.0].map(|p| rates.percentile(p).as_bps() / 1000);
        assert_eq!(kbps, [0, 12, 60]);
        assert_eq!(all.inter_arrivals.count, 6);
        assert_eq!(all.inter_arrivals.near, 0.5);
        assert!(all.inter_arrivals.tail.is_none());
        let filled: Vec<(f64, f64, u64)> = all
            .inter_arrivals
            .bins
            .iter()
            .filter(|b| b.count > 0)
            .map(|b| (b.from.as_millis_f64(), b.to.as_millis_f64(), b.count))
            .collect();
        assert_eq!(filled[..2], [(0.0, 0.5, 1), (0.5, 1.5, 1)]);
        assert_eq!(filled.iter().map(|bin| bin.2).sum::<u64>(), 6);
        assert_eq!((all.outages.count, all.outages.longest), (2, Span::from_millis(1955)));
        assert!((all.outages.share - 3455.0 / 3500.0).abs() < 1e-9);
        assert_eq!(all.poisson_like, None);
        let years = Statistics::of(&self::trace(&[0.0, 500.0, 31.0e10]), SECOND);
        let rates = years.rates.expect("whole seconds");
        assert_eq!(rates.percentile(99.9).as_bps(), 0);
        assert_eq!(rates.percentile(100.0).as_bps(), 24_000);
        let one = Statistics::of(&self::trace(&[1.0]), SECOND);
        assert_eq!((one.rates, one.inter_arrivals.near), (None, 1.0));
    }

    #[test]
    fn bins_follow_each_other() {
        let mut bins = Bins::new(Span::from_millis(1));
        bins.count(Span::from_secs(10));
        assert!(bins.all.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!(bins.all.iter().all(|bin| bin.from < bin.to));
        assert!(bins.all.len() < 70, "{}", bins.all.len());
        let density: f64 =
            bins.all.iter().map(|b| b.density(1) * (b.to - b.from).as_secs_f64()).sum();
        assert!((density - 1.0).abs() < 1e-9);
    }

    /// The exponent of samples from a power law is found, also when they are rounded to
    /// milliseconds.
    #[test]
    fn the_exponent_is_found() {
        for (exponent, whole) in [(3.27, false), (3.27, true), (2.0, true)] {
            let mut stream = Stream::new(1, Purpose::Trace, 0);
            let mut now = 0.0;
            let mut next = || {
                let gap = 20.0 * libm::pow(1.0 - stream.uniform(), -1.0 / (exponent - 1.0));
                now += if whole { gap.round() } else { gap };
                now
            };
            let times: Vec<f64> = (0..50_000).map(|_| next()).collect();
            let all = Statistics::of(&trace(&times), SECOND);
            let tail = all.inter_arrivals.tail.expect("a tail");
            assert!((tail.exponent - exponent).abs() < 0.04, "{tail:?} {exponent} {whole}");
            assert!(tail.error < 0.02, "{tail:?}");
            // The line passes through the bins.
            let fits = |bin: &&InterArrivalBin| {
                let line = tail.density(bin.middle(), all.inter_arrivals.count);
                (bin.density(all.inter_arrivals.count) / line - 1.0).abs() < 0.15
            };
            let many =
                || all.inter_arrivals.bins.iter().filter(|b| b.count > 1000 && b.from > NEAR);
            assert!(many().count() > 3 && many().filter(fits).count() == many().count());
        }
    }

    #[test]
    fn poisson_processes_are_distinguished_from_others() {
        let still = Synthetic::from(Cox { volatility: 0.0, ..Cox::SPROUT });
        let generate = |link: &Synthetic| link.generate(1, Span::from_secs(2000)).expect("a trace");
        let part = |trace: &Trace| Statistics::of(trace, SECOND).poisson_like.expect("enough");
        let poisson = part(&generate(&still));
        assert!((poisson - 0.95).abs() < 0.02, "{poisson}");
        let even: Vec<f64> = (1..10_000).map(|tick| f64::from(tick) * 2.0).collect();
        assert_eq!(part(&trace(&even)), 0.0);
        let wild = Synthetic::from(Cox { volatility: 2000.0, ..Cox::SPROUT });
        assert!(part(&generate(&wild)) < 0.5);
    }
}
