//! [`Profile`]: which delay followed which window.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use exm_units::{Instant, Span};

/// The weight of the newest delay in the average of its window.
const GAIN: f64 = 0.125;
/// Section 4: the curve is drawn anew once a second.
const REFRESH: Span = Span::from_secs(1);

/// Average delays in seconds by the packets in flight, and a rising curve through them. The paper's curve is a cubic spline; this
/// one is made of lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    delays: BTreeMap<u64, f64>,
    /// Windows and delays, both rising.
    curve: Vec<(f64, f64)>,
    refreshed: Option<Instant>,
}

impl Profile {
    pub(super) fn add(&mut self, window: u64, delay: f64) {
        let mean = self.delays.entry(window).or_insert(delay);
        *mean += GAIN * (delay - *mean);
    }

    /// Draws the curve anew if it is time.
    pub(super) fn refresh(&mut self, now: Instant) {
        if self.refreshed.is_some_and(|then| now.saturating_since(then) < REFRESH) {
            return;
        }
        self.refreshed = Some(now);
        self.curve.clear();
        // A greater window has no smaller delay: neighbours that contradict this have their mean.
        let mut blocks: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for (&window, &delay) in &self.delays {
            blocks.push((delay, 1.0, alloc::vec![window as f64]));
            while let [.., (before, _, _), (last, _, _)] = blocks.as_slice()
                && before > last
                && let Some((last, weight, windows)) = blocks.pop()
                && let Some(before) = blocks.last_mut()
            {
                before.0 = (before.0 * before.1 + last * weight) / (before.1 + weight);
                before.1 += weight;
                before.2.extend(windows);
            }
        }
        for (delay, _, windows) in blocks {
            self.curve.extend(windows.into_iter().map(|window| (window, delay)));
        }
    }

    /// The greatest window whose delay is at most `delay`, if anything is known; beyond the curve, where it would go on
    /// straight.
    pub(super) fn window(&self, delay: f64) -> Option<f64> {
        let (first, last) = (*self.curve.first()?, *self.curve.last()?);
        let above = self.curve.partition_point(|&(_, known)| known <= delay);
        if above == 0 {
            return Some(first.0 * delay / first.1.max(1e-9));
        }
        let low = self.curve[above - 1];
        let Some(&high) = self.curve.get(above) else {
            let slope = (last.0 - first.0) / (last.1 - first.1).max(1e-3);
            return Some(last.0 + slope * (delay - last.1));
        };
        Some(low.0 + (high.0 - low.0) * (delay - low.1) / (high.1 - low.1))
    }

    /// The delay of a `window`, if anything is known.
    pub(super) fn delay(&self, window: f64) -> Option<f64> {
        let above = self.curve.partition_point(|&(known, _)| known < window);
        self.curve.get(above).or(self.curve.last()).map(|&(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_rises_and_goes_through_the_delays() {
        let mut profile = Profile::default();
        for (window, delay) in [(10, 0.05), (20, 0.05), (40, 0.1), (50, 0.3), (60, 0.2)] {
            profile.add(window, delay);
        }
        profile.refresh(Instant::ZERO);
        let window = |delay| profile.window(delay).expect("is known");
        assert!((window(0.05) - 20.0).abs() < 1e-9);
        assert!((window(0.075) - 30.0).abs() < 1e-9);
        assert!((window(0.25) - 60.0).abs() < 1e-9, "the mean of two that contradict");
        assert!((window(0.3) - 72.5).abs() < 1e-9, "{}", window(0.3));
        assert!((window(0.025) - 5.0).abs() < 1e-9);
        assert_eq!(profile.delay(30.0), Some(0.1));
    }
}
