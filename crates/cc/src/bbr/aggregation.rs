//! [`Aggregation`]: ACKs that arrive in bursts.

use exm_units::Instant;

/// How many packets beyond what the bandwidth accounts for are acknowledged in a burst; the window
/// must leave room for them (section 5.5.9 of draft-ietf-ccwg-bbr-06). Links that deliver in bursts,
/// such as cellular and Wi-Fi links, cause this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregation {
    extra: ExtraAcked,
    /// `BBR.extra_acked_interval_start`.
    began: Instant,
    /// `BBR.extra_acked_delivered`.
    delivered: f64,
}

impl Aggregation {
    pub(crate) fn new(now: Instant) -> Aggregation {
        Aggregation { extra: ExtraAcked::default(), began: now, delivered: 0.0 }
    }

    /// `BBR.extra_acked`.
    pub(crate) fn extra_acked(&self) -> f64 {
        self.extra.get()
    }

    /// Section 5.4.1: the flow was idle until it sent at `now`.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.began = now;
    }

    /// `acked` packets are acknowledged at `now`; at most `cwnd` of them count. Until the bandwidth is
    /// found (`full_bw_reached`), samples are forgotten within a round trip.
    pub(crate) fn update(&mut self, now: Instant, acked: f64, path: &Path) {
        let interval = now.saturating_since(self.began);
        let mut expected = path.bw * interval.as_secs_f64();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.began = now;
            expected = 0.0;
        }
        self.delivered += acked;
        let extra = (self.delivered - expected).min(path.cwnd);
        self.extra.update(extra, path.round_count, path.full_bw_reached);
    }
}

/// What a flow knows of its path when an ACK arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) bw: f64,
    pub(crate) cwnd: f64,
    pub(crate) round_count: u64,
    pub(crate) full_bw_reached: bool,
}

/// Section 2.12: `ExtraAckedFilterLen` is ten round trips, kept as two halves of five, so the maximum
/// covers the last five to ten; in Startup it covers the last one only.
#[derive(Clone, Copy, Debug, Default)]
struct ExtraAcked {
    current: f64,
    last: f64,
    /// The round in which the current half began.
    began: u64,
}

impl ExtraAcked {
    const HALF: u64 = 5;

    fn get(self) -> f64 {
        self.current.max(self.last)
    }

    fn update(&mut self, extra: f64, round: u64, full_bw_reached: bool) {
        let half = if full_bw_reached { ExtraAcked::HALF } else { 1 };
        if round.saturating_sub(self.began) >= half {
            self.last = if full_bw_reached { self.current } else { 0.0 };
            (self.current, self.began) = (0.0, round);
        }
        self.current = self.current.max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;

    #[test]
    fn aggregation_is_remembered_for_five_to_ten_rounds() {
        let mut extra = ExtraAcked::default();
        extra.update(9.0, 1, false);
        extra.update(1.0, 2, false);
        assert_eq!(extra.get(), 1.0, "one round in Startup");
        extra.update(7.0, 3, true);
        for round in 4..12 {
            extra.update(2.0, round, true);
            assert_eq!(extra.get(), 7.0, "{round}");
        }
        extra.update(2.0, 12, true);
        assert_eq!(extra.get(), 2.0);
    }

    #[test]
    fn only_acks_ahead_of_the_bandwidth_are_extra() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let path =
            |round_count| Path { bw: 1000.0, cwnd: 30.0, round_count, full_bw_reached: true };
        let mut even = Aggregation::new(at(0));
        (1..100).for_each(|ms| even.update(at(ms), 1.0, &path(0)));
        assert!(even.extra_acked() <= 1.0, "{}", even.extra_acked());
        let mut bursts = Aggregation::new(at(0));
        (1..10).for_each(|burst| bursts.update(at(20 * burst), 20.0, &path(0)));
        assert_eq!(bursts.extra_acked(), 20.0);
        bursts.update(at(200), 50.0, &path(1));
        assert_eq!(bursts.extra_acked(), 30.0, "no more than the window");
    }
}
