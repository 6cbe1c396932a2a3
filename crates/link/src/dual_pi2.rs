//! [`DualPi2`]: two coupled queues, for L4S.

use crate::backlog::Backlog;
use crate::parameters::parameters;
use crate::{Discipline, Ecn, ImpossibleSetting, Limit, Packet, QueueActions, QueueConfig};
use exm_random::Stream;
use exm_units::{Bytes, Instant, Probability, Span};

/// The least update interval, so that catching up after a time without packets is cheap.
const LEAST_TIME: Span = Span::from_millis(1);

/// DualPI2 (RFC 9332): packets with ECT(1), and those already marked, wait in a queue of their own (L), others in a
/// classic one (C). A proportional integral controller keeps the longer of both queueing delays at a target with a base
/// probability p': C drops or marks with its square, L marks with a multiple of it, so that flows of both kinds get about
/// the same rate. L also marks what waited longer than a step, and goes first, but for a share that C is left.
///
/// The parameters are Linux's. The RFC's own (appendix A): `dual-pi2 update=15ms,alpha=0.15,beta=3,step=800us,ramp=400us`.
/// As there, L marks at even distances, not at random. Packets are dropped as they leave, and the last one
/// that waits never is.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    settings: DualPi2Settings,
    limit: Limit,
    low: Backlog,
    classic: Backlog,
    turns: Turns,
    /// When the probability is to be computed next.
    update_at: Instant,
    /// The queueing delay at the last update, in seconds.
    last_delay: f64,
    /// p'.
    probability: f64,
    /// The sum of the probabilities of L's packets since the last mark.
    accumulated: f64,
    stream: Stream,
}

/// The parameters of [`DualPi2`], by default those of Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Settings {
    /// The target queueing delay: 15 ms.
    pub target: Span,
    /// The update interval: 16 ms.
    pub update: Span,
    /// The change of p' per update and second above the target: 0.16.
    pub alpha: f64,
    /// The change of p' per update and second of change in delay: 3.2.
    pub beta: f64,
    /// By how much L's probability exceeds p': 2 (RFC 9332, section 4.1).
    pub coupling: f64,
    /// L's packets that waited longer are marked: 1 ms.
    pub step: Span,
    /// Over which time beyond that their probability rises from 0 to 1: 0 s.
    pub ramp: Span,
    /// The share of the link that L leaves to C: 10 %.
    pub classic_share: Probability,
    /// Whether C marks ECN-capable packets instead of dropping them: true.
    pub ecn: bool,
    /// With no more than this in L, none are marked by the step: 1500 B (RFC 9332, appendix A.1).
    pub mtu: Bytes,
}

parameters!(DualPi2Settings {
    target,
    update,
    alpha,
    beta,
    coupling,
    step,
    ramp,
    classic_share,
    ecn,
    mtu
});

impl Default for DualPi2Settings {
    fn default() -> DualPi2Settings {
        DualPi2Settings {
            target: Span::from_millis(15),
            update: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_millis(1),
            ramp: Span::ZERO,
            classic_share: Probability::new(0.1).unwrap_or_default(),
            ecn: true,
            mtu: Bytes::new(1500),
        }
    }
}

/// Which queue is next: weighted round robin by bytes, which forgets its credit when a queue is empty.
#[derive(Clone, Copy, Debug)]
struct Turns {
    classic_share: f64,
    /// What C has saved, in bytes; negative while it owes.
    credit: f64,
}

impl Turns {
    /// Whether L is next, with the sizes of the heads of L and C.
    fn is_low_next(&mut self, low: Option<u32>, classic: Option<u32>) -> bool {
        let (Some(low), Some(classic)) = (low, classic) else {
            self.credit = 0.0;
            return low.is_some();
        };
        let is_low = self.credit <= 0.0;
        if is_low {
            self.credit += self.classic_share * f64::from(low);
        } else {
            self.credit -= (1.0 - self.classic_share) * f64::from(classic);
        }
        is_low
    }
}

/// Whether it belongs into L: RFC 9331, section 5.1.
fn is_low_latency(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::LowLatency | Ecn::Marked)
}

impl DualPi2 {
    /// Makes all updates of p' that are due by `now`.
    #[inline]
    fn update_to(&mut self, now: Instant) {
        while now >= self.update_at {
            let at = self.update_at;
            self.update_at = at.saturating_add(self.settings.update);
            let changed = self.update(at);
            if !changed && self.packets() == 0 {
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

    /// RFC 9332, figure 6; returns whether anything changed.
    #[cold]
    fn update(&mut self, at: Instant) -> bool {
        let DualPi2Settings { target, alpha, beta, .. } = self.settings;
        let sojourn = |queue: &Backlog| queue.front().map(|head| at.saturating_since(head.at));
        let longest = sojourn(&self.low).max(sojourn(&self.classic)).unwrap_or(Span::ZERO);
        let (delay, last) = (longest.as_secs_f64(), self.last_delay);
        let before = (self.probability, last);
        let step = alpha * (delay - target.as_secs_f64()) + beta * (delay - last);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.last_delay = delay;
        before != (self.probability, self.last_delay)
    }

    /// Whether L drops, too: its probability has reached 1 (RFC 9332, section 4.2).
    fn is_overloaded(&self) -> bool {
        self.settings.coupling * self.probability >= 1.0
    }

    /// RFC 9332, figure 5: the probability that L marks `packet`, which leaves at `now` with `left` bytes behind it.
    fn marking(&self, now: Instant, packet: &Packet, left: u64) -> f64 {
        let DualPi2Settings { step, ramp, mtu, coupling, .. } = self.settings;
        let beyond = now.saturating_since(packet.at).as_nanos() as f64 - step.as_nanos() as f64;
        let own = match beyond > 0.0 && left + u64::from(packet.size) > mtu.get() {
            false => 0.0,
            true if ramp.is_zero() => 1.0,
            true => (beyond / ramp.as_nanos() as f64).min(1.0),
        };
        own.max((coupling * self.probability).min(1.0))
    }

    /// Whether p' squared asks for a response, at random.
    fn is_chosen(&mut self) -> bool {
        let p = self.probability;
        p > 0.0 && self.stream.uniform() < p * p
    }

    /// A packet that leaves L at `now`; none if it is dropped.
    fn take_low(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        let mut packet = self.low.pop()?;
        if self.is_overloaded() && self.is_chosen() && self.packets() > 0 {
            actions.drop(packet);
            return None;
        }
        self.accumulated += self.marking(now, &packet, self.low.bytes());
        if self.accumulated >= 1.0 {
            self.accumulated -= 1.0;
            actions.mark(&mut packet);
        }
        Some(packet)
    }

    /// A packet that leaves C; none if it is dropped.
    fn take_classic(&mut self, actions: &mut QueueActions) -> Option<Packet> {
        let mut packet = self.classic.pop()?;
        if self.is_chosen() {
            let marked = self.settings.ecn && !self.is_overloaded() && actions.mark(&mut packet);
            if !marked && self.packets() > 0 {
                actions.drop(packet);
                return None;
            }
        }
        Some(packet)
    }
}

impl Discipline for DualPi2 {
    const NAME: &'static str = "dual-pi2";

    type Settings = DualPi2Settings;

    fn check(settings: &DualPi2Settings) -> Result<(), ImpossibleSetting> {
        let DualPi2Settings { update, alpha, beta, coupling, .. } = *settings;
        if update < LEAST_TIME {
            let must = format!("it must be at least {LEAST_TIME}, such as \"16 ms\"");
            return Err(ImpossibleSetting::new("update", update, must));
        }
        for (name, value, usual) in
            [("alpha", alpha, 0.16), ("beta", beta, 3.2), ("coupling", coupling, 2.0)]
        {
            ImpossibleSetting::unless_positive(name, value, usual)?;
        }
        Ok(())
    }

    fn new(settings: &DualPi2Settings, config: QueueConfig) -> DualPi2 {
        DualPi2 {
            settings: DualPi2Settings { update: settings.update.max(LEAST_TIME), ..*settings },
            limit: config.limit,
            low: Backlog::new(Limit::Unlimited),
            classic: Backlog::new(Limit::Unlimited),
            turns: Turns { classic_share: settings.classic_share.get(), credit: 0.0 },
            update_at: Instant::ZERO.saturating_add(settings.update),
            last_delay: 0.0,
            probability: 0.0,
            accumulated: 0.0,
            stream: config.stream,
        }
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.update_to(now);
        if self.limit.is_full(self.packets(), self.bytes(), packet.size) {
            actions.drop(packet);
        } else if is_low_latency(&packet) {
            self.low.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        self.update_to(now);
        while self.packets() > 0 {
            let [low, classic] =
                [&self.low, &self.classic].map(|queue| queue.front().map(|head| head.size));
            let packet = match self.turns.is_low_next(low, classic) {
                true => self.take_low(now, actions),
                false => self.take_classic(actions),
            };
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn packets(&self) -> usize {
        self.low.packets() + self.classic.packets()
    }

    fn bytes(&self) -> u64 {
        self.low.bytes() + self.classic.bytes()
    }

    fn visit_waiting(&self, visit: &mut dyn FnMut(&Packet)) {
        let (mut low, mut classic) = (self.low.iter().peekable(), self.classic.iter().peekable());
        let mut turns = self.turns;
        loop {
            let (l, c) = (low.peek().map(|head| head.size), classic.peek().map(|head| head.size));
            let next = if turns.is_low_next(l, c) { low.next() } else { classic.next() };
            match next {
                Some(packet) => visit(packet),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn packet(sequence: u64, ecn: Ecn, now: Instant) -> Packet {
        Packet { ecn, ..Packet::new(0, sequence, 1500, now) }
    }

    fn filled(settings: DualPi2Settings, each: u64) -> DualPi2 {
        let mut queue = DualPi2::new(&settings, config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        for n in 0..each {
            for ecn in [Ecn::LowLatency, Ecn::Capable] {
                queue.enqueue(at(0), packet(n, ecn, at(0)), &mut actions);
            }
        }
        queue
    }

    #[test]
    fn low_latency_goes_first_but_for_a_tenth() {
        let mut queue = filled(DualPi2Settings::default(), 100);
        let mut actions = QueueActions::default();
        let left = std::iter::from_fn(|| queue.dequeue(at(0), &mut actions)).take(100);
        let classic = left.filter(|packet| packet.ecn == Ecn::Capable).count();
        assert_eq!(classic, 10);
    }

    #[test]
    fn what_waited_longer_than_the_step_is_marked_unless_it_is_alone() {
        let mut queue = filled(DualPi2Settings::default(), 3);
        let mut actions = QueueActions::default();
        let first = queue.dequeue(at(1), &mut actions).expect("one waits");
        assert_eq!(first.ecn, Ecn::LowLatency, "just at the step");
        let later = at(1) + Span::from_nanos(1);
        let rest = std::iter::from_fn(|| queue.dequeue(later, &mut actions));
        let marked = rest.filter(|packet| packet.ecn == Ecn::Marked).map(|packet| packet.sequence);
        assert_eq!(marked.collect::<Vec<_>>(), [1], "the last is alone in its queue");
    }

    #[test]
    fn a_ramp_marks_a_part() {
        let settings = DualPi2Settings {
            step: Span::from_micros(800),
            ramp: Span::from_micros(400),
            ..Default::default()
        };
        let mut queue = filled(settings, 100);
        let mut actions = QueueActions::default();
        let half = at(1);
        let left: Vec<Packet> =
            std::iter::from_fn(|| queue.dequeue(half, &mut actions)).take(80).collect();
        let marked = left.iter().filter(|packet| packet.ecn == Ecn::Marked).count();
        let low = left.iter().filter(|packet| packet.ecn != Ecn::Capable).count();
        assert_eq!(marked, low / 2);
    }

    /// The coupling: C by the square of p', L by twice p'.
    #[test]
    fn both_queues_respond_to_one_probability() {
        let settings = DualPi2Settings { step: Span::from_secs(10), ..Default::default() };
        let mut queue = filled(settings, 20_000);
        queue.probability = 0.1;
        // No update changes it.
        queue.update_at = Instant::MAX;
        let mut actions = QueueActions::default();
        let left: Vec<Packet> = std::iter::from_fn(|| queue.dequeue(at(0), &mut actions)).collect();
        let marks: Vec<Packet> = actions.take_marked().collect();
        assert_eq!(left.len(), 40_000);
        let first = |packet: &&Packet| packet.waited.is_zero();
        assert_eq!(marks.iter().filter(first).count(), marks.len());
        let total = marks.len() as f64;
        assert!((total - (0.2 * 20_000.0 + 0.01 * 20_000.0)).abs() < 45.0, "{total}");
    }

    #[test]
    fn under_overload_both_queues_drop() {
        let mut queue = filled(DualPi2Settings::default(), 1000);
        (queue.probability, queue.update_at) = (0.6, Instant::MAX);
        let mut actions = QueueActions::default();
        while queue.dequeue(at(0), &mut actions).is_some() {}
        let dropped: Vec<Packet> = actions.take_dropped().collect();
        for ecn in [Ecn::LowLatency, Ecn::Capable] {
            let count = dropped.iter().filter(|packet| packet.ecn == ecn).count();
            assert!((300..420).contains(&count), "{count} of 1000 {ecn:?} at 36 %");
        }
    }

    #[test]
    fn the_probability_follows_the_longer_queue() {
        let mut queue = filled(DualPi2Settings::default(), 2);
        assert!(queue.update(at(31)));
        // 0.16 (31 - 15 ms) + 3.2 * 31 ms.
        assert!((queue.probability - (0.16 * 0.016 + 3.2 * 0.031)).abs() < 1e-9);
        assert!(queue.update(at(31)));
        assert!((queue.probability - (0.16 * 0.032 + 3.2 * 0.031)).abs() < 1e-9);
    }
}
