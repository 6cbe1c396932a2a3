//! [`VideoCall`]: a model of a video call.

use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Metrics, Start};
use exm_units::{Instant, Packets, Span};

/// The interval in which it judges the link.
const ROUND: Span = Span::from_secs(1);
/// The rates, packets of 1500 bytes a second: 0.5, 0.1 and 5 Mbps.
const INITIAL: f64 = 41.7;
const LEAST: f64 = 8.3;
const MOST: f64 = 416.7;
/// The queueing delay from which a second counts as congested.
const LATE: Span = Span::from_millis(300);
/// It lowers its rate after this many congested seconds in a row.
const PATIENCE: u32 = 2;
/// What happens to the rate after a congested second, and after another.
const DOWN: f64 = 0.7;
const UP: f64 = 1.1;

/// A model of the rate control of a video call of about 2012, in which it takes the place that Skype has in the thesis. It
/// is a model of ours and reproduces no program; its constants are round numbers that were fitted to nothing.
///
/// It paces its packets at a rate from 0.1 to 5 Mbps and ignores the ACK clock. Once a second it looks back: if the minimum
/// RTT of that second was 300 ms above the minimum of the call, or packets were lost, the second was congested. After two
/// congested seconds in a row it lowers its rate by 30 % a second; otherwise it raises it by 10 % a second. So it follows a
/// cellular link only with seconds of delay, and fills its queue when the link slows down.
#[derive(Clone, Debug)]
pub struct VideoCall {
    rate: f64,
    min_rtt: Span,
    round: Span,
    lost: bool,
    congested: u32,
    next: Instant,
}

impl VideoCall {
    /// A call that has not begun.
    pub fn new() -> VideoCall {
        VideoCall {
            rate: INITIAL,
            min_rtt: Span::MAX,
            round: Span::MAX,
            lost: false,
            congested: 0,
            next: Instant::ZERO,
        }
    }

    fn decision(&self) -> Decision {
        // The window is no limit: a call does not wait for ACKs.
        let cwnd = Packets::new(100_000);
        Decision { cwnd, intersend: Span::from_secs_f64(1.0 / self.rate), wake_at: Some(self.next) }
    }

    fn judge(&mut self, now: Instant) {
        // Without any ACK the link is in an outage: that is congestion.
        let late = self.round == Span::MAX || self.round.saturating_sub(self.min_rtt) > LATE;
        self.congested = if late || self.lost { self.congested + 1 } else { 0 };
        let factor = match self.congested {
            0 => UP,
            few if few < PATIENCE => 1.0,
            _ => DOWN,
        };
        self.rate = (self.rate * factor).clamp(LEAST, MOST);
        (self.round, self.lost, self.next) = (Span::MAX, false, now + ROUND);
    }
}

impl Default for VideoCall {
    fn default() -> VideoCall {
        VideoCall::new()
    }
}

impl Controller for VideoCall {
    fn on_start(&mut self, start: &Start) -> Decision {
        *self = VideoCall { next: start.now + ROUND, ..VideoCall::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.min_rtt = self.min_rtt.min(ack.rtt());
        self.round = self.round.min(ack.rtt());
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.lost |= matches!(congestion.kind, CongestionKind::Lost | CongestionKind::Timeout);
        self.decision()
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        if now >= self.next {
            self.judge(now);
        }
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(100_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_speeds_up_slowly_and_slows_down_late() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut call = VideoCall::new();
        call.on_start(&Start::new(at(0)));
        call.on_ack(&Ack::new(0, at(100), at(150)));
        call.on_tick(at(1000));
        assert_eq!(call.rate, INITIAL * UP);
        for (second, factor) in [(2, 1.0), (3, DOWN)] {
            let rate = call.rate;
            call.on_ack(&Ack::new(0, at(second * 1000 - 900), at(second * 1000 - 100)));
            call.on_tick(at(second * 1000));
            assert_eq!(call.rate, rate * factor, "second {second}");
        }
    }
}
