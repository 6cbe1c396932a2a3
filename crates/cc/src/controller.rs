//! The [`Controller`] trait and its events.

use exm_units::{Bytes, Instant, Packets, Span};

/// The start of a flow.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Start {
    /// When it starts.
    pub now: Instant,
    /// The window that its host lets a flow start with (RFC 6928: ten packets); a controller with
    /// a window of its own at the start, such as a RemyCC's, pays it no heed.
    pub initial_window: Packets,
    /// The round-trip time of the handshake, where there was one.
    pub rtt: Option<Span>,
    /// The size of a full packet with its headers: the path's MTU, as far as the host knows it.
    pub mtu: Bytes,
}

impl Start {
    /// A flow that starts at `now` without a handshake, with today's initial window.
    pub fn new(now: Instant) -> Start {
        Start { now, initial_window: INITIAL_WINDOW, rtt: None, mtu: DEFAULT_MTU }
    }
}

/// The size of a packet where a host knows of no other: Ethernet's MTU.
pub const DEFAULT_MTU: Bytes = Bytes::new(1500);

/// A packet that the sender has just sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// When.
    pub now: Instant,
    /// Its number, as [`Ack::sequence`] will have it.
    pub sequence: u64,
    /// Its size with its headers.
    pub bytes: Bytes,
    /// Packets in flight, this one included.
    pub in_flight: Packets,
    /// Bytes in flight, this packet's included.
    pub in_flight_bytes: Bytes,
    /// Whether its data was sent before.
    pub retransmission: bool,
}

impl Sent {
    /// A full packet of new data, number `sequence`, sent at `now` with nothing else in flight.
    pub fn new(sequence: u64, now: Instant) -> Sent {
        Sent {
            now,
            sequence,
            bytes: DEFAULT_MTU,
            in_flight: Packets::new(1),
            in_flight_bytes: DEFAULT_MTU,
            retransmission: false,
        }
    }
}

/// The initial window of RFC 6928, section 2: ten segments.
pub const INITIAL_WINDOW: Packets = Packets::new(10);

/// An acknowledgement, as the sender's host saw it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ack {
    /// When the acknowledgement reached the sender.
    pub now: Instant,
    /// When the packet that it acknowledges was sent; if more than once, the last time.
    pub sent_at: Instant,
    /// When that packet reached the receiver, by the receiver's clock, if the receiver reports it. Only
    /// differences of these are meaningful.
    pub received_at: Option<Instant>,
    /// The number of the acknowledged packet, counted from the sender's first.
    pub sequence: u64,
    /// The largest packet number acknowledged before this one, if any.
    pub largest_acked: Option<u64>,
    /// How many packets this acknowledges for the first time, whether in order or not.
    pub acked: Packets,
    /// Their size with headers, as near as the host knows.
    pub acked_bytes: Bytes,
    /// How many of those arrived with the mark of congestion experienced (RFC 3168), where the
    /// receiver reports each (RFC 8257, section 3.2).
    pub marked: Packets,
    /// Packets in flight after this acknowledgement.
    pub in_flight: Packets,
    /// Bytes in flight after this acknowledgement.
    pub in_flight_bytes: Bytes,
    /// Whether the packet belongs to an earlier flow of the same sender.
    pub stale: bool,
    /// Whether the host is repairing a loss or answering a mark, and itself brings the window down
    /// to what the controller decided then (RFC 6937): a window must not grow meanwhile.
    pub recovering: bool,
    /// Whether the sender had less to send than its window allowed, so that the window was not
    /// put to the test (RFC 7661).
    pub app_limited: bool,
    /// What the network delivered since the packet was sent, where the host measures it.
    pub delivery: Option<Delivery>,
    /// What the routers of the path allow the window to change by, in packets, where they speak of
    /// it (XCP: Katabi, Handley & Rohrs, SIGCOMM 2002, section 3.2).
    pub feedback: Option<f64>,
}

/// What the network delivered between the sending of a packet and its acknowledgement:
/// draft-ietf-ccwg-bbr, section 4.1 (delivery rate samples).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Delivery {
    /// Packets of the flow delivered up to now: `C.delivered`.
    pub total: u64,
    /// That number as it was when the packet was sent: `P.delivered`.
    pub total_at_send: u64,
    /// The time in which the difference was delivered, the longer of its sending and its
    /// acknowledging: `RS.interval`; zero where it is unknown.
    pub interval: Span,
    /// Whether the sender had too little to send at some time in between: `RS.is_app_limited`.
    pub app_limited: bool,
    /// Packets deemed lost up to now: `C.lost`.
    pub lost: u64,
    /// That number as it was when the packet was sent: `P.lost`.
    pub lost_at_send: u64,
    /// Packets in flight just after the packet was sent: `P.tx_in_flight`.
    pub in_flight_at_send: Packets,
}

impl Delivery {
    /// A sample of `delivered` packets in `interval` that nothing disturbed.
    pub fn new(delivered: u64, interval: Span) -> Delivery {
        Delivery {
            total: delivered,
            total_at_send: 0,
            interval,
            app_limited: false,
            lost: 0,
            lost_at_send: 0,
            in_flight_at_send: Packets::new(delivered),
        }
    }

    /// Packets a second; none where the interval is unknown.
    pub fn rate(&self) -> Option<f64> {
        let packets = self.total.saturating_sub(self.total_at_send) as f64;
        (!self.interval.is_zero()).then(|| packets / self.interval.as_secs_f64())
    }
}

impl Ack {
    /// An acknowledgement of packet `sequence`, sent at `sent_at`, that came at `now`; the other
    /// fields describe the plainest case: in order, its receiver's clock unknown.
    pub fn new(sequence: u64, sent_at: Instant, now: Instant) -> Ack {
        Ack {
            now,
            sent_at,
            received_at: None,
            sequence,
            largest_acked: sequence.checked_sub(1),
            acked: Packets::new(1),
            acked_bytes: DEFAULT_MTU,
            marked: Packets::ZERO,
            in_flight: Packets::ZERO,
            in_flight_bytes: Bytes::ZERO,
            stale: false,
            recovering: false,
            app_limited: false,
            delivery: None,
            feedback: None,
        }
    }

    /// The round-trip time of the acknowledged packet.
    pub fn rtt(&self) -> Span {
        self.now.saturating_since(self.sent_at)
    }
}

/// A congestion event, as the sender's host inferred it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// When the host noticed.
    pub now: Instant,
    /// What it noticed.
    pub kind: CongestionKind,
    /// When the packet concerned was sent: a controller that responds once a round trip compares
    /// this with its last response.
    pub sent_at: Instant,
    /// How many packets are concerned; for [`CongestionKind::Idle`], the window to restart with.
    pub packets: Packets,
    /// The size of those packets with headers, as near as the host knows.
    pub bytes: Bytes,
    /// Packets in flight as the host noticed.
    pub in_flight: Packets,
    /// Bytes in flight as the host noticed.
    pub in_flight_bytes: Bytes,
}

impl Congestion {
    /// An event of `kind` noticed at `now` on one packet sent at `sent_at`.
    pub fn new(kind: CongestionKind, sent_at: Instant, now: Instant) -> Congestion {
        Congestion {
            now,
            kind,
            sent_at,
            packets: Packets::new(1),
            bytes: DEFAULT_MTU,
            in_flight: Packets::ZERO,
            in_flight_bytes: Bytes::ZERO,
        }
    }
}

/// The kinds of [`Congestion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CongestionKind {
    /// Packets are deemed lost because later ones arrived.
    Lost,
    /// Packets arrived with the mark of congestion experienced (RFC 3168).
    Marked,
    /// Nothing came back for the length of the retransmission timer.
    Timeout,
    /// The last [`CongestionKind::Lost`] or [`CongestionKind::Timeout`] turned out to be false: the
    /// window and what goes with it are again what they were before.
    Spurious,
    /// No congestion: a persistent connection was idle for longer than its retransmission timer, and its
    /// window no longer says what the path has room for. It falls to [`Congestion::packets`] at the
    /// most (RFC 5681, section 4.1).
    Idle,
}

/// What a controller allows its sender from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Packets that may be in flight.
    pub cwnd: Packets,
    /// The least time between two sends; zero for no pacing.
    pub intersend: Span,
    /// When the controller wants [`Controller::on_tick`] called, if at all; no sooner than
    /// [`Wakeup::TICK`](crate::Wakeup::TICK) after the last call.
    pub wake_at: Option<Instant>,
}

/// A congestion controller. Cloning copies its whole state.
///
/// Hosts keep the last [`Decision`] and ask again only when something happened, so a call through
/// an enum or a trait object ([`DynController`](crate::DynController)) costs next to nothing.
pub trait Controller: Clone {
    /// A flow starts: everything known of the last one is forgotten.
    fn on_start(&mut self, start: &Start) -> Decision;

    /// An acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack) -> Decision;

    /// The host inferred congestion.
    fn on_congestion(&mut self, congestion: &Congestion) -> Decision;

    /// The time asked for by [`Decision::wake_at`] has come.
    fn on_tick(&mut self, now: Instant) -> Decision;

    /// A packet was sent. Hosts call this only where [`Needs::sent`] asks for it; none returned leaves the
    /// last decision as it is.
    #[inline]
    fn on_sent(&mut self, _sent: &Sent) -> Option<Decision> {
        None
    }

    /// The path's MTU has become `mtu` (RFC 8899): from now on a full packet is of this size. A controller
    /// that counts in packets can ignore it.
    fn on_mtu(&mut self, _mtu: Bytes) {}

    /// What it asks of its host, the same throughout its life.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Its random choices are drawn from `seed` from now on. A host whose results depend on its seed
    /// alone calls this before the first flow; a controller that makes no random choices ignores it.
    fn seed(&mut self, _seed: u64) {}
}

/// What a [`Controller`] asks of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// It sets the window by itself while losses are repaired: the host does not bring it down step
    /// by step (RFC 6937).
    pub own_recovery: bool,
    /// Each acknowledgement with its [`Delivery`].
    pub delivery: bool,
    /// [`Controller::on_sent`] after each packet.
    pub sent: bool,
    /// ECN marks instead of drops, each reported (RFC 8257).
    pub marks: bool,
    /// Explicit feedback from routers (XCP).
    pub feedback: bool,
    /// [`Controller::on_start`] at each on-period of a persistent connection, as RemyCCs start in the
    /// papers; other controllers keep what they know of the path.
    pub restart: bool,
}
