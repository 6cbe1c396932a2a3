//! [`Scoreboard`]: what the sender knows about each segment it has sent (RFC 6675, sections 3 and 4).
//!
//! Almost nothing is stored per segment. Segments acknowledged out of order are a set of ranges. Lost
//! segments are those missing below one mark, and retransmitted ones those missing below another,
//! because both are processed from the oldest on. So as long as nothing is lost there is nothing to
//! do. Only retransmissions are recorded individually, to detect when they are lost as well: RFC 6675
//! leaves this to the timer, which would stall a fast sender on a lossy link every other second.

use crate::ranges::Ranges;
use alloc::collections::VecDeque;

/// Segments that must have arrived beyond a missing one before it is deemed lost: `DupThresh`,
/// RFC 6675, section 2.
const REORDERING: u64 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// The oldest segment not yet acknowledged: `HighACK` + 1.
    una: u64,
    /// The next segment never sent: `HighData` + 1.
    next: u64,
    /// Segments that arrived beyond `una`.
    sacked: Ranges,
    sacked_count: u64,
    /// Missing segments below this are deemed lost.
    lost: Mark,
    /// Missing segments below this were retransmitted: `HighRxt` + 1, or the first missing one beyond it.
    retransmitted: Mark,
    /// Retransmitted segments in the order of their retransmission, each with the value of `next`
    /// then.
    retries: VecDeque<(u64, u64)>,
    /// Retransmissions deemed lost and still missing, in the order of detection.
    lost_again: VecDeque<u64>,
}

/// A number not below `una`, and how many segments between `una` and it have arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: u64,
    arrived: u64,
}

impl Mark {
    /// The mark moves up to `to`.
    fn rise(&mut self, to: u64, sacked: &Ranges) {
        if to > self.at {
            self.arrived += sacked.count(self.at, to);
            self.at = to;
        }
    }

    /// Segments from `from` to before `to` have arrived.
    fn arrive(&mut self, from: u64, to: u64) {
        self.arrived += to.min(self.at).saturating_sub(from);
    }

    /// Everything below `una` is acknowledged; `removed` segments of it had arrived before.
    fn acknowledge(&mut self, una: u64, removed: u64) {
        if self.at <= una {
            *self = Mark { at: una, arrived: 0 };
        } else {
            self.arrived -= removed;
        }
    }

    /// How many segments between `una` and the mark are missing.
    fn missing(&self, una: u64) -> u64 {
        self.at - una - self.arrived
    }
}

impl Scoreboard {
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// How many segments are in the network: `pipe`, RFC 6675, section 4.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        let retransmitted = self.retransmitted.missing(self.una) - self.lost_again.len() as u64;
        self.outstanding() + retransmitted - self.lost.missing(self.una)
    }

    /// How many segments sent have not arrived: `FlightSize` less what arrived out of order.
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.una - self.sacked_count
    }

    /// The highest segment that has arrived, if any has.
    #[inline]
    pub(crate) fn highest(&self) -> Option<u64> {
        if self.sacked.is_empty() { self.una.checked_sub(1) } else { self.sacked.largest(1) }
    }

    /// Whether anything arrived out of order.
    #[inline]
    pub(crate) fn any_sacked(&self) -> bool {
        self.sacked_count > 0
    }

    /// How many segments are deemed lost and not yet acknowledged.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.missing(self.una)
    }

    /// Everything below `cumulative` has arrived. Calls `arrived` for each run of newly reported
    /// segments, and returns how many there are.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        cumulative: u64,
        mut arrived: impl FnMut(u64, u64),
    ) -> u64 {
        let cumulative = cumulative.min(self.next);
        if cumulative <= self.una {
            return 0;
        }
        let mut removed = 0;
        if self.sacked.is_empty() {
            arrived(self.una, cumulative);
        } else {
            self.sacked.gaps(self.una, cumulative, arrived);
            removed = self.sacked.remove_below(cumulative);
        }
        let fresh = cumulative - self.una - removed;
        self.sacked_count -= removed;
        self.una = cumulative;
        self.lost.acknowledge(cumulative, removed);
        self.retransmitted.acknowledge(cumulative, removed);
        if self.sacked.first().is_some_and(|(start, _)| start == self.retransmitted.at) {
            self.skip_arrived();
        }
        while self.retries.front().is_some_and(|&(segment, _)| segment < cumulative) {
            self.retries.pop_front();
        }
        if !self.lost_again.is_empty() {
            self.forget_arrived();
        }
        fresh
    }

    /// The mark of retransmissions rests on a missing segment: it is asked for at every turn to send.
    fn skip_arrived(&mut self) {
        let missing = self.sacked.first_missing(self.retransmitted.at);
        self.retransmitted.rise(missing, &self.sacked);
    }

    /// Retransmissions that have arrived are no longer lost.
    fn forget_arrived(&mut self) {
        let (una, sacked) = (self.una, &self.sacked);
        self.lost_again.retain(|&segment| segment >= una && !sacked.contains(segment));
    }

    /// The segments from `from` to before `to` have arrived, out of order. Calls `arrived` as
    /// [`Scoreboard::acknowledge`] does.
    #[inline(never)]
    pub(crate) fn sack(
        &mut self,
        (from, to): (u64, u64),
        mut arrived: impl FnMut(u64, u64),
    ) -> u64 {
        let (from, to) = (from.max(self.una), to.min(self.next));
        let (lost, retransmitted, mut fresh) = (&mut self.lost, &mut self.retransmitted, 0);
        self.sacked.gaps(from, to, |a, b| {
            fresh += b - a;
            lost.arrive(a, b);
            retransmitted.arrive(a, b);
            arrived(a, b);
        });
        if fresh > 0 {
            self.sacked.insert(from, to);
            self.sacked_count += fresh;
            if (from..to).contains(&self.retransmitted.at) {
                self.skip_arrived();
            }
            self.forget_arrived();
        }
        fresh
    }

    /// Whether `segment` was sent and has not arrived.
    pub(crate) fn is_missing(&self, segment: u64) -> bool {
        (self.una..self.next).contains(&segment) && !self.sacked.contains(segment)
    }

    /// Calls `missing` with each segment from `from` to before `to` that was sent and has not arrived.
    pub(crate) fn missing_between(&self, from: u64, to: u64, mut missing: impl FnMut(u64)) {
        let (from, to) = (from.max(self.una), to.min(self.next));
        self.sacked.gaps(from, to, |from, to| (from..to).for_each(&mut missing));
    }

    /// Deems lost what enough segments sent later have overtaken (`IsLost`, RFC 6675, section 4),
    /// retransmissions included. Returns how many segments are newly lost.
    pub(crate) fn detect_losses(&mut self) -> u64 {
        let Some(third) = self.sacked.largest(REORDERING) else { return 0 };
        let before = self.lost() + self.lost_again.len() as u64;
        self.lost.rise(third, &self.sacked);
        while let Some(&(segment, _)) = self.retries.front().filter(|&&(_, next)| next <= third) {
            self.retries.pop_front();
            if segment >= self.una && !self.sacked.contains(segment) {
                self.lost_again.push_back(segment);
            }
        }
        self.lost() + self.lost_again.len() as u64 - before
    }

    /// Deems lost what is missing below `segment`, which was sent long after it and has arrived.
    /// Returns how many segments are newly lost.
    pub(crate) fn lose_below(&mut self, segment: u64) -> u64 {
        let before = self.lost();
        self.lost.rise(segment.min(self.next), &self.sacked);
        self.lost() - before
    }

    /// Deems lost everything that has not arrived, retransmissions included.
    pub(crate) fn lose_all(&mut self) {
        self.lost.rise(self.next, &self.sacked);
        self.retransmitted = Mark { at: self.una, arrived: 0 };
        self.skip_arrived();
        self.retries.clear();
        self.lost_again.clear();
    }

    /// Clears all loss marks: what was deemed lost had only been late. Retransmissions stay recorded,
    /// so that nothing is retransmitted twice.
    pub(crate) fn unmark_losses(&mut self) {
        self.lost = Mark { at: self.una, arrived: 0 };
    }

    /// The segment to retransmit, if any: `NextSeg`, rule 1, after retransmissions that were lost.
    #[inline]
    pub(crate) fn next_lost(&self) -> Option<u64> {
        if let Some(&again) = self.lost_again.front() {
            return Some(again);
        }
        let missing = self.retransmitted.at;
        (missing < self.lost.at).then_some(missing)
    }

    /// The segment to retransmit when there is nothing else to send: one that later segments have
    /// overtaken, but not enough of them to deem it lost: `NextSeg`, rule 3.
    pub(crate) fn next_doubtful(&self) -> Option<u64> {
        let highest = self.sacked.largest(1)?;
        let missing = self.retransmitted.at;
        (missing < highest).then_some(missing)
    }

    /// The last segment sent, if it is missing and was not retransmitted: the rescue retransmission
    /// of `NextSeg`, rule 4. It is not recorded here (`HighRxt` stays), so that the segment is
    /// retransmitted in its turn should it be deemed lost.
    pub(crate) fn last_missing(&self) -> Option<u64> {
        let last = self.next.checked_sub(1).filter(|&last| last >= self.una)?;
        (last >= self.retransmitted.at && !self.sacked.contains(last)).then_some(last)
    }

    /// `segment` is sent: a new one, or a retransmission that was just requested.
    #[inline]
    pub(crate) fn send(&mut self, segment: u64) {
        if segment == self.next {
            self.next += 1;
            return;
        }
        if self.lost_again.front() == Some(&segment) {
            self.lost_again.pop_front();
        } else {
            self.retransmitted.rise(segment + 1, &self.sacked);
            self.skip_arrived();
        }
        self.retries.push_back((segment, self.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|segment| board.send(segment));
        board
    }

    fn ignore(_: u64, _: u64) {}

    #[test]
    fn three_later_segments_make_a_loss() {
        let mut board = sent(10);
        assert_eq!(board.sack((1, 3), ignore), 2);
        assert_eq!((board.detect_losses(), board.pipe()), (0, 8));
        assert_eq!(board.sack((1, 4), ignore), 1);
        assert_eq!((board.detect_losses(), board.pipe()), (1, 6));
        assert_eq!(board.next_lost(), Some(0));
        board.send(0);
        assert_eq!((board.next_lost(), board.pipe()), (None, 7));
        assert_eq!(board.acknowledge(4, ignore), 1);
        assert_eq!((board.una(), board.pipe(), board.lost()), (4, 6, 0));
    }

    #[test]
    fn after_a_timeout_everything_missing_is_retransmitted() {
        let mut board = sent(6);
        board.sack((2, 4), ignore);
        board.lose_all();
        assert_eq!((board.pipe(), board.lost()), (0, 4));
        let mut again = Vec::new();
        while let Some(segment) = board.next_lost() {
            board.send(segment);
            again.push(segment);
        }
        assert_eq!((again, board.pipe()), (vec![0, 1, 4, 5], 4));
    }

    #[test]
    fn a_retransmission_can_be_lost_again() {
        let mut board = sent(6);
        board.sack((1, 4), ignore);
        assert_eq!((board.detect_losses(), board.next_lost()), (1, Some(0)));
        board.send(0);
        (6..10).for_each(|segment| board.send(segment));
        // 4 and 5 were sent before it and do not count; three sent after it must arrive.
        board.sack((4, 8), ignore);
        assert_eq!((board.detect_losses(), board.next_lost()), (0, None));
        let pipe = board.pipe();
        board.sack((8, 9), ignore);
        assert_eq!((board.detect_losses(), board.next_lost()), (1, Some(0)));
        assert_eq!(board.pipe(), pipe - 2);
        board.send(0);
        assert_eq!((board.next_lost(), board.pipe()), (None, pipe - 1));
        assert_eq!(board.acknowledge(9, ignore), 1);
        assert_eq!(board.pipe(), 1);
    }

    /// The reference model of one segment.
    #[derive(Clone, Copy, Default)]
    struct Plain {
        arrived: bool,
        lost: bool,
        /// Retransmitted, and the next new segment then.
        again: Option<u64>,
        lost_again: bool,
    }

    fn by_hand(plain: &[Plain], una: usize) -> u64 {
        let missing = plain[una..].iter().filter(|segment| !segment.arrived);
        missing.map(|s| u64::from(!s.lost) + u64::from(s.again.is_some() && !s.lost_again)).sum()
    }

    /// A segment that three arrivals beyond it have overtaken is lost.
    fn overtake(plain: &mut [Plain], una: usize) {
        let third = (una..plain.len()).rev().filter(|&n| plain[n].arrived).nth(2);
        let Some(third) = third else { return };
        plain[una..third].iter_mut().for_each(|s| s.lost = true);
        for s in plain[una..].iter_mut().filter(|s| !s.arrived) {
            s.lost_again |= s.again.is_some_and(|next| next <= third as u64);
        }
    }

    proptest! {
        /// The counts agree with a record of each segment, for any sequence of events.
        #[test]
        fn counts_as_a_record_of_each_segment_would(
            steps in prop::collection::vec((0u8..11, 0u64..40, 0u64..6), 1..200),
        ) {
            let (mut board, mut plain, mut una) =
                (Scoreboard::default(), Vec::<Plain>::new(), 0usize);
            for (kind, at, length) in steps {
                let next = plain.len() as u64;
                match kind {
                    0..=3 => {
                        board.send(next);
                        plain.push(Plain::default());
                    }
                    4..=5 => {
                        let (from, to) = (una as u64 + 1 + at, una as u64 + 1 + at + length);
                        let fresh = board.sack((from, to), ignore);
                        let mut count = 0;
                        for n in from.max(una as u64)..to.min(next) {
                            count += u64::from(!plain[n as usize].arrived);
                            plain[n as usize].arrived = true;
                        }
                        prop_assert_eq!(fresh, count);
                        board.detect_losses();
                        overtake(&mut plain, una);
                    }
                    6 => {
                        let to = (una as u64 + length).min(next);
                        board.acknowledge(to, ignore);
                        una = to as usize;
                    }
                    7 => {
                        board.lose_all();
                        for s in &mut plain[una..] {
                            *s = Plain { arrived: s.arrived, lost: true, ..Plain::default() };
                        }
                    }
                    8 => {
                        board.unmark_losses();
                        board.detect_losses();
                        plain[una..].iter_mut().for_each(|s| s.lost = false);
                        overtake(&mut plain, una);
                    }
                    _ => {
                        if let Some(again) = board.next_lost() {
                            let s = &mut plain[again as usize];
                            prop_assert!(s.lost && !s.arrived);
                            prop_assert!(s.again.is_none() || s.lost_again);
                            board.send(again);
                            (s.again, s.lost_again) = (Some(next), false);
                        }
                    }
                }
                prop_assert_eq!(board.pipe(), by_hand(&plain, una));
            }
        }
    }
}
