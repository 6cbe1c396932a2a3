//! [`Agenda`]: the queue of upcoming events.

use crate::network::EVENT_KINDS;
use exm_units::Instant;

/// How many children a node of the tree has.
const FAN: usize = 4;

/// The kinds of events, in the order in which they are processed at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A link's transmission ends, or its trace offers an opportunity.
    Transmission,
    /// A packet reaches the end of a link's propagation delay, where the next link begins.
    Wire,
    /// A packet arrives at its receiver.
    Arrival,
    /// An ACK that crossed links arrives at its sender.
    AckArrival,
    /// A sender's timer expires.
    Timer,
    /// A sender switches on or off.
    Switch,
    /// A sender sends.
    Send,
    /// The observer takes its samples.
    Observer,
}

impl Turn {
    const ALL: [Turn; 8] = [
        Turn::Transmission,
        Turn::Wire,
        Turn::Arrival,
        Turn::AckArrival,
        Turn::Timer,
        Turn::Switch,
        Turn::Send,
        Turn::Observer,
    ];
}

/// When an event is due, and its kind. Events are ordered by time; at the same instant, by kind; of
/// the same kind, by the number of their source.
///
/// One number: the time in nanoseconds, above three bits for the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due(u64);

impl Due {
    const TURN_BITS: u32 = 3;
    const LATEST: u64 = u64::MAX >> Due::TURN_BITS;

    /// Never.
    pub(super) const NEVER: Due = Due(u64::MAX);

    /// An event of kind `turn` at `time`; at [`Instant::MAX`], never. Times that need more than 61
    /// bits are cut to the largest, which is beyond the end of the longest simulation.
    #[inline]
    pub(super) const fn new(time: Instant, turn: Turn) -> Due {
        let time = time.as_nanos();
        let time = if time > Due::LATEST { Due::LATEST } else { time };
        Due(time << Due::TURN_BITS | turn as u64)
    }

    #[inline]
    pub(super) const fn time(self) -> Instant {
        Instant::from_nanos(self.0 >> Due::TURN_BITS)
    }

    /// Whether its time never comes.
    #[inline]
    pub(super) const fn is_never(self) -> bool {
        self.0 >> Due::TURN_BITS >= Due::LATEST
    }

    #[inline]
    pub(super) const fn turn(self) -> Turn {
        Turn::ALL[self.0 as usize % Turn::ALL.len()]
    }
}

const _: () = assert!(Turn::ALL.len() == 1 << Due::TURN_BITS);
const _: () = assert!(Turn::ALL.len() as u64 == EVENT_KINDS);

/// The next event of each of a fixed set of sources, and the earliest of them all.
///
/// A tournament tree of keys: the time, the turn and the source in one number. Each node is the
/// minimum of its children, so a change costs three comparisons per level and the earliest is known.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// The root's children come first; the children of the node at `n` start at `FAN * (n + 1)`; the
    /// sources are last.
    families: Vec<[u64; FAN]>,
    /// The index of the first source.
    leaves: usize,
    /// How many bits of a key identify the source.
    source_bits: u32,
    /// Events due at this time or later are beyond the end and never happen.
    latest: Due,
    root: u64,
}

impl Agenda {
    /// An agenda of `sources` sources, none of which has an event.
    pub(super) fn new(sources: usize) -> Agenda {
        let (mut leaves, mut width) = (0, FAN);
        while width < sources {
            leaves += width;
            width *= FAN;
        }
        let filled = (leaves + sources).next_multiple_of(FAN);
        let source_bits = source_bits(sources);
        Agenda {
            families: vec![[u64::MAX; FAN]; filled / FAN],
            leaves,
            source_bits,
            latest: Due(u64::MAX >> source_bits),
            root: u64::MAX,
        }
    }

    /// The earliest event, and its source.
    #[inline]
    pub(super) fn first(&self) -> (Due, usize) {
        let source = self.root & ((1 << self.source_bits) - 1);
        (Due(self.root >> self.source_bits), source as usize)
    }

    /// Sets the next event of `source` to `due`.
    #[inline]
    pub(super) fn set(&mut self, source: usize, due: Due) {
        let mut key = due.min(self.latest).0 << self.source_bits | source as u64;
        let mut node = self.leaves + source;
        loop {
            let family = &mut self.families[node / FAN];
            family[node % FAN] = key;
            let [a, b, c, d] = *family;
            key = a.min(b).min(c.min(d));
            if node < FAN {
                break;
            }
            node = node / FAN - 1;
        }
        self.root = key;
    }
}

/// How many bits it takes to number `sources` sources.
const fn source_bits(sources: usize) -> u32 {
    usize::BITS - sources.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::longest_duration;
    use proptest::prelude::*;

    /// The end of the longest simulation with `sources` sources.
    fn latest(sources: usize) -> Instant {
        Instant::ZERO + longest_duration(0, sources - 1)
    }

    proptest! {
        #[test]
        fn the_first_is_the_earliest_then_the_first_in_turn_then_of_the_lowest_number(
            sources in 1usize..70,
            changes in prop::collection::vec((0usize..70, 0u64..50, 0usize..8), 1..300),
        ) {
            let mut agenda = Agenda::new(sources);
            let never = (Due::NEVER.time(), 7);
            let mut plain: Vec<_> = (0..sources).map(|source| (never, source)).collect();
            for (source, time, turn) in changes {
                let source = source % sources;
                let due = match time {
                    49 => Due::NEVER,
                    48 => Due::new(latest(sources), Turn::ALL[turn]),
                    time => Due::new(Instant::from_nanos(time), Turn::ALL[turn]),
                };
                agenda.set(source, due);
                plain[source] = ((due.time(), due.turn() as usize), source);
                let least = plain.iter().min().copied();
                let (first, source) = agenda.first();
                if least.is_some_and(|(least, _)| least == never) {
                    prop_assert!(first.time() > latest(sources));
                } else {
                    prop_assert_eq!(Some(((first.time(), first.turn() as usize), source)), least);
                }
            }
        }
    }
}
