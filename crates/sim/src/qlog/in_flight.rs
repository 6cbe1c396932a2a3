//! [`InFlight`]: the packets of a sender whose fate is not known yet.

use exm_units::Instant;
use std::collections::BTreeMap;
use std::ops::Range;

/// A connection, and a number in it.
type Key = (u32, u64);

/// Packets by what they carry, each with its transmissions.
#[derive(Debug, Default)]
pub(super) struct InFlight(BTreeMap<Key, Transmissions>);

#[derive(Debug)]
struct Transmissions {
    last: Transmission,
    /// Those before it, which are deemed lost.
    earlier: Vec<Transmission>,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    number: u64,
    at: Instant,
}

impl Transmissions {
    /// The number of the one sent at that time, or else of the last.
    fn arrived(&self, sent_at: Option<Instant>) -> u64 {
        let known = self.earlier.iter().find(|earlier| Some(earlier.at) == sent_at);
        known.unwrap_or(&self.last).number
    }
}

impl InFlight {
    /// Packet `number` is sent with `key`. Returns the number of the transmission before, if there is one.
    pub(super) fn send(&mut self, key: Key, number: u64, at: Instant) -> Option<u64> {
        let last = Transmission { number, at };
        if let Some(transmissions) = self.0.get_mut(&key) {
            let before = std::mem::replace(&mut transmissions.last, last);
            transmissions.earlier.push(before);
            return Some(before.number);
        }
        self.0.insert(key, Transmissions { last, earlier: Vec::new() });
        None
    }

    /// What was sent with `key` has arrived, with what was sent at that time if it is known. Returns its number.
    pub(super) fn take(&mut self, key: Key, sent_at: Option<Instant>) -> Option<u64> {
        self.0.remove(&key).map(|transmissions| transmissions.arrived(sent_at))
    }

    /// What was sent with `keys` has arrived: appends its numbers to `numbers`.
    pub(super) fn take_range(
        &mut self,
        keys: Range<Key>,
        sent_at: Option<Instant>,
        numbers: &mut Vec<u64>,
    ) {
        while let Some((&key, _)) = self.0.range(keys.clone()).next() {
            numbers.extend(self.take(key, sent_at));
        }
    }

    /// Removes what was sent with smaller keys, and returns the numbers of its last transmissions.
    pub(super) fn take_below(&mut self, key: Key) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(first) = self.0.first_entry().filter(|first| *first.key() < key) {
            numbers.push(first.remove().last.number);
        }
        numbers
    }

    /// Removes everything, and returns the numbers of the last transmissions.
    pub(super) fn clear(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.0).into_values().map(|packet| packet.last.number).collect()
    }
}
