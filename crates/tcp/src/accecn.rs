//! [`AccEcn`]: what ACKs report of CE marks where their option is missing, and how the sender reads it (RFC 9768).

use exm_units::Instant;

/// The initial value of both ends' counters of CE-marked packets (RFC 9768, section 3.2.1).
const INITIAL: u64 = 5;
/// The ACE field has three bits (`DIVACE`, appendix A.2.1).
const CYCLE: u64 = 8;
/// With [`AccEcn::AceAveraged`], ACKs of this many segments on average are common: half a cycle of the ACE field, for the
/// appendix's "well below 8".
const COMMON: f64 = 4.0;
/// The weight of the newest ACK in the average, as in other averages of TCP (RFC 6298's gain).
const GAIN: f64 = 0.125;

/// What a TCP receiver reports of CE marks in each ACK (RFC 9768). The differences show only where ACKs cover eight
/// segments or more: if they are lost, or left out on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccEcn {
    /// The AccECN option, as in Linux by default (`tcp_ecn_option`): it counts the bytes that arrived marked, so that the
    /// sender knows the number of segments exactly, whatever ACKs are missing.
    #[default]
    Option,
    /// The ACE field alone, the count modulo eight. Where the field may have gone round since the last ACK, the sender assumes
    /// as many marks as the newly acknowledged segments allow: the example of appendix A.2.1.
    Ace,
    /// The same while ACKs cover fewer than four segments on average. Where they usually cover more, the sender assumes that
    /// the field has not gone round: appendix A.2.1 proposes so, since the example is over-conservative for thinned ACKs.
    AceAveraged,
}

/// The ACE field of an ACK after `marked` marked segments.
pub fn ace_field(marked: u64) -> u8 {
    ((INITIAL + marked % CYCLE) % CYCLE) as u8
}

/// The least number of marks since `counted` of them that the ACE field may stand for: `d.cep`.
pub fn fewest_marks(ace: u8, counted: u64) -> u64 {
    (u64::from(ace) + CYCLE - u64::from(ace_field(counted))) % CYCLE
}

/// The greatest number of marks that may stand behind `fewest` of them, of the `delivered` segments that an ACK newly
/// acknowledges: `dSafer.cep`. Marks of segments that count as delivered before, such as duplicates, may exceed them.
pub fn most_marks(fewest: u64, delivered: u64) -> u64 {
    match delivered.checked_sub(fewest) {
        Some(others) => delivered - others % CYCLE,
        None => fewest,
    }
}

/// How a sender reads the ACE field.
#[derive(Clone, Debug)]
pub(crate) struct AceReader {
    /// Whether it watches how many segments ACKs cover.
    averages: bool,
    /// When the newest ACK's segment arrived, by the receiver's timestamps.
    newest: Instant,
    /// Segments that an ACK covers on average.
    covered: f64,
}

impl AceReader {
    /// That of a new connection, or none if its ACKs carry the option.
    pub(crate) fn new(kind: AccEcn) -> Option<AceReader> {
        let averages = match kind {
            AccEcn::Option => return None,
            AccEcn::Ace => false,
            AccEcn::AceAveraged => true,
        };
        Some(AceReader { averages, newest: Instant::ZERO, covered: 1.0 })
    }

    /// The marks that an ACK reports beyond `counted`, where its field is `ace`, its segment arrived at `received_at`, and it
    /// newly acknowledges `delivered` segments.
    #[cold]
    pub(crate) fn read(
        &mut self,
        ace: u8,
        counted: u64,
        delivered: u64,
        received_at: Instant,
    ) -> u64 {
        // It was overtaken: a field from before would seem to have gone round.
        if received_at < self.newest {
            return 0;
        }
        self.newest = received_at;
        let fewest = fewest_marks(ace, counted);
        let common = self.averages && self.covered >= COMMON;
        if delivered > 0 {
            self.covered += GAIN * (delivered as f64 - self.covered);
        }
        if common { fewest } else { most_marks(fewest, delivered) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;
    use proptest::prelude::*;

    /// The examples of appendix A.2.1: of 9 segments with 2 marks or more there are 2, of 10 there may be 10.
    #[test]
    fn reads_the_appendix_as_it_is_written() {
        assert_eq!([0, 1, 2, 3, 11].map(ace_field), [5, 6, 7, 0, 0]);
        assert_eq!(fewest_marks(ace_field(102), 100), 2);
        assert_eq!((most_marks(2, 9), most_marks(2, 10)), (2, 10));
        assert_eq!((most_marks(0, 7), most_marks(0, 8), most_marks(0, 33)), (0, 8, 32));
        assert_eq!(most_marks(3, 1), 3, "two were duplicates");
    }

    #[test]
    fn an_ack_that_was_overtaken_reports_nothing() {
        let mut reader = AceReader::new(AccEcn::Ace).expect("no option");
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        assert_eq!(reader.read(ace_field(3), 0, 6, at(20)), 3);
        assert_eq!(reader.read(ace_field(1), 3, 1, at(10)), 0);
        assert_eq!(reader.read(ace_field(4), 3, 1, at(30)), 1);
    }

    /// The average is that of the ACKs before: the first long gap counts as lost ACKs, later ones as usual.
    #[test]
    fn long_gaps_become_usual() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let gaps = |kind| {
            let mut reader = AceReader::new(kind).expect("no option");
            [1, 2, 3, 4].map(|number| reader.read(ace_field(0), 0, 16, at(number)))
        };
        assert_eq!(gaps(AccEcn::Ace), [16; 4]);
        // 1, 2.9, 4.5 segments on average.
        assert_eq!(gaps(AccEcn::AceAveraged), [16, 16, 0, 0]);
        assert!(AceReader::new(AccEcn::Option).is_none());
    }

    /// What a sender counts, and the truth, at each ACK that arrives. Of `segments` each says whether it is marked and
    /// whether its ACK arrives.
    fn counts(kind: AccEcn, segments: &[(bool, bool)]) -> Vec<(u64, u64, u64)> {
        let mut reader = AceReader::new(kind).expect("no option");
        let (mut marked, mut counted, mut acknowledged) = (0, 0, 0);
        let mut counts = Vec::new();
        for (&(mark, arrives), number) in segments.iter().zip(1..) {
            marked += u64::from(mark);
            if arrives {
                let at = Instant::from_nanos(number);
                counted += reader.read(ace_field(marked), counted, number - acknowledged, at);
                acknowledged = number;
                counts.push((counted, marked, number));
            }
        }
        counts
    }

    fn segments() -> impl Strategy<Value = Vec<(bool, bool)>> {
        (0.0..1.0, 0.0..1.0).prop_flat_map(|(marks, arrives)| {
            let segment = (prop::bool::weighted(marks), prop::bool::weighted(arrives));
            prop::collection::vec(segment, 1..400)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever ACKs are missing, the example counts no fewer marks than there are and no more than segments, and
        /// never goes wrong by anything but whole cycles.
        #[test]
        fn the_safer_count_is_between_the_marks_and_the_segments(segments in segments()) {
            let mut before = 0;
            for (counted, marked, delivered) in counts(AccEcn::Ace, &segments) {
                prop_assert!((marked..=delivered).contains(&counted), "{counted} of {marked}");
                prop_assert!(counted >= before);
                prop_assert_eq!((counted - marked) % 8, 0);
                before = counted;
            }
        }

        /// Both are exact while each ACK covers fewer than eight segments.
        #[test]
        fn short_gaps_hide_nothing(
            marks in prop::collection::vec(any::<bool>(), 1..400),
            gaps in prop::collection::vec(1usize..8, 1..100),
        ) {
            let mut arrives = vec![false; marks.len()];
            let mut at = 0;
            for gap in gaps.iter().cycle() {
                at += gap;
                match arrives.get_mut(at - 1) {
                    Some(arrives) => *arrives = true,
                    None => break,
                }
            }
            let segments: Vec<_> = marks.into_iter().zip(arrives).collect();
            for kind in [AccEcn::Ace, AccEcn::AceAveraged] {
                for (counted, marked, _) in counts(kind, &segments) {
                    prop_assert_eq!(counted, marked);
                }
            }
        }

        /// The least count is exact while fewer than eight marks are hidden, however many segments an ACK covers.
        #[test]
        fn seven_marks_are_told_from_none(counted in 0u64..u64::MAX / 2, hidden in 0u64..8) {
            prop_assert_eq!(fewest_marks(ace_field(counted + hidden), counted), hidden);
        }
    }
}
