//! [`Variation`]: the additional propagation delay that a link gives each packet.

use crate::network::{LinkSpec, MAX_VARIATION};
use exm_link::Reordering;
use exm_random::{Distribution, Losses, Purpose, Stream};
use exm_units::{Instant, Span};

/// The jitter and the reordering of a link, each from a random stream of its own.
#[derive(Clone, Debug)]
pub(super) struct Variation {
    jitter: Distribution,
    jitters: Stream,
    /// Which packets are held back.
    held_back: Losses,
    extra: Span,
    /// The latest time to which jitter has postponed a packet that is not held back.
    in_order: Instant,
}

impl Variation {
    /// The variation of link number `index`; `None` if its delay is constant.
    pub(super) fn new(spec: &LinkSpec, seed: u64, index: usize) -> Option<Box<Variation>> {
        if spec.has_constant_delay() {
            return None;
        }
        let Reordering { probability, extra } = spec.reordering;
        let stream = Stream::new(seed, Purpose::Reordering, index);
        Some(Box::new(Variation {
            jitter: spec.jitter.clone(),
            jitters: Stream::new(seed, Purpose::Jitter, index),
            held_back: Losses::new(probability.get(), stream),
            extra,
            in_order: Instant::ZERO,
        }))
    }

    /// A packet starts to propagate at `at`: when it would have to start to arrive at the same time
    /// without variation, and whether others may overtake it. Packets are given in order.
    pub(super) fn postpone(&mut self, at: Instant) -> (Instant, bool) {
        let jitter = Span::from_secs_f64(self.jitter.draw(&mut self.jitters)).min(MAX_VARIATION);
        let at = self.in_order.max(at + jitter);
        if self.held_back.next_is_lost() {
            return (at + self.extra, true);
        }
        self.in_order = at;
        (at, false)
    }
}
