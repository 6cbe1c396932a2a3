//! [`Red`]: random early detection.

use crate::backlog::{Backlog, holds_packets_in};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_random::Stream;
use exm_units::{Bytes, Instant, Packets, Probability, Rate};

/// Below this the average is set to zero: endless decay would lead to denormal numbers, which are
/// slow on many processors.
const NOTHING: f64 = 1e-12;

/// RED (Floyd & Jacobson, IEEE/ACM Transactions on Networking 1993): a packet that arrives is
/// dropped, or marked, with a probability that grows with the average length of the queue.
/// The average is taken in packets, at each arrival. While the queue is empty it decays as if the
/// link had sent small packets that found it empty. Chosen packets are spread evenly: the gap
/// between two of them is uniform (section 7 of the paper, method 2). Packets that do not fit are
/// dropped.
#[derive(Clone, Debug)]
pub struct Red {
    settings: RedSettings,
    /// The logarithm of the factor by which the average decays in a nanosecond of idle time.
    decay: f64,
    backlog: Backlog,
    average: f64,
    /// When the queue became empty; none while it is not empty.
    empty_since: Option<Instant>,
    /// How many packets have passed since one was chosen; none below the lower threshold.
    passed: Option<u64>,
    stream: Stream,
}

/// The parameters of [`Red`]: by default the paper's thresholds and weight (section 5), and the
/// probability and gentleness that Floyd recommended later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSettings {
    /// The average below which no packet is chosen: 5 packets.
    pub min: Packets,
    /// The average above which every packet is chosen or, if `gentle`, above which the probability
    /// rises further, to 1 at twice the average: 15 packets.
    pub max: Packets,
    /// The probability at the upper threshold, before spreading: 0.1 (Floyd, "RED: Discussions of
    /// Setting Parameters", 1997; the paper has 1/50).
    pub max_p: Probability,
    /// The weight of each arrival in the average: 0.002.
    pub weight: Probability,
    /// Whether the probability rises further above the upper threshold: true (Floyd,
    /// "Recommendation on using the gentle variant of RED", 2000).
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped: true (RFC 3168, section 5); also
    /// where every packet is chosen, as in the paper.
    pub ecn: bool,
    /// The packet size in which idle times are counted: 500 B, a small packet, as the paper
    /// recommends (section 4).
    pub idle_packet: Bytes,
}

parameters!(RedSettings { min, max, max_p, weight, gentle, ecn, idle_packet });

impl Default for RedSettings {
    fn default() -> RedSettings {
        let probability = |value| Probability::new(value).unwrap_or_default();
        RedSettings {
            min: Packets::new(5),
            max: Packets::new(15),
            max_p: probability(0.1),
            weight: probability(0.002),
            gentle: true,
            ecn: true,
            idle_packet: Bytes::new(500),
        }
    }
}

impl Red {
    /// Updates the average for an arrival at `now` (section 4, "for each packet arrival").
    #[inline]
    fn update_average(&mut self, now: Instant) {
        if let Some(since) = self.empty_since.take() {
            let idle = now.saturating_since(since).as_nanos() as f64;
            if idle > 0.0 && self.average > 0.0 {
                self.average *= libm::exp(idle * self.decay);
                if self.average < NOTHING {
                    self.average = 0.0;
                }
            }
        } else {
            let found = self.backlog.packets() as f64;
            self.average += self.settings.weight.get() * (found - self.average);
        }
    }

    /// The probability of choosing an arrival at this average, before spreading: `p_b`.
    #[inline]
    fn probability(&self) -> f64 {
        let RedSettings { min, max, max_p, gentle, .. } = self.settings;
        let (min, max, max_p) = (min.get() as f64, max.get() as f64, max_p.get());
        if self.average < min {
            0.0
        } else if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            1.0
        }
    }

    /// Whether the arriving packet is chosen: with probability `p_a = p_b / (1 - passed p_b)`.
    #[inline]
    fn chooses(&mut self) -> bool {
        if self.average < self.settings.min.get() as f64 {
            self.passed = None;
            return false;
        }
        let passed = self.passed.map_or(0, |passed| passed + 1);
        let probability = self.probability();
        let left = 1.0 - passed as f64 * probability;
        let chosen = probability >= left || self.stream.uniform() * left < probability;
        self.passed = Some(if chosen { 0 } else { passed });
        chosen
    }
}

/// The logarithm of the factor by which the average decays in a nanosecond of idle time.
fn decay(settings: &RedSettings, rate: Rate) -> f64 {
    let service = rate.service_time(settings.idle_packet);
    libm::log1p(-settings.weight.get()) / service.as_nanos() as f64
}

impl Discipline for Red {
    const NAME: &'static str = "red";

    type Settings = RedSettings;

    fn check(settings: &RedSettings) -> Result<(), ImpossibleSetting> {
        let RedSettings { min, max, max_p, weight, idle_packet, .. } = *settings;
        if max <= min {
            let must = format!("it must be above min = {min}, best three times as much");
            return Err(ImpossibleSetting::new("max", max, must));
        }
        if max_p == Probability::ZERO {
            let must = "then no packet is ever chosen; it must be above 0, such as \"0.1\"";
            return Err(ImpossibleSetting::new("max_p", max_p, must));
        }
        if weight == Probability::ZERO {
            let must = "then the average never moves; it must be above 0, such as \"0.002\"";
            return Err(ImpossibleSetting::new("weight", weight, must));
        }
        if idle_packet == Bytes::ZERO {
            let must = "it must be at least 1 B, such as \"500 B\"";
            return Err(ImpossibleSetting::new("idle_packet", idle_packet, must));
        }
        Ok(())
    }

    fn new(settings: &RedSettings, config: QueueConfig) -> Red {
        Red {
            settings: *settings,
            decay: decay(settings, config.rate),
            backlog: Backlog::new(config.limit),
            average: 0.0,
            empty_since: Some(Instant::ZERO),
            passed: None,
            stream: config.stream,
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: Packet, actions: &mut QueueActions) {
        self.update_average(now);
        let full = self.backlog.is_full(packet.size);
        // A packet dropped because the queue is full counts as chosen.
        if full {
            self.passed = self.passed.map(|_| 0);
        }
        if full || self.chooses() && !(self.settings.ecn && actions.mark(&mut packet)) {
            actions.drop(packet);
            if self.backlog.packets() == 0 {
                self.empty_since = Some(now);
            }
            return;
        }
        self.backlog.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        let packet = self.backlog.pop()?;
        if self.backlog.packets() == 0 {
            self.empty_since = Some(now);
        }
        Some(packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.decay = decay(&self.settings, rate);
    }

    holds_packets_in!(backlog);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Ecn, Limit};
    use exm_units::Span;

    fn red(settings: RedSettings) -> Red {
        // 500 bytes take 0.4 ms at the link's 10 Mbps.
        Red::new(&settings, config(Limit::Unlimited))
    }

    fn arrive(queue: &mut Red, millis: u64, ecn: Ecn) -> (usize, u64) {
        let now = Instant::ZERO + Span::from_millis(millis);
        let mut actions = QueueActions::default();
        let packet = Packet { ecn, ..Packet::new(0, 0, 1500, now) };
        queue.enqueue(now, packet, &mut actions);
        (actions.take_dropped().count(), actions.take_marked().len() as u64)
    }

    /// By hand: with a weight of 1/4, arrivals that find 0 (empty), 1, 2 and 3 give 0, 1/4, 11/16
    /// and 81/64; then the queue is empty for 2 ms, the time of 5 packets.
    #[test]
    fn the_average_is_as_computed_by_hand() {
        let weight = Probability::new(0.25).expect("a probability");
        let mut queue = red(RedSettings { weight, ..RedSettings::default() });
        for expected in [0.0, 0.25, 0.6875, 1.265_625] {
            assert_eq!(arrive(&mut queue, 10, Ecn::NotCapable), (0, 0));
            assert_eq!(queue.average, expected);
        }
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        (0..4).for_each(|_| assert!(queue.dequeue(at(20), &mut QueueActions::default()).is_some()));
        arrive(&mut queue, 22, Ecn::NotCapable);
        let expected = 1.265_625 * 0.75 * 0.75 * 0.75 * 0.75 * 0.75;
        assert!((queue.average - expected).abs() < 1e-12, "{}", queue.average);
    }

    #[test]
    fn the_probability_rises_between_the_thresholds_and_gently_beyond() {
        let mut queue = red(RedSettings::default());
        let mut at = |gentle, average| {
            queue.settings.gentle = gentle;
            queue.average = average;
            (queue.probability() * 1000.0).round() as u32
        };
        let table =
            [(4.9, 0, 0), (5.0, 0, 0), (10.0, 50, 50), (15.0, 100, 1000), (22.5, 550, 1000)];
        for (average, gentle, harsh) in table {
            assert_eq!((at(true, average), at(false, average)), (gentle, harsh), "at {average}");
        }
        assert_eq!(at(true, 30.0), 1000);
    }

    /// At a fixed average, the gap between two chosen packets is uniform.
    #[test]
    fn chosen_packets_are_spread_evenly() {
        let mut queue = red(RedSettings::default());
        queue.average = 10.0;
        let mut waits = [0u32; 21];
        let mut wait = 0;
        for _ in 0..210_000 {
            wait += 1;
            if queue.chooses() {
                waits[wait] += 1;
                wait = 0;
            }
        }
        let chosen: u32 = waits.iter().sum();
        // Every 1 .. 19 packets: the paper's algorithm counts the first after a chosen one as
        // passed.
        assert!((20_700..21_300).contains(&chosen), "{chosen}");
        assert!(waits[1..20].iter().all(|&count| count.abs_diff(chosen / 19) < 150), "{waits:?}");
    }

    #[test]
    fn ecn_capable_packets_are_not_dropped_however_long_the_queue() {
        for (ecn, setting) in [(Ecn::Capable, true), (Ecn::Capable, false), (Ecn::NotCapable, true)]
        {
            let mut queue = red(RedSettings { ecn: setting, ..RedSettings::default() });
            queue.average = 1000.0;
            queue.empty_since = None;
            let marked = ecn == Ecn::Capable && setting;
            assert_eq!(arrive(&mut queue, 0, ecn), (usize::from(!marked), u64::from(marked)));
        }
    }
}
