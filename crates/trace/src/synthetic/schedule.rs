//! The sequence of regimes, and the times of interruptions.

use super::{Interruption, Regime, TICK};
use exm_random::Stream;

/// The sequence of regimes. Times are in seconds.
pub(super) struct Regimes<'a> {
    all: &'a [Regime],
    stream: Stream,
    /// When the present regime ends.
    until: f64,
}

impl<'a> Regimes<'a> {
    /// Starts with the first of `all`.
    pub(super) fn new(all: &'a [Regime], stream: Stream) -> Regimes<'a> {
        let mut regimes = Regimes { all, stream, until: 0.0 };
        regimes.stay(&all[0]);
        regimes
    }

    /// The regime that starts by `now`, if any; `now` must not decrease.
    pub(super) fn entered(&mut self, now: f64) -> Option<&'a Regime> {
        let mut entered = None;
        while self.until <= now {
            let regime = self.drawn();
            self.stay(regime);
            entered = Some(regime);
        }
        entered
    }

    fn drawn(&mut self) -> &'a Regime {
        let weights = self.all.iter().map(|regime| regime.weight);
        let mut left = self.stream.uniform() * weights.sum::<f64>();
        let chosen = self.all.iter().find(|regime| {
            left -= regime.weight;
            left < 0.0
        });
        chosen.unwrap_or(&self.all[0])
    }

    fn stay(&mut self, regime: &Regime) {
        let dwell = regime.dwell.as_ref();
        let seconds = dwell.map_or(f64::INFINITY, |dwell| dwell.draw(&mut self.stream));
        self.until += seconds.max(TICK.as_secs_f64());
    }
}

/// The times of one kind of interruption, in seconds.
pub(super) struct Absences<'a> {
    kind: &'a Interruption,
    stream: Stream,
    /// When the present or next interruption starts and ends.
    start: f64,
    end: f64,
}

impl<'a> Absences<'a> {
    pub(super) fn new(kind: &'a Interruption, stream: Stream) -> Absences<'a> {
        let mut absences = Absences { kind, stream, start: 0.0, end: 0.0 };
        absences.draw();
        absences
    }

    /// Whether the link is interrupted at `now`, which must not decrease.
    pub(super) fn covers(&mut self, now: f64) -> bool {
        while self.end <= now {
            self.draw();
        }
        self.start <= now
    }

    fn draw(&mut self) {
        let after = self.kind.every.draw(&mut self.stream).max(TICK.as_secs_f64());
        self.start = (self.start + after).max(self.end);
        self.end = self.start + self.kind.lasts.draw(&mut self.stream);
    }
}
