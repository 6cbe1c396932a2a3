//! [`Echo`]: which frames of keys the programs have had time to answer.

use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// How long programs are given to answer: what the screen shows after it is the effect of the keys.
const TIME_TO_ANSWER: Span = Span::from_millis(50);
/// The most frames that wait: more arrive only if a client floods.
const MOST: usize = 1024;

/// Frames of keys, and when they were typed to the programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echo {
    waiting: VecDeque<(u64, Instant)>,
    echoed: u64,
}

impl Echo {
    /// Frame `number` was typed at `now`.
    pub(crate) fn typed(&mut self, now: Instant, number: u64) {
        if self.waiting.len() == MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back((number, now));
    }

    /// The newest frame that is answered at `now`.
    pub(crate) fn echoed(&mut self, now: Instant) -> u64 {
        while let Some(&(number, at)) = self.waiting.front()
            && now >= at.saturating_add(TIME_TO_ANSWER)
        {
            self.echoed = number.max(self.echoed);
            self.waiting.pop_front();
        }
        self.echoed
    }

    /// When the next frame will be.
    pub(crate) fn next(&self) -> Instant {
        self.waiting.front().map_or(Instant::MAX, |(_, at)| at.saturating_add(TIME_TO_ANSWER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_50_ms() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut echo = Echo::default();
        assert_eq!((echo.echoed(at(0)), echo.next()), (0, Instant::MAX));
        echo.typed(at(10), 3);
        echo.typed(at(30), 5);
        assert_eq!((echo.echoed(at(59)), echo.next()), (0, at(60)));
        assert_eq!((echo.echoed(at(60)), echo.next()), (3, at(80)));
        assert_eq!((echo.echoed(at(99)), echo.next()), (5, Instant::MAX));
    }
}
