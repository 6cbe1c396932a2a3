//! [`Exposure`]: for how much of a tick the link had something of ours to deliver.

use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// The least delay is looked for in windows of this length, the two last of them: a route may
/// change, and clocks drift by a millisecond in half a minute.
const WINDOW: Span = Span::from_secs(10);

/// Measures for how long packets of ours waited at the link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposure {
    /// The least time from sending to arrival, by two clocks whose difference is unknown, in the
    /// window that runs and the one before.
    least: VecDeque<(Instant, u32)>,
    /// What has been counted so far reaches up to here.
    counted: Instant,
    /// In the tick that runs.
    total: Span,
}

impl Exposure {
    /// A packet arrives that was sent at `sent_at`, by the sender's clock. It waited from when it
    /// came to the queue until now.
    pub(crate) fn arrive(&mut self, now: Instant, sent_at: u32) {
        let micros = ((now.as_nanos() / 1000) as u32).wrapping_sub(sent_at);
        let waited = self.excess(now, micros);
        let since = Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos()));
        self.count(since, now);
    }

    /// The time from `from` to `to` counts, unless it has already.
    pub(crate) fn count(&mut self, from: Instant, to: Instant) {
        let from = from.max(self.counted);
        if from < to {
            self.total += to - from;
            self.counted = to;
        }
    }

    /// What was counted, at the end of a tick.
    pub(crate) fn take(&mut self) -> Span {
        std::mem::take(&mut self.total)
    }

    /// By how much a delay of `micros` exceeds the least.
    fn excess(&mut self, now: Instant, micros: u32) -> Span {
        match self.least.back_mut() {
            Some((start, least)) if now - *start < WINDOW => {
                if (micros.wrapping_sub(*least) as i32) < 0 {
                    *least = micros;
                }
            }
            _ => {
                self.least.push_back((now, micros));
                if self.least.len() > 2 {
                    self.least.pop_front();
                }
            }
        }
        let over = |&(_, least): &(Instant, u32)| micros.wrapping_sub(least) as i32;
        let excess = self.least.iter().map(over).max().unwrap_or(0);
        Span::from_micros(u64::try_from(excess).unwrap_or(0))
    }
}
