//! [`Arrivals`]: the arrivals of one direction.

use super::{DirectionReport, packet};
use exm_trace::delay::EndToEnd;
use exm_units::{Instant, Span};

/// Between two clocks, the first datagram is assumed to have this delay, so that others may have less.
const ASSUMED: Span = Span::from_secs(1);
/// A longer delay means an invalid timestamp.
const LONGEST: Span = Span::from_secs(600);

/// The arrivals of one direction and their delays.
#[derive(Debug)]
pub(super) struct Arrivals {
    scores: EndToEnd,
    received: u64,
    /// The difference between apparent and assumed delays: the offset of the clocks, less the assumed delay.
    /// Zero if there is one clock; otherwise known from the first arrival on.
    offset: Option<i128>,
    /// The least of the delays.
    least: Option<Span>,
    one_clock: bool,
}

impl Arrivals {
    /// Scores from `from` on and before `until`, by this machine's clock.
    pub(super) fn new(from: Instant, until: Instant, one_clock: bool) -> Arrivals {
        let (scores, offset) = (EndToEnd::new(from, until), one_clock.then_some(0));
        Arrivals { scores, received: 0, offset, least: None, one_clock }
    }

    /// Adds a datagram of `length` bytes that was sent at `sent_at`, by the sender's clock.
    pub(super) fn arrived(&mut self, sent_at: Instant, received_at: Instant, length: usize) {
        let apparent = i128::from(received_at.as_nanos()) - i128::from(sent_at.as_nanos());
        let assumed = i128::from(ASSUMED.as_nanos());
        let offset = *self.offset.get_or_insert(apparent - assumed);
        let delay = Span::from_nanos(u64::try_from(apparent - offset).unwrap_or(0)).min(LONGEST);
        let delay = delay.min(received_at.saturating_since(Instant::ZERO));
        self.received += 1;
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.scores.arrived(received_at - delay, received_at, packet(length));
    }

    /// The result, given that `sent` datagrams were sent.
    pub(super) fn half(&self, sent: u64) -> DirectionReport {
        let scores = self.scores.clone().finish();
        let least = if self.one_clock { Span::ZERO } else { self.least.unwrap_or(Span::ZERO) };
        let delay = |percent| Some(scores.percentile(percent)?.saturating_sub(least));
        DirectionReport {
            sent,
            received: self.received,
            throughput: scores.throughput,
            delay_50: delay(50.0),
            delay_95: delay(95.0),
        }
    }
}
