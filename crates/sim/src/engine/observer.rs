//! [`Observer`]: whoever watches a simulation as it runs.

use exm_units::{Bytes, Instant, Packets, Span};

/// How often an [`Observer`] wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Never.
    Never,
    /// Of every flow and link once each such span, from the start on, after all that happens at
    /// that instant.
    Every(Span),
    /// Of a flow after each of its acknowledgements, of a link whenever its queue changed.
    EachEvent,
}

/// A sender at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// When.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// Whether it is on.
    pub on: bool,
    /// The window in force.
    pub cwnd: Packets,
    /// The least time between sends in force.
    pub intersend: Span,
    /// Packets in flight, as the sender counts them.
    pub in_flight: Packets,
    /// Packets delivered so far, by all its flows.
    pub delivered: u64,
    /// The round-trip time of the packet acknowledged last, if any.
    pub rtt: Option<Span>,
    /// Bytes that have come to the receiver since end-to-end delays are measured, and that delay
    /// now, where links lead back.
    pub received: Option<(Bytes, Option<Span>)>,
    /// A RemyCC's memory, indexed as [`exm_remy::Signal::ALL`].
    pub signals: Option<[f64; 6]>,
    /// The number of the rule a RemyCC applied last.
    pub rule: Option<usize>,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSample {
    /// When.
    pub at: Instant,
    /// The link's number.
    pub link: usize,
    /// Packets that wait, besides the one in transmission.
    pub packets: u64,
    /// Bytes that wait.
    pub bytes: u64,
    /// Whether it is transmitting.
    pub busy: bool,
}

/// Watches a simulation as it runs. It cannot change it.
pub trait Observer {
    /// How often it wants to be told; asked once, at the start.
    fn pace(&self) -> Pace;

    /// A sender as it is now.
    fn flow(&mut self, sample: &FlowSample);

    /// A link as it is now.
    fn link(&mut self, sample: &LinkSample);
}

/// Observes nothing, at no cost.
impl Observer for () {
    #[inline]
    fn pace(&self) -> Pace {
        Pace::Never
    }

    #[inline]
    fn flow(&mut self, _sample: &FlowSample) {}

    #[inline]
    fn link(&mut self, _sample: &LinkSample) {}
}
