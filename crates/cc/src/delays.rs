//! [`Delays`]: the queueing delay by the least delay of the last minutes (RFC 6817).

use exm_units::{Instant, Span};

/// RFC 6817, section 2.5: `BASE_HISTORY`, the minutes for which the least delay is remembered.
const BASE_HISTORY: usize = 10;
/// RFC 6817, section 2.4.2: the length of each entry of that history.
const MINUTE: Span = Span::from_secs(60);
/// RFC 6817, section 2.5: `CURRENT_FILTER`, the number of newest delays whose minimum is used.
const CURRENT_FILTER: usize = 4;

/// Delays of the flow, in nanoseconds; negative where the receiver's clock is behind.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// The least of each of the last minutes, the newest first.
    base: [i64; BASE_HISTORY],
    minute_began: Instant,
    current: [i64; CURRENT_FILTER],
    /// The index in `current` of the next one.
    next: usize,
}

impl Delays {
    pub(crate) fn new(now: Instant) -> Delays {
        Delays {
            base: [i64::MAX; BASE_HISTORY],
            minute_began: now,
            current: [i64::MAX; CURRENT_FILTER],
            next: 0,
        }
    }

    /// Records a `delay` at `now`.
    pub(crate) fn observe(&mut self, delay: i64, now: Instant) {
        if now.saturating_since(self.minute_began) >= MINUTE {
            self.minute_began = now;
            self.base.rotate_right(1);
            self.base[0] = delay;
        }
        self.base[0] = self.base[0].min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// The least of the newest delays over the least of all, in nanoseconds.
    pub(crate) fn queueing(&self) -> f64 {
        least(&self.current).saturating_sub(self.base()) as f64
    }

    /// The least of all, in nanoseconds.
    pub(crate) fn base(&self) -> i64 {
        least(&self.base)
    }
}

fn least(delays: &[i64]) -> i64 {
    delays.iter().fold(i64::MAX, |least, &delay| least.min(delay))
}

/// `later - earlier`, which may be negative where the clocks differ.
pub(crate) fn difference(later: Instant, earlier: Instant) -> i64 {
    let nanos = i128::from(later.as_nanos()) - i128::from(earlier.as_nanos());
    // Bounded so that the difference of two such values fits.
    nanos.clamp(-(1 << 62), 1 << 62) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::at;

    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut delays = Delays::new(at(0));
        delays.observe(50, at(0));
        for minute in 1..=12_u64 {
            for _ in 0..4 {
                delays.observe(80, at(60_000 * minute));
            }
            assert_eq!(delays.queueing(), if minute < 10 { 30.0 } else { 0.0 }, "{minute}");
        }
    }
}
