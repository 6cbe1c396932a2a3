//! [`Gcc`]: Google's congestion control for real-time media (draft-ietf-rmcat-gcc-02).

mod overuse;

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, Start,
};
use crate::media::{Media, Received};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use exm_units::{Bytes, Instant, Span};
use overuse::{Overuse, Signal};

/// Draft, section 5.5: the increase in a second far from the rate at which the path was full before...
const GROWTH: f64 = 1.08;
/// ... and the bounds of rate that it was near then, in standard deviations of it.
const NEAR: f64 = 3.0;
/// The weight of a rate in their average, and the variance relative to it that is assumed at first (libwebrtc).
const MAX_GAIN: f64 = 0.05;
const FIRST_DEVIATION: f64 = 0.4;
/// Section 5.5: near it, half a packet for each response time, which is the RTT and 100 ms.
const RESPONSE: f64 = 0.1;
/// The least increase near it, in bits a second (section 5.5: 1000 for each update).
const LEAST_INCREASE: f64 = 1000.0;
/// Section 5.5: what is left of the received rate at overuse...
const BETA: f64 = 0.85;
/// ... and how far the rate may exceed it.
const MOST: f64 = 1.5;
/// Section 6: the part of packets lost above which the rate falls, and below which it rises.
const HIGH_LOSS: f64 = 0.1;
const LOW_LOSS: f64 = 0.02;
const LOSS_GROWTH: f64 = 1.05;
/// Losses are judged once so many packets are known about (libwebrtc), and no more often than feedback comes.
const LOSS_PACKETS: u64 = 20;
/// The time between two packets with feedback, which the host's ACKs stand for (libwebrtc: 50 to 250 ms).
const FEEDBACK: Span = Span::from_millis(100);
/// Losses come in receiver reports, of which there is one a second (section 6 and RFC 3550).
const REPORT: Span = Span::from_secs(1);
/// The least rate, in bits a second (libwebrtc: 30 kbps)...
const MIN_RATE: f64 = 30e3;
/// ... and the greatest.
const MAX_RATE: f64 = 1e10;

/// Google Congestion Control as in libwebrtc: a regression over the delays of groups of packets tells whether a queue grows,
/// and the rate then falls to a part of what is received; otherwise it rises, by a part of itself or, near the rate at which
/// the path was full before, by half a packet a round trip. Many losses reduce it as well. It is for media: over links without
/// other traffic it keeps the queue short, and it does not retransmit.
#[derive(Clone, Debug)]
pub struct Gcc {
    tuning: Tuning,
    media: Media,
    overuse: Overuse,
    state: State,
    /// What the delays allow, in bits a second...
    by_delay: f64,
    /// ... and what the losses do.
    by_loss: f64,
    /// The mean rate at which the path was full, and its variance relative to it, in kbps.
    full: Option<(f64, f64)>,
    updated: Instant,
    /// Losses since the last report.
    report: Report,
    received: Received,
}

parameters! {
    Gcc {
        /// The rate of a new flow, in kbps (libwebrtc: 300).
        start: Number = [300.0, 30.0, 1000000.0],
    }
}

/// Draft, section 5.5: what the rate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Increase,
    Hold,
    Decrease,
}

#[derive(Clone, Copy, Debug)]
struct Report {
    began: Instant,
    arrived: u64,
    lost: u64,
}

impl Report {
    const fn new(began: Instant) -> Report {
        Report { began, arrived: 0, lost: 0 }
    }
}

impl Gcc {
    /// A sender before its first flow.
    pub fn new() -> Gcc {
        let tuning = Tuning::default();
        Gcc {
            media: Media::new(DEFAULT_MTU),
            overuse: Overuse::default(),
            state: State::Increase,
            by_delay: tuning.start * 1e3,
            by_loss: MAX_RATE,
            full: None,
            updated: Instant::ZERO,
            report: Report::new(Instant::ZERO),
            received: Received::default(),
            tuning,
        }
    }

    fn rate(&self) -> f64 {
        self.by_delay.min(self.by_loss).clamp(MIN_RATE, MAX_RATE)
    }

    /// Section 5.5: the state after `signal`.
    fn follow(&mut self, signal: Signal) {
        self.state = match (signal, self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Underuse, _) => State::Hold,
            (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, _) => State::Increase,
        };
    }

    /// Section 5.5: the rate by the delays, at `now`.
    fn update(&mut self, now: Instant) {
        let seconds = now.saturating_since(self.updated).as_secs_f64().min(1.0);
        self.updated = now;
        let received = self.received.rate();
        match self.state {
            State::Hold => {}
            State::Increase => {
                let near = self.is_near(received);
                let grown = match near {
                    true => self.by_delay + self.additive(seconds),
                    false => self.by_delay * libm::pow(GROWTH, seconds) + LEAST_INCREASE * seconds,
                };
                // A sender that has less to send learns nothing about more.
                self.by_delay = grown.min(self.by_delay.max(MOST * received));
            }
            State::Decrease => {
                self.remember(received);
                self.by_delay = self.by_delay.min(BETA * received);
                self.state = State::Hold;
            }
        }
        self.by_delay = self.by_delay.clamp(MIN_RATE, MAX_RATE);
    }

    /// Half a packet a response time, at 30 frames a second of packets of up to 1200 bytes: section 5.5.
    fn additive(&self, seconds: f64) -> f64 {
        let frame = self.by_delay / 30.0;
        let packet = frame / libm::ceil(frame / 9600.0).max(1.0);
        let response = RESPONSE + self.media.srtt().unwrap_or(RESPONSE);
        (0.5 * (seconds / response).min(1.0) * packet).max(LEAST_INCREASE * seconds)
    }

    /// Whether `received` is about the rate at which the path was full before.
    fn is_near(&mut self, received: f64) -> bool {
        let Some((mean, deviation)) = self.full else { return false };
        let bound = NEAR * libm::sqrt(deviation * mean);
        if received / 1e3 > mean + bound {
            self.full = None;
            return false;
        }
        true
    }

    /// The path is full at `received`.
    fn remember(&mut self, received: f64) {
        let kbps = received / 1e3;
        let (mean, deviation) = match self.full {
            Some((mean, deviation)) if kbps >= mean - NEAR * libm::sqrt(deviation * mean) => {
                (mean + MAX_GAIN * (kbps - mean), deviation)
            }
            _ => (kbps, FIRST_DEVIATION),
        };
        let error = mean - kbps;
        let deviation = deviation + MAX_GAIN * (error * error / mean.max(1.0) - deviation);
        self.full = Some((mean, deviation.clamp(FIRST_DEVIATION, 2.5)));
    }

    /// Section 6: the rate by the losses, once a report is complete.
    fn judge_losses(&mut self, now: Instant) {
        let Report { began, arrived, lost } = self.report;
        let packets = arrived + lost;
        if packets < LOSS_PACKETS || now.saturating_since(began) < REPORT {
            return;
        }
        self.report = Report::new(now);
        let part = lost as f64 / packets as f64;
        let rate = self.rate();
        if part > HIGH_LOSS {
            self.by_loss = rate * (1.0 - 0.5 * part);
        } else if part < LOW_LOSS {
            self.by_loss = (self.by_loss * LOSS_GROWTH).min(MAX_RATE);
        }
    }

    fn decision(&self) -> Decision {
        self.media.decision(self.rate())
    }
}

impl Default for Gcc {
    fn default() -> Gcc {
        Gcc::new()
    }
}

impl Controller for Gcc {
    fn on_start(&mut self, start: &Start) -> Decision {
        let by_delay = self.tuning.start * 1e3;
        let media = Media::new(start.mtu);
        let report = Report::new(start.now);
        *self =
            Gcc { tuning: self.tuning, media, by_delay, updated: start.now, report, ..Gcc::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        self.media.observe(ack);
        let arrived = ack.received_at.unwrap_or(ack.now);
        self.received.add(arrived, ack.acked_bytes);
        self.report.arrived += ack.acked.get();
        let now = ack.now;
        if let Some(signal) = self.overuse.packet(ack.sent_at, arrived) {
            self.follow(signal);
        }
        if self.state == State::Decrease || now.saturating_since(self.updated) >= FEEDBACK {
            self.update(now);
        }
        self.judge_losses(now);
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost => self.report.lost += congestion.packets.get(),
            CongestionKind::Timeout => {
                // No feedback (libwebrtc halves the rate as well).
                self.by_delay = (self.by_delay / 2.0).max(MIN_RATE);
                self.overuse = Overuse::default();
            }
            _ => {}
        }
        self.judge_losses(congestion.now);
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.media.set_packet(mtu);
    }

    fn metrics(&self) -> Metrics {
        let state = match self.state {
            State::Increase => "increase",
            State::Hold => "hold",
            State::Decrease => "decrease",
        };
        self.media.metrics(self.rate()).state(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    #[test]
    fn fills_a_link_with_a_short_queue() {
        // 1.2 Mbps.
        let (rate, wait) =
            Pipe::new(100.0, Span::from_millis(50), 300).second_half(&mut Gcc::new());
        assert!((75.0..101.0).contains(&rate), "{rate}");
        assert!(wait < 60.0, "{wait}");
    }

    #[test]
    fn follows_a_rate_that_falls() {
        let pipe = Pipe::new(200.0, Span::from_millis(50), 300).then(at(20_000), 50.0);
        let (rate, wait) = pipe.second_half(&mut Gcc::new());
        assert!((35.0..51.0).contains(&rate), "{rate}");
        assert!(wait < 150.0, "{wait}");
    }

    #[test]
    fn many_losses_reduce_the_rate_and_few_do_not() {
        let ends = |every: u64| {
            let mut cc = Gcc::new();
            cc.on_start(&Start::new(at(0)));
            let mut lost = 0;
            for number in 0..3000 {
                let sent = at(10 * number);
                if number % every == 0 {
                    lost += 1;
                    cc.on_congestion(&Congestion::new(CongestionKind::Lost, sent, sent));
                } else {
                    cc.on_ack(&Ack::new(number, sent, sent + Span::from_millis(40)));
                }
            }
            assert!(lost > 0);
            cc.rate()
        };
        // 1.2 Mbps arrive.
        let few = ends(100);
        assert!(few > 1.1e6, "{few}");
        let many = ends(4);
        assert!(many < 200e3, "{many}");
    }
}
