//! [`Probe`]: a segment sent into silence, before the timer takes it for loss (RFC 8985, section 7).

use exm_units::{Instant, Span};

/// Before the first measurement of a round trip: RFC 8985, section 7.2.
const FIRST: Span = Span::from_secs(1);

/// When a tail loss probe is due, and what became of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// When the silence has lasted: `PTO`.
    at: Option<Instant>,
    /// Whether it has, and the probe is yet to be sent.
    due: bool,
    out: Option<Out>,
}

/// A probe under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// The segment it was, and when it was sent.
    pub(crate) segment: u64,
    pub(crate) at: Instant,
    /// Its fate is known once all below this is acknowledged: `TLP.end_seq`.
    pub(crate) end: u64,
    /// Whether it was sent before: `TLP.is_retrans`.
    pub(crate) again: bool,
}

impl Probe {
    /// Two round trips of silence from `now` on, and `delay` more, call for a probe, at the latest as
    /// the retransmission timer runs out (section 7.2). None is scheduled while one is under way.
    pub(crate) fn schedule(&mut self, now: Instant, srtt: Span, delay: Span, timer: Instant) {
        let wait = if srtt.is_zero() { FIRST } else { (srtt * 2).saturating_add(delay) };
        self.at = self.out.is_none().then(|| now.saturating_add(wait).min(timer));
    }

    /// Nothing calls for a probe.
    pub(crate) fn cancel(&mut self) {
        (self.at, self.due) = (None, false);
    }

    /// When the silence has lasted; [`Instant::MAX`] where nothing waits for that.
    #[inline]
    pub(crate) fn at(&self) -> Instant {
        self.at.unwrap_or(Instant::MAX)
    }

    /// The silence has lasted.
    pub(crate) fn fall_due(&mut self) {
        (self.at, self.due) = (None, true);
    }

    /// Whether a probe is to be sent now, whatever the window.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// The probe is sent.
    pub(crate) fn sent(&mut self, out: Out) {
        *self = Probe { at: None, due: false, out: Some(out) };
    }

    /// The probe under way, if one is.
    #[inline]
    pub(crate) fn out(&self) -> Option<Out> {
        self.out
    }

    /// The fate of the probe under way is known.
    pub(crate) fn settle(&mut self) {
        self.out = None;
    }
}
