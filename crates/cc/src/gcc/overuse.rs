//! [`Overuse`]: whether a queue grows, by the delays of groups of packets.

use alloc::collections::VecDeque;
use exm_units::{Instant, Span};

/// Draft-ietf-rmcat-gcc-02, section 5.2: packets sent within this time of the first are a group.
const GROUP: Span = Span::from_millis(5);
/// Libwebrtc's trend line: the smoothing of the accumulated delay, the groups that it is fitted to, the greatest number of
/// groups that its slope is multiplied by, and a gain.
const SMOOTHING: f64 = 0.9;
const GROUPS: usize = 20;
const MOST_GROUPS: f64 = 60.0;
const GAIN: f64 = 4.0;
/// The threshold at first, and its bounds, in ms (libwebrtc).
const GAMMA: f64 = 12.5;
const GAMMA_RANGE: (f64, f64) = (6.0, 600.0);
/// Its gain where the trend is above it, and below (libwebrtc).
const GAIN_UP: f64 = 0.0087;
const GAIN_DOWN: f64 = 0.039;
/// Section 5.4: it does not follow what is off by more than this, in ms.
const FAR: f64 = 15.0;
/// Section 5.4: the time for which the trend must be above it, in ms.
const OVERUSE_TIME: f64 = 10.0;

/// What the delays say about the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// The queue grows.
    Overuse,
    /// The queue shrinks.
    Underuse,
    Normal,
}

/// A group of packets: the first and the last to be sent, and when the last arrived.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    arrived: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Overuse {
    group: Option<Group>,
    before: Option<Group>,
    /// The sum of the differences of delay, in ms, and smoothed.
    accumulated: f64,
    smoothed: f64,
    /// When groups arrived, in ms after the first, with the smoothed delay then.
    points: VecDeque<(f64, f64)>,
    began: Option<Instant>,
    groups: f64,
    gamma: f64,
    /// How long the trend has been above the threshold, in ms, and how often.
    above: Option<(f64, u32)>,
    trend: f64,
    signal: Signal,
}

impl Default for Overuse {
    fn default() -> Overuse {
        Overuse {
            group: None,
            before: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            began: None,
            groups: 0.0,
            gamma: GAMMA,
            above: None,
            trend: 0.0,
            signal: Signal::Normal,
        }
    }
}

/// `later - earlier` in ms.
fn millis(later: Instant, earlier: Instant) -> f64 {
    let signed = later.saturating_since(earlier).as_millis_f64();
    if signed > 0.0 { signed } else { -earlier.saturating_since(later).as_millis_f64() }
}

impl Overuse {
    /// A packet sent at `sent` has arrived. Returns what is known now if it completes a group.
    pub(super) fn packet(&mut self, sent: Instant, arrived: Instant) -> Option<Signal> {
        let Some(group) = &mut self.group else {
            self.group = Some(Group { first_sent: sent, last_sent: sent, arrived });
            return None;
        };
        // One that was overtaken tells nothing new.
        if sent < group.first_sent {
            return None;
        }
        if sent.saturating_since(group.first_sent) <= GROUP {
            group.last_sent = group.last_sent.max(sent);
            group.arrived = group.arrived.max(arrived);
            return None;
        }
        let complete = *group;
        *group = Group { first_sent: sent, last_sent: sent, arrived };
        let before = self.before.replace(complete)?;
        let sent_apart = millis(complete.last_sent, before.last_sent);
        let arrived_apart = millis(complete.arrived, before.arrived);
        self.delay(arrived_apart - sent_apart, complete.arrived);
        self.detect(sent_apart, arrived_apart.max(0.0));
        Some(self.signal)
    }

    /// The delay of a group that arrived at `now` differs by `change` ms from that of the one before.
    fn delay(&mut self, change: f64, now: Instant) {
        let began = *self.began.get_or_insert(now);
        self.groups = (self.groups + 1.0).min(MOST_GROUPS);
        self.accumulated += change;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.points.push_back((millis(now, began), self.smoothed));
        if self.points.len() > GROUPS {
            self.points.pop_front();
        }
    }

    /// The slope of the smoothed delay, in ms a ms; none before there are enough groups.
    fn slope(&self) -> Option<f64> {
        if self.points.len() < GROUPS {
            return None;
        }
        let count = self.points.len() as f64;
        let (x, y) =
            self.points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (x, y) = (x / count, y / count);
        let (mut xy, mut xx) = (0.0, 0.0);
        for point in &self.points {
            xy += (point.0 - x) * (point.1 - y);
            xx += (point.0 - x) * (point.0 - x);
        }
        (xx > 0.0).then(|| xy / xx)
    }

    /// Section 5.4.
    fn detect(&mut self, sent_apart: f64, arrived_apart: f64) {
        let trend = self.slope().unwrap_or(0.0) * self.groups * GAIN;
        self.signal = if trend > self.gamma {
            let (time, count) = match self.above {
                None => (sent_apart / 2.0, 1),
                Some((time, count)) => (time + sent_apart, count + 1),
            };
            self.above = Some((time, count));
            if time > OVERUSE_TIME && count > 1 && trend >= self.trend {
                self.above = Some((0.0, 0));
                Signal::Overuse
            } else {
                self.signal
            }
        } else {
            self.above = None;
            if trend < -self.gamma { Signal::Underuse } else { Signal::Normal }
        };
        self.trend = trend;
        self.adapt(trend.abs(), arrived_apart.min(100.0));
    }

    /// The threshold follows the trend, slower upwards.
    fn adapt(&mut self, trend: f64, elapsed: f64) {
        if trend > self.gamma + FAR {
            return;
        }
        let gain = if trend < self.gamma { GAIN_DOWN } else { GAIN_UP };
        self.gamma += gain * (trend - self.gamma) * elapsed;
        self.gamma = self.gamma.clamp(GAMMA_RANGE.0, GAMMA_RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::at;

    /// The signals of packets every 20 ms with these delays in ms.
    fn signals(delays: impl Iterator<Item = u64>) -> Vec<Signal> {
        let mut overuse = Overuse::default();
        let packet = |(number, delay): (u64, u64)| {
            let sent = at(20 * number);
            overuse.packet(sent, sent + Span::from_millis(delay))
        };
        (0..).zip(delays).filter_map(packet).collect()
    }

    #[test]
    fn a_growing_queue_is_overuse_and_a_shrinking_one_underuse() {
        let still = signals((0..200).map(|_| 50));
        assert!(still.iter().all(|&signal| signal == Signal::Normal));
        let grows = signals((0..100).map(|number| 50 + 2 * number));
        assert!(grows.contains(&Signal::Overuse) && !grows.contains(&Signal::Underuse));
        let shrinks = signals((0..100).map(|number| 300 - 2 * number));
        assert!(shrinks.contains(&Signal::Underuse) && !shrinks.contains(&Signal::Overuse));
    }

    #[test]
    fn jitter_is_no_overuse() {
        let jitter = signals((0..2000).map(|number| 50 + number * 7 % 11));
        let overuse = jitter.iter().filter(|&&signal| signal == Signal::Overuse).count();
        assert!(overuse <= jitter.len() / 100, "{overuse} of {}", jitter.len());
    }

    #[test]
    fn packets_sent_together_are_one_group() {
        let mut overuse = Overuse::default();
        for (sent, arrived) in [(0, 50), (3, 60), (5, 55)] {
            assert_eq!(overuse.packet(at(sent), at(arrived)), None);
        }
        assert_eq!(overuse.packet(at(20), at(70)), None, "the first group has none before it");
        assert_eq!(overuse.packet(at(2), at(75)), None, "it was overtaken");
        assert_eq!(overuse.packet(at(40), at(90)), Some(Signal::Normal));
        assert!((overuse.accumulated - (10.0 - 15.0)).abs() < 1e-9, "{}", overuse.accumulated);
    }
}
