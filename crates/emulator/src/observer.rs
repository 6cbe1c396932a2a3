//! [`Observer`]: receives what happens to each packet.

use crate::{Cause, Flow};
use exm_units::{Instant, Span};

/// A direction of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the program under test to the outside; on a bridge, from the first device to the second.
    Up,
    /// The opposite direction.
    Down,
}

impl Direction {
    /// Both.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// Its name in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// A packet on the link. All times count from the session's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    /// Its number in its direction, from 0.
    pub number: u64,
    /// The hash of its [`Flow`]; 0 if it is not an IP packet.
    pub flow: u32,
    /// Its size as an IP packet, in bytes.
    pub size: u32,
    /// When it was read from the ingress device.
    pub sent_at: Instant,
    /// When it arrived at the queue, after the propagation delay.
    pub queued_at: Instant,
}

/// A packet that has crossed the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The packet.
    pub packet: PacketInfo,
    /// When it left the link, and should have been written.
    pub due_at: Instant,
    /// When it was written to the egress device.
    pub received_at: Instant,
    /// Whether it was marked (ECN).
    pub marked: bool,
}

impl Delivery {
    /// Its queueing and transmission time.
    pub fn queueing(&self) -> Span {
        self.due_at.saturating_since(self.packet.queued_at)
    }

    /// Its end-to-end delay.
    pub fn total(&self) -> Span {
        self.received_at.saturating_since(self.packet.sent_at)
    }

    /// How much later than due it was written.
    pub fn lateness(&self) -> Span {
        self.received_at.saturating_since(self.due_at)
    }
}

/// Receives what happens to each packet of one direction.
///
/// It is called by the thread that forwards packets, so a slow observer delays packets.
pub trait Observer: Send {
    /// `packet` has arrived at the queue.
    fn queued(&mut self, packet: &PacketInfo) {
        let _ = packet;
    }

    /// A packet has crossed the link.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// `packet` was lost at `at`.
    fn dropped(&mut self, packet: &PacketInfo, at: Instant, cause: Cause) {
        let _ = (packet, at, cause);
    }

    /// Packets with this `number` as their flow belong to `flow`. Called before the first of them.
    fn flow(&mut self, number: u32, flow: &Flow) {
        let _ = (number, flow);
    }
}

/// Ignores everything.
impl Observer for () {}

/// Notifies all of them.
impl Observer for Vec<Box<dyn Observer>> {
    fn queued(&mut self, packet: &PacketInfo) {
        self.iter_mut().for_each(|observer| observer.queued(packet));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.iter_mut().for_each(|observer| observer.delivered(delivery));
    }

    fn dropped(&mut self, packet: &PacketInfo, at: Instant, cause: Cause) {
        self.iter_mut().for_each(|observer| observer.dropped(packet, at, cause));
    }

    fn flow(&mut self, number: u32, flow: &Flow) {
        self.iter_mut().for_each(|observer| observer.flow(number, flow));
    }
}
