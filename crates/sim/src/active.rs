//! When senders were on, and when their last packets arrived: the time over which throughput is measured.

use exm_units::{Instant, Span};

/// Bits after the binary point of a time divided among senders.
const FRACTION: u32 = 32;

/// The time over which throughput is measured, for senders whose flows have a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MeasuredOver {
    /// From the start of each on-period until its last packet has arrived, or until its end if that is
    /// later; overlaps of such periods count once. So no sender exceeds the rate of the link.
    #[default]
    Arrivals,
    /// Over the on-periods alone, although packets that arrive later count, as in the papers and the original
    /// program. A sender that leaves a queue behind may exceed the rate of the link.
    Papers,
}

impl MeasuredOver {
    /// Both, the default first.
    pub const ALL: [MeasuredOver; 2] = [MeasuredOver::Arrivals, MeasuredOver::Papers];
    /// Their names, in that order.
    pub const NAMES: [&'static str; 2] =
        [MeasuredOver::Arrivals.name(), MeasuredOver::Papers.name()];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            MeasuredOver::Arrivals => "arrivals",
            MeasuredOver::Papers => "papers",
        }
    }

    /// The one called `name`, if one is.
    pub fn named(name: &str) -> Option<MeasuredOver> {
        MeasuredOver::ALL.into_iter().find(|over| over.name() == name)
    }
}

/// An on-period.
#[derive(Clone, Copy, Debug)]
struct Period {
    from: Instant,
    /// Its end; [`Instant::MAX`] while it lasts.
    until: Instant,
    /// When its last packet arrived after its end, but not after the next one's start.
    last: Instant,
}

/// The on-periods of one sender, numbered from 0, as they come.
///
/// ```
/// use exm_sim::{MeasuredOver, Periods, times};
/// use exm_units::{Instant, Span};
///
/// let at = |ms| Instant::ZERO + Span::from_millis(ms);
/// let mut sender = Periods::default();
/// sender.start(at(100));
/// sender.end(at(300));
/// sender.late(0, at(350));
/// let active = times([&sender].into_iter(), at(1000), MeasuredOver::Arrivals);
/// assert_eq!(active[0].time, Span::from_millis(250));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Periods {
    all: Vec<Period>,
    /// From this one on, packets of each arrived in the next, up to the present one.
    joined: usize,
    /// How long those lasted that have ended.
    ended: Span,
}

impl Periods {
    /// An on-period starts.
    pub fn start(&mut self, now: Instant) {
        self.joined = self.all.len();
        self.all.push(Period { from: now, until: Instant::MAX, last: now });
    }

    /// It ends.
    pub fn end(&mut self, now: Instant) {
        if let Some(period) = self.all.last_mut() {
            (period.until, period.last) = (now, now);
            self.ended += now.saturating_since(period.from);
        }
    }

    /// How long it was on until `now`.
    pub fn on_time(&self, now: Instant) -> Span {
        let present = self.all.last().filter(|period| period.until == Instant::MAX);
        self.ended + present.map_or(Span::ZERO, |period| now.saturating_since(period.from))
    }

    /// A packet of period `number` arrives after its end: between periods, or in a later one.
    #[cold]
    pub fn late(&mut self, number: usize, now: Instant) {
        let Some(present) = self.all.last_mut() else { return };
        if present.until != Instant::MAX {
            present.last = now;
        }
        while self.joined > number {
            self.joined -= 1;
            self.all[self.joined].last = self.all[self.joined + 1].from;
        }
    }
}

/// A time, and the integral of 1 / (senders active) over it, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Times {
    /// The time.
    pub time: Span,
    /// The integral.
    pub share: f64,
}

/// The times of each of `senders` until `now`.
pub fn times<'a>(
    senders: impl Iterator<Item = &'a Periods> + Clone,
    now: Instant,
    over: MeasuredOver,
) -> Vec<Times> {
    let passed = |at: Instant| at.as_nanos();
    let seconds = |(time, share): (Span, f64)| Times { time, share: share * 1e-9 };
    shares(senders, now, over, passed).into_iter().map(seconds).collect()
}

/// For each of `senders`, the time until `now`, and the integral over it of what `passed`, divided among the
/// active senders.
pub(crate) fn shares<'a>(
    senders: impl Iterator<Item = &'a Periods> + Clone,
    now: Instant,
    over: MeasuredOver,
    passed: impl Fn(Instant) -> u64,
) -> Vec<(Span, f64)> {
    let end_of = |period: &Period| match over {
        MeasuredOver::Arrivals => period.until.min(now).max(period.last),
        MeasuredOver::Papers => period.until.min(now),
    };
    let mut turns: Vec<(Instant, usize, bool)> = Vec::new();
    for (index, periods) in senders.clone().enumerate() {
        for period in &periods.all {
            turns.push((period.from, index, true));
            turns.push((end_of(period), index, false));
        }
    }
    // Of one sender a period may end as the next starts, or have no length: its turns stay in order.
    turns.sort_by_key(|&(at, index, _)| (at, index));
    let mut all = vec![(Span::ZERO, 0u128); senders.count()];
    let mut began = vec![(Instant::ZERO, 0u128); all.len()];
    let (mut before, mut active, mut total) = (0, 0u128, 0u128);
    for (at, index, starts) in turns {
        let until = passed(at);
        total += (u128::from(until - before) << FRACTION).checked_div(active).unwrap_or(0);
        before = until;
        if starts {
            active += 1;
            began[index] = (at, total);
        } else {
            active -= 1;
            all[index].0 += at - began[index].0;
            all[index].1 += total - began[index].1;
        }
    }
    let whole = |(time, share)| (time, share as f64 / (1u64 << FRACTION) as f64);
    all.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// A sender with these on-periods.
    fn sender(periods: &[(u64, u64)]) -> Periods {
        let mut sender = Periods::default();
        for &(from, until) in periods {
            sender.start(at(from));
            sender.end(at(until));
        }
        sender
    }

    fn measured(senders: &[Periods], over: MeasuredOver) -> Vec<(u64, u64)> {
        let all = times(senders.iter(), at(1000), over);
        all.iter()
            .map(|t| (t.time.as_nanos() / 1_000_000, (t.share * 1e3).round() as u64))
            .collect()
    }

    #[test]
    fn time_until_the_last_arrival_counts_once() {
        let mut late = sender(&[(100, 200)]);
        late.late(0, at(230));
        late.late(0, at(260));
        assert_eq!(measured(&[late.clone()], MeasuredOver::Arrivals), [(160, 160)]);
        assert_eq!(measured(&[late.clone()], MeasuredOver::Papers), [(100, 100)]);
        // The last packet of the first arrives in the second: the time between belongs to it.
        late.start(at(300));
        late.late(0, at(320));
        late.late(0, at(330));
        late.end(at(400));
        assert_eq!(measured(&[late.clone()], MeasuredOver::Arrivals), [(300, 300)]);
        assert_eq!(measured(&[late], MeasuredOver::Papers), [(200, 200)]);
    }

    #[test]
    fn a_packet_may_outlast_several_periods() {
        let mut late = sender(&[(0, 10), (20, 30)]);
        late.start(at(40));
        late.late(0, at(45));
        late.end(at(50));
        assert_eq!(measured(&[late], MeasuredOver::Arrivals), [(50, 50)]);
        // Of the second only.
        let mut late = sender(&[(0, 10), (20, 30)]);
        late.late(1, at(35));
        assert_eq!(measured(&[late], MeasuredOver::Arrivals), [(25, 25)]);
    }

    #[test]
    fn senders_share_while_their_packets_arrive() {
        let mut one = sender(&[(0, 100)]);
        one.late(0, at(200));
        let two = sender(&[(100, 300)]);
        let both = [one, two];
        assert_eq!(measured(&both, MeasuredOver::Arrivals), [(200, 150), (200, 150)]);
        assert_eq!(measured(&both, MeasuredOver::Papers), [(100, 100), (200, 200)]);
    }

    #[test]
    fn what_is_on_at_the_end_counts_until_then() {
        let mut one = Periods::default();
        one.start(at(400));
        assert_eq!(
            measured(&[one, Periods::default()], MeasuredOver::Papers),
            [(600, 600), (0, 0)]
        );
        assert_eq!(measured(&[sender(&[(5, 5), (5, 7)])], MeasuredOver::Arrivals), [(2, 2)]);
    }
}
