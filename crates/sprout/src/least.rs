//! [`Least`]: a windowed minimum.

use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// The default length of the windows, of which the last two are used: a route may change, and clocks drift by a
/// millisecond in half a minute.
const WINDOW: Span = Span::from_secs(10);

/// The minimum of the last one to two windows, for delays in whole microseconds modulo 2^32, which may be measured by
/// two clocks with an unknown difference.
#[derive(Clone, Debug)]
pub(crate) struct Least {
    /// The length of a window.
    window: Span,
    /// The start of each of the last two windows, and the minimum in it.
    windows: VecDeque<(Instant, u32)>,
}

impl Default for Least {
    fn default() -> Least {
        Least::over(WINDOW)
    }
}

impl Least {
    /// A minimum over windows of length `window`.
    pub(crate) fn over(window: Span) -> Least {
        Least { window, windows: VecDeque::new() }
    }

    /// Adds the sample `micros`, at `now`. Returns by how much it exceeds the minimum.
    pub(crate) fn see(&mut self, now: Instant, micros: u32) -> Span {
        match self.windows.back_mut() {
            Some((start, least)) if now - *start < self.window => {
                if exceeds(*least, micros) {
                    *least = micros;
                }
            }
            _ => {
                self.windows.push_back((now, micros));
                if self.windows.len() > 2 {
                    self.windows.pop_front();
                }
            }
        }
        let least = self.get().unwrap_or(micros);
        Span::from_micros(u64::from(micros.wrapping_sub(least)))
    }

    /// The minimum; none without samples.
    pub(crate) fn get(&self) -> Option<u32> {
        let lesser = |one: u32, other: u32| if exceeds(one, other) { other } else { one };
        self.windows.iter().map(|&(_, least)| least).reduce(lesser)
    }
}

/// Whether `one` is greater than `other`, modulo 2^32.
fn exceeds(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_forgotten_and_may_wrap() {
        let mut least = Least::default();
        let mut see = |secs, micros: u32| {
            (least.see(Instant::ZERO + Span::from_secs(secs), micros), least.get())
        };
        let zero = Span::ZERO;
        assert_eq!(see(0, 5), (zero, Some(5)));
        assert_eq!(see(1, u32::MAX), (zero, Some(u32::MAX)));
        assert_eq!(see(2, 5), (Span::from_micros(6), Some(u32::MAX)));
        assert_eq!(see(11, 10), (Span::from_micros(11), Some(u32::MAX)));
        assert_eq!(see(22, 12), (Span::from_micros(2), Some(10)));
    }
}
