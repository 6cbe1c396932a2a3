//! Senders that a participant of a contest might write: additive increase with a cap, back-off when the delay passes a
//! threshold, and pacing at the measured rate. They are simple on purpose; thousands of them, with other parameters each,
//! mark out what is within reach on a link.

use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use exm_units::{Instant, Packets, Span};

/// A participant's idea, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Grows by `increase` packets a round trip, up to `cap`, and keeps `decrease` of its window at a loss.
    Aimd {
        /// Packets a round trip.
        increase: f64,
        /// The factor at a loss.
        decrease: f64,
        /// The largest window, packets.
        cap: f64,
    },
    /// As [`Strategy::Aimd`] without a cap, and also backs off, once a round trip, when an RTT is more than `threshold`
    /// above the minimum.
    DelayTriggered {
        /// How much queueing delay it tolerates.
        threshold: Span,
        /// Packets a round trip.
        increase: f64,
        /// The factor of the window when it backs off.
        decrease: f64,
    },
    /// Paces at `gain` times the rate at which ACKs arrived in the last `horizon`, with a window of that rate times the
    /// minimum RTT plus `target`.
    RateBased {
        /// The time over which the rate is measured.
        horizon: Span,
        /// How much queueing delay its window allows for.
        target: Span,
        /// The factor of the rate.
        gain: f64,
    },
    /// A window that never changes.
    Window {
        /// Packets.
        packets: u64,
    },
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strategy::Aimd { increase, decrease, cap } => {
                write!(f, "aimd-capped increase={increase},decrease={decrease},cap={cap}")
            }
            Strategy::DelayTriggered { threshold, increase, decrease } => write!(
                f,
                "delay-triggered threshold={:.0}ms,increase={increase},decrease={decrease}",
                threshold.as_millis_f64()
            ),
            Strategy::RateBased { horizon, target, gain } => write!(
                f,
                "rate-based horizon={:.0}ms,target={:.0}ms,gain={gain}",
                horizon.as_millis_f64(),
                target.as_millis_f64()
            ),
            Strategy::Window { packets } => write!(f, "window packets={packets}"),
        }
    }
}

/// A sender that follows a [`Strategy`].
#[derive(Clone, Debug)]
pub struct Strategist {
    strategy: Strategy,
    cwnd: f64,
    slow_start: bool,
    /// It has responded to what happened to packets sent before this.
    responded_at: Instant,
    min_rtt: Span,
    meter: RateMeter,
}

/// The window that a sender starts with, and after a time-out.
const FIRST: f64 = 10.0;
const LEAST: f64 = 2.0;

impl Strategist {
    /// A sender that follows `strategy`.
    pub fn new(strategy: Strategy) -> Strategist {
        Strategist {
            strategy,
            cwnd: FIRST,
            slow_start: true,
            responded_at: Instant::ZERO,
            min_rtt: Span::from_secs(10),
            meter: RateMeter::default(),
        }
    }

    fn decision(&self) -> Decision {
        let mut decision =
            Decision { cwnd: Packets::new(self.cwnd as u64), intersend: Span::ZERO, wake_at: None };
        match self.strategy {
            Strategy::Window { packets } => decision.cwnd = Packets::new(packets),
            Strategy::RateBased { target, gain, .. } => {
                if let Some(rate) = self.meter.rate {
                    let pace = (rate * gain).max(1.0);
                    let window = pace * (self.min_rtt.as_secs_f64() + target.as_secs_f64());
                    decision.cwnd = Packets::new(window.max(LEAST) as u64);
                    decision.intersend = Span::from_secs_f64(1.0 / pace);
                }
            }
            Strategy::Aimd { .. } | Strategy::DelayTriggered { .. } => {}
        }
        decision
    }

    /// Grows by an ACK.
    fn grow(&mut self, acked: f64, increase: f64, cap: f64) {
        self.cwnd += if self.slow_start { acked } else { increase * acked / self.cwnd };
        self.cwnd = self.cwnd.min(cap);
    }

    /// Backs off because of a packet that was sent at `sent_at`.
    fn back_off(&mut self, now: Instant, sent_at: Instant, factor: f64) {
        if sent_at >= self.responded_at {
            self.cwnd = (self.cwnd * factor).max(LEAST);
            (self.slow_start, self.responded_at) = (false, now);
        }
    }
}

impl Controller for Strategist {
    fn on_start(&mut self, _start: &Start) -> Decision {
        *self = Strategist::new(self.strategy);
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        let (rtt, acked) = (ack.rtt(), ack.acked.get() as f64);
        self.min_rtt = self.min_rtt.min(rtt);
        match self.strategy {
            Strategy::Aimd { increase, cap, .. } => {
                if !ack.recovering {
                    self.grow(acked, increase, cap);
                }
            }
            Strategy::DelayTriggered { threshold, increase, decrease } => {
                if rtt > self.min_rtt + threshold {
                    self.back_off(ack.now, ack.sent_at, decrease);
                } else if !ack.recovering {
                    self.grow(acked, increase, f64::INFINITY);
                }
            }
            Strategy::RateBased { horizon, .. } => self.meter.add(ack.now, acked, horizon),
            Strategy::Window { .. } => {}
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        let factor = match self.strategy {
            Strategy::Aimd { decrease, .. } | Strategy::DelayTriggered { decrease, .. } => decrease,
            Strategy::RateBased { .. } | Strategy::Window { .. } => return self.decision(),
        };
        match congestion.kind {
            CongestionKind::Timeout => {
                self.cwnd = LEAST;
                (self.slow_start, self.responded_at) = (true, congestion.now);
            }
            CongestionKind::Lost | CongestionKind::Marked => {
                self.back_off(congestion.now, congestion.sent_at, factor);
            }
            _ => {}
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }
}

/// Packets acknowledged per second, over stretches of a set length.
#[derive(Clone, Copy, Debug, Default)]
struct RateMeter {
    began: Option<Instant>,
    acked: f64,
    /// The rate of the last stretch; none before its end.
    rate: Option<f64>,
}

impl RateMeter {
    fn add(&mut self, now: Instant, acked: f64, horizon: Span) {
        let began = *self.began.get_or_insert(now);
        self.acked += acked;
        let elapsed = now.saturating_since(began);
        if elapsed >= horizon {
            self.rate = Some(self.acked / elapsed.as_secs_f64());
            (self.began, self.acked) = (Some(now), 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn delay_above_the_threshold_is_responded_to_once_a_round_trip() {
        let strategy = Strategy::DelayTriggered {
            threshold: Span::from_millis(50),
            increase: 1.0,
            decrease: 0.5,
        };
        let mut entrant = Strategist::new(strategy);
        entrant.on_start(&Start::new(Instant::ZERO));
        assert_eq!(entrant.on_ack(&Ack::new(0, ms(0), ms(100))).cwnd.get(), 11);
        assert_eq!(entrant.on_ack(&Ack::new(1, ms(10), ms(170))).cwnd.get(), 5);
        assert_eq!(entrant.on_ack(&Ack::new(2, ms(20), ms(180))).cwnd.get(), 5);
        assert_eq!(entrant.on_ack(&Ack::new(3, ms(170), ms(330))).cwnd.get(), 2);
    }

    #[test]
    fn the_rate_is_that_of_acks() {
        let strategy = Strategy::RateBased {
            horizon: Span::from_millis(100),
            target: Span::from_millis(50),
            gain: 1.0,
        };
        let mut entrant = Strategist::new(strategy);
        entrant.on_start(&Start::new(Instant::ZERO));
        let mut decision = None;
        for i in 0..300 {
            decision = Some(entrant.on_ack(&Ack::new(i, ms(i), ms(50 + i))));
        }
        let decision = decision.unwrap();
        assert!((decision.intersend.as_secs_f64() - 0.001).abs() < 2e-5, "{decision:?}");
        assert!((98..=102).contains(&decision.cwnd.get()), "{decision:?}");
    }
}
