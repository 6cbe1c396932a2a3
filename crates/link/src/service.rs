//! [`Service`]: when a link has transmitted a packet.

use exm_units::{Bytes, Instant, Rate, Span};

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
pub struct Server {
    service: Service,
    /// The last size served and its time, because dividing is slow and sizes rarely change.
    last: (u32, Span),
}

impl Server {
    /// A server that has served nothing yet.
    pub fn new(service: Service) -> Server {
        Server { service, last: (0, Span::ZERO) }
    }

    /// When a packet of `size` bytes is through whose service starts at `start`.
    #[inline]
    pub fn finish(&mut self, start: Instant, size: u32) -> Instant {
        if self.last.0 != size {
            let Service::Fixed(rate) = &self.service;
            self.last = (size, rate.service_time(Bytes::new(u64::from(size))));
        }
        start.saturating_add(self.last.1)
    }
}
