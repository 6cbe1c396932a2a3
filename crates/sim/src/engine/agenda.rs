//! [`Agenda`]: what happens next.

/// How many children a node of the tree has: four keys are a line of the cache.
const FAN: usize = 4;

/// The next event of each of a fixed set of sources, and the earliest of them all.
///
/// A tournament tree: each node holds the least of its children's keys, so a change costs three
/// comparisons a level and the earliest is at hand. At one instant the source of the lowest number
/// comes first; the engine numbers its sources in the order of their turns.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Keys: nanoseconds in the upper half, the source's number in the lower. First come the root's
    /// children; the children of the node at `n` start at `FAN * (n + 1)`; the sources are last.
    keys: Vec<u128>,
    /// Where the first source is.
    leaves: usize,
    root: u128,
}

/// The time of a source that has nothing to do.
pub(super) const NEVER: u64 = u64::MAX;

impl Agenda {
    /// An agenda of `sources` sources, none of which has anything to do.
    pub(super) fn new(sources: usize) -> Agenda {
        let (mut leaves, mut width) = (0, FAN);
        while width < sources {
            leaves += width;
            width *= FAN;
        }
        let filled = (leaves + sources).next_multiple_of(FAN);
        let mut agenda =
            Agenda { keys: vec![key(NEVER, sources); filled], leaves, root: key(NEVER, sources) };
        for source in 0..sources {
            agenda.set(source, NEVER);
        }
        agenda
    }

    /// The earliest time, and the source whose turn it is.
    #[inline]
    pub(super) fn first(&self) -> (u64, usize) {
        ((self.root >> 64) as u64, self.root as u64 as usize)
    }

    /// From now on `source` is due at `time`.
    #[inline]
    pub(super) fn set(&mut self, source: usize, time: u64) {
        let mut node = self.leaves + source;
        let mut least = key(time, source);
        loop {
            self.keys[node] = least;
            let family = node / FAN;
            let [a, b, c, d] = self.keys.as_chunks().0[family];
            least = Ord::min(Ord::min(a, b), Ord::min(c, d));
            if family == 0 {
                break;
            }
            node = family - 1;
        }
        self.root = least;
    }
}

const fn key(time: u64, source: usize) -> u128 {
    (time as u128) << 64 | source as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_the_lowest_number(
            sources in 1usize..70,
            changes in prop::collection::vec((0usize..70, 0u64..50), 1..300),
        ) {
            let mut agenda = Agenda::new(sources);
            let mut times = vec![NEVER; sources];
            for (source, time) in changes {
                let (source, time) = (source % sources, if time == 49 { NEVER } else { time });
                agenda.set(source, time);
                times[source] = time;
                let least = times.iter().enumerate().map(|(i, &t)| (t, i)).min();
                prop_assert_eq!(Some(agenda.first()), least);
            }
        }
    }
}
