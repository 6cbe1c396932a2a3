//! [`WindowedMin`]: the least of the values of a period up to now.

use alloc::collections::VecDeque;
use exm_units::{Instant, Span};

/// The minimum over a sliding window of time. It keeps only what may still become the minimum: on average a few
/// values, at most one for each call within the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMin {
    /// In order of time, and of value.
    candidates: VecDeque<(Instant, f64)>,
}

impl WindowedMin {
    /// Records `value` at `now`, forgets what is older than `window`, and returns the minimum.
    pub(crate) fn observe(&mut self, value: f64, now: Instant, window: Span) -> f64 {
        while self.candidates.back().is_some_and(|&(_, kept)| kept >= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((now, value));
        while self.candidates.front().is_some_and(|&(at, _)| now.saturating_since(at) > window) {
            self.candidates.pop_front();
        }
        self.candidates.front().map_or(value, |&(_, least)| least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::at;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_minimum_of_the_window(
            values in prop::collection::vec((0_u64..20, 0_u32..50), 1..100),
            window in 0_u64..100,
        ) {
            let mut filter = WindowedMin::default();
            let mut now = 0;
            let mut all: Vec<(u64, f64)> = Vec::new();
            for (later, value) in values {
                now += later;
                all.push((now, f64::from(value)));
                let inside = all.iter().filter(|(then, _)| now - then <= window);
                let least = inside.map(|&(_, value)| value).fold(f64::INFINITY, f64::min);
                let found = filter.observe(f64::from(value), at(now), Span::from_millis(window));
                prop_assert_eq!(found, least);
            }
        }
    }
}
