//! Random bytes that hide the length of an instruction.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// The most bytes of chaff in an instruction.
const MOST: u64 = 16;

/// Draws chaff. The bytes themselves are encrypted, so that only their number matters to an observer: it
/// must be unpredictable, but not from a cryptographic generator.
#[derive(Clone, Debug)]
pub(crate) struct Chaff(Pcg64);

impl Chaff {
    pub(crate) fn new(seed: u64) -> Chaff {
        // The stream number is arbitrary: nothing else draws from this generator.
        Chaff(Pcg64::new(u128::from(seed), 0x5353_5000))
    }

    /// 0 to 16 bytes, each length as likely as the others.
    pub(crate) fn draw(&mut self) -> Vec<u8> {
        let length = ((u128::from(self.0.next_u64()) * u128::from(MOST + 1)) >> 64) as usize;
        (0..length).map(|_| (self.0.next_u64() >> 56) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chaff_has_all_lengths_and_follows_from_the_seed() {
        let draw = |seed| {
            let mut chaff = Chaff::new(seed);
            (0..1000).map(|_| chaff.draw()).collect::<Vec<_>>()
        };
        let mut counts = [0; MOST as usize + 1];
        draw(1).iter().for_each(|bytes| counts[bytes.len()] += 1);
        assert!(counts.iter().all(|&count| (25..100).contains(&count)), "{counts:?}");
        assert!(draw(1) == draw(1) && draw(1) != draw(2));
    }
}
