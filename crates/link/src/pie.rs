//! [`Pie`]: the proportional integral controller, enhanced.

use crate::backlog::{Backlog, holds_packets_in};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_random::Stream;
use exm_units::{Bytes, Instant, Probability, Span};

/// Below this probability, and with little queueing delay, nothing is dropped (RFC 8033, section
/// 4.1).
const SAFE: f64 = 0.2;

/// The factors by which the steps of the probability are scaled down while it is below the first
/// number (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 1.0 / 2048.0),
    (0.000_01, 1.0 / 512.0),
    (0.000_1, 1.0 / 128.0),
    (0.001, 1.0 / 32.0),
    (0.01, 1.0 / 8.0),
    (0.1, 1.0 / 2.0),
];

/// The factor by which the probability decays in each update while there is no delay (RFC 8033,
/// section 4.2).
const DECAY: f64 = 0.98;

/// Above this probability, its steps are capped (RFC 8033, section 5.5).
const CAPPED_FROM: f64 = 0.1;

/// The cap on the steps (RFC 8033, section 5.5).
const CAP: f64 = 0.02;

/// While the accumulated probability since the last drop is less, nothing is dropped (RFC 8033,
/// section 5.4).
const TOO_SOON: f64 = 0.85;

/// Once the accumulated probability reaches this, the next packet is dropped (RFC 8033, section
/// 5.4).
const TOO_LATE: f64 = 8.5;

/// The least update interval, so that catching up after an idle time is cheap.
const LEAST_TIME: Span = Span::from_micros(1);

/// PIE (RFC 8033): a packet that arrives is dropped, or marked, with a probability that a
/// proportional integral controller sets so that the queueing delay nears a target.
///
/// The queueing delay is that of the packet that left last, from its timestamp, which section 4.3
/// permits, not an estimate by Little's law from a departure rate (section 5.2): the timestamps are
/// available here and are right for any service schedule. It is zero when the queue is empty. Of
/// the enhancements of section 5, ECN (5.1), de-randomisation (5.4) and the cap on steps (5.5) are
/// implemented. PIE is never inactive (5.3): the queue at which it would be activated is a third of
/// the buffer, so in a deep buffer the target would have no effect.
#[derive(Clone, Debug)]
pub struct Pie {
    settings: PieSettings,
    backlog: Backlog,
    /// When the probability is to be computed next.
    update_at: Instant,
    /// The queueing delay of the packet that left last.
    sojourn: Span,
    /// The queueing delay at the last update.
    last_delay: Span,
    probability: f64,
    burst_left: Span,
    /// The sum of the probabilities of the packets since the last drop.
    accumulated: f64,
    stream: Stream,
}

/// The parameters of [`Pie`], by default those of RFC 8033.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieSettings {
    /// The target queueing delay: 15 ms (section 4.2, `QDELAY_REF`).
    pub target: Span,
    /// The update interval: 15 ms (section 4.2, `T_UPDATE`).
    pub update: Span,
    /// How long a burst may last before anything is dropped: 150 ms (section 4.4, `MAX_BURST`).
    pub burst: Span,
    /// The change of the probability per second above the target: 0.125 (appendix A).
    pub alpha: f64,
    /// The change of the probability per second of change in delay: 1.25 (appendix A).
    pub beta: f64,
    /// Whether ECN-capable packets are marked instead of dropped: true (section 5.1).
    pub ecn: bool,
    /// The probability above which they are dropped anyway: 0.1 (section 5.1, `mark_ecnth`).
    pub mark_below: Probability,
    /// With no more than two packets of this size waiting, nothing is dropped: 1500 B (section 4.1,
    /// `MEAN_PKTSIZE`).
    pub mean_packet: Bytes,
}

parameters!(PieSettings { target, update, burst, alpha, beta, ecn, mark_below, mean_packet });

impl Default for PieSettings {
    fn default() -> PieSettings {
        PieSettings {
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            burst: Span::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
            mark_below: Probability::new(0.1).unwrap_or_default(),
            mean_packet: Bytes::new(1500),
        }
    }
}

impl Pie {
    /// Makes all updates of the probability that are due by `now`.
    ///
    /// The inputs of an update do not change between two packets, so this equals a periodic timer.
    #[inline]
    fn update_to(&mut self, now: Instant) {
        while now >= self.update_at {
            self.update_at = self.update_at.saturating_add(self.settings.update);
            if !self.update() {
                // A fixed point: the remaining updates would change nothing.
                let behind = now.saturating_since(self.update_at).as_nanos();
                let skipped = behind / self.settings.update.as_nanos();
                self.update_at = self.update_at.saturating_add(self.settings.update * skipped);
                if self.update_at == Instant::MAX {
                    return;
                }
            }
        }
    }

    /// Updates the probability (section 4.2), and returns whether anything changed.
    #[cold]
    fn update(&mut self) -> bool {
        let PieSettings { target, update, burst, alpha, beta, .. } = self.settings;
        let delay = if self.backlog.packets() == 0 { Span::ZERO } else { self.sojourn };
        let before = (self.probability, self.last_delay, self.burst_left);
        let (now, then) = (delay.as_secs_f64(), self.last_delay.as_secs_f64());
        let step = alpha * (now - target.as_secs_f64()) + beta * (now - then);
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below);
        let mut step = step * scale.map_or(1.0, |(_, scale)| *scale);
        if self.probability >= CAPPED_FROM {
            step = step.min(CAP);
        }
        self.probability += step;
        if delay.is_zero() && self.last_delay.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        // Section 4.4: the burst allowance is renewed once the queue is short and the probability
        // zero.
        let calm = delay < target / 2 && self.last_delay < target / 2;
        self.burst_left = if self.probability == 0.0 && calm {
            burst
        } else {
            self.burst_left.saturating_sub(update)
        };
        self.last_delay = delay;
        before != (self.probability, self.last_delay, self.burst_left)
    }

    /// Whether to drop or mark the arriving packet (sections 4.1, 4.4 and 5.4).
    #[inline]
    fn chooses(&mut self) -> bool {
        let PieSettings { target, mean_packet, .. } = self.settings;
        if self.probability == 0.0 {
            self.accumulated = 0.0;
            return false;
        }
        let safe = self.last_delay < target / 2 && self.probability < SAFE
            || self.backlog.bytes() <= mean_packet.get().saturating_mul(2);
        if !self.burst_left.is_zero() || safe {
            return false;
        }
        self.accumulated += self.probability;
        if self.accumulated < TOO_SOON {
            return false;
        }
        let chosen = self.accumulated >= TOO_LATE || self.stream.uniform() < self.probability;
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }

    /// Marks `packet` if that may replace a drop (section 5.1).
    #[inline]
    fn marks(&self, packet: &mut Packet, actions: &mut QueueActions) -> bool {
        let PieSettings { ecn, mark_below, .. } = self.settings;
        let mild = self.probability < mark_below.get() || mark_below.get() == 1.0;
        ecn && mild && actions.mark(packet)
    }
}

impl Discipline for Pie {
    const NAME: &'static str = "pie";

    type Settings = PieSettings;

    fn check(settings: &PieSettings) -> Result<(), ImpossibleSetting> {
        let PieSettings { target, update, alpha, beta, .. } = *settings;
        for (name, span) in [("target", target), ("update", update)] {
            if span < LEAST_TIME {
                let must = format!("it must be at least {LEAST_TIME}, such as \"15 ms\"");
                return Err(ImpossibleSetting::new(name, span, must));
            }
        }
        for (name, gain, usual) in [("alpha", alpha, 0.125), ("beta", beta, 1.25)] {
            ImpossibleSetting::unless_positive(name, gain, usual)?;
        }
        Ok(())
    }

    fn new(settings: &PieSettings, config: QueueConfig) -> Pie {
        Pie {
            settings: PieSettings { update: settings.update.max(LEAST_TIME), ..*settings },
            backlog: Backlog::new(config.limit),
            update_at: Instant::ZERO.saturating_add(settings.update),
            sojourn: Span::ZERO,
            last_delay: Span::ZERO,
            probability: 0.0,
            burst_left: settings.burst,
            accumulated: 0.0,
            stream: config.stream,
        }
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: Packet, actions: &mut QueueActions) {
        self.update_to(now);
        let full = self.backlog.is_full(packet.size);
        if full || self.chooses() && !self.marks(&mut packet, actions) {
            actions.drop(packet);
        } else {
            self.backlog.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        self.update_to(now);
        let packet = self.backlog.pop()?;
        self.sojourn = now.saturating_since(packet.at);
        Some(packet)
    }

    holds_packets_in!(backlog);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Ecn, Limit};

    fn pie(settings: PieSettings) -> Pie {
        Pie::new(&settings, config(Limit::Unlimited))
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn fill(queue: &mut Pie) {
        for sequence in 0..10 {
            queue.backlog.push(Packet::new(0, sequence, 1500, Instant::ZERO));
        }
    }

    /// By hand: from a delay of 0 to one of 35 ms, then 35 ms again, then none.
    #[test]
    fn the_probability_is_as_computed_by_hand() {
        let mut queue = pie(PieSettings::default());
        queue.probability = 0.05;
        fill(&mut queue);
        queue.sojourn = Span::from_millis(35);
        queue.update_to(at(15));
        // 0.125 * 0.020 + 1.25 * 0.035, halved below 0.1.
        let expected = 0.05 + (0.0025 + 0.04375) / 2.0;
        assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
        queue.update_to(at(30));
        let expected = expected + 0.0025 / 2.0;
        assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
        queue.backlog = Backlog::new(Limit::Unlimited);
        queue.update_to(at(45));
        let expected = expected - (0.001875 + 0.04375) / 2.0;
        assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
        queue.update_to(at(60));
        let expected = (expected - 0.001875 / 2.0) * 0.98;
        assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
    }

    #[test]
    fn a_burst_passes_and_steps_are_capped() {
        let mut queue = pie(PieSettings::default());
        fill(&mut queue);
        queue.sojourn = Span::from_secs(1);
        let left = [135, 120, 105, 90, 75, 60, 45, 30, 15, 0, 0].map(Span::from_millis);
        for (millis, left) in (15..).step_by(15).zip(left) {
            queue.update_to(at(millis));
            assert_eq!(queue.burst_left, left);
        }
        queue.probability = 0.3;
        queue.update_to(at(15 * 12));
        assert!((queue.probability - 0.32).abs() < 1e-12, "{}", queue.probability);
    }

    /// After a long idle time, the missed updates cost nothing and give the same result.
    #[test]
    fn years_of_idle_time_cost_nothing() {
        let mut slow = pie(PieSettings::default());
        slow.probability = 0.5;
        let mut fast = slow.clone();
        (1..200_000).for_each(|millis| slow.update_to(at(millis)));
        fast.update_to(at(199_999));
        assert_eq!((slow.probability, slow.burst_left), (0.0, Span::from_millis(150)));
        assert_eq!((fast.probability, fast.burst_left), (0.0, Span::from_millis(150)));
        assert_eq!(slow.update_at, fast.update_at);
        fast.update_to(Instant::MAX);
        assert_eq!(fast.probability, 0.0);
    }

    #[test]
    fn drops_are_neither_too_close_nor_too_far_apart() {
        let mut queue = pie(PieSettings::default());
        fill(&mut queue);
        queue.burst_left = Span::ZERO;
        queue.last_delay = Span::from_millis(20);
        queue.probability = 0.1;
        let (mut wait, mut waits) = (0, Vec::new());
        for _ in 0..100_000 {
            wait += 1;
            if queue.chooses() {
                waits.push(wait);
                wait = 0;
            }
        }
        let (least, most) = (waits.iter().min(), waits.iter().max());
        assert!(least >= Some(&9) && most <= Some(&86), "{least:?} {most:?}");
    }

    #[test]
    fn marks_turn_into_drops_from_a_tenth_on() {
        let mut queue = pie(PieSettings::default());
        let mut capable = Packet { ecn: Ecn::Capable, ..Packet::new(0, 0, 1500, Instant::ZERO) };
        for (probability, marks) in [(0.099, true), (0.1, false)] {
            queue.probability = probability;
            assert_eq!(queue.marks(&mut capable, &mut QueueActions::default()), marks);
        }
    }

    /// Twenty senders with TCP's throughput, 1.22 packets per RTT over the square root of the loss,
    /// on 10 Mbps: the queueing delay settles at the target.
    #[test]
    fn the_delay_settles_at_the_target() {
        let mut queue = pie(PieSettings::default());
        let mut actions = QueueActions::default();
        let (mut due, mut free) = (0.0, Instant::ZERO);
        let (mut delays, mut left) = (Span::ZERO, 0);
        let service = Span::from_micros(1200);
        for micros in (0..60_000_000).step_by(100) {
            let now = Instant::ZERO + Span::from_micros(micros);
            let round_trip = 0.1 + queue.sojourn.as_secs_f64();
            // Packets in flight are limited by the receive windows.
            let rate = (24.4 / queue.probability.max(1e-4).sqrt()).min(200.0) / round_trip;
            due += rate * 1e-4;
            while due >= 1.0 {
                due -= 1.0;
                queue.enqueue(now, Packet::new(0, 0, 1500, now), &mut actions);
            }
            while free <= now {
                let packet = queue.dequeue(now, &mut actions);
                free = if packet.is_some() { free.max(now) + service } else { now + service };
                if packet.is_some() && micros > 20_000_000 {
                    delays += queue.sojourn;
                    left += 1;
                }
            }
        }
        let (mean, utilisation) = ((delays / left).as_millis_f64(), left as f64 / 33_333.0);
        assert!((mean - 15.0).abs() < 2.0, "{mean} ms");
        assert!(utilisation > 0.98, "{utilisation}");
        assert!(actions.take_dropped().count() > 1000);
    }
}
