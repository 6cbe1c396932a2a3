//! [`LongTerm`]: the long-term bandwidth, with which Linux's BBR adapts to token-bucket policers.
//!
//! The draft does not have it; it has been part of Linux's BBR since the first release. A policer lets
//! bursts through and then drops what exceeds its rate, so the largest delivery rate of the last round
//! trips exceeds what it allows. If two consecutive intervals, each from loss to loss and at least four
//! round trips long, lose a fifth and deliver at the same rate, that rate is taken for the policer's and
//! kept for 48 round trips. Several flows that overflow a shallow buffer meet the same conditions: above
//! all in Startup, and most often those with the smallest share of the bandwidth.

use exm_units::Instant;

/// An interval lasts at least this many round trips (`lt_intvl_min_rtts`), and at most four times as
/// many.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// With fewer packets lost per packet delivered, no policer is suspected (`lt_loss_thresh`).
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// The rates of two intervals are equal if they differ by no more than this part of the first
/// (`lt_bw_ratio`), or by no more than this many bits a second (`lt_bw_diff`).
const EQUAL_RATIO: f64 = 1.0 / 8.0;
const EQUAL_BITS: f64 = 4000.0;
/// How many round trips in ProbeBW the rate is kept for (`lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// What an ACK reports about losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) now: Instant,
    /// Packets delivered and lost so far.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Whether packets are newly lost.
    pub(super) losses: bool,
    pub(super) is_app_limited: bool,
    pub(super) round_start: bool,
}

/// Detects a policer, and keeps to its rate for a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    phase: Phase,
    /// Round trips in this phase or interval.
    rounds: u32,
    /// When the interval began, and what was delivered and lost by then.
    began: Instant,
    delivered: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// Until a loss.
    #[default]
    Waiting,
    /// Measuring an interval, with the rate of the one before, if any.
    Sampling(Option<f64>),
    /// The rate is in use.
    Using(f64),
}

impl LongTerm {
    /// The rate `bw` is in use from now on.
    pub(super) fn using(bw: f64) -> LongTerm {
        LongTerm { phase: Phase::Using(bw), ..LongTerm::default() }
    }

    /// The rate to keep to, in packets a second, while there is one.
    pub(super) fn bw(&self) -> Option<f64> {
        match self.phase {
            Phase::Using(bw) => Some(bw),
            Phase::Waiting | Phase::Sampling(_) => None,
        }
    }

    /// Processes an ACK. Returns true if the rate was kept long enough and is now dropped.
    pub(super) fn update(&mut self, seen: &Seen, probing_bw: bool, packet_bits: f64) -> bool {
        match self.phase {
            Phase::Using(_) => return self.expires(probing_bw && seen.round_start),
            Phase::Waiting if !seen.losses => return false,
            Phase::Waiting => self.begin(seen, None),
            Phase::Sampling(_) => {}
        }
        // Rates limited by the application say nothing about the network.
        if seen.is_app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(seen.round_start);
        if self.rounds > MOST_ROUNDS {
            self.reset();
        } else if self.rounds >= LEAST_ROUNDS && seen.losses {
            self.consider(seen, packet_bits);
        }
        false
    }

    /// Nothing is known of a policer.
    pub(super) fn reset(&mut self) {
        *self = LongTerm::default();
    }

    fn expires(&mut self, round_start: bool) -> bool {
        self.rounds += u32::from(round_start);
        let expired = self.rounds >= KEPT_ROUNDS;
        if expired {
            self.reset();
        }
        expired
    }

    /// An interval begins, after one with the rate `before`.
    fn begin(&mut self, seen: &Seen, before: Option<f64>) {
        *self = LongTerm {
            phase: Phase::Sampling(before),
            rounds: 0,
            began: seen.now,
            delivered: seen.delivered,
            lost: seen.lost,
        };
    }

    /// A loss ends the interval if enough was lost in it.
    fn consider(&mut self, seen: &Seen, packet_bits: f64) {
        let delivered = seen.delivered.saturating_sub(self.delivered) as f64;
        let lost = seen.lost.saturating_sub(self.lost) as f64;
        let seconds = seen.now.saturating_since(self.began).as_secs_f64();
        if delivered == 0.0 || lost < LOSS_THRESHOLD * delivered || seconds < 1e-3 {
            return;
        }
        let bw = delivered / seconds;
        let Phase::Sampling(before) = self.phase else { return };
        let equal = |&before: &f64| {
            let difference = (bw - before).abs();
            difference <= EQUAL_RATIO * before || difference * packet_bits <= EQUAL_BITS
        };
        match before.filter(equal) {
            Some(before) => *self = LongTerm::using((bw + before) / 2.0),
            None => self.begin(seen, Some(bw)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;

    /// A flow that sends this many packets in each round trip of 100 ms and loses some of them.
    #[derive(Default)]
    struct Rounds {
        long_term: LongTerm,
        round: u64,
        delivered: u64,
        lost: u64,
    }

    impl Rounds {
        /// Simulates round trips that each deliver `delivered` packets and lose `lost`. Returns the
        /// number of them after which the rate in use first changed.
        fn until_change(&mut self, delivered: u64, lost: u64) -> Option<u32> {
            let before = self.long_term.bw();
            (1..=100).find(|_| {
                self.round += 1;
                (self.delivered, self.lost) = (self.delivered + delivered, self.lost + lost);
                let seen = Seen {
                    now: Instant::ZERO + Span::from_millis(100 * self.round),
                    delivered: self.delivered,
                    lost: self.lost,
                    losses: lost > 0,
                    is_app_limited: false,
                    round_start: true,
                };
                self.long_term.update(&seen, true, 12_000.0);
                self.long_term.bw() != before
            })
        }
    }

    #[test]
    fn two_equal_intervals_that_lose_a_fifth_make_a_policer() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.until_change(50, 0), None, "no interval begins without a loss");
        // An interval begins with the first round trip, and the second after four more.
        assert_eq!(rounds.until_change(50, 10), Some(8));
        assert_eq!(rounds.long_term.bw(), Some(500.0), "50 packets in 100 ms");
        assert_eq!(rounds.until_change(100, 0), Some(48));
        assert_eq!(rounds.long_term.bw(), None);
    }

    #[test]
    fn fewer_losses_or_unequal_rates_make_none() {
        assert_eq!(Rounds::default().until_change(50, 9), None, "less than 50 in 256");
        let mut rounds = Rounds::default();
        for delivered in [50, 60, 72, 87, 105] {
            // Each pair of intervals differs by more than an eighth.
            for _ in 0..4 {
                rounds.round += 1;
                (rounds.delivered, rounds.lost) = (rounds.delivered + delivered, rounds.lost + 30);
                let seen = Seen {
                    now: Instant::ZERO + Span::from_millis(100 * rounds.round),
                    delivered: rounds.delivered,
                    lost: rounds.lost,
                    losses: true,
                    is_app_limited: false,
                    round_start: true,
                };
                rounds.long_term.update(&seen, true, 12_000.0);
            }
            assert_eq!(rounds.long_term.bw(), None, "{delivered}");
        }
    }

    #[test]
    fn an_application_limited_sample_restarts_detection() {
        let mut rounds = Rounds::default();
        let mut seen = Seen {
            now: Instant::ZERO,
            delivered: 10,
            lost: 5,
            losses: true,
            is_app_limited: false,
            round_start: true,
        };
        rounds.long_term.update(&seen, true, 12_000.0);
        assert_eq!(rounds.long_term.phase, Phase::Sampling(None));
        seen.is_app_limited = true;
        rounds.long_term.update(&seen, true, 12_000.0);
        assert_eq!(rounds.long_term.phase, Phase::Waiting);
    }
}
