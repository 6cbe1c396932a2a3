//! What stands behind a link: its queue and its service.
//!
//! A link takes packets into its [`Queue`], serves one at a time as its [`Service`] allows, loses
//! some at random, and delivers the rest after its propagation delay.

mod drop_tail;
mod queue;

pub use drop_tail::{DropTail, Limit};
pub use queue::{Discipline, Dropped, Queue};

use exm_units::{Bytes, Instant, Rate, Span};

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the sender let it go.
    pub sent_at: Instant,
    /// When it came, or will come, to where it is: the queue it waits in or the end of the delay
    /// it is in.
    pub at: Instant,
    /// How long it has waited in queues so far.
    pub waited: Span,
    /// Its number, counted from the sender's first.
    pub sequence: u64,
    /// The number of its sender.
    pub flow: u32,
    /// Which of its sender's flows it belongs to.
    pub epoch: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Where on its path it is: an index into the network's list of hops.
    pub(crate) hop: u32,
}

/// When a link has transmitted a packet.
#[derive(Clone, Debug)]
pub enum Service {
    /// At a fixed rate, one packet after the other.
    Fixed(Rate),
}

impl Service {
    /// The rate on long average; for a schedule, what it offers.
    pub fn rate(&self) -> Rate {
        match self {
            Service::Fixed(rate) => *rate,
        }
    }
}

/// A [`Service`] at work.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    service: Service,
    /// The last size served and its time, because dividing is slow and sizes rarely change.
    last: (u32, Span),
}

impl Server {
    pub(crate) fn new(service: Service) -> Server {
        Server { service, last: (0, Span::ZERO) }
    }

    /// When a packet of `size` bytes is through whose service starts at `start`.
    #[inline]
    pub(crate) fn finish(&mut self, start: Instant, size: u32) -> Instant {
        if self.last.0 != size {
            let Service::Fixed(rate) = &self.service;
            self.last = (size, rate.service_time(Bytes::new(u64::from(size))));
        }
        start.saturating_add(self.last.1)
    }
}
