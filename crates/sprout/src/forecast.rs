//! [`Forecast`]: what a receiver tells its sender.

use crate::{HORIZON, TICK};
use exm_units::{Bytes, Span};

/// How many packets will have been delivered by the end of each of the next ticks; never decreasing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; HORIZON]);

/// How much a link will deliver, all but certainly, and how much it has (thesis, section 2.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The number of the tick it was made at: of two, the later has the larger.
    pub tick: u32,
    /// How many bytes the receiver had got or written off as lost.
    pub received: Bytes,
    /// How many bytes will have been delivered by the end of each of the next ticks, from now on;
    /// never decreasing.
    pub delivered: [Bytes; HORIZON],
}

impl Forecast {
    /// How many bytes will have been delivered `ticks` after it was made: none at once, and none
    /// that it tells of beyond its horizon.
    pub fn after(&self, ticks: usize) -> Bytes {
        match ticks.min(HORIZON) {
            0 => Bytes::ZERO,
            ticks => self.delivered[ticks - 1],
        }
    }

    /// How many bytes will have been delivered so long after it was made, evenly within a tick.
    pub fn within(&self, time: Span) -> Bytes {
        let ticks = (time.as_nanos() / TICK.as_nanos()) as usize;
        let part = time.as_nanos() % TICK.as_nanos();
        let (before, after) = (self.after(ticks), self.after(ticks.saturating_add(1)));
        let share =
            u128::from((after - before).get()) * u128::from(part) / u128::from(TICK.as_nanos());
        before + Bytes::new(share as u64)
    }
}
