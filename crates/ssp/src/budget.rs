//! [`Budget`]: how much may be sent sooner than mosh would.

use exm_units::{Instant, Span};

/// The most bytes that are saved up: a few small instructions. A slow link has a queue of them at once.
const CAPACITY: i64 = 600;
/// The largest debt in bytes: about one datagram.
const DEBT: i64 = 1500;
const NANOS: i128 = 1_000_000_000;
/// After a reduction the rate grows by the full one within this time.
const RECOVERY: Span = Span::from_secs(120);
/// The rate is not reduced below this part of the full one, which typing needs.
const LOWEST: u32 = 4;

/// A token bucket that everything sent is taken from, and that only small and rare instructions leave above zero: a flood keeps it
/// in debt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Bytes a second, unless it was reduced.
    full: u32,
    /// The rate after the last reduction, and when that was.
    reduced: (u32, Instant),
    /// In bytes, at that time.
    level: i64,
    at: Instant,
}

impl Budget {
    /// A full one of `rate` bytes a second; an empty one if that is zero.
    pub(crate) fn new(now: Instant, rate: u32) -> Budget {
        let level = if rate == 0 { 0 } else { CAPACITY };
        Budget { full: rate, reduced: (rate, now), level, at: now }
    }

    /// Halves the rate at `now`, as it has filled a queue. It recovers slowly.
    pub(crate) fn reduce(&mut self, now: Instant) {
        let now = now.max(self.at);
        self.charge(now, 0);
        self.reduced = ((self.rate() / 2).max(self.full / LOWEST), now);
    }

    /// Bytes a second at the time of the level.
    fn rate(&self) -> u32 {
        let (rate, since) = self.reduced;
        let passed = u128::from(self.at.saturating_since(since).min(RECOVERY).as_nanos());
        let grown = u128::from(self.full) * passed / u128::from(RECOVERY.as_nanos());
        u32::try_from(grown).map_or(self.full, |grown| rate.saturating_add(grown)).min(self.full)
    }

    /// When there is something in it, if nothing else is sent; none: never.
    pub(crate) fn available_at(&self) -> Option<Instant> {
        if self.level > 0 {
            return Some(self.at);
        }
        let missing = i128::from(1 - self.level) * NANOS;
        let wait = missing.checked_div(i128::from(self.rate()))? + 1;
        Some(self.at.saturating_add(Span::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))))
    }

    /// Takes `bytes`, sent at `now`.
    pub(crate) fn charge(&mut self, now: Instant, bytes: usize) {
        let waited = i128::from(now.saturating_since(self.at).as_nanos());
        let earned = (waited * i128::from(self.rate()) / NANOS).min(i128::from(CAPACITY + DEBT));
        let level = (self.level + earned as i64).min(CAPACITY);
        let bytes = i64::try_from(bytes).unwrap_or(CAPACITY + DEBT).min(CAPACITY + DEBT);
        self.level = (level - bytes).max(-DEBT);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_budget_is_spent_and_earned() {
        let mut budget = Budget::new(at(0), 1000);
        assert_eq!(budget.available_at(), Some(at(0)));
        budget.charge(at(0), 600);
        let available = budget.available_at().expect("it is earned");
        assert!(available >= at(1) && available < at(2), "{available:?}");
        // The debt is limited, and so is what is saved up.
        budget.charge(at(0), usize::MAX);
        assert!(budget.available_at().is_some_and(|available| available < at(1502)));
        budget.charge(at(1_000_000), 599);
        assert_eq!(budget.available_at(), Some(at(1_000_000)));
        budget.charge(at(1_000_000), 1);
        assert!(budget.available_at() > Some(at(1_000_000)));
    }

    #[test]
    fn without_a_rate_there_is_never_anything() {
        let mut budget = Budget::new(at(0), 0);
        assert_eq!(budget.available_at(), None);
        budget.charge(at(5000), 0);
        assert_eq!(budget.available_at(), None);
    }

    #[test]
    fn a_reduced_rate_recovers_slowly() {
        // The time for 600 bytes.
        let wait = |budget: &Budget, now: Instant| {
            let mut budget = *budget;
            budget.charge(now, 0);
            budget.charge(now, 1200);
            let available = budget.available_at().expect("it is earned");
            available.saturating_since(now).as_millis_f64().round()
        };
        let mut budget = Budget::new(at(0), 4000);
        assert_eq!(wait(&budget, at(0)), 150.0);
        budget.reduce(at(0));
        assert_eq!(wait(&budget, at(0)), 301.0);
        for _ in 0..5 {
            budget.reduce(at(0));
        }
        assert_eq!(wait(&budget, at(0)), 601.0, "there is a lowest rate");
        assert_eq!(wait(&budget, at(30_000)), 301.0);
        assert_eq!(wait(&budget, at(90_000)), 150.0);
        assert_eq!(wait(&budget, at(u64::MAX / 2_000_000)), 150.0);
        // A clock does not go back, but datagrams may be charged late.
        budget.charge(at(50_000), 10);
        budget.reduce(at(10));
        assert!(budget.available_at().is_some());
    }

    proptest! {
        /// Whoever sends only what is available exceeds the rate by the capacity and one datagram at most.
        #[test]
        fn the_rate_is_kept(steps in prop::collection::vec((0u64..300, 1usize..1500), 1..200)) {
            let mut budget = Budget::new(at(0), 4000);
            let (mut now, mut spent) = (0, 0);
            for (wait, bytes) in steps {
                now += wait;
                if budget.available_at().is_some_and(|available| available <= at(now)) {
                    budget.charge(at(now), bytes);
                    spent += bytes as u64;
                }
                prop_assert!(spent <= 4 * now + 3000, "{spent} bytes in {now} ms");
            }
        }
    }
}
