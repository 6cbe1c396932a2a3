//! [`Vegas`]: a window that keeps a few packets of its own in the queue (Brakmo & Peterson).

use crate::controller::{Ack, Congestion, Controller, Decision, Start};
use crate::parameters::parameters;
use crate::reno;
use crate::window::{Response, Window, acked, follows_window};
use exm_units::Span;

/// With no more RTT samples than this in a round trip, they may all be of delayed ACKs: the window
/// then does what Reno's does, as in Linux.
const TOO_FEW: u32 = 2;
/// The least window, as in Linux.
const MIN_WINDOW: f64 = 2.0;

/// Vegas. Once a round trip it compares the window with the part of it that the minimum RTT
/// accounts for; the difference is what waits in the queue.
///
/// Slow start is Linux's: it doubles the window and checks the queue every round trip; the paper
/// doubles it every other round trip. The RTT of a round trip is the least smoothed RTT in it (RFC
/// 6298), as in ns-3: the first packet of a burst meets no queue, so its RTT says nothing about the
/// burst. It is compared with the least smoothed RTT of the flow, so that both are filtered alike.
/// Losses are handled as Reno handles them; the paper's early retransmissions are left to the host.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    tuning: Tuning,
    window: Window,
    /// The least smoothed round-trip time of the flow, in seconds.
    base_rtt: Option<f64>,
    /// Smoothed round-trip time, in seconds (RFC 6298, rules 2.2 and 2.3).
    srtt: Option<f64>,
    round: Round,
}

// The defaults of the first two are those of Linux and ns-3.
parameters! {
    Vegas {
        /// With fewer packets of its own in the queue, the window grows (Brakmo & Peterson 1994, section 4.2).
        alpha: Number = [2.0, 0.0, 10000.0],
        /// With more packets of its own in the queue, the window shrinks (section 4.2).
        beta: Number = [4.0, 0.0, 10000.0],
        /// With more packets of its own in the queue, slow start ends (section 4.3).
        gamma: Number = [1.0, 0.0, 10000.0],
    }
    |tuning| match tuning.alpha <= tuning.beta {
        true => Ok(()),
        false => Err("alpha is above beta, so that the window would grow and shrink at once"),
    }
}

/// Measurements of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The last packet in flight when the round trip began; its ACK ends the round trip.
    last: Option<u64>,
    /// The least smoothed round-trip time, in seconds.
    min_srtt: f64,
    samples: u32,
}

impl Default for Round {
    fn default() -> Round {
        Round { last: None, min_srtt: f64::INFINITY, samples: 0 }
    }
}

impl Round {
    /// Whether the round trip ends with `ack`; the first ACK always ends one.
    fn ends(&self, ack: &Ack) -> bool {
        self.last.is_none_or(|last| ack.sequence >= last)
    }

    /// The round trip that begins with `ack`.
    fn after(ack: &Ack) -> Round {
        let last = ack.sequence.saturating_add(ack.in_flight.get());
        Round { last: Some(last), ..Round::default() }
    }
}

impl Vegas {
    /// A sender before its first flow.
    pub fn new() -> Vegas {
        Vegas::default()
    }

    fn grow(&mut self, ack: &Ack, round_ends: bool) {
        let waiting = self.waiting().filter(|_| round_ends && self.round.samples > TOO_FEW);
        match waiting {
            Some(waiting) => self.steer(ack, waiting),
            None if self.window.in_slow_start() => {
                self.window.slow_start(acked(ack));
            }
            // Between decisions the window stays constant.
            None if round_ends => reno::grow(&mut self.window, acked(ack)),
            None => {}
        }
    }

    /// Records the RTT of an acknowledged packet.
    fn observe(&mut self, rtt: Span) {
        let rtt = rtt.as_secs_f64();
        let srtt = self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0);
        self.srtt = Some(srtt);
        self.base_rtt = Some(self.base_rtt.map_or(srtt, |base| base.min(srtt)));
        self.round.min_srtt = self.round.min_srtt.min(srtt);
        self.round.samples = self.round.samples.saturating_add(1);
    }

    /// Packets of its own in the queue: section 4.2's difference of expected and actual rate, times
    /// the least round-trip time.
    fn waiting(&self) -> Option<f64> {
        let (base, rtt) = (self.base_rtt?, self.round.min_srtt);
        (rtt > 0.0).then(|| self.window.cwnd * (1.0 - base / rtt))
    }

    /// The decision at the end of a round trip, with `waiting` packets in the queue.
    fn steer(&mut self, ack: &Ack, waiting: f64) {
        let tuning = self.tuning;
        let window = &mut self.window;
        if window.in_slow_start() {
            if waiting > tuning.gamma {
                // Down to what the path carries, plus one packet to probe.
                let target = libm::floor(window.cwnd - waiting) + 1.0;
                window.set(window.cwnd.min(target).max(MIN_WINDOW));
                window.ssthresh = window.ssthresh.min((window.cwnd - 1.0).max(MIN_WINDOW));
            } else {
                window.slow_start(acked(ack));
            }
        } else if waiting > tuning.beta {
            window.set((window.cwnd - 1.0).max(MIN_WINDOW));
            window.ssthresh = window.ssthresh.min((window.cwnd - 1.0).max(MIN_WINDOW));
        } else if waiting < tuning.alpha {
            window.set(window.cwnd + 1.0);
        }
    }
}

impl Controller for Vegas {
    fn on_start(&mut self, start: &Start) -> Decision {
        *self = Vegas { tuning: self.tuning, window: Window::new(start), ..Vegas::new() };
        self.window.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.window.decision();
        }
        self.observe(ack.rtt());
        let round_ends = self.round.ends(ack);
        if self.window.may_grow(ack) {
            self.grow(ack, round_ends);
        }
        if round_ends {
            self.round = Round::after(ack);
        } else if ack.recovering {
            self.round = Round { last: self.round.last, ..Round::default() };
        }
        self.window.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        if reno::on_congestion(&mut self.window, congestion) != Response::None {
            self.round = Round::default();
        }
        self.window.decision()
    }

    follows_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::CongestionKind;
    use crate::pipe::{Pipe, at};

    #[test]
    fn holds_two_to_four_packets_in_the_queue() {
        let pipe = Pipe::new(1000.0, Span::from_millis(100), 1000);
        let mut waits = Vec::new();
        let run = pipe.run(&mut Vegas::new(), Span::from_secs(60), |seen| {
            if seen.now > at(30_000) {
                waits.push(seen.queueing.as_millis_f64());
            }
        });
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((0.9..4.1).contains(&mean), "{mean} ms at a packet a millisecond");
        assert!(run.delivered > 57_000, "{}", run.delivered);
        assert_eq!(run.drops, 0);
    }

    /// One flow of 100 s over 15 Mbps and 150 ms with 1000 packets of buffer. An independent
    /// simulator gives 93.9 % of the link, 1.1 ms in the queue, and a window of at most 190.
    #[test]
    fn alone_on_a_long_path() {
        let pipe = Pipe::new(1250.0, Span::from_millis(150), 1000);
        let (mut most, mut waits) = (0, 0.0);
        let run = pipe.run(&mut Vegas::new(), Span::from_secs(100), |seen| {
            most = most.max(seen.decision.cwnd.get());
            waits += seen.queueing.as_millis_f64();
        });
        let used = run.delivered as f64 / 125_000.0;
        assert!((0.92..0.96).contains(&used), "{used}");
        assert!((187..=195).contains(&most), "{most}");
        let mean = waits / run.delivered as f64;
        assert!((0.8..2.2).contains(&mean), "{mean}");
    }

    #[test]
    fn does_what_reno_does_when_it_sees_too_little() {
        let mut cc = Vegas::new();
        cc.on_start(&Start::new(at(0)));
        cc.on_congestion(&Congestion::new(CongestionKind::Lost, at(0), at(100)));
        assert_eq!(cc.window.cwnd, 5.0);
        for round in 1..=10 {
            let mut ack = Ack::new(0, at(100 * round), at(100 * round + 100));
            ack.acked = exm_units::Packets::new(5);
            cc.on_ack(&ack);
        }
        assert!(cc.window.cwnd >= 9.0, "{}", cc.window.cwnd);
    }
}
