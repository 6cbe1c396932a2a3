//! The [`Controller`] trait and the events it is told of.

use exm_units::{Instant, Packets, Span};

/// An acknowledgement, as the sender's host saw it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ack {
    /// When the acknowledgement reached the sender.
    pub now: Instant,
    /// When the acknowledged packet was sent.
    pub sent_at: Instant,
    /// When it reached the receiver, by the receiver's clock, if the host is told. Only
    /// differences of these are meaningful.
    pub received_at: Option<Instant>,
    /// The number of the acknowledged packet, counted from the sender's first.
    pub sequence: u64,
    /// The largest packet number acknowledged before this one, if any.
    pub largest_acked: Option<u64>,
    /// How many packets this acknowledges for the first time.
    pub acked: Packets,
    /// Packets in flight after this acknowledgement.
    pub in_flight: Packets,
    /// Whether the packet belongs to an earlier flow of the same sender.
    pub stale: bool,
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
            in_flight: Packets::ZERO,
            stale: false,
        }
    }

    /// The round-trip time of the acknowledged packet.
    pub fn rtt(&self) -> Span {
        self.now.saturating_since(self.sent_at)
    }
}

/// A sign of congestion, as the sender's host inferred it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Congestion {
    /// When the host noticed.
    pub now: Instant,
    /// What it noticed.
    pub kind: CongestionKind,
    /// When the packet concerned was sent: a controller that answers once a round trip compares
    /// this with its last answer.
    pub sent_at: Instant,
    /// How many packets are concerned.
    pub packets: Packets,
}

impl Congestion {
    /// A sign of `kind` noticed at `now` on one packet sent at `sent_at`.
    pub fn new(kind: CongestionKind, sent_at: Instant, now: Instant) -> Congestion {
        Congestion { now, kind, sent_at, packets: Packets::new(1) }
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
    /// An earlier sign turned out to be false.
    Spurious,
}

/// What a controller allows its sender from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Packets that may be in flight.
    pub cwnd: Packets,
    /// The least time between two sends; zero for no pacing.
    pub intersend: Span,
    /// When the controller wants [`Controller::on_tick`] called, if at all.
    pub wake_at: Option<Instant>,
}

/// A congestion controller. Cloning copies its whole state.
///
/// Hosts keep the last [`Decision`] and ask again only when something happened, so a call through
/// an enum or a trait object costs next to nothing.
pub trait Controller: Clone {
    /// A flow starts: everything known of the last one is forgotten.
    fn on_start(&mut self, now: Instant) -> Decision;

    /// An acknowledgement arrived.
    fn on_ack(&mut self, ack: &Ack) -> Decision;

    /// The host saw a sign of congestion.
    fn on_congestion(&mut self, congestion: &Congestion) -> Decision;

    /// The time asked for by [`Decision::wake_at`] has come.
    fn on_tick(&mut self, now: Instant) -> Decision;
}
