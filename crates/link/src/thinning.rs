//! [`Thinning`] and [`Thinner`]: fewer ACKs on a link that leads back.

use exm_units::{Instant, Packets, Span};
use std::collections::BTreeMap;

/// Which of the ACKs of one flow that wait at a link are left out, as cable modems and home routers do (RFC 3449,
/// section 5.2; the ACK filter of CAKE, Høiland-Jørgensen, Täht & Morton, LANMAN 2018). The last that waits is always sent, so that
/// what ACKs say together arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinning {
    /// While others of its flow wait behind it, only each ACK of this number is sent.
    Each(Packets),
    /// While others of its flow wait behind it, an ACK is sent only this long after the one before.
    Every(Span),
}

/// The state of a [`Thinning`].
#[derive(Clone, Debug)]
pub struct Thinner {
    rule: Thinning,
    flows: BTreeMap<u32, Acks>,
}

/// The ACKs of a flow.
#[derive(Clone, Debug, Default)]
struct Acks {
    /// How many wait.
    waiting: u64,
    /// How many were left out since the last that was sent, and when that was.
    skipped: u64,
    sent_at: Option<Instant>,
}

impl Thinner {
    /// Thins the ACKs of no flow yet.
    pub fn new(rule: Thinning) -> Thinner {
        Thinner { rule, flows: BTreeMap::new() }
    }

    /// Thins the packets of `flow`, which are ACKs.
    pub fn add_flow(&mut self, flow: u32) {
        self.flows.entry(flow).or_default();
    }

    /// A packet of `flow` begins to wait.
    pub fn arrives(&mut self, flow: u32) {
        if let Some(acks) = self.flows.get_mut(&flow) {
            acks.waiting += 1;
        }
    }

    /// A waiting packet of `flow` was dropped.
    pub fn is_dropped(&mut self, flow: u32) {
        if let Some(acks) = self.flows.get_mut(&flow) {
            acks.waiting -= 1;
        }
    }

    /// The next packet, of `flow`, no longer waits. Returns whether it is sent.
    pub fn sends(&mut self, flow: u32, now: Instant) -> bool {
        let Some(acks) = self.flows.get_mut(&flow) else { return true };
        acks.waiting -= 1;
        let due = match self.rule {
            Thinning::Each(each) => acks.skipped + 1 >= each.get(),
            Thinning::Every(span) => acks.sent_at.is_none_or(|at| now - at >= span),
        };
        if due || acks.waiting == 0 {
            (acks.skipped, acks.sent_at) = (0, Some(now));
            return true;
        }
        acks.skipped += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `count` waiting ACKs are sent, one of them each millisecond.
    fn sent(rule: Thinning, count: u64) -> Vec<u64> {
        let mut thinner = Thinner::new(rule);
        thinner.add_flow(7);
        (0..count).for_each(|_| thinner.arrives(7));
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        (0..count).filter(|&number| thinner.sends(7, at(number))).collect()
    }

    #[test]
    fn each_nth_is_sent_and_the_last() {
        let each = |n| Thinning::Each(Packets::new(n));
        assert_eq!(sent(each(4), 10), [3, 7, 9]);
        assert_eq!(sent(each(1), 3), [0, 1, 2]);
        assert_eq!(sent(each(4), 1), [0]);
    }

    #[test]
    fn one_in_a_time_is_sent_and_the_last() {
        assert_eq!(sent(Thinning::Every(Span::from_millis(4)), 10), [0, 4, 8, 9]);
    }

    #[test]
    fn packets_of_other_flows_are_all_sent() {
        let mut thinner = Thinner::new(Thinning::Each(Packets::new(9)));
        thinner.arrives(1);
        thinner.arrives(1);
        assert!(thinner.sends(1, Instant::ZERO));
        thinner.is_dropped(1);
    }
}
