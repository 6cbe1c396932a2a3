//! [`Ranges`]: a set of numbers, stored as ranges.

use alloc::collections::VecDeque;

/// How many ranges at the end are tried before the others are searched.
const NEAR: usize = 4;

/// A set of numbers, as disjoint ranges in order that never touch. Each is half-open: from its
/// first number to before its last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The index of the first range that ends beyond `number`.
    fn place(&self, number: u64) -> usize {
        // The range asked for is nearly always the first or among the last.
        if self.0.front().is_none_or(|&(_, end)| number < end) {
            return 0;
        }
        for (index, &(start, end)) in self.0.iter().enumerate().rev().take(NEAR) {
            if number >= start {
                return index + usize::from(number >= end);
            }
        }
        self.0.partition_point(|&(_, end)| end <= number)
    }

    /// Calls `missing` for each run of numbers from `from` to before `to` that is not in the set.
    pub(crate) fn gaps(&self, mut from: u64, to: u64, mut missing: impl FnMut(u64, u64)) {
        for &(start, end) in self.0.range(self.place(from)..) {
            if start >= to {
                break;
            }
            if from < start {
                missing(from, start);
            }
            from = end;
        }
        if from < to {
            missing(from, to);
        }
    }

    /// Adds the numbers from `from` to before `to`.
    pub(crate) fn insert(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        // The first range that touches the new one or lies beyond it.
        let first = from.checked_sub(1).map_or(0, |before| self.place(before));
        let (mut start, mut end, mut next) = (from, to, first);
        while let Some(&(a, b)) = self.0.get(next).filter(|&&(a, _)| a <= to) {
            (start, end) = (start.min(a), end.max(b));
            next += 1;
        }
        if next == first {
            self.0.insert(first, (start, end));
        } else {
            self.0[first] = (start, end);
            self.0.drain(first + 1..next);
        }
    }

    /// Removes all numbers below `bound` and returns how many there were.
    pub(crate) fn remove_below(&mut self, bound: u64) -> u64 {
        let mut removed = 0;
        while let Some((start, end)) = self.0.front_mut() {
            if *end > bound {
                if *start < bound {
                    removed += bound - *start;
                    *start = bound;
                }
                break;
            }
            removed += *end - *start;
            self.0.pop_front();
        }
        removed
    }

    /// The first range, if there is one.
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.0.front().copied()
    }

    /// The range that holds `number`, if one does.
    pub(crate) fn around(&self, number: u64) -> Option<(u64, u64)> {
        self.0.get(self.place(number)).copied().filter(|&(start, _)| start <= number)
    }

    /// Whether `number` is in the set.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.around(number).is_some()
    }

    /// The least number not below `number` that is not in the set.
    pub(crate) fn first_missing(&self, number: u64) -> u64 {
        self.around(number).map_or(number, |(_, end)| end)
    }

    /// How many numbers from `from` to before `to` are in the set.
    pub(crate) fn count(&self, from: u64, to: u64) -> u64 {
        let mut count = 0;
        for &(start, end) in self.0.range(self.place(from)..) {
            if start >= to {
                break;
            }
            count += end.min(to).saturating_sub(start.max(from));
        }
        count
    }

    /// The `rank`-th largest number of the set, counted from 1; `None` if it has fewer.
    pub(crate) fn largest(&self, mut rank: u64) -> Option<u64> {
        for &(start, end) in self.0.iter().rev() {
            if end - start >= rank {
                return Some(end - rank);
            }
            rank -= end - start;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// It behaves as a plain set would.
        #[test]
        fn agrees_with_a_plain_set(
            steps in prop::collection::vec((0u64..120, 0u64..12, 0u8..6), 1..120),
        ) {
            let (mut ranges, mut plain) = (Ranges::default(), BTreeSet::new());
            for (from, length, kind) in steps {
                if kind == 0 {
                    let below = plain.iter().filter(|&&n| n < from).count() as u64;
                    prop_assert_eq!(ranges.remove_below(from), below);
                    plain.retain(|&n| n >= from);
                } else {
                    let mut added = BTreeSet::new();
                    ranges.gaps(from, from + length, |a, b| added.extend(a..b));
                    ranges.insert(from, from + length);
                    let fresh: BTreeSet<u64> =
                        (from..from + length).filter(|n| !plain.contains(n)).collect();
                    prop_assert_eq!(&added, &fresh);
                    plain.extend(fresh);
                }
                let within = plain.range(from..from + 20).count() as u64;
                prop_assert_eq!(ranges.count(from, from + 20), within);
                prop_assert_eq!(ranges.first().map(|r| r.0), plain.first().copied());
                prop_assert_eq!(ranges.contains(from), plain.contains(&from));
                let missing = (from..).find(|n| !plain.contains(n));
                prop_assert_eq!(Some(ranges.first_missing(from)), missing);
                prop_assert_eq!(ranges.largest(3), plain.iter().rev().nth(2).copied());
                let touching =
                    ranges.0.iter().zip(ranges.0.iter().skip(1)).all(|(a, b)| a.1 < b.0);
                prop_assert!(touching, "{ranges:?}");
            }
        }
    }
}
