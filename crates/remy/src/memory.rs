//! [`Memory`]: what a RemyCC remembers of its flow by Remy's six signals.

use crate::signal::{Point, Signal};
use exm_units::{Instant, Span};

/// Weight of the newest sample in the fast averages (SIGCOMM 2013, section 4.1).
const FAST: f64 = 1.0 / 8.0;
/// Weight of the newest sample in the slow average (SIGCOMM 2014, section 3.4).
const SLOW: f64 = 1.0 / 256.0;
const MILLIS_PER_NANO: f64 = 1e-6;

/// Remy's six signals of a flow, and the state needed to update them; the extended ones are kept by
/// [`ExtendedMemory`](crate::ExtendedMemory).
///
/// At the start of a flow all signals are zero; the first ACK only sets the baselines, and each
/// further one updates the signals.
#[derive(Clone, Debug)]
pub struct Memory {
    // Separate fields, not an array: in the simulator's loop they then stay in registers.
    send: f64,
    ack: f64,
    ratio: f64,
    slow: f64,
    diff: f64,
    queueing: f64,
    last_sent: i64,
    last_received: i64,
    /// Zero until the first ACK: no RTT is zero.
    min_rtt: i64,
}

impl Memory {
    /// The memory at the start of a flow.
    pub const fn new() -> Memory {
        Memory {
            send: 0.0,
            ack: 0.0,
            ratio: 0.0,
            slow: 0.0,
            diff: 0.0,
            queueing: 0.0,
            last_sent: 0,
            last_received: 0,
            min_rtt: 0,
        }
    }

    /// The signals; the extended ones are zero.
    #[inline]
    pub fn signals(&self) -> Point {
        [self.send, self.ack, self.ratio, self.slow, self.diff, self.queueing, 0.0, 0.0, 0.0]
    }

    /// One signal.
    pub fn get(&self, signal: Signal) -> f64 {
        self.signals()[signal.index()]
    }

    /// Updates the signals with the ACK of a packet of this flow, sent at `sent`, received at
    /// `received` and acknowledged `rtt` after it was sent, whose number is `gap` above the largest
    /// acknowledged before it (1 when nothing was lost or reordered; smaller values count as 1). Only
    /// differences of `sent` and of `received` matter: the two may come from different clocks.
    #[inline]
    pub fn on_ack(&mut self, sent: Instant, received: Instant, rtt: Span, gap: u64) {
        let (sent, received) = (sent.as_nanos() as i64, received.as_nanos() as i64);
        let rtt = (rtt.as_nanos() as i64).max(1);
        if self.min_rtt == 0 {
            self.min_rtt = rtt;
        } else {
            let sent_apart = (sent - self.last_sent) as f64 * MILLIS_PER_NANO;
            let received_apart = (received - self.last_received) as f64 * MILLIS_PER_NANO;
            self.min_rtt = self.min_rtt.min(rtt);
            self.send = (1.0 - FAST) * self.send + FAST * sent_apart;
            self.ack = (1.0 - FAST) * self.ack + FAST * received_apart;
            self.slow = (1.0 - SLOW) * self.slow + SLOW * received_apart;
            self.ratio = rtt as f64 / self.min_rtt as f64;
            self.diff = (rtt - self.min_rtt) as f64 * MILLIS_PER_NANO;
            self.queueing = self.ack * gap.max(1) as f64;
        }
        self.last_sent = sent;
        self.last_received = received;
    }

    /// When the next packet was sent and received, where one ACK is of it and `left - 1` more, of which the last was
    /// sent at `sent` and received at `received`: evenly spread over the time since the last ACK.
    pub(crate) fn next_of(
        &self,
        left: u64,
        sent: Instant,
        received: Instant,
    ) -> (Instant, Instant) {
        if self.min_rtt == 0 {
            return (sent, received);
        }
        let part = |last: i64, at: Instant| {
            let apart = (at.as_nanos() as i64 - last) / left as i64;
            Instant::from_nanos((last + apart) as u64)
        };
        (part(self.last_sent, sent), part(self.last_received, received))
    }
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn the_first_acknowledgement_only_sets_baselines() {
        let mut memory = Memory::new();
        memory.on_ack(at(0), at(150), ms(150), 1);
        assert_eq!(memory.signals(), [0.0; Signal::COUNT]);
        memory.on_ack(at(8), at(166), ms(158), 2);
        let remys = [1.0, 2.0, 158.0 / 150.0, 16.0 / 256.0, 8.0, 4.0];
        assert_eq!(memory.signals()[..Signal::REMYS], remys);
        assert_eq!(memory.signals()[Signal::REMYS..], [0.0; 3]);
    }

    #[test]
    fn a_lower_round_trip_becomes_the_least() {
        let mut memory = Memory::new();
        memory.on_ack(at(0), at(150), ms(150), 1);
        memory.on_ack(at(10), at(110), ms(100), 1);
        assert_eq!(memory.get(Signal::RttRatio), 1.0);
        assert_eq!(memory.get(Signal::RttDiff), 0.0);
        memory.on_ack(at(20), at(170), ms(150), 1);
        assert_eq!(memory.get(Signal::RttRatio), 1.5);
    }

    #[test]
    fn the_receiver_may_have_a_clock_of_its_own() {
        let (mut same, mut other) = (Memory::new(), Memory::new());
        for (sent, received, gap) in [(0, 150, 1), (8, 166, 2), (30, 181, 1)] {
            same.on_ack(at(sent), at(received), ms(received - sent), gap);
            other.on_ack(at(sent), at(received + 86_400_000), ms(received - sent), gap);
        }
        assert_eq!(same.signals(), other.signals());
    }
}
