//! What a controller from outside may decide.

use crate::abi::NONE;
use exm_cc::Decision;
use exm_units::{Instant, Packets, Span};

/// The largest window, packets: 1.5 TB in flight.
pub const MAX_WINDOW: u64 = 1_000_000_000;
/// The longest time between two sends: 31 years.
pub const MAX_INTERSEND: Span = Span::from_secs(1_000_000_000);

/// The decision of a window, a time between sends and a wake-up, in packets and nanoseconds; or what is impossible
/// about it. A wake-up in the past is granted as soon as possible, as for every controller.
#[inline]
pub(crate) fn decision(cwnd: u64, intersend: u64, wake_at: u64) -> Result<Decision, String> {
    if cwnd > MAX_WINDOW {
        return Err(format!("asked for a window of {cwnd} packets; the largest is {MAX_WINDOW}"));
    }
    if intersend > MAX_INTERSEND.as_nanos() {
        return Err(format!("asked for {intersend} ns between two sends; the longest is 10^18 ns"));
    }
    Ok(Decision {
        cwnd: Packets::new(cwnd),
        intersend: Span::from_nanos(intersend),
        wake_at: (wake_at != NONE).then_some(Instant::from_nanos(wake_at)),
    })
}

/// The decision of a controller that has failed: it sends nothing and sleeps.
pub(crate) const STOPPED: Decision =
    Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };
