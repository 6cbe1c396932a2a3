//! [`Carried`]: what packets carry beyond the fields that links use.

use std::collections::VecDeque;

/// The payloads of packets in flight, by number. A flow's packets stay in order, so those numbered
/// below an arriving one are lost.
#[derive(Clone, Debug)]
pub(super) struct Carried<T> {
    next: u64,
    loads: VecDeque<(u64, T)>,
}

impl<T> Default for Carried<T> {
    fn default() -> Carried<T> {
        Carried { next: 0, loads: VecDeque::new() }
    }
}

impl<T> Carried<T> {
    /// A packet is sent with `load`. Returns its number.
    pub(super) fn push(&mut self, load: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.loads.push_back((number, load));
        number
    }

    /// The load of packet `number`, which has arrived.
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        while self.loads.front().is_some_and(|&(first, _)| first < number) {
            self.loads.pop_front();
        }
        let is_next = self.loads.front().is_some_and(|&(first, _)| first == number);
        let (_, load) = is_next.then(|| self.loads.pop_front())??;
        Some(load)
    }
}
