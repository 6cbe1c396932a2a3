//! [`Departures`]: when opportunities that are due can be used.

use super::{BlockErrors, Frames, Synthetic};
use exm_random::Stream;
use exm_units::Span;

/// The longest time of medium access: longer draws count as this.
const MAX_ACCESS: Span = Span::from_secs(1000);

/// Moves opportunities to the ends of frames and slots, and to the arrival of retransmitted blocks.
pub(super) struct Departures<'a> {
    frames: Option<(&'a Frames, Stream)>,
    /// When the present or next frame starts and ends.
    air: (Span, Span),
    slot: Option<Span>,
    errors: Option<(&'a BlockErrors, Stream)>,
    /// The slot of the last block, and when the block arrives.
    block: (Span, Span),
}

impl<'a> Departures<'a> {
    pub(super) fn new(link: &'a Synthetic, accesses: Stream, errors: Stream) -> Departures<'a> {
        Departures {
            frames: link.frames.as_ref().map(|frames| (frames, accesses)),
            air: (Span::ZERO, Span::ZERO),
            slot: link.slot,
            errors: link.block_errors.as_ref().map(|blocks| (blocks, errors)),
            block: (Span::ZERO, Span::ZERO),
        }
    }

    /// When the opportunity that is due at `due`, which must not decrease, can be used; `None` for one that is lost to
    /// medium access.
    pub(super) fn at(&mut self, due: Span) -> Option<Span> {
        let framed = self.framed(due)?;
        let slotted = match self.slot {
            Some(slot) => slot * framed.as_nanos().div_ceil(slot.as_nanos()),
            None => framed,
        };
        Some(self.arrival(slotted))
    }

    /// The end of the frame that is transmitted at `due`, if one is.
    fn framed(&mut self, due: Span) -> Option<Span> {
        let Some((frames, accesses)) = &mut self.frames else { return Some(due) };
        while self.air.1 <= due {
            let access = Span::from_secs_f64(frames.access.draw(accesses)).min(MAX_ACCESS);
            let start = self.air.1 + access;
            self.air = (start, start + frames.airtime);
        }
        (self.air.0 <= due).then_some(self.air.1)
    }

    /// When the block arrives whose slot ends at `end`: not before the blocks before it.
    fn arrival(&mut self, end: Span) -> Span {
        let Some((blocks, errors)) = &mut self.errors else { return end };
        if end > self.block.0 {
            let fails = |_: &u32| errors.uniform() < blocks.probability;
            let retries = (0..blocks.retries).take_while(fails).count() as u64;
            self.block = (end, self.block.1.max(end + blocks.step * retries));
        }
        self.block.1
    }
}
