//! [`Clock`]: the time since the start of a session.

use exm_units::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The time since the start of a session, on a clock that never jumps (`CLOCK_MONOTONIC`).
///
/// All processes of a machine share that clock, so their timestamps are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The machine's clock at the start, in nanoseconds.
    start: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock { start: read(ClockId::Monotonic) }
    }

    /// A clock that started when the machine's clock showed `nanos` nanoseconds.
    pub fn started_at(nanos: u64) -> Clock {
        Clock { start: nanos }
    }

    /// The machine's clock at the start, in nanoseconds.
    pub fn start_nanos(self) -> u64 {
        self.start
    }

    /// The time since the start.
    #[inline]
    pub fn now(self) -> Instant {
        Instant::from_nanos(read(ClockId::Monotonic).saturating_sub(self.start))
    }

    /// The wall-clock time in nanoseconds since 1970, for the headers of logs.
    pub fn calendar_nanos() -> u64 {
        read(ClockId::Realtime)
    }
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec).unwrap_or(0)
}
