//! [`Display`] and [`Slowness`]: whether predictions are shown.

use exm_units::{Instant, Span};

/// When predictions are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Display {
    /// When the connection is slow, or answers are late.
    #[default]
    Adaptive,
    /// Always.
    Always,
    /// Never.
    Never,
    /// Always, all at once: what was not confirmed before, too; a wrong prediction takes back only itself.
    Experimental,
}

/// Above this interval between frames, half the RTT, predictions are shown; no longer at most at the other.
const SLOW: [Span; 2] = [Span::from_millis(30), Span::from_millis(20)];
/// The same for underlining them.
const SLOWER: [Span; 2] = [Span::from_millis(80), Span::from_millis(50)];
/// A prediction that has not been answered for so long shows all predictions for a while...
const GLITCH: Span = Span::from_millis(250);
/// ... until so many were answered sooner, no two of which count within [`QUICKLY`].
const GLITCH_CURES: u32 = 10;
const QUICKLY: Span = Span::from_millis(150);
/// After so long they are underlined as well, until [`GLITCH_CURES`] are left.
const LONG_GLITCH: Span = Span::from_secs(5);
const LONG_GLITCH_CURES: u32 = 20;

/// Whether the connection is so slow that predictions help.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slowness {
    is_slow: bool,
    is_slower: bool,
    /// How many quick answers it takes until the last glitch is forgotten.
    cures: u32,
    cured_at: Option<Instant>,
}

impl Slowness {
    /// Frames are sent every `interval`; `idle` if nothing is predicted.
    pub(crate) fn see_interval(&mut self, interval: Span, idle: bool) {
        // Predictions do not vanish while some are on the screen.
        self.is_slow = interval > SLOW[0] || self.is_slow && !(interval <= SLOW[1] && idle);
        self.is_slower = interval > SLOWER[0] || self.is_slower && interval > SLOWER[1];
    }

    /// A prediction has waited for its answer for so long.
    pub(crate) fn see_waiting(&mut self, waited: Span) {
        if waited >= LONG_GLITCH {
            self.cures = LONG_GLITCH_CURES;
        } else if waited >= GLITCH {
            self.cures = self.cures.max(GLITCH_CURES);
        }
    }

    /// A prediction was right, after so long.
    pub(crate) fn see_answer(&mut self, now: Instant, waited: Span) {
        let is_next = self.cured_at.is_none_or(|at| now.saturating_since(at) >= QUICKLY);
        if self.cures > 0 && waited < GLITCH && is_next {
            self.cures -= 1;
            self.cured_at = Some(now);
        }
    }

    /// Whether predictions are shown, if that depends on it.
    pub(crate) fn shows(&self) -> bool {
        self.is_slow || self.cures > 0
    }

    /// Whether they are underlined.
    pub(crate) fn underlines(&self) -> bool {
        self.is_slower || self.cures > GLITCH_CURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn thresholds_have_two_sides() {
        let mut slowness = Slowness::default();
        let mut see = |millis, idle| {
            slowness.see_interval(Span::from_millis(millis), idle);
            (slowness.shows(), slowness.underlines())
        };
        assert_eq!(see(30, true), (false, false));
        assert_eq!(see(31, true), (true, false));
        assert_eq!(see(81, true), (true, true));
        assert_eq!(see(51, true), (true, true));
        assert_eq!(see(50, true), (true, false));
        assert_eq!(see(21, true), (true, false));
        assert_eq!(see(20, false), (true, false), "something is on the screen");
        assert_eq!(see(20, true), (false, false));
    }

    #[test]
    fn glitches_are_cured_by_ten_quick_answers() {
        let mut slowness = Slowness::default();
        slowness.see_waiting(Span::from_millis(249));
        assert!(!slowness.shows());
        slowness.see_waiting(Span::from_millis(250));
        for answer in 0..10 {
            assert!(slowness.shows(), "{answer}");
            slowness.see_answer(at(1000 + 150 * answer), Span::from_millis(100));
            // Neither a second one soon after, nor a slow one, counts.
            slowness.see_answer(at(1100 + 150 * answer), Span::from_millis(100));
            slowness.see_answer(at(1149 + 150 * answer), Span::from_millis(250));
        }
        assert!(!slowness.shows());
        slowness.see_waiting(Span::from_secs(5));
        assert!(slowness.underlines());
    }
}
