//! [`BlockErrors`]: blocks that fail, and are retransmitted in order.

use exm_units::{Instant, Probability, Span};

/// Retransmissions of a cellular link (HARQ: 3GPP TS 36.321, section 5.3.2, and TS 38.321, section 5.3.2).
///
/// What leaves a link in one slot is a block, which arrives at the end of the slot. A block fails with some probability, and
/// is transmitted again after a step of time, at most so many times. Packets are delivered in order, so that a failure
/// delays all that follow: they arrive after a gap, together. Nothing is lost, and the link's rate stays the same.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BlockErrors {
    /// The probability that a transmission of a block fails.
    pub probability: Probability,
    /// The time that each retransmission takes.
    pub step: Span,
    /// The most retransmissions of a block, at most [`BlockErrors::MAX_RETRIES`]; the last always succeeds.
    pub retries: u32,
    /// The length of a slot; if zero, each packet is a block of its own, without slots.
    pub slot: Span,
}

impl Default for BlockErrors {
    /// LTE's, as chosen values: one block in ten fails, which is the usual target of rate adaptation (3GPP TS 36.213,
    /// section 7.2.3); a retransmission takes 8 ms (LTE FDD has eight HARQ processes of 1 ms each), there are at most
    /// three, and a slot lasts 1 ms.
    fn default() -> BlockErrors {
        BlockErrors {
            probability: Probability::new(0.1).expect("it is one"),
            step: Span::from_millis(8),
            retries: 3,
            slot: Span::from_millis(1),
        }
    }
}

impl BlockErrors {
    /// The most retransmissions of a block that a link may have.
    pub const MAX_RETRIES: u32 = 100;
    /// The longest step and the longest slot.
    pub const MAX_TIME: Span = Span::from_secs(10);

    /// Sets the probability that a transmission fails.
    #[must_use]
    pub fn probability(self, probability: Probability) -> BlockErrors {
        BlockErrors { probability, ..self }
    }

    /// Sets the time that each retransmission takes.
    #[must_use]
    pub fn step(self, step: Span) -> BlockErrors {
        BlockErrors { step, ..self }
    }

    /// Sets the most retransmissions.
    #[must_use]
    pub fn retries(self, retries: u32) -> BlockErrors {
        BlockErrors { retries, ..self }
    }

    /// Sets the length of a slot.
    #[must_use]
    pub fn slot(self, slot: Span) -> BlockErrors {
        BlockErrors { slot, ..self }
    }

    /// Whether blocks can fail so.
    ///
    /// # Errors
    /// What is impossible, and what to give instead.
    pub fn check(&self) -> Result<(), String> {
        let longest = BlockErrors::MAX_TIME;
        if self.retries > BlockErrors::MAX_RETRIES {
            let most = BlockErrors::MAX_RETRIES;
            return Err(format!(
                "{} retransmissions of a block are too many: give at most {most}",
                self.retries
            ));
        }
        if let Some(time) = [self.step, self.slot].into_iter().find(|&time| time > longest) {
            return Err(format!("a step or a slot of {time} is too long: give at most {longest}"));
        }
        Ok(())
    }

    /// The end of the slot in which `at` lies: `at` itself if it is the end of one.
    pub fn slot_end(&self, at: Instant) -> Instant {
        match self.slot.as_nanos() {
            0 => at,
            slot => Instant::from_nanos(at.as_nanos().div_ceil(slot).saturating_mul(slot)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_ends_at_its_multiples() {
        let at = |us| Instant::ZERO + Span::from_micros(us);
        let lte = BlockErrors::default();
        assert_eq!(lte.slot_end(at(0)), at(0));
        assert_eq!(lte.slot_end(at(1)), at(1000));
        assert_eq!(lte.slot_end(at(1000)), at(1000));
        assert_eq!(lte.slot_end(at(1001)), at(2000));
        assert_eq!(lte.slot(Span::ZERO).slot_end(at(1001)), at(1001));
    }

    #[test]
    fn impossible_blocks_are_refused() {
        let lte = BlockErrors::default();
        assert!(lte.check().is_ok());
        assert!(lte.retries(101).check().is_err());
        assert!(lte.slot(Span::from_secs(11)).check().is_err());
        assert!(lte.step(Span::from_secs(11)).check().is_err());
    }
}
