//! [`Receiver`]: the states of the other end.

use crate::instruction::Instruction;
use crate::state::{DiffError, State};
use exm_units::{Instant, Span};

/// The most states of the other end that are held.
pub const MAX_STATES: usize = 1024;
/// The most memory in bytes of all states held together, as [`State::weight`] estimates it. The last state
/// accepted may exceed it by what its difference adds.
pub const MAX_WEIGHT: usize = 64 << 20;
/// How long new states are dropped after the limits were reached.
pub const QUENCH: Span = Span::from_millis(15_000);

/// What became of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Known,
    UnknownBase,
    Quenched,
    Inserted { newest: bool },
}

/// A state of the other end.
#[derive(Clone, Debug)]
struct Numbered<R> {
    number: u64,
    state: R,
}

/// The states of the other end, any of which may be the base of the next difference.
#[derive(Clone, Debug)]
pub(crate) struct Receiver<R> {
    /// Sorted by number; one at least.
    states: Vec<Numbered<R>>,
    /// What [`Receiver::take_diff`] has returned differences up to.
    taken: R,
    /// Until when states beyond the limits are dropped.
    quenched_until: Option<Instant>,
}

impl<R: State> Receiver<R> {
    pub(crate) fn new(initial: R) -> Receiver<R> {
        let first = Numbered { number: 0, state: initial.clone() };
        Receiver { states: vec![first], taken: initial, quenched_until: None }
    }

    /// The newest state and its number.
    pub(crate) fn newest(&self) -> (u64, &R) {
        let newest = self.states.last().expect("it holds one state at least");
        (newest.number, &newest.state)
    }

    /// Makes the new state of `instruction`, received at `now`, if its base is there.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        instruction: &Instruction,
    ) -> Result<Outcome, DiffError> {
        let Err(_) = self.find(instruction.new) else { return Ok(Outcome::Known) };
        let Ok(_) = self.find(instruction.old) else { return Ok(Outcome::UnknownBase) };
        self.discard_below(instruction.throwaway);
        if self.is_full() && !self.make_room(now, instruction.old) {
            return Ok(Outcome::Quenched);
        }
        // A peer that lies has its base thrown away.
        let Ok(base) = self.find(instruction.old) else { return Ok(Outcome::UnknownBase) };
        let mut state = self.states[base].state.clone();
        if !instruction.diff.is_empty() {
            state.apply(&instruction.diff)?;
        }
        let place = self.find(instruction.new).unwrap_or_else(|place| place);
        self.states.insert(place, Numbered { number: instruction.new, state });
        Ok(Outcome::Inserted { newest: place + 1 == self.states.len() })
    }

    /// The difference between the newest state and the one at the last call, or the initial one. What both
    /// ends have is forgotten.
    pub(crate) fn take_diff(&mut self) -> Vec<u8> {
        let newest = self.newest().1.clone();
        let diff = newest.diff_from(&self.taken);
        self.taken = newest;
        self.forget();
        diff
    }

    /// Forgets what both ends have: the peer will refer to no state before the oldest one, and the caller has its content.
    pub(crate) fn forget(&mut self) {
        let oldest = self.states[0].state.clone();
        self.states.iter_mut().for_each(|held| held.state.subtract(&oldest));
        self.taken.subtract(&oldest);
    }

    fn find(&self, number: u64) -> Result<usize, usize> {
        self.states.binary_search_by_key(&number, |held| held.number)
    }

    /// Discards states below `number`, but not the newest: an honest peer never asks for that.
    fn discard_below(&mut self, number: u64) {
        let end = self.states.partition_point(|held| held.number < number);
        self.states.drain(..end.min(self.states.len() - 1));
    }

    fn is_full(&self) -> bool {
        let weight: usize = self.states.iter().map(|held| held.state.weight()).sum();
        self.states.len() >= MAX_STATES || weight >= MAX_WEIGHT
    }

    /// Makes room for a single state, once every [`QUENCH`]: a peer that never learns what it may throw away
    /// still makes progress. The oldest state stays, since the peer may know that we have it, and so does
    /// the new one's `base`.
    fn make_room(&mut self, now: Instant, base: u64) -> bool {
        if self.quenched_until.is_some_and(|until| now < until) {
            return false;
        }
        let first_time = self.quenched_until.is_none();
        self.quenched_until = Some(now.saturating_add(QUENCH));
        let removable = (1..self.states.len()).find(|&place| self.states[place].number != base);
        if let (false, Some(place)) = (first_time, removable) {
            self.states.remove(place);
        }
        !first_time && !self.is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::UserStream;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn typed(keys: &[u8]) -> UserStream {
        let mut stream = UserStream::new();
        stream.push_keys(keys).expect("short");
        stream
    }

    fn instruction(old: u64, new: u64, throwaway: u64, keys: &[u8]) -> Instruction {
        let diff = typed(keys).initial_diff();
        Instruction { version: 2, old, new, throwaway, diff, ..Instruction::default() }
    }

    fn numbers(receiver: &Receiver<UserStream>) -> Vec<u64> {
        receiver.states.iter().map(|held| held.number).collect()
    }

    #[test]
    fn a_difference_is_applied_to_its_base() {
        let mut receiver = Receiver::new(UserStream::new());
        let mut receive = |old, new, throwaway, keys| {
            let outcome = receiver.receive(at(0), &instruction(old, new, throwaway, keys));
            (outcome.expect("well-formed"), receiver.newest().0, numbers(&receiver))
        };
        let inserted = |newest| Outcome::Inserted { newest };
        assert_eq!(receive(0, 5, 0, b"abc"), (inserted(true), 5, vec![0, 5]));
        assert_eq!(receive(0, 5, 0, b"abc"), (Outcome::Known, 5, vec![0, 5]));
        assert_eq!(receive(3, 6, 3, b"x"), (Outcome::UnknownBase, 5, vec![0, 5]));
        assert_eq!(receive(0, 3, 0, b"ab"), (inserted(false), 5, vec![0, 3, 5]));
        assert_eq!(receive(3, 6, 3, b"cd"), (inserted(true), 6, vec![3, 5, 6]));
        assert_eq!(receiver.newest().1, &typed(b"abcd"));
    }

    #[test]
    fn a_throwaway_number_that_lies_leaves_one_state() {
        let mut receiver = Receiver::new(UserStream::new());
        receiver.receive(at(0), &instruction(0, 1, u64::MAX, b"a")).expect("well-formed");
        receiver.receive(at(0), &instruction(1, 2, u64::MAX, b"b")).expect("well-formed");
        assert_eq!(numbers(&receiver), [1, 2]);
        assert_eq!(receiver.newest().1, &typed(b"ab"));
    }

    #[test]
    fn a_malformed_difference_changes_nothing() {
        let mut receiver = Receiver::new(UserStream::new());
        let malformed = Instruction { diff: vec![1], new: 1, ..Instruction::default() };
        assert!(receiver.receive(at(0), &malformed).is_err());
        assert_eq!(numbers(&receiver), [0]);
    }

    #[test]
    fn taken_differences_follow_each_other() {
        let mut receiver = Receiver::new(UserStream::new());
        receiver.receive(at(0), &instruction(0, 1, 0, b"ab")).expect("well-formed");
        assert_eq!(receiver.take_diff(), typed(b"ab").initial_diff());
        assert!(receiver.take_diff().is_empty());
        receiver.receive(at(0), &instruction(1, 2, 1, b"cd")).expect("well-formed");
        receiver.receive(at(0), &instruction(2, 3, 2, b"e")).expect("well-formed");
        assert_eq!(receiver.take_diff(), typed(b"cde").initial_diff());
        // State 2 was the oldest then: only what follows it is left.
        assert_eq!(receiver.newest().1, &typed(b"e"));
        receiver.receive(at(0), &instruction(3, 4, 3, b"f")).expect("well-formed");
        assert_eq!(receiver.take_diff(), typed(b"f").initial_diff());
    }

    #[test]
    fn the_number_of_states_is_bounded() {
        let mut receiver = Receiver::new(UserStream::new());
        let mut receive = |millis, new| {
            let outcome = receiver.receive(at(millis), &instruction(0, new, 0, b"a"));
            assert!(receiver.states.len() <= MAX_STATES);
            outcome.expect("well-formed")
        };
        let inserted = Outcome::Inserted { newest: true };
        for new in 1..MAX_STATES as u64 {
            assert_eq!(receive(0, new), inserted);
        }
        assert_eq!(receive(1, 2000), Outcome::Quenched);
        assert_eq!(receive(15_000, 2000), Outcome::Quenched);
        assert_eq!(receive(15_001, 2000), inserted);
        assert_eq!(receive(15_002, 2001), Outcome::Quenched);
        // What the peer throws away makes room at once.
        let freed = receiver.receive(at(15_003), &instruction(1023, 2002, 1023, b""));
        assert_eq!(freed, Ok(inserted));
        assert_eq!(numbers(&receiver), [1023, 2000, 2002]);
    }

    #[test]
    fn room_is_not_made_at_the_cost_of_the_base() {
        let mut receiver = Receiver::new(UserStream::new());
        for new in 1..MAX_STATES as u64 {
            receiver.receive(at(0), &instruction(0, new, 0, b"a")).expect("well-formed");
        }
        let mut receive = |millis| receiver.receive(at(millis), &instruction(1, 2000, 0, b"b"));
        assert_eq!(receive(0), Ok(Outcome::Quenched));
        assert_eq!(receive(15_000), Ok(Outcome::Inserted { newest: true }));
        assert_eq!(receiver.newest().1, &typed(b"ab"));
        assert_eq!(
            (receiver.states.len(), numbers(&receiver)[..3].to_vec()),
            (MAX_STATES, vec![0, 1, 3])
        );
    }

    #[test]
    fn the_weight_of_states_is_bounded() {
        let mut receiver = Receiver::new(UserStream::new());
        let keys = vec![b'x'; 1 << 20];
        let mut last = Outcome::Known;
        for new in 1..100 {
            let outcome = receiver.receive(at(0), &instruction(new - 1, new, 0, &keys));
            last = outcome.expect("well-formed");
            if last == Outcome::Quenched {
                break;
            }
        }
        assert_eq!(last, Outcome::Quenched);
        // 1 + 2 + ... + 11 MiB is 66 MiB.
        assert_eq!(receiver.states.len(), 12);
    }
}
