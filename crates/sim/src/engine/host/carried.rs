//! [`Carried`]: what packets carry beyond the fields that links use.

use std::collections::VecDeque;

/// The payloads of packets in flight, by number; none for one that has arrived or is lost while an
/// earlier one is still in flight.
#[derive(Clone, Debug)]
pub(super) struct Carried<T> {
    /// The number of the first payload.
    first: u64,
    loads: VecDeque<Option<T>>,
}

impl<T> Default for Carried<T> {
    fn default() -> Carried<T> {
        Carried { first: 0, loads: VecDeque::new() }
    }
}

impl<T> Carried<T> {
    /// A packet is sent with `load`. Returns its number.
    pub(super) fn push(&mut self, load: T) -> u64 {
        self.loads.push_back(Some(load));
        self.first + self.loads.len() as u64 - 1
    }

    /// The load of packet `number`, which has arrived or is lost.
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let load = self.loads.get_mut(index)?.take();
        while let Some(None) = self.loads.front() {
            self.loads.pop_front();
            self.first += 1;
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_taken_in_any_order_and_kept_no_longer() {
        let mut carried = Carried::default();
        let numbers: Vec<u64> = "abcd".chars().map(|load| carried.push(load)).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(
            (carried.take(2), carried.take(0), carried.take(2)),
            (Some('c'), Some('a'), None)
        );
        assert_eq!((carried.first, carried.loads.len()), (1, 3));
        assert_eq!(
            (carried.take(1), carried.take(3), carried.take(9)),
            (Some('b'), Some('d'), None)
        );
        assert_eq!((carried.push('e'), carried.loads.len()), (4, 1));
    }
}
