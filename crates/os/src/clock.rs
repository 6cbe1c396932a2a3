//! [`Clock`]: the time since a session's start.

use exm_units::Instant;
use nix::time::{ClockId, clock_gettime};

/// The time since a session's start, on the clock that never jumps (`CLOCK_MONOTONIC`).
///
/// All processes of a machine read the same clock, so what they stamp can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What the machine's clock showed at the start, in nanoseconds.
    start: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { start: raw(ClockId::CLOCK_MONOTONIC) }
    }

    /// A clock that started when the machine's own showed `nanos` nanoseconds.
    pub fn started_at(nanos: u64) -> Clock {
        Clock { start: nanos }
    }

    /// What the machine's clock showed at its start, in nanoseconds.
    pub fn start_nanos(self) -> u64 {
        self.start
    }

    /// The time since the start.
    #[inline]
    pub fn now(self) -> Instant {
        Instant::from_nanos(raw(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start))
    }

    /// What the calendar shows, in nanoseconds since 1970, for the head of a log.
    pub fn calendar_nanos() -> u64 {
        raw(ClockId::CLOCK_REALTIME)
    }
}

fn raw(clock: ClockId) -> u64 {
    // The two clocks exist on every Linux; a machine without is at time zero for ever.
    clock_gettime(clock).map_or(0, |time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec()).unwrap_or(0)
    })
}
