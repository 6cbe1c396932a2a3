//! [`Fifo`]: the disciplines that consist of one FIFO queue and an admission rule.

use crate::backlog::{Backlog, holds_packets_in};
use crate::{Discipline, Packet, Parameters, QueueActions, QueueConfig};
use exm_units::Instant;
use std::fmt::Debug;

/// What a FIFO queue does with an arriving packet.
pub trait Admission: Clone {
    /// The discipline's name in files.
    const NAME: &'static str;

    /// Its parameters.
    type Settings: Clone + Debug + Default + PartialEq + Parameters;

    /// The rule with these settings.
    fn new(settings: &Self::Settings) -> Self;

    /// `packet` arrives at `backlog`: it is enqueued, or it or other packets are dropped.
    fn admit(&self, backlog: &mut Backlog, packet: Packet, actions: &mut QueueActions);
}

/// A FIFO queue with the admission rule `A`.
#[derive(Clone, Debug)]
pub struct Fifo<A> {
    admission: A,
    backlog: Backlog,
}

impl<A: Admission> Discipline for Fifo<A> {
    const NAME: &'static str = A::NAME;

    type Settings = A::Settings;

    fn new(settings: &A::Settings, config: QueueConfig) -> Fifo<A> {
        Fifo { admission: A::new(settings), backlog: Backlog::new(config.limit) }
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.admission.admit(&mut self.backlog, packet, actions);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        self.backlog.pop()
    }

    holds_packets_in!(backlog);
}
