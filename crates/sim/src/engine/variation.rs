//! [`Variation`]: the additional propagation delay that a link gives each packet.

use crate::network::{LinkSpec, MAX_VARIATION};
use exm_link::{BlockErrors, Reordering};
use exm_random::{Distribution, Losses, Purpose, Stream};
use exm_units::{Instant, Span};

/// The block errors, the jitter and the reordering of a link, each from a random stream of its own.
#[derive(Clone, Debug)]
pub(super) struct Variation {
    blocks: Option<Blocks>,
    jitter: Distribution,
    jitters: Stream,
    /// Which packets are held back.
    held_back: Losses,
    extra: Span,
    /// The latest time to which jitter has postponed a packet that is not held back.
    in_order: Instant,
}

/// The block errors of a link.
#[derive(Clone, Debug)]
struct Blocks {
    settings: BlockErrors,
    failures: Stream,
    /// When the slot of the last block ends, and when it is received.
    last: Option<(Instant, Instant)>,
}

impl Blocks {
    /// When the block is received that has a packet that leaves the link at `at`.
    fn received(&mut self, at: Instant) -> Instant {
        let BlockErrors { probability, step, retries, slot, .. } = self.settings;
        let end = self.settings.slot_end(at);
        if let Some((same, received)) = self.last
            && same == end
            && !slot.is_zero()
        {
            return received;
        }
        let mut fails = || self.failures.uniform() < probability.get();
        let failed = (0..retries).take_while(|_| fails()).count();
        let received = end.saturating_add(step * failed as u64);
        self.last = Some((end, received));
        received
    }
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
            blocks: spec.block_errors.map(|settings| Blocks {
                settings,
                failures: Stream::new(seed, Purpose::Blocks, index),
                last: None,
            }),
            jitter: spec.jitter.clone(),
            jitters: Stream::new(seed, Purpose::Jitter, index),
            held_back: Losses::new(probability.get(), stream),
            extra,
            in_order: Instant::ZERO,
        }))
    }

    /// A packet starts to propagate at `at`, which takes longer by `added`: when it would have to start to arrive at the same time
    /// without variation, and whether others may overtake it. Packets are given in order.
    pub(super) fn postpone(&mut self, at: Instant, added: Span) -> (Instant, bool) {
        let at = self.blocks.as_mut().map_or(at, |blocks| blocks.received(at));
        let jitter = Span::from_secs_f64(self.jitter.draw(&mut self.jitters)).min(MAX_VARIATION);
        let at = self.in_order.max(at + added + jitter);
        if self.held_back.next_is_lost() {
            return (at + self.extra, true);
        }
        self.in_order = at;
        (at, false)
    }
}
