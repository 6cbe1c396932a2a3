//! [`Queue`]: the queueing delay, how it varies, and its target.

use crate::delays::Delays;
use alloc::collections::VecDeque;
use exm_units::{Instant, Span};

/// `QDELAY_AVG_G`: the weight of a greater delay in the average; a smaller one replaces it.
const AVERAGE_GAIN: f64 = 1.0 / 4.0;
/// `QDELAY_DEV_AVG_G` and `QDELAY_DEV_NORM`, the latter in seconds.
const VARIATION_GAIN: f64 = 1.0 / 64.0;
const VARIATION_NORM: f64 = 0.025;
/// The delays by whose mean and variance the target is adjusted, and the time between them (RFC 8298 has no time; Ericsson's
/// program has 50 ms).
const SHORT_HISTORY: usize = 50;
const LONG_HISTORY: usize = 200;
const HISTORY_INTERVAL: Span = Span::from_millis(50);
/// The target rises if more than this part of round trips lost packets, or if the delays' variance, in squares of the
/// least target, is below this.
const LOSSY: f64 = 0.002;
const STEADY: f64 = 0.2;
/// The weight of the newest round trip in the part that lost packets, as in Ericsson's program.
const LOSS_GAIN: f64 = 0.01;

#[derive(Clone, Debug)]
pub(super) struct Queue {
    delays: Delays,
    /// The newest delay and its average, in seconds.
    delay: f64,
    average: f64,
    averaged: Option<Instant>,
    /// `qdelay_dev_norm`.
    variation: f64,
    /// `qdelay_target`, and the range that it adapts in.
    target: f64,
    targets: (f64, f64),
    /// Delays in least targets, the newest last.
    history: VecDeque<f64>,
    noted: Option<Instant>,
    /// Whether packets were lost in this round trip, when it began, and in which part of round trips they were.
    lost: bool,
    round: Option<Instant>,
    lossy: f64,
}

fn elapsed(since: Option<Instant>, now: Instant) -> f64 {
    since.map_or(f64::INFINITY, |since| now.saturating_since(since).as_secs_f64())
}

/// `qdelay_dev_norm_th`: from this on the window changes least, for packets that are this `ratio` of it.
fn threshold(ratio: f64) -> f64 {
    (0.1 * (1.0 - ratio / 0.1)).max(0.05)
}

impl Queue {
    pub(super) fn new(now: Instant, target: Span, max_target: Span) -> Queue {
        let targets = (target.as_secs_f64(), max_target.as_secs_f64());
        Queue {
            delays: Delays::new(now),
            delay: 0.0,
            average: 0.0,
            averaged: None,
            variation: 0.0,
            target: targets.0,
            targets,
            history: VecDeque::new(),
            noted: None,
            lost: false,
            round: None,
            lossy: 0.0,
        }
    }

    /// A `delay` in nanoseconds, on a path of this RTT and virtual RTT in seconds, with packets that are this ratio of the window.
    pub(super) fn observe(&mut self, delay: i64, now: Instant, path: (f64, f64, f64)) {
        let (srtt, virtual_rtt, ratio) = path;
        self.delays.observe(delay, now);
        self.delay = self.delays.queueing() * 1e-9;
        if elapsed(self.averaged, now) >= srtt.min(virtual_rtt) {
            self.averaged = Some(now);
            if self.delay < self.average {
                self.average = self.delay;
            } else {
                self.average += AVERAGE_GAIN * (self.delay - self.average);
            }
            let over = (self.delay - VARIATION_NORM / 4.0) / VARIATION_NORM;
            let over = over.clamp(0.0, 1.5 * threshold(ratio));
            self.variation += VARIATION_GAIN * (over - self.variation);
        }
        if elapsed(self.round, now) >= srtt {
            self.round = Some(now);
            let lost = f64::from(u8::from(core::mem::take(&mut self.lost)));
            self.lossy += LOSS_GAIN * (lost - self.lossy);
        }
        if elapsed(self.noted, now) >= HISTORY_INTERVAL.as_secs_f64() {
            self.noted = Some(now);
            self.adjust_target();
        }
    }

    /// Section "Competing Flows Compensation".
    fn adjust_target(&mut self) {
        let (least, most) = self.targets;
        if self.history.len() == LONG_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(self.delay / least);
        let count = self.history.len() as f64;
        let mean = self.history.iter().sum::<f64>() / count;
        let square = |delay: f64| (delay - mean) * (delay - mean);
        let variance = self.history.iter().map(|&delay| square(delay)).sum::<f64>() / count;
        let recent = self.history.len().min(SHORT_HISTORY);
        let recently = self.history.iter().rev().take(recent).sum::<f64>() / recent as f64;
        let fresh = (recently + libm::sqrt(variance)) * least;
        self.target = if self.lossy > LOSSY {
            1.5 * fresh
        } else if variance < STEADY {
            fresh
        } else if fresh < least {
            fresh.max(self.target * 0.5)
        } else {
            self.target * 0.9
        };
        self.target = self.target.clamp(least, most);
    }

    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    /// The newest delay, in seconds.
    pub(super) fn delay(&self) -> f64 {
        self.delay
    }

    /// In seconds.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// `l4s_alpha_v`: the fraction of packets that the delay counts as marked.
    pub(super) fn virtual_alpha(&self) -> f64 {
        let half = self.target / 2.0;
        ((self.average - half) / half).clamp(0.0, 1.0)
    }

    /// How far the variation is below its threshold, as a part of it, for packets that are this `ratio` of the window.
    pub(super) fn steadiness(&self, ratio: f64) -> f64 {
        let threshold = threshold(ratio);
        ((threshold - self.variation) / threshold).max(0.0)
    }
}
