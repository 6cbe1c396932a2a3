//! [`Budget`]: a token bucket for work that strangers cause.

use exm_units::{Instant, Span};

/// Nanoseconds in a second: the budget is kept in billionths of a unit.
const SCALE: u64 = 1_000_000_000;
/// The longest time that is credited at once, so that nothing overflows.
const LONGEST: Span = Span::from_secs(1000);

/// Work that may be done: so many units a second, and so many at once after a pause.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    rate: u64,
    burst: u64,
    /// What is left, in billionths of a unit.
    left: u64,
    at: Instant,
}

impl Budget {
    /// A full budget of `rate` units a second, of which `burst` can be saved.
    pub(crate) fn new(rate: u32, burst: u32) -> Budget {
        let burst = u64::from(burst) * SCALE;
        Budget { rate: u64::from(rate), burst, left: burst, at: Instant::ZERO }
    }

    /// Takes `units` at `now`; false, and nothing taken, if fewer are left.
    pub(crate) fn take(&mut self, now: Instant, units: u64) -> bool {
        let elapsed = now.saturating_since(self.at).min(LONGEST);
        self.at = self.at.max(now);
        let earned = elapsed.as_nanos().saturating_mul(self.rate);
        self.left = self.left.saturating_add(earned).min(self.burst);
        let cost = units.saturating_mul(SCALE);
        let is_affordable = cost <= self.left;
        if is_affordable {
            self.left -= cost;
        }
        is_affordable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_bounds_the_rate_and_the_burst() {
        let mut budget = Budget::new(100, 10);
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut taken = |millis| (0..1000).filter(|_| budget.take(at(millis), 1)).count();
        assert_eq!(taken(0), 10);
        assert_eq!(taken(50), 5);
        assert_eq!(taken(40), 0, "time does not go back");
        assert_eq!(taken(10_000_000), 10);
        assert!(!budget.take(at(20_000_000), 11), "more than can be saved");
    }
}
