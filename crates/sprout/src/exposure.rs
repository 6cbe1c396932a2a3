//! [`Exposure`]: for how much of a tick the link had something of ours to deliver.

use crate::Header;
use crate::header::micros;
use crate::least::Least;
use exm_units::{Instant, Span};

/// What the link did in a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exposed {
    /// For how long packets of ours waited at it.
    pub(crate) busy: Span,
    /// For how long none did because there were none.
    pub(crate) free: Span,
}

/// Measures for how long packets of ours waited at the link, and why none did else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposure {
    /// The least time from sending to arrival, by two clocks whose difference is unknown.
    least: Least,
    /// What has been counted so far reaches up to here.
    counted: Instant,
    /// Whether nothing waited to be sent after the last packet that came.
    satisfied: bool,
    /// In the tick that runs, which began then.
    total: Exposed,
    began: Instant,
}

impl Exposure {
    /// A packet arrives. It waited from when it came to the queue until now.
    pub(crate) fn arrive(&mut self, now: Instant, header: &Header) {
        let delay = micros(now).wrapping_sub(header.sent_at);
        let waited = self.least.see(now, delay);
        let since = Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos()));
        self.idle(since);
        self.wait(since, now);
        self.satisfied = header.satisfied;
    }

    /// Something waited at the link from `from` to `to`, unless that has been counted.
    pub(crate) fn wait(&mut self, from: Instant, to: Instant) {
        let from = from.max(self.counted);
        if from < to {
            self.idle(from);
            self.total.busy += to - from;
            self.counted = to;
        }
    }

    /// Nothing waited up to `to`, but what has been counted.
    fn idle(&mut self, to: Instant) {
        if self.satisfied {
            self.total.free += to.saturating_since(self.counted.max(self.began));
            self.counted = self.counted.max(to);
        }
    }

    /// What was counted, at the end of a tick, which is `now`. Whether something waited at its very
    /// end only the next arrival tells: that counts for the next tick then.
    pub(crate) fn take(&mut self, now: Instant) -> Exposed {
        let mut exposed = std::mem::take(&mut self.total);
        if self.satisfied {
            exposed.free += now.saturating_since(self.counted.max(self.began));
        }
        self.began = now;
        exposed
    }
}
