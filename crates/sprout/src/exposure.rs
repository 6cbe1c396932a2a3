//! [`Exposure`]: for how much of a tick the link had a packet of ours to deliver.

use crate::Header;
use crate::header::micros;
use crate::least::Least;
use exm_units::{Instant, Span};

/// The link's activity in a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exposed {
    /// How long packets of ours waited at it.
    pub(crate) busy: Span,
    /// How long none waited because the sender had none.
    pub(crate) free: Span,
}

/// Measures how long packets of ours waited at the link, and why none waited otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposure {
    /// The minimum one-way delay, by two clocks whose difference is unknown.
    least: Least,
    /// The time up to which everything has been counted.
    counted: Instant,
    /// Whether the sender had nothing more to send after the last packet that arrived.
    satisfied: bool,
    /// The current tick, which began at this time.
    total: Exposed,
    began: Instant,
}

impl Exposure {
    /// A packet arrives. Returns when it came to the link, less the minimum delay to here: it waited from then to now.
    pub(crate) fn came(&mut self, now: Instant, header: &Header) -> Instant {
        let delay = micros(now).wrapping_sub(header.sent_at);
        let waited = self.least.see(now, delay);
        Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos()))
    }

    /// The packet that arrives at `now` waited at the link since `came`.
    pub(crate) fn arrive(&mut self, came: Instant, now: Instant, header: &Header) {
        self.idle(came);
        self.wait(came, now);
        self.satisfied = header.satisfied;
    }

    /// No packet waited from `from` to `to`, because the sender was late; only time not yet counted is added.
    pub(crate) fn lull(&mut self, from: Instant, to: Instant) {
        let from = from.max(self.counted).max(self.began);
        if from < to {
            self.total.free += to - from;
            self.counted = to;
        }
    }

    /// A packet waited at the link from `from` to `to`; only time not yet counted is added.
    pub(crate) fn wait(&mut self, from: Instant, to: Instant) {
        let from = from.max(self.counted);
        if from < to {
            self.idle(from);
            self.total.busy += to - from;
            self.counted = to;
        }
    }

    /// No packet waited up to `to`; only time not yet counted is added.
    pub(crate) fn idle(&mut self, to: Instant) {
        if self.satisfied {
            self.total.free += to.saturating_since(self.counted.max(self.began));
            self.counted = self.counted.max(to);
        }
    }

    /// The counts of the current tick so far.
    pub(crate) fn so_far(&self) -> Exposed {
        self.total
    }

    /// The counts at the end of a tick, which is `now`. Whether a packet waited at the very end is
    /// known only with the next arrival, and then counts for the next tick.
    pub(crate) fn take(&mut self, now: Instant) -> Exposed {
        let mut exposed = std::mem::take(&mut self.total);
        if self.satisfied {
            exposed.free += now.saturating_since(self.counted.max(self.began));
        }
        self.began = now;
        exposed
    }
}
