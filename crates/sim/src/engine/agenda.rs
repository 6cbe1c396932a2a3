//! [`Agenda`]: what happens next.

use crate::network::MAX_TIME;

/// How many children a node of the tree has: four keys are a line of the cache.
const FAN: usize = 4;

/// The time of what never happens.
pub(super) const NEVER: u64 = u64::MAX;

/// Whose turn it is; at one instant, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A link's transmission ends, or its trace offers an opportunity.
    Transmission,
    /// A packet comes to the end of a link's propagation delay, where a further link begins.
    Wire,
    /// A packet arrives at its receiver.
    Arrival,
    /// An acknowledgement that crossed links arrives at its sender.
    Return,
    /// A sender's timer runs out.
    Timer,
    /// A sender switches on or off.
    Switch,
    /// A sender sends.
    Send,
    /// The observer looks.
    Observer,
}

impl Turn {
    const ALL: [Turn; 8] = [
        Turn::Transmission,
        Turn::Wire,
        Turn::Arrival,
        Turn::Return,
        Turn::Timer,
        Turn::Switch,
        Turn::Send,
        Turn::Observer,
    ];
}

/// When an event is due, and whose turn it is then. Events come in the order of their times; at one
/// instant, of their turns; of one kind of turn, of their sources' numbers.
///
/// One number: the time in nanoseconds, above three bits for the turn. Times that need more than 61
/// bits are cut to the largest, which is beyond the end of the longest simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due(u64);

impl Due {
    const TURN_BITS: u32 = 3;
    const LATEST: u64 = u64::MAX >> Due::TURN_BITS;

    /// At `time`, in nanoseconds, it is the turn of `turn`.
    #[inline]
    pub(super) const fn new(time: u64, turn: Turn) -> Due {
        let time = if time > Due::LATEST { Due::LATEST } else { time };
        Due(time << Due::TURN_BITS | turn as u64)
    }

    #[inline]
    pub(super) const fn time(self) -> u64 {
        self.0 >> Due::TURN_BITS
    }

    #[inline]
    pub(super) const fn turn(self) -> Turn {
        Turn::ALL[self.0 as usize % Turn::ALL.len()]
    }
}

// The end of the longest simulation can be told from never.
const _: () = assert!(MAX_TIME.as_nanos() < Due::LATEST);
const _: () = assert!(Turn::ALL.len() == 1 << Due::TURN_BITS);

/// The next event of each of a fixed set of sources, and the earliest of them all.
///
/// A tournament tree: each node holds the least of its children, so a change costs three
/// comparisons a level and the earliest is at hand.
#[derive(Debug)]
pub(super) struct Agenda {
    /// First come the root's children; the children of the node at `n` start at `FAN * (n + 1)`;
    /// the sources are last.
    nodes: Vec<Node>,
    /// Where the first source is.
    leaves: usize,
    root: Node,
}

/// The next event of a source.
#[derive(Clone, Copy, Debug)]
struct Node {
    due: Due,
    source: usize,
}

impl Node {
    /// The earlier of two, this one if neither is.
    #[inline]
    fn or(self, other: Node) -> Node {
        let later = other.due < self.due;
        Node {
            due: if later { other.due } else { self.due },
            source: if later { other.source } else { self.source },
        }
    }
}

impl Agenda {
    /// An agenda of `sources` sources, none of which has anything to do.
    pub(super) fn new(sources: usize) -> Agenda {
        let (mut leaves, mut width) = (0, FAN);
        while width < sources {
            leaves += width;
            width *= FAN;
        }
        let filled = (leaves + sources).next_multiple_of(FAN);
        let idle = Node { due: Due::new(NEVER, Turn::Observer), source: 0 };
        Agenda { nodes: vec![idle; filled], leaves, root: idle }
    }

    /// The earliest event, and its source.
    #[inline]
    pub(super) fn first(&self) -> (Due, usize) {
        (self.root.due, self.root.source)
    }

    /// From now on the next event of `source` is due at `due`.
    #[inline]
    pub(super) fn set(&mut self, source: usize, due: Due) {
        let mut node = self.leaves + source;
        let mut least = Node { due, source };
        loop {
            self.nodes[node] = least;
            let family = node / FAN;
            let [a, b, c, d]: &[Node; FAN] = &self.nodes.as_chunks().0[family];
            least = a.or(*b).or(c.or(*d));
            if family == 0 {
                break;
            }
            node = family - 1;
        }
        self.root = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_then_the_first_in_turn_then_of_the_lowest_number(
            sources in 1usize..70,
            changes in prop::collection::vec((0usize..70, 0u64..50, 0usize..8), 1..300),
        ) {
            let mut agenda = Agenda::new(sources);
            let mut plain = vec![(Due::LATEST, 7, 0); sources];
            for (source, time, turn) in changes {
                let (source, time) = (source % sources, if time == 49 { NEVER } else { time });
                agenda.set(source, Due::new(time, Turn::ALL[turn]));
                plain[source] = (time.min(Due::LATEST), turn, source);
                let (first, source) = agenda.first();
                let least = plain.iter().copied().min();
                prop_assert_eq!(Some((first.time(), first.turn() as usize, source)), least);
            }
        }
    }
}
