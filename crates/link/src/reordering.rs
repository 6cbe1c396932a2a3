//! [`Reordering`]: packets that others overtake.

use exm_units::{Probability, Span};

/// Random reordering: some packets are held back for a time, in which others overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// The probability that a packet is delayed.
    pub probability: Probability,
    /// The additional delay of such packets.
    pub extra: Span,
}

impl Reordering {
    /// The additional delay unless one is set: longer than the gaps between packets on most links.
    pub const DEFAULT_EXTRA: Span = Span::from_millis(10);
}
