//! [`Tap`]: hears the ACKs that a sender receives, for observers.

use super::{AckContents, AckInfo, Host, Seen};
use exm_link::Packet;
use exm_units::Instant;

/// What may bring a sender an ACK.
pub(in crate::engine) enum Occasion<'a> {
    /// A packet arrives at the receiver.
    Arrival(&'a Packet),
    /// An ACK that crossed links arrives at the sender.
    Ack(&'a Packet),
    /// A timer expires.
    Timer,
}

/// An ACK that a sender received for a packet of its on-period `period`.
#[derive(Clone, Debug)]
pub(in crate::engine) struct HeardAck {
    pub(in crate::engine) period: u32,
    pub(in crate::engine) contents: Seen,
}

/// Hears each ACK that a sender receives.
pub(in crate::engine) trait Tap {
    fn hear(&mut self, period: u32, contents: impl FnOnce() -> Seen);
}

/// Hears nothing, at no cost.
impl Tap for () {
    #[inline(always)]
    fn hear(&mut self, _period: u32, _contents: impl FnOnce() -> Seen) {}
}

impl Tap for Vec<HeardAck> {
    #[inline]
    fn hear(&mut self, period: u32, contents: impl FnOnce() -> Seen) {
        self.push(HeardAck { period, contents: contents() });
    }
}

impl Host {
    /// `occasion` has come. Returns whether that completes the flow.
    #[inline(always)]
    pub(in crate::engine) fn meet(
        &mut self,
        now: Instant,
        occasion: &Occasion<'_>,
        tap: &mut impl Tap,
    ) -> bool {
        match occasion {
            Occasion::Arrival(packet) => self.arrive(now, packet, tap),
            Occasion::Ack(packet) => self.receive_ack(now, packet, tap),
            Occasion::Timer => self.wake(now, tap),
        }
    }
}

impl AckInfo {
    /// As observers see it.
    pub(super) fn contents(self) -> Seen {
        let AckInfo { sequence, sent_at, received_at, marked } = self;
        Seen::Bare { sequence, sent_at, received_at, marked }
    }
}

impl AckContents {
    /// As observers see it.
    pub(super) fn contents(&self) -> Seen {
        match self {
            AckContents::Bare(ack) => ack.contents(),
            AckContents::Tcp(ack) => Seen::Tcp(*ack),
            &AckContents::Sprout(_, size) => Seen::Sprout { size },
        }
    }
}
