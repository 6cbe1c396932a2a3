//! [`Probe`]: the tail loss probe, sent before the retransmission timer expires (RFC 8985, section
//! 7).

use exm_units::{Instant, Span};

/// The probe timeout before the first RTT sample: RFC 8985, section 7.2.
const FIRST: Span = Span::from_secs(1);

/// When a tail loss probe is due, and the state of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// When the probe timer expires: `PTO`.
    at: Option<Instant>,
    /// Whether it has expired and the probe is still to be sent.
    due: bool,
    out: Option<Out>,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Its segment number, and when it was sent.
    pub(crate) segment: u64,
    pub(crate) at: Instant,
    /// Its outcome is known once everything below this is acknowledged: `TLP.end_seq`.
    pub(crate) end: u64,
    /// Whether it was sent before: `TLP.is_retrans`.
    pub(crate) again: bool,
}

impl Probe {
    /// Schedules a probe two round trips plus `delay` after `now`, at the latest when the
    /// retransmission timer expires (section 7.2). None is scheduled while one is in flight.
    pub(crate) fn schedule(&mut self, now: Instant, srtt: Span, delay: Span, timer: Instant) {
        let wait = if srtt.is_zero() { FIRST } else { (srtt * 2).saturating_add(delay) };
        self.at = self.out.is_none().then(|| now.saturating_add(wait).min(timer));
    }

    /// No probe is scheduled any more.
    pub(crate) fn cancel(&mut self) {
        (self.at, self.due) = (None, false);
    }

    /// When the probe timer expires; [`Instant::MAX`] where it does not run.
    #[inline]
    pub(crate) fn at(&self) -> Instant {
        self.at.unwrap_or(Instant::MAX)
    }

    /// The probe timer has expired.
    pub(crate) fn fall_due(&mut self) {
        (self.at, self.due) = (None, true);
    }

    /// Whether a probe is to be sent now, regardless of the window.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// The probe is sent.
    pub(crate) fn sent(&mut self, out: Out) {
        *self = Probe { at: None, due: false, out: Some(out) };
    }

    /// The probe in flight, if any.
    #[inline]
    pub(crate) fn out(&self) -> Option<Out> {
        self.out
    }

    /// The outcome of the probe in flight is known.
    pub(crate) fn settle(&mut self) {
        self.out = None;
    }
}
