//! [`HopPlan`]: decides when a client changes its port.

use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// A client that has received nothing for this long tries a new port, as a NAT or firewall may have lost or
/// blocked the old one.
pub const PORT_HOP_INTERVAL: Span = Span::from_secs(10);
/// How long an old socket is read after a newer one was opened.
const OLD_SOCKET: Span = Span::from_secs(60);
/// The most open sockets.
const MAX_SOCKETS: usize = 10;

/// When a client opens and closes sockets. It sends from the newest and reads all, as replies to an old one
/// may be in flight. The caller keeps them in order of age.
#[derive(Clone, Debug)]
pub struct HopPlan {
    last_received: Instant,
    /// When each open socket was opened, oldest first; never empty.
    opened: VecDeque<Instant>,
}

impl HopPlan {
    /// A plan whose first socket is opened at `now`.
    pub fn new(now: Instant) -> HopPlan {
        HopPlan { last_received: now, opened: VecDeque::from([now]) }
    }

    /// Notes that an authentic datagram arrived at `now`.
    pub fn received(&mut self, now: Instant) {
        self.last_received = self.last_received.max(now);
    }

    /// When the next socket is to be opened.
    pub fn due(&self) -> Instant {
        let newest = self.opened.back().copied().unwrap_or(self.last_received);
        self.last_received.max(newest).saturating_add(PORT_HOP_INTERVAL)
    }

    /// Notes that another socket was opened at `now`. Returns how many of the oldest are to be closed.
    #[must_use]
    pub fn hopped(&mut self, now: Instant) -> usize {
        self.opened.push_back(now);
        self.expire(now)
    }

    /// How many of the oldest sockets are to be closed at `now`.
    #[must_use]
    pub fn expire(&mut self, now: Instant) -> usize {
        let before = self.opened.len();
        let is_old = |opened: &VecDeque<Instant>| {
            let next = opened.get(1);
            next.is_some_and(|&next| now.saturating_since(next) >= OLD_SOCKET)
        };
        while self.opened.len() > MAX_SOCKETS || is_old(&self.opened) {
            self.opened.pop_front();
        }
        before - self.opened.len()
    }

    /// When [`HopPlan::expire`] next closes one; [`Instant::MAX`] if none is old.
    pub fn expiry(&self) -> Instant {
        self.opened.get(1).map_or(Instant::MAX, |&next| next.saturating_add(OLD_SOCKET))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn hops_after_silence_only() {
        let mut plan = HopPlan::new(at(0));
        assert_eq!((plan.due(), plan.expiry()), (at(10), Instant::MAX));
        plan.received(at(7));
        assert_eq!(plan.due(), at(17));
        assert_eq!(plan.hopped(at(17)), 0);
        assert_eq!((plan.due(), plan.expiry()), (at(27), at(77)));
        plan.received(at(20));
        assert_eq!((plan.due(), plan.expire(at(76)), plan.expire(at(77))), (at(30), 0, 1));
        assert_eq!((plan.expiry(), plan.expire(at(10_000))), (Instant::MAX, 0));
    }

    proptest! {
        /// However long the silence and however late the caller, at least one and at most ten are open.
        #[test]
        fn sockets_are_few(waits in prop::collection::vec(0u64..200, 1..100)) {
            let (mut plan, mut now, mut open) = (HopPlan::new(at(0)), 0, 1);
            for wait in waits {
                now += wait;
                open -= plan.expire(at(now));
                if at(now) >= plan.due() {
                    open = open + 1 - plan.hopped(at(now));
                }
                prop_assert!((1..=MAX_SOCKETS).contains(&open));
                prop_assert!(plan.due() > at(now) && plan.expiry() > at(now));
            }
        }
    }
}
