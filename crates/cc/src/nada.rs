//! [`Nada`]: network-assisted dynamic adaptation for real-time media (RFC 8698).

use crate::controller::{
    Ack, Congestion, CongestionKind, Controller, DEFAULT_MTU, Decision, Start,
};
use crate::delays::difference;
use crate::media::{Media, Received};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::windowed::WindowedMin;
use alloc::collections::VecDeque;
use exm_units::{Bytes, Instant, Span};

/// RFC 8698, figure 3: the scaling of the gradual update, its weight of changes, and its time constant.
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 0.5;
/// The interval of feedback, `DELTA`.
const DELTA: Span = Span::from_millis(100);
/// The window of observation, `LOGWIN`.
const LOG_WINDOW: Span = Span::from_millis(500);
/// `QEPS`: above this queueing delay a queue builds up.
const QUEUE_EPSILON: f64 = 0.010;
/// `DFILT`: the delay of the filter, and `GAMMA_MAX` and `QBOUND`, the bounds of the accelerated ramp-up.
const FILTER_DELAY: f64 = 0.120;
const GAMMA_MAX: f64 = 0.5;
const QUEUE_BOUND: f64 = 0.050;
/// `QTH` and `LAMBDA`: above this queueing delay it counts less, if packets were lost of late.
const QUEUE_THRESHOLD: f64 = 0.050;
const LAMBDA: f64 = 0.5;
/// `MULTILOSS`: of late are so many intervals between losses.
const MULTILOSS: f64 = 7.0;
/// `DLOSS` and `DMARK`: what losses and marks of 1 % count as, and `PLRREF` and `PMRREF`.
const LOSS_DELAY: f64 = 0.010;
const MARK_DELAY: f64 = 0.002;
const REFERENCE: f64 = 0.01;
/// `ALPHA`: the weight of the newest part of losses and marks in their average.
const ALPHA: f64 = 0.1;
/// Queueing delays are the least of so many packets (section 5.1.1).
const TAPS: usize = 15;

/// NADA: losses, marks and the queueing delay are one aggregate signal of congestion, in seconds, and the rate
/// follows it gradually; before anything queues it ramps up fast. Several flows share by their priorities. It needs to know
/// the range of the encoder's rates.
#[derive(Clone, Debug)]
pub struct Nada {
    tuning: Tuning,
    media: Media,
    /// In bits a second.
    rate: f64,
    /// The least one-way delay so far, by the receiver's clock, in ns.
    base: Option<i64>,
    /// The queueing delays of the newest packets.
    taps: VecDeque<f64>,
    /// The greatest queueing delay of the window, as the least of its negative.
    most_queued: WindowedMin,
    most: f64,
    window: Counts,
    loss: Losses,
    /// The average parts of packets lost and marked.
    lost_part: f64,
    marked_part: f64,
    /// The aggregate signal at the last update.
    signal: f64,
    updated: Instant,
    ramps_up: bool,
    received: Received,
}

parameters! {
    Nada {
        /// The least rate of the encoder, in kbps (RFC 8698, figure 3: 150).
        min: Number = [150.0, 1.0, 1000000.0],
        /// The greatest rate of the encoder, in kbps (figure 3: 1500).
        max: Number = [1500.0, 1.0, 10000000.0],
        /// The priority among flows, by which rates are weighted (figure 3: 1).
        priority: Number = [1.0, 0.01, 100.0],
        /// The reference of the congestion signal, at which the rate is the greatest for priority 1 (figure 3: 10 ms).
        reference: Duration = [Span::from_millis(10), Span::from_millis(1), Span::from_millis(1000)],
    }
    |tuning| match tuning.min <= tuning.max {
        true => Ok(()),
        false => Err("min is above max"),
    }
}

/// Packets since the last update.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrived: f64,
    lost: f64,
    marked: f64,
}

/// When packets were lost.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    last: Option<Instant>,
    /// The average time between losses, in seconds.
    interval: Option<f64>,
}

impl Losses {
    fn lose(&mut self, now: Instant) {
        if let Some(last) = self.last {
            let newest = now.saturating_since(last).as_secs_f64();
            let interval = self.interval.map_or(newest, |mean| mean + 0.1 * (newest - mean));
            self.interval = Some(interval);
        }
        self.last = Some(now);
    }

    /// Whether packets were lost of late: section 4.2.
    fn is_recent(&self, now: Instant) -> bool {
        let since = self.last.map(|last| now.saturating_since(last).as_secs_f64());
        since.is_some_and(|since| since < MULTILOSS * self.interval.unwrap_or(TAU))
    }
}

impl Nada {
    /// A sender before its first flow.
    pub fn new() -> Nada {
        let tuning = Tuning::default();
        Nada {
            media: Media::new(DEFAULT_MTU),
            rate: tuning.min * 1e3,
            base: None,
            taps: VecDeque::new(),
            most_queued: WindowedMin::default(),
            most: 0.0,
            window: Counts::default(),
            loss: Losses::default(),
            lost_part: 0.0,
            marked_part: 0.0,
            signal: 0.0,
            updated: Instant::ZERO,
            ramps_up: true,
            received: Received::default(),
            tuning,
        }
    }

    /// The queueing delay, in seconds, with that of a packet sent at `sent`.
    fn observe(&mut self, sent: Instant, arrived: Instant, now: Instant) {
        let delay = difference(arrived, sent);
        let base = self.base.map_or(delay, |base| base.min(delay));
        self.base = Some(base);
        if self.taps.len() == TAPS {
            self.taps.pop_front();
        }
        self.taps.push_back(delay.saturating_sub(base) as f64 * 1e-9);
        self.most = -self.most_queued.observe(-self.queued(), now, LOG_WINDOW);
    }

    fn queued(&self) -> f64 {
        self.taps.iter().fold(f64::INFINITY, |least, &queued| least.min(queued))
    }

    /// Section 4.2: the aggregate signal of congestion, in seconds.
    fn aggregate(&self, now: Instant) -> f64 {
        let queued = if self.taps.is_empty() { 0.0 } else { self.queued() };
        let warped = if queued > QUEUE_THRESHOLD && self.loss.is_recent(now) {
            let over = (queued - QUEUE_THRESHOLD) / QUEUE_THRESHOLD;
            QUEUE_THRESHOLD * libm::exp(-LAMBDA * over)
        } else {
            queued
        };
        let square = |part: f64| (part / REFERENCE) * (part / REFERENCE);
        warped + MARK_DELAY * square(self.marked_part) + LOSS_DELAY * square(self.lost_part)
    }

    /// Section 4.3: feedback has come.
    fn update(&mut self, now: Instant) {
        let seconds = now.saturating_since(self.updated).as_secs_f64();
        self.updated = now;
        let Counts { arrived, lost, marked } = core::mem::take(&mut self.window);
        let packets = (arrived + lost).max(1.0);
        self.lost_part += ALPHA * (lost / packets - self.lost_part);
        self.marked_part += ALPHA * (marked / packets - self.marked_part);
        let signal = self.aggregate(now);
        let lost_now = self.loss.last.is_some_and(|last| now.saturating_since(last) < LOG_WINDOW);
        self.ramps_up = !lost_now && self.most < QUEUE_EPSILON;
        let Tuning { min, max, priority, reference } = self.tuning;
        if self.ramps_up {
            let rtt = self.media.srtt().unwrap_or(0.0);
            let gamma = GAMMA_MAX.min(QUEUE_BOUND / (rtt + DELTA.as_secs_f64() + FILTER_DELAY));
            self.rate = self.rate.max((1.0 + gamma) * self.received.rate());
        } else {
            // Rates below the least would make the offset infinite.
            let aim = priority * reference.as_secs_f64() * max * 1e3 / self.rate;
            let (offset, change) = (signal - aim, signal - self.signal);
            let by_offset = KAPPA * (seconds / TAU) * (offset / TAU);
            let by_change = KAPPA * ETA * change / TAU;
            self.rate -= (by_offset + by_change) * self.rate;
        }
        self.signal = signal;
        self.rate = self.rate.clamp(min * 1e3, max * 1e3);
    }

    fn decision(&self) -> Decision {
        self.media.decision(self.rate)
    }
}

impl Default for Nada {
    fn default() -> Nada {
        Nada::new()
    }
}

impl Controller for Nada {
    fn on_start(&mut self, start: &Start) -> Decision {
        let media = Media::new(start.mtu);
        let rate = self.tuning.min * 1e3;
        *self = Nada { tuning: self.tuning, media, rate, updated: start.now, ..Nada::new() };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.stale {
            return self.decision();
        }
        self.media.observe(ack);
        let arrived = ack.received_at.unwrap_or(ack.now);
        self.received.add(arrived, ack.acked_bytes);
        self.observe(ack.sent_at, arrived, ack.now);
        self.window.arrived += ack.acked.get() as f64;
        self.window.marked += ack.marked.get() as f64;
        if ack.now.saturating_since(self.updated) >= DELTA {
            self.update(ack.now);
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost => {
                self.window.lost += congestion.packets.get() as f64;
                self.loss.lose(congestion.now);
            }
            CongestionKind::Timeout => {
                // RFC 8698, section 6.2: without feedback the rate falls to the least.
                self.rate = self.tuning.min * 1e3;
            }
            _ => {}
        }
        self.decision()
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.media.set_packet(mtu);
    }

    fn metrics(&self) -> Metrics {
        let state = if self.ramps_up { "accelerated ramp-up" } else { "gradual" };
        self.media.metrics(self.rate).state(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, at};

    #[test]
    fn rests_at_the_queueing_delay_that_its_rate_aims_at() {
        // 1.2 Mbps: x_ref R_max / R = 12.5 ms.
        let (rate, wait) =
            Pipe::new(100.0, Span::from_millis(50), 300).second_half(&mut Nada::new());
        assert!((98.0..101.0).contains(&rate), "{rate}");
        assert!((wait - 12.5).abs() < 4.0, "{wait}");
        // Two of its kind would share by it: at half the rate the aim is twice as high.
        let (_, wait) = Pipe::new(50.0, Span::from_millis(50), 300).second_half(&mut Nada::new());
        assert!((wait - 25.0).abs() < 5.0, "{wait}");
    }

    #[test]
    fn a_link_faster_than_its_encoder_is_used_as_far_as_that_goes() {
        let (rate, wait) =
            Pipe::new(1000.0, Span::from_millis(50), 300).second_half(&mut Nada::new());
        assert!((rate - 125.0).abs() < 1.0, "1.5 Mbps: {rate}");
        assert!(wait < 1.0, "{wait}");
    }

    #[test]
    fn losses_count_as_delay_by_their_square() {
        let mut cc = Nada::new();
        cc.on_start(&Start::new(at(0)));
        for part in [0.0, 0.01, 0.03] {
            cc.lost_part = part;
            assert!((cc.aggregate(at(0)) - 0.010 * (part * 100.0) * (part * 100.0)).abs() < 1e-12);
        }
    }
}
