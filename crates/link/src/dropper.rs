//! [`Dropper`]: CoDel's control law, for one queue.
//!
//! The law of RFC 8289: once sojourn times have exceeded a target for a whole interval, a packet is
//! dropped as it leaves, and further ones at decreasing distances (the interval divided by the
//! square root of the count) until sojourn times fall below the target. Routers approximate that
//! root by one step of Newton's iteration per drop.

use crate::{Ecn, ImpossibleSetting, Packet, QueueActions};
use exm_units::{Bytes, Instant, Span};

/// CoDel's target sojourn time (RFC 8289, section 4: 5 % of the interval).
pub(crate) const TARGET: Span = Span::from_millis(5);

/// CoDel's interval: about the RTT of the slowest flow that it should serve well (RFC 8289, section
/// 4).
pub(crate) const INTERVAL: Span = Span::from_millis(100);

/// Ethernet's MTU: a queue with no more than one such packet is never too long (RFC 8289, section
/// 5.3, `maxpacket`, which should be the interface's).
pub(crate) const MTU: Bytes = Bytes::new(1500);

/// How long the count of the last dropping state is remembered, in intervals (RFC 8289, section
/// 5.5).
const MEMORY: u64 = 16;

/// The parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    pub(crate) mtu: Bytes,
    /// Whether to mark instead of dropping where possible.
    pub(crate) ecn: bool,
    /// How the square root of the count is computed.
    pub(crate) root: Root,
    pub(crate) early: Early,
}

/// Marks for senders that respond to each one, whatever the law says: Linux's `ce_threshold`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Early {
    /// Packets that waited longer are marked; zero for none.
    pub(crate) threshold: Span,
    /// Whether only packets with ECT(1) are.
    pub(crate) low_latency_only: bool,
}

impl Early {
    /// No marks.
    #[cfg(test)]
    pub(crate) const NONE: Early = Early { threshold: Span::ZERO, low_latency_only: false };

    /// Marks `packet`, which leaves at `now`, if it waited too long.
    #[inline]
    pub(crate) fn mark(&self, now: Instant, packet: &mut Packet, actions: &mut QueueActions) {
        if self.threshold.is_zero() || now.saturating_since(packet.at) <= self.threshold {
            return;
        }
        if packet.ecn == Ecn::LowLatency || packet.ecn == Ecn::Capable && !self.low_latency_only {
            actions.mark(packet);
        }
    }
}

/// How the square root of the count is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// By one step of Newton's iteration per drop, as in Linux and ns-3: the second drop follows
    /// the first after half the interval, not 0.71 of it.
    Newton,
    /// Exactly, as in RFC 8289 and ns-2.
    Exact,
}

impl Law {
    /// Checks that the parameters are possible.
    pub(crate) fn check(&self) -> Result<(), ImpossibleSetting> {
        let zero = |name, span: Span| {
            let must = "it must be longer than zero, such as \"5 ms\" or \"100 ms\"";
            if span.is_zero() { Err(ImpossibleSetting::new(name, span, must)) } else { Ok(()) }
        };
        zero("target", self.target)?;
        zero("interval", self.interval)
    }

    /// Marks `packet` if that may replace a drop.
    #[inline]
    fn marks(&self, packet: &mut Packet, actions: &mut QueueActions) -> bool {
        self.ecn && actions.mark(packet)
    }
}

/// CoDel's state of one queue (RFC 8289, section 5.2).
#[derive(Clone, Debug)]
pub(crate) struct Dropper {
    /// When sojourn times will have exceeded the target for an interval; [`Instant::MAX`] while
    /// they do not exceed it.
    first_above: Instant,
    /// When to drop next, while dropping.
    drop_next: Instant,
    /// Drops since dropping began.
    count: u32,
    /// The value of `count` when dropping last began.
    last_count: u32,
    /// Newton's approximation of one over the square root of `count`.
    inverse: f32,
    dropping: bool,
}

impl Dropper {
    pub(crate) const NEW: Dropper = Dropper {
        first_above: Instant::MAX,
        drop_next: Instant::ZERO,
        count: 0,
        last_count: 0,
        inverse: 1.0,
        dropping: false,
    };

    /// The next packet to leave a queue at `now`: `pop` removes one from its head and returns how
    /// many bytes are left behind it (RFC 8289, section 5.5, `dequeue`).
    #[inline(always)]
    pub(crate) fn dequeue(
        &mut self,
        law: &Law,
        now: Instant,
        actions: &mut QueueActions,
        mut pop: impl FnMut() -> Option<(Packet, u64)>,
    ) -> Option<Packet> {
        let Some((head, left)) = pop() else {
            (self.first_above, self.dropping) = (Instant::MAX, false);
            return None;
        };
        if !self.persists(law, now, head.at, left) {
            self.dropping = false;
            return Some(head);
        }
        if !self.dropping {
            self.begin(law, now, actions, (head, pop))
        } else if now >= self.drop_next {
            self.go_on(law, now, actions, (head, pop))
        } else {
            Some(head)
        }
    }

    /// Removes a packet, and returns whether sojourn times have exceeded the target for an
    /// interval.
    fn take(
        &mut self,
        law: &Law,
        now: Instant,
        pop: &mut impl FnMut() -> Option<(Packet, u64)>,
    ) -> (Option<Packet>, bool) {
        let Some((packet, left)) = pop() else {
            self.first_above = Instant::MAX;
            return (None, false);
        };
        let persists = self.persists(law, now, packet.at, left);
        (Some(packet), persists)
    }

    /// Whether sojourn times have exceeded the target for an interval, when a packet that arrived at `at` leaves, and
    /// `left` bytes are behind it.
    #[inline]
    fn persists(&mut self, law: &Law, now: Instant, at: Instant, left: u64) -> bool {
        if now.saturating_since(at) < law.target || left <= law.mtu.get() {
            self.first_above = Instant::MAX;
            return false;
        }
        if self.first_above == Instant::MAX {
            self.first_above = now.saturating_add(law.interval);
            return false;
        }
        now >= self.first_above
    }

    /// Enters the dropping state, with `head`.
    #[cold]
    #[inline(never)]
    fn begin(
        &mut self,
        law: &Law,
        now: Instant,
        actions: &mut QueueActions,
        (mut head, mut pop): (Packet, impl FnMut() -> Option<(Packet, u64)>),
    ) -> Option<Packet> {
        self.dropping = true;
        // If dropping ended a short while ago, it resumes near the rate at which it ended.
        let drops = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) / MEMORY < law.interval;
        if drops > 1 && recent {
            self.count_to(drops);
        } else {
            (self.count, self.inverse) = (1, 1.0);
        }
        self.last_count = self.count;
        self.drop_next = self.next(law, now);
        if law.marks(&mut head, actions) {
            return Some(head);
        }
        actions.drop(head);
        self.take(law, now, &mut pop).0
    }

    /// Sets the count, and updates its root.
    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.inverse *= (3.0 - count as f32 * self.inverse * self.inverse) / 2.0;
    }

    /// When to drop next, after a drop at `last` (RFC 8289, section 5.6, `control_law`).
    fn next(&self, law: &Law, last: Instant) -> Instant {
        let interval = law.interval.as_nanos() as f64;
        let nanos = match law.root {
            Root::Newton => interval * f64::from(self.inverse),
            Root::Exact => interval / f64::from(self.count).sqrt(),
        };
        last.saturating_add(Span::from_nanos(nanos.round() as u64))
    }

    /// Drops further packets, starting with `head`, while they are due.
    #[cold]
    #[inline(never)]
    fn go_on(
        &mut self,
        law: &Law,
        now: Instant,
        actions: &mut QueueActions,
        (head, mut pop): (Packet, impl FnMut() -> Option<(Packet, u64)>),
    ) -> Option<Packet> {
        let mut next = Some(head);
        while self.dropping && now >= self.drop_next {
            let mut head = next?;
            self.count_to(self.count.saturating_add(1));
            if law.marks(&mut head, actions) {
                self.drop_next = self.next(law, self.drop_next);
                return Some(head);
            }
            actions.drop(head);
            let (packet, persists) = self.take(law, now, &mut pop);
            next = packet;
            self.dropping = persists;
            if persists {
                self.drop_next = self.next(law, self.drop_next);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law {
        target: TARGET,
        interval: INTERVAL,
        mtu: MTU,
        ecn: true,
        root: Root::Exact,
        early: Early::NONE,
    };

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// An endless queue of packets that arrived at time zero.
    fn standing(ecn: Ecn) -> impl FnMut() -> Option<(Packet, u64)> {
        move || {
            let packet = Packet { ecn, ..Packet::new(0, 0, 1500, Instant::ZERO) };
            Some((packet, 1_000_000))
        }
    }

    /// When a standing queue that is polled all the time drops or marks packets.
    fn times(law: &Law, dropper: &mut Dropper, ecn: Ecn, count: usize) -> Vec<u64> {
        let mut actions = QueueActions::default();
        let mut pop = standing(ecn);
        let mut seen = Vec::new();
        dropper.dequeue(law, at(5_000_000), &mut actions, &mut pop);
        let mut next = dropper.first_above;
        while seen.len() < count {
            let before = next - Span::from_nanos(1);
            assert!(dropper.dequeue(law, before, &mut actions, &mut pop).is_some());
            assert!(actions.is_empty(), "too early at {before}");
            assert!(dropper.dequeue(law, next, &mut actions, &mut pop).is_some());
            let (dropped, marked) =
                (actions.take_dropped().count(), actions.take_marked().len() as u64);
            assert_eq!(dropped + marked as usize, 1, "nothing at {next}");
            assert_eq!(dropped == 1, ecn == Ecn::NotCapable);
            seen.push(next.as_nanos());
            next = dropper.drop_next;
        }
        seen
    }

    /// The interval, then the interval divided by the square roots of 1, 2, 3, ..., to the
    /// nanosecond.
    #[test]
    fn drops_from_a_standing_queue_follow_the_law() {
        let golden = [
            105_000_000, // the target plus an interval
            205_000_000, // 100 ms / sqrt(1) later
            275_710_678, // 100 ms / sqrt(2)
            333_445_705, // 100 ms / sqrt(3)
            383_445_705, // 100 ms / sqrt(4)
            428_167_065, // 100 ms / sqrt(5)
            468_991_894, // 100 ms / sqrt(6)
            506_788_341, // 100 ms / sqrt(7)
        ];
        assert_eq!(times(&LAW, &mut Dropper::NEW.clone(), Ecn::NotCapable, 8), golden);
        assert_eq!(times(&LAW, &mut Dropper::NEW.clone(), Ecn::Capable, 8), golden);
    }

    /// Newton's iteration by hand, one step per drop: 1, 1/2, 9/16, 0.4878, ..., which approaches
    /// the root of 1/n.
    #[test]
    fn newton_approximates_the_root() {
        let law = Law { root: Root::Newton, ..LAW };
        let seen = times(&law, &mut Dropper::NEW.clone(), Ecn::NotCapable, 100);
        assert_eq!(seen[..5], [105_000_000, 205_000_000, 255_000_000, 311_250_000, 360_029_297]);
        let last = (seen[99] - seen[98]) as f64 / 1e8;
        assert!((last * 99f64.sqrt() - 1.0).abs() < 1e-3, "{last}");
    }

    /// Dropping resumes at its last rate if it ended within 16 intervals.
    #[test]
    fn a_short_pause_does_not_reset_the_count() {
        for (rest, count) in [(Span::from_secs(1), 7), (Span::from_secs(2), 1)] {
            let mut dropper = Dropper::NEW;
            times(&LAW, &mut dropper, Ecn::NotCapable, 8);
            assert_eq!((dropper.count, dropper.last_count), (8, 1));
            let mut actions = QueueActions::default();
            let mut short = || Some((Packet::new(0, 0, 1500, at(506_788_341)), 0));
            dropper.dequeue(&LAW, at(506_788_341), &mut actions, &mut short);
            assert!(!dropper.dropping);
            let again = at(506_788_341) + rest;
            dropper.dequeue(&LAW, again, &mut actions, standing(Ecn::NotCapable));
            dropper.dequeue(&LAW, again + INTERVAL, &mut actions, standing(Ecn::NotCapable));
            assert!(dropper.dropping);
            assert_eq!(dropper.count, count);
        }
    }

    /// A link that polls rarely drops everything due at once.
    #[test]
    fn overdue_drops_are_made_at_once() {
        let mut dropper = Dropper::NEW;
        let mut actions = QueueActions::default();
        for millis in [5, 105, 400] {
            let now = at(millis * 1_000_000);
            dropper.dequeue(&LAW, now, &mut actions, standing(Ecn::NotCapable));
        }
        assert_eq!(actions.take_dropped().count(), 5);
    }

    #[test]
    fn a_single_packet_is_never_too_long() {
        let mut dropper = Dropper::NEW;
        let mut actions = QueueActions::default();
        for second in 0..100 {
            let mut pop = || Some((Packet::new(0, 0, 1500, Instant::ZERO), 1500));
            dropper.dequeue(&LAW, at(second * 1_000_000_000), &mut actions, &mut pop);
        }
        assert!(actions.is_empty());
    }
}
