//! [`Watch`]: whoever is told what becomes of each packet.

use crate::{Cause, Flow};
use exm_units::{Instant, Span};

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the program under test to the world; of a bridge, from the first device to the second.
    Up,
    /// The other way.
    Down,
}

impl Direction {
    /// Both.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// What logs and reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// A packet on the link. All times count from the session's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its number among those of its direction, from 0.
    pub number: u64,
    /// Whose it is, by a number that is the same for all packets of a [`Flow`]; 0 for what is not IP.
    pub flow: u32,
    /// Its size as an IP packet, in bytes.
    pub size: u32,
    /// When it was read from the device it came by.
    pub sent_at: Instant,
    /// When it came to the queue, after the propagation delay.
    pub queued_at: Instant,
}

/// A packet that has crossed the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The packet.
    pub packet: Passage,
    /// When it left the queue and was to be written: the link's own time.
    pub due_at: Instant,
    /// When it was written to the device it went by.
    pub received_at: Instant,
    /// Whether it was marked.
    pub marked: bool,
}

impl Delivery {
    /// How long it was in the queue and in transmission.
    pub fn queueing(&self) -> Span {
        self.due_at.saturating_since(self.packet.queued_at)
    }

    /// How long it took in all.
    pub fn total(&self) -> Span {
        self.received_at.saturating_since(self.packet.sent_at)
    }

    /// By how much it was written later than it was to be.
    pub fn lateness(&self) -> Span {
        self.received_at.saturating_since(self.due_at)
    }
}

/// Whoever is told what becomes of each packet of one direction.
///
/// It is told by the thread that moves packets: what takes long here makes packets late.
pub trait Watch: Send {
    /// `packet` has come to the queue.
    fn queued(&mut self, packet: &Passage) {
        let _ = packet;
    }

    /// A packet has crossed the link.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// `packet` was lost at `at`.
    fn dropped(&mut self, packet: &Passage, at: Instant, cause: Cause) {
        let _ = (packet, at, cause);
    }

    /// `flow` is what all packets with this `number` for their flow are of. It is told before the
    /// first of them.
    fn flow(&mut self, number: u32, flow: &Flow) {
        let _ = (number, flow);
    }
}

/// Watches nothing.
impl Watch for () {}

/// All of them are told.
impl Watch for Vec<Box<dyn Watch>> {
    fn queued(&mut self, packet: &Passage) {
        self.iter_mut().for_each(|watch| watch.queued(packet));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.iter_mut().for_each(|watch| watch.delivered(delivery));
    }

    fn dropped(&mut self, packet: &Passage, at: Instant, cause: Cause) {
        self.iter_mut().for_each(|watch| watch.dropped(packet, at, cause));
    }

    fn flow(&mut self, number: u32, flow: &Flow) {
        self.iter_mut().for_each(|watch| watch.flow(number, flow));
    }
}
