//! [`Gate`]: when a sender may send next.

use crate::controller::Decision;
use exm_units::{Instant, Packets, Span};

/// The most packets that any host allows in flight, whatever its controller decides: the bound of
/// the original Remy. Without it, an unpaced controller with an unbounded window would send forever
/// at one instant.
pub const MAX_WINDOW: Packets = Packets::new(1_000_000);

/// Turns a [`Decision`], the packets in flight and the time of the last send into the time of the
/// next send. Every host uses this gate, so the same decisions give the same sends everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    cwnd: Packets,
    intersend: Span,
    last_send: Option<Instant>,
}

impl Gate {
    /// The gate of a flow that has sent nothing yet.
    pub fn new(decision: Decision) -> Gate {
        Gate { cwnd: decision.cwnd.min(MAX_WINDOW), intersend: decision.intersend, last_send: None }
    }

    /// Replaces the decision in force.
    pub fn decide(&mut self, decision: Decision) {
        self.cwnd = decision.cwnd.min(MAX_WINDOW);
        self.intersend = decision.intersend;
    }

    /// A packet was sent at `now`.
    pub fn sent(&mut self, now: Instant) {
        self.last_send = Some(now);
    }

    /// The earliest time, not before `now`, at which a packet may be sent with `in_flight` packets
    /// in flight; none while the window is full.
    pub fn next_send(&self, now: Instant, in_flight: Packets) -> Option<Instant> {
        if in_flight >= self.cwnd {
            return None;
        }
        let paced = self.last_send.map_or(now, |last| last.saturating_add(self.intersend));
        Some(paced.max(now))
    }

    /// When the last packet was sent, if any was.
    pub fn last_send(&self) -> Option<Instant> {
        self.last_send
    }

    /// The window in force.
    pub fn cwnd(&self) -> Packets {
        self.cwnd
    }

    /// The least time between sends in force.
    pub fn intersend(&self) -> Span {
        self.intersend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(cwnd: u64, intersend_ms: u64) -> Decision {
        Decision {
            cwnd: Packets::new(cwnd),
            intersend: Span::from_millis(intersend_ms),
            wake_at: None,
        }
    }

    #[test]
    fn a_fresh_flow_sends_at_once_then_paces() {
        let now = Instant::from_nanos(5_000_000);
        let mut gate = Gate::new(decision(2, 3));
        assert_eq!(gate.next_send(now, Packets::ZERO), Some(now));
        gate.sent(now);
        assert_eq!(gate.next_send(now, Packets::new(1)), Some(now + Span::from_millis(3)));
        let late = now + Span::from_millis(10);
        assert_eq!(gate.next_send(late, Packets::new(1)), Some(late));
    }

    #[test]
    fn no_window_is_above_the_bound() {
        let mut gate = Gate::new(decision(u64::MAX, 0));
        assert_eq!(gate.cwnd(), MAX_WINDOW);
        gate.decide(decision(u64::MAX, 0));
        assert_eq!(gate.next_send(Instant::ZERO, MAX_WINDOW), None);
    }

    #[test]
    fn a_full_window_closes_the_gate_until_it_grows() {
        let now = Instant::ZERO;
        let mut gate = Gate::new(decision(1, 0));
        assert_eq!(gate.next_send(now, Packets::new(1)), None);
        gate.decide(decision(2, 0));
        assert_eq!(gate.next_send(now, Packets::new(1)), Some(now));
    }
}
