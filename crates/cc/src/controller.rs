//! The [`Controller`] trait and its events.

use crate::metrics::Metrics;
use alloc::string::String;
use core::fmt;
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
    /// When the packet that it acknowledges was sent; for a retransmission, the last time.
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
    /// Their size with headers, as closely as the host knows it.
    pub acked_bytes: Bytes,
    /// How many of them arrived marked congestion experienced (RFC 3168), where the receiver reports each
    /// mark (RFC 8257, section 3.2).
    pub marked: Packets,
    /// Packets in flight after this acknowledgement.
    pub in_flight: Packets,
    /// Bytes in flight after this acknowledgement.
    pub in_flight_bytes: Bytes,
    /// Whether the packet belongs to an earlier flow of the same sender.
    pub stale: bool,
    /// Whether the host is in loss or ECN recovery and itself lowers the window to what the controller
    /// decided (RFC 6937): the window must not grow meanwhile.
    pub recovering: bool,
    /// Whether the sender had less to send than its window allowed, so the window was not fully used (RFC
    /// 7661).
    pub app_limited: bool,
    /// What the network delivered since the packet was sent, where the host measures it.
    pub delivery: Option<Delivery>,
    /// What the routers of the path report, where they give such feedback. For XCP (Katabi, Handley & Rohrs,
    /// SIGCOMM 2002, section 3.2), the change of the window that they allow, in packets. For [`Needs::abc`], how many
    /// packets have arrived marked accelerate since the connection began.
    pub feedback: Option<f64>,
}

/// What the network delivered between the sending of a packet and its acknowledgement:
/// draft-ietf-ccwg-bbr, section 4.1 (delivery rate samples).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Delivery {
    /// Packets of the flow delivered up to now: `C.delivered`.
    pub total: u64,
    /// The value of `delivered` when the packet was sent: `P.delivered`.
    pub total_at_send: u64,
    /// The time in which the difference was delivered, the longer of its send and ACK intervals:
    /// `RS.interval`; zero where it is unknown.
    pub interval: Span,
    /// Whether the sender was application-limited at some time in between: `RS.is_app_limited`.
    pub app_limited: bool,
    /// Packets deemed lost up to now: `C.lost`.
    pub lost: u64,
    /// The value of `lost` when the packet was sent: `P.lost`.
    pub lost_at_send: u64,
    /// Packets in flight just after the packet was sent: `P.tx_in_flight`.
    pub in_flight_at_send: Packets,
}

impl Delivery {
    /// A sample of `delivered` packets in `interval`, without losses and not application-limited.
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

    /// Packets per second; `None` if the interval is unknown.
    pub fn rate(&self) -> Option<f64> {
        let packets = self.total.saturating_sub(self.total_at_send) as f64;
        (!self.interval.is_zero()).then(|| packets / self.interval.as_secs_f64())
    }
}

impl Ack {
    /// An acknowledgement of packet `sequence`, sent at `sent_at`, that arrived at `now`; the other fields
    /// describe the simplest case: in order, receiver's clock unknown.
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
    /// When the host detected it.
    pub now: Instant,
    /// What it detected.
    pub kind: CongestionKind,
    /// When the affected packet was sent: a controller that responds once a round trip compares this with
    /// its last response.
    pub sent_at: Instant,
    /// How many packets are affected; for [`CongestionKind::Idle`], the window to restart with.
    pub packets: Packets,
    /// The size of those packets with headers, as closely as the host knows it.
    pub bytes: Bytes,
    /// Packets in flight when the host detected it.
    pub in_flight: Packets,
    /// Bytes in flight when the host detected it.
    pub in_flight_bytes: Bytes,
}

impl Congestion {
    /// An event of `kind` detected at `now`, for one packet sent at `sent_at`.
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
    /// Packets arrived marked congestion experienced (RFC 3168).
    Marked,
    /// No ACK arrived for the length of the retransmission timer.
    Timeout,
    /// The last [`CongestionKind::Lost`] or [`CongestionKind::Timeout`] proved spurious: the controller
    /// restores its window and related state.
    Spurious,
    /// No congestion: a persistent connection was idle for longer than its retransmission timer, so its
    /// window no longer reflects the path. It falls to at most [`Congestion::packets`] (RFC 5681, section
    /// 4.1).
    Idle,
}

impl CongestionKind {
    /// Its name, as controllers in other languages receive it.
    pub const fn name(self) -> &'static str {
        match self {
            CongestionKind::Lost => "lost",
            CongestionKind::Marked => "marked",
            CongestionKind::Timeout => "timeout",
            CongestionKind::Spurious => "spurious",
            CongestionKind::Idle => "idle",
        }
    }
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

/// The failure of a controller that comes from outside the program, such as a WebAssembly module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// When: the time of the event that it was handling.
    pub at: Instant,
    /// What happened, in words that a user understands, with the controller's name.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:.6} s", self.what, self.at.as_secs_f64())
    }
}

/// A congestion controller. Cloning copies its whole state.
///
/// Hosts keep the last [`Decision`] and call again only after an event, so calls through an enum or a
/// trait object ([`DynController`](crate::DynController)) cost next to nothing.
pub trait Controller: Clone {
    /// A flow starts: all state of the last one is forgotten.
    fn on_start(&mut self, start: &Start) -> Decision;

    /// An acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack) -> Decision;

    /// The host inferred congestion.
    fn on_congestion(&mut self, congestion: &Congestion) -> Decision;

    /// The time requested by [`Decision::wake_at`] has come.
    fn on_tick(&mut self, now: Instant) -> Decision;

    /// A packet was sent. Hosts call this only where [`Needs::sent`] asks for it; returning none keeps the
    /// last decision.
    #[inline]
    fn on_sent(&mut self, _sent: &Sent) -> Option<Decision> {
        None
    }

    /// The path's MTU has become `mtu` (RFC 8899): from now on a full packet is of this size. A controller
    /// that counts in packets can ignore it.
    fn on_mtu(&mut self, _mtu: Bytes) {}

    /// What it shows of its state. Hosts ask only where somebody observes them, so it may take time to
    /// compute. By default it shows nothing.
    fn metrics(&self) -> Metrics {
        Metrics::NONE
    }

    /// How it failed, if it did: a controller that is somebody else's program may. Its decisions are
    /// worthless from then on, and so is its host's run. By default a controller does not fail.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// What identifies its code and parameters if they are not part of the program: stored results of a controller
    /// whose fingerprint has changed are out of date. `None` for a controller that is part of it.
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// What it asks of its host, the same throughout its life.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Sets the seed of its random choices from now on. A host whose results depend only on its own seed
    /// calls this before the first flow; a controller without random choices ignores it.
    fn seed(&mut self, _seed: u64) {}
}

/// What a [`Controller`] asks of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// It sets the window by itself during loss recovery: the host does not lower it step by step (RFC
    /// 6937).
    pub own_recovery: bool,
    /// Each acknowledgement with its [`Delivery`].
    pub delivery: bool,
    /// [`Controller::on_sent`] after each packet.
    pub sent: bool,
    /// ECN marks instead of drops, each reported (RFC 8257).
    pub marks: bool,
    /// Low latency: ECT(1) in its packets instead of ECT(0), for queues that mark these early and often (RFC 9331).
    pub l4s: bool,
    /// Explicit feedback from routers (XCP).
    pub feedback: bool,
    /// That this feedback is ABC's (Goyal et al., NSDI 2020): packets that arrive with ECT(1) are accelerated, and
    /// counted; a router brakes by ECT(0). It needs [`Needs::l4s`], too, by which packets leave with ECT(1).
    pub abc: bool,
    /// [`Controller::on_start`] at each on-period of a persistent connection, as RemyCCs start in the
    /// papers; other controllers keep their state of the path.
    pub restart: bool,
}
