//! [`Observer`]: watches a simulation as it runs.

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
    /// What keeps it from sending more.
    pub limited: Limited,
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

/// What keeps a sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limited {
    /// It is off: it has no flow.
    Off,
    /// As many packets are in flight as its window allows.
    Window,
    /// The window has room, but the time between sends has not passed.
    Pace,
    /// The window has room, but there is nothing to send: the flow's data has been sent, the
    /// connection is being set up, or the receiver has no room.
    Data,
}

/// Something that happened to a flow or to one of its packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// What happened.
    pub kind: EventKind,
}

/// The packet that an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId {
    /// Its number, counted from its sender's first. Over TCP, that of its segment in the connection
    /// (a SYN has [`u64::MAX`]).
    pub sequence: u64,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its size with headers.
    pub size: Bytes,
    /// Whether it is an ACK on its way back to the sender, where links lead back. ACKs are numbered by
    /// themselves.
    pub is_ack: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A flow started.
    Started,
    /// It stopped: its time was over, or all it had to deliver was acknowledged.
    Stopped,
    /// The sender sent a packet, or the receiver an ACK that crosses links.
    Sent {
        /// The packet.
        packet: PacketId,
        /// Whether its data was sent before.
        retransmission: bool,
    },
    /// A packet joined the queue of a link.
    Enqueued {
        /// The packet.
        packet: PacketId,
        /// The link's number.
        link: usize,
    },
    /// The queue of a link dropped a packet.
    Dropped {
        /// The packet.
        packet: PacketId,
        /// The link's number.
        link: usize,
    },
    /// The queue of a link marked a packet (RFC 3168).
    Marked {
        /// The packet.
        packet: PacketId,
        /// The link's number.
        link: usize,
    },
    /// A packet was lost at random on a link. A link of fixed rate reports this as the packet's
    /// transmission begins, with the time of its end, so that it may come before earlier events.
    Lost {
        /// The packet.
        packet: PacketId,
        /// The link's number.
        link: usize,
    },
    /// A packet arrived at its receiver.
    Delivered {
        /// The packet.
        packet: PacketId,
    },
    /// The sender received an ACK.
    Acknowledged {
        /// How many packets it acknowledged that now count as delivered.
        delivered: u64,
        /// The round-trip time that it measured.
        rtt: Option<Span>,
    },
    /// What keeps the sender from sending more has changed.
    Limited(Limited),
}

/// Watches a simulation as it runs. It cannot change it, and the simulation is the same with any
/// observer.
///
/// Samples say how flows and links are at a time; events, what happens to each packet. Each costs
/// nothing where it is not wanted.
///
/// ```
/// use exm_sim::engine::{Event, EventKind, FlowSample, LinkSample, Observer, Pace};
///
/// /// Counts the packets that queues drop.
/// #[derive(Default)]
/// struct Drops(u64);
///
/// impl Observer for Drops {
///     fn wants_events(&self) -> bool {
///         true
///     }
///
///     fn event(&mut self, event: &Event) {
///         self.0 += u64::from(matches!(event.kind, EventKind::Dropped { .. }));
///     }
/// }
/// ```
pub trait Observer {
    /// How often it wants samples; asked once, at the start. By default never.
    #[inline]
    fn pace(&self) -> Pace {
        Pace::Never
    }

    /// A sender as it is now.
    #[inline]
    fn flow(&mut self, _sample: &FlowSample) {}

    /// A link as it is now.
    #[inline]
    fn link(&mut self, _sample: &LinkSample) {}

    /// Whether it wants events; always the same. By default it does not.
    #[inline]
    fn wants_events(&self) -> bool {
        false
    }

    /// An event, in the order of time but for [`EventKind::Lost`].
    #[inline]
    fn event(&mut self, _event: &Event) {}
}

/// Observes nothing, at no cost.
impl Observer for () {}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn pace(&self) -> Pace {
        (**self).pace()
    }

    #[inline]
    fn flow(&mut self, sample: &FlowSample) {
        (**self).flow(sample);
    }

    #[inline]
    fn link(&mut self, sample: &LinkSample) {
        (**self).link(sample);
    }

    #[inline]
    fn wants_events(&self) -> bool {
        (**self).wants_events()
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
}
