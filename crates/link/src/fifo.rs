//! [`Fifo`]: the disciplines that are one queue and a rule for what comes.

use crate::backlog::Backlog;
use crate::{Discipline, Limit, Packet, Parameters, QueueActions, QueueConfig};
use exm_units::Instant;
use std::fmt::Debug;

/// What a first-in-first-out queue does with a packet that comes.
pub trait Admission: Clone {
    /// The discipline's name in files.
    const NAME: &'static str;

    /// Its parameters.
    type Settings: Clone + Debug + Default + PartialEq + Parameters;

    /// The rule of these settings.
    fn new(settings: &Self::Settings) -> Self;

    /// `packet` comes to `backlog`, and is taken in, or it or others are dropped.
    fn admit(&self, backlog: &mut Backlog, packet: Packet, actions: &mut QueueActions);
}

/// First in, first out: one queue, and `A` says what is taken in.
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
    fn dequeue(&mut self, _now: Instant, _verdict: &mut QueueActions) -> Option<Packet> {
        self.backlog.pop()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.backlog.set_limit(limit);
    }

    fn packets(&self) -> usize {
        self.backlog.packets()
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes()
    }
}
