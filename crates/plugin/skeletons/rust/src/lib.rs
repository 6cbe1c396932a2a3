//! A congestion controller: additive increase, multiplicative decrease. Change it into your own.

pub mod exm;

use exm::{Ack, Congestion, CongestionKind, Controller, Decision, Instant, Packets, Span, Start};

/// Doubles its window each round trip until a loss, then grows by `increase` packets a round trip, and halves it at
/// each loss.
#[derive(Clone, Debug)]
pub struct Mine {
    /// A parameter: --cc 'mine.wasm increase=2' sets it.
    pub increase: f64,
    /// The window, in packets.
    cwnd: f64,
    /// Below this window it is in slow start.
    ssthresh: f64,
    /// Losses of packets sent before this belong to an event that it has responded to.
    recovered_at: Instant,
}

// `increase` becomes a parameter; write exm::export!(Mine {}) for none.
exm::export!(Mine { increase });

impl Default for Mine {
    fn default() -> Mine {
        Mine { increase: 1.0, cwnd: 10.0, ssthresh: f64::INFINITY, recovered_at: Instant::ZERO }
    }
}

impl Mine {
    fn decision(&self) -> Decision {
        Decision {
            // Packets that may be in flight.
            cwnd: Packets::new(self.cwnd as u64),
            // The least time between two sends; zero for no pacing.
            intersend: Span::ZERO,
            // When on_tick is to be called.
            wake_at: None,
        }
    }
}

impl Controller for Mine {
    fn on_start(&mut self, start: &Start) -> Decision {
        let cwnd = start.initial_window.get() as f64;
        *self = Mine { increase: self.increase, cwnd, ..Mine::default() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale && !ack.recovering {
            let acked = ack.acked.get() as f64;
            let slow_start = self.cwnd < self.ssthresh;
            self.cwnd += if slow_start { acked } else { self.increase * acked / self.cwnd };
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Spurious => {}
            CongestionKind::Idle => {
                self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
                self.cwnd = self.cwnd.min(congestion.packets.get() as f64);
            }
            CongestionKind::Timeout => {
                self.ssthresh = (self.cwnd / 2.0).max(2.0);
                self.cwnd = 1.0;
                self.recovered_at = congestion.now;
            }
            // Lost, or marked by a router: once a round trip.
            _ if congestion.sent_at < self.recovered_at => {}
            _ => {
                self.ssthresh = (self.cwnd / 2.0).max(2.0);
                self.cwnd = self.ssthresh;
                self.recovered_at = congestion.now;
            }
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_halves_the_window_once_a_round_trip() {
        let mut mine = Mine::default();
        let now = Instant::ZERO + Span::from_millis(100);
        assert_eq!(mine.on_start(&Start::new(Instant::ZERO)).cwnd.get(), 10);
        assert_eq!(mine.on_ack(&Ack::new(0, Instant::ZERO, now)).cwnd.get(), 11);
        let lost = Congestion::new(CongestionKind::Lost, Instant::ZERO, now);
        assert_eq!(mine.on_congestion(&lost).cwnd.get(), 5);
        assert_eq!(mine.on_congestion(&lost).cwnd.get(), 5);
    }
}
