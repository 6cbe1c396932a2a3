//! [`Slab`]: the packets of many queues in one place.

use crate::Packet;

/// No index.
const NONE: u32 = u32::MAX;

/// Packets of any number of [`List`]s, in places that are used again: nothing is allocated for a
/// packet once there have been as many.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    /// The successor of each slot in its list, or in the list of free slots.
    next: Vec<u32>,
    free: u32,
}

/// A queue whose packets are in one [`Slab`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(crate) const EMPTY: List = List { head: NONE, tail: NONE };
}

impl Slab {
    pub(crate) fn new() -> Slab {
        Slab { packets: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Appends `packet` to `list`.
    ///
    /// # Panics
    /// If there are 2^32 - 1 packets already, which is 300 GB of them.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, packet: Packet) {
        let place = self.place(packet);
        if list.head == NONE {
            list.head = place;
        } else {
            self.next[list.tail as usize] = place;
        }
        list.tail = place;
    }

    /// Removes the packet at the head of `list`.
    #[inline]
    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Packet> {
        let place = list.head;
        if place == NONE {
            return None;
        }
        list.head = std::mem::replace(&mut self.next[place as usize], self.free);
        self.free = place;
        Some(self.packets[place as usize])
    }

    /// The packets of `list`, from its head on.
    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = &Packet> {
        let slot = |place: u32| (place != NONE).then_some(place);
        let places =
            std::iter::successors(slot(list.head), move |&place| slot(self.next[place as usize]));
        places.map(|place| &self.packets[place as usize])
    }

    /// Stores `packet` as the last of a list, and returns its slot.
    #[inline]
    fn place(&mut self, packet: Packet) -> u32 {
        let place = self.free;
        if place == NONE {
            let place = u32::try_from(self.packets.len()).ok().filter(|&place| place != NONE);
            self.packets.push(packet);
            self.next.push(NONE);
            return place.expect("memory cannot hold this many packets");
        }
        self.packets[place as usize] = packet;
        self.free = std::mem::replace(&mut self.next[place as usize], NONE);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Instant;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It behaves as independent queues, and uses no more slots than the maximum number of
        /// packets.
        #[test]
        fn agrees_with_independent_queues(
            steps in prop::collection::vec((0usize..3, any::<bool>()), 1..200),
        ) {
            let mut slab = Slab::new();
            let mut lists = [List::EMPTY; 3];
            let mut plain = [const { VecDeque::new() }; 3];
            let mut most = 0;
            for (number, (list, push)) in steps.into_iter().enumerate() {
                if push {
                    slab.push(&mut lists[list], Packet::new(0, number as u64, 1, Instant::ZERO));
                    plain[list].push_back(number as u64);
                } else {
                    let packet = slab.pop(&mut lists[list]);
                    prop_assert_eq!(packet.map(|packet| packet.sequence), plain[list].pop_front());
                }
                most = most.max(plain.iter().map(VecDeque::len).sum::<usize>());
                prop_assert!(slab.packets.len() <= most);
            }
        }
    }
}
