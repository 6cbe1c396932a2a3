//! [`Forecast`]: a receiver's message to its sender.

use crate::{HORIZON, TICK};
use exm_units::{Bytes, Span};

/// The last ticks of a forecast, by which it is continued.
const LAST: usize = 2;
/// The time constant with which its continuation slows down.
const MEMORY: Span = Span::from_millis(300);

/// The packets that will have been delivered by the end of each of the next ticks; never decreasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; HORIZON]);

/// A cautious forecast of what a link will deliver, and the bytes received so far (thesis, section
/// 2.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The number of the tick when it was made, by which forecasts are ordered.
    pub tick: u32,
    /// The bytes that the receiver had received or written off as lost.
    pub received: Bytes,
    /// The bytes that will have been delivered by the end of each of the next ticks; never
    /// decreasing.
    pub delivered: [Bytes; HORIZON],
}

impl Forecast {
    /// The bytes that will have been delivered `ticks` after it was made: none at zero, and none
    /// beyond its horizon.
    pub fn after(&self, ticks: usize) -> Bytes {
        match ticks.min(HORIZON) {
            0 => Bytes::ZERO,
            ticks => self.delivered[ticks - 1],
        }
    }

    /// The bytes that will have been delivered this long after it was made, interpolated within ticks. Beyond
    /// its horizon the link is expected to go on as in the last two ticks, but ever more slowly, since less and less
    /// is known about it.
    pub fn within(&self, time: Span) -> Bytes {
        let ticks = (time.as_nanos() / TICK.as_nanos()) as usize;
        if ticks >= HORIZON {
            let beyond = self.beyond(time - TICK * HORIZON as u64);
            return Bytes::new(self.after(HORIZON).get().saturating_add(beyond.get()));
        }
        let part = time.as_nanos() % TICK.as_nanos();
        let (before, after) = (self.after(ticks), self.after(ticks + 1));
        let share =
            u128::from((after - before).get()) * u128::from(part) / u128::from(TICK.as_nanos());
        before + Bytes::new(share as u64)
    }

    /// The bytes that will have been delivered this long after its horizon, in addition to those within it.
    fn beyond(&self, time: Span) -> Bytes {
        let last = self.after(HORIZON) - self.after(HORIZON - LAST);
        let rate = last.get() as f64 / (TICK * LAST as u64).as_secs_f64();
        let memory = MEMORY.as_secs_f64();
        Bytes::new((rate * memory * -libm::expm1(-time.as_secs_f64() / memory)) as u64)
    }
}
