//! [`Observer`]: watches a simulation as it runs.

use exm_cc::Metrics;
use exm_sprout::{Belief, Forecast};
use exm_tcp::Acknowledgement;
use exm_units::{Bytes, Instant, Packets, Rate, Span};

/// How often an [`Observer`] wants samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Never.
    Never,
    /// Of every flow and link once in each such interval, from the start on, after everything that
    /// happens at that instant.
    Every(Span),
    /// Of a flow after each of its ACKs, of a link whenever its queue changed.
    EachEvent,
}

/// The state of a sender at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowSample {
    /// The time.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// Whether it is on.
    pub on: bool,
    /// The current window.
    pub cwnd: Packets,
    /// The current minimum time between sends.
    pub intersend: Span,
    /// Packets in flight, as the sender counts them.
    pub in_flight: Packets,
    /// What keeps it from sending more.
    pub limited: Limited,
    /// Packets delivered so far, by all its flows.
    pub delivered: u64,
    /// The RTT of the packet acknowledged last, if any.
    pub rtt: Option<Span>,
    /// Bytes received since the measurement of end-to-end delays began, and the present end-to-end
    /// delay, if links lead back.
    pub received: Option<(Bytes, Option<Span>)>,
    /// The metrics of its controller; empty for Sprout, which has none.
    pub metrics: Metrics,
    /// A RemyCC's memory; the extended signals are zero where its table uses none of them.
    pub signals: Option<exm_remy::Point>,
    /// The number of the rule that a RemyCC applied last.
    pub rule: Option<usize>,
}

/// The state of a link at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkSample {
    /// The time.
    pub at: Instant,
    /// The link's number.
    pub link: usize,
    /// Packets that wait, not counting the one in transmission.
    pub packets: u64,
    /// Bytes that wait.
    pub bytes: u64,
    /// Whether it is transmitting.
    pub busy: bool,
}

/// The state of a Sprout session at one instant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SproutSample {
    /// The time.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// The probability that the receiver assigns to each rate of the link, as of its last tick (NSDI 2013,
    /// section 3.2); none for [`Method::Ewma`](exm_sprout::Method::Ewma).
    pub belief: Option<Belief>,
    /// The rate that the receiver expects: the mean of its belief, or the moving average.
    pub mean_rate: Rate,
    /// The receiver's latest forecast: the bytes that will have been delivered by the end of each of the
    /// next ticks (NSDI 2013, section 3.3).
    pub forecast: Forecast,
    /// The forecast that the sender follows: the last that reached it.
    pub followed: Forecast,
    /// How many more bytes the sender may send now.
    pub window: Bytes,
    /// The bytes that it believes to be in flight.
    pub in_flight: Bytes,
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
    /// connection is being set up, or the receive window is full.
    Data,
}

/// Something that happened to a flow or to one of its packets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The time.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// What happened.
    pub kind: EventKind,
}

/// The packet that an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketId {
    /// Its number, counted from its sender's first packet. For TCP, the number of its segment in the
    /// connection (a SYN has [`u64::MAX`]).
    pub sequence: u64,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its size with headers.
    pub size: Bytes,
    /// Whether it is an ACK on its way back to the sender, if links lead back. ACKs are numbered
    /// separately.
    pub is_ack: bool,
    /// Which of its sender's on-periods it was sent in, from 1 on; of an ACK, that of the packet acknowledged.
    pub period: u32,
}

/// An ACK that reaches its sender, with what it says.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReceivedAck {
    /// The time.
    pub at: Instant,
    /// The sender's number.
    pub flow: usize,
    /// The sender's on-period in which the acknowledged packet was sent, from 1 on.
    pub period: u32,
    /// What it says.
    pub contents: AckContents,
}

/// What an ACK says, by the transport of its flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AckContents {
    /// TCP's.
    Tcp(Acknowledgement),
    /// The bare host's: one packet has arrived.
    Bare {
        /// Its number.
        sequence: u64,
        /// When it was sent.
        sent_at: Instant,
        /// When it arrived.
        received_at: Instant,
        /// Whether it arrived marked.
        marked: bool,
    },
    /// Sprout's: a packet of the far end, which carries its forecast.
    Sprout {
        /// Its size with headers.
        size: Bytes,
    },
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
        /// Whether it is a retransmission.
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
    /// A link transmitted a packet, also one that is then lost at random. A link of fixed rate reports this when it is
    /// known, with the time at which the transmission ends, so it may precede earlier events.
    Transmitted {
        /// The packet.
        packet: PacketId,
        /// The link's number.
        link: usize,
    },
    /// A packet was lost at random on a link. A link of fixed rate reports this when the packet's
    /// transmission begins, with the time at which it ends, so it may precede earlier events.
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
        /// How many packets now count as delivered by it.
        delivered: u64,
        /// The RTT that it measured.
        rtt: Option<Span>,
    },
    /// What keeps the sender from sending more has changed.
    Limited(Limited),
}

/// Watches a simulation as it runs. It cannot change the simulation, which is the same with any
/// observer.
///
/// Samples describe the state of flows and links at a time; events, what happens to each packet.
/// Either costs nothing if it is not wanted.
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
    /// How often it wants samples; queried once, at the start. By default never.
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

    /// Whether it wants events; must be constant. By default it does not.
    #[inline]
    fn wants_events(&self) -> bool {
        false
    }

    /// An event, in order of time except for [`EventKind::Transmitted`] and [`EventKind::Lost`].
    #[inline]
    fn event(&mut self, _event: &Event) {}

    /// Whether it wants ACKs with what they say; must be constant. By default it does not.
    #[inline]
    fn wants_acks(&self) -> bool {
        false
    }

    /// An ACK reaches its sender, also one of an on-period that has ended. If the flow's ACKs cross no links, that is
    /// when the acknowledged packet arrives.
    #[inline]
    fn ack(&mut self, _ack: &ReceivedAck) {}

    /// Whether it wants each sender's state whenever that may have changed; must be constant. By default it does not.
    #[inline]
    fn wants_updates(&self) -> bool {
        false
    }

    /// A sender as it is after it started, stopped, sent packets, received an ACK or was woken by a timer. Of several
    /// updates at one instant the last is what it then is.
    #[inline]
    fn update(&mut self, _sample: &FlowSample) {}
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

    #[inline]
    fn wants_acks(&self) -> bool {
        (**self).wants_acks()
    }

    #[inline]
    fn ack(&mut self, ack: &ReceivedAck) {
        (**self).ack(ack);
    }

    #[inline]
    fn wants_updates(&self) -> bool {
        (**self).wants_updates()
    }

    #[inline]
    fn update(&mut self, sample: &FlowSample) {
        (**self).update(sample);
    }
}
