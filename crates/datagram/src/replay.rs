//! [`ReplayWindow`]: detects replayed datagrams.

/// Bits in one word of the window.
const WORD: u64 = 64;
/// Words of the window.
const WORDS: u64 = 128;
/// The reach of the window: a datagram may arrive this far behind the newest, 8128 datagrams, a tenth of a
/// second at 1 Gbit/s. One word is always being cleared.
const REACH: u64 = (WORDS - 1) * WORD;

/// The classification of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Higher than all before.
    Newest,
    /// Lower than the highest, and not received before.
    Late,
    /// Received before.
    Replayed,
    /// Too far behind the highest to be classified.
    TooOld,
}

/// The recently received sequence numbers: a window that slides with the highest, in constant memory (RFC
/// 6479, which needs no shifting of bits).
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    highest: Option<u64>,
    /// A bit for each number, by its remainder. The bits of the numbers from the highest down to `REACH`
    /// below it are valid.
    seen: [u64; WORDS as usize],
}

impl Default for ReplayWindow {
    fn default() -> ReplayWindow {
        ReplayWindow { highest: None, seen: [0; WORDS as usize] }
    }
}

impl ReplayWindow {
    /// An empty window.
    pub fn new() -> ReplayWindow {
        ReplayWindow::default()
    }

    /// The highest number received.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Classifies `sequence`. The window does not change, as its datagram is not authenticated yet.
    pub fn look(&self, sequence: u64) -> Freshness {
        let (word, bit) = place(sequence);
        match self.highest {
            Some(highest) if sequence <= highest => {
                if highest - sequence >= REACH {
                    Freshness::TooOld
                } else if self.seen[word] & bit != 0 {
                    Freshness::Replayed
                } else {
                    Freshness::Late
                }
            }
            _ => Freshness::Newest,
        }
    }

    /// Records `sequence`, whose datagram is authentic, and neither replayed nor too old.
    pub fn mark(&mut self, sequence: u64) {
        if let Freshness::Newest = self.look(sequence) {
            let last = self.highest.map_or(0, |highest| highest / WORD);
            let steps = (sequence / WORD).saturating_sub(last).min(WORDS);
            for step in 1..=steps {
                self.seen[((last + step) % WORDS) as usize] = 0;
            }
            self.highest = Some(sequence);
        }
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
    }
}

/// The word of `sequence`, and its bit there.
fn place(sequence: u64) -> (usize, u64) {
    ((sequence / WORD % WORDS) as usize, 1 << (sequence % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn distinguishes_new_from_old() {
        let mut window = ReplayWindow::new();
        assert_eq!((window.highest(), window.look(0)), (None, Freshness::Newest));
        window.mark(0);
        assert_eq!(window.look(0), Freshness::Replayed);
        window.mark(10);
        assert_eq!([9, 10, 11].map(|n| window.look(n)), {
            [Freshness::Late, Freshness::Replayed, Freshness::Newest]
        });
        window.mark(9);
        assert_eq!((window.look(9), window.highest()), (Freshness::Replayed, Some(10)));
        window.mark(u64::MAX);
        let far = u64::MAX - REACH;
        assert_eq!([far, far + 1].map(|n| window.look(n)), [Freshness::TooOld, Freshness::Late]);
    }

    proptest! {
        /// It behaves as a plain set would, for numbers near each other and far apart.
        #[test]
        fn agrees_with_a_plain_set(
            start in prop_oneof![Just(0u64), any::<u64>()],
            steps in prop::collection::vec(prop_oneof![
                -100i64..100,
                -(REACH as i64) - 70..REACH as i64 + 70,
                Just(3 * (WORD * WORDS) as i64),
            ], 1..200),
        ) {
            let (mut window, mut plain) = (ReplayWindow::new(), BTreeSet::new());
            for step in steps {
                let base = plain.last().copied().unwrap_or(start);
                let number = base.saturating_add_signed(step);
                let expected = match plain.last() {
                    Some(&last) if number <= last && last - number >= REACH => Freshness::TooOld,
                    Some(&last) if number <= last => {
                        let came = plain.contains(&number);
                        if came { Freshness::Replayed } else { Freshness::Late }
                    }
                    _ => Freshness::Newest,
                };
                prop_assert_eq!(window.look(number), expected, "{}", number);
                if matches!(expected, Freshness::Newest | Freshness::Late) {
                    window.mark(number);
                    plain.insert(number);
                }
                prop_assert_eq!(window.highest(), plain.last().copied());
            }
        }
    }
}
