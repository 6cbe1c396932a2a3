//! [`Crowding`]: whether other senders fill the queue.

use exm_units::{Instant, Span};

/// Other senders may be why packets wait if all of them wait for at least this, for as long as [`LASTING`].
const STANDING: Span = Span::from_millis(150);
const LASTING: Span = Span::from_secs(1);
/// How many packets are in flight when the first trial begins.
const FIRST: u64 = 2;
/// Twice as many packets in flight are kept if the RTT grows by no more than this factor: then no more than about a
/// tenth of the queue is ours. Senders alone on a slow link would double it, and a few that share a link crowd each
/// other no further.
const GROWTH: f64 = 1.1;
/// In a full queue the RTT does not grow, but packets are lost: at most this many are kept in flight, or twice as many as
/// the forecast delivers in an RTT.
const MOST: u64 = 8;
/// And never more than this, whatever a peer says.
const MOST_EVER: u64 = 10_000;
/// After a failed trial the next one waits for this.
const PAUSE: Span = Span::from_secs(10);

/// Keeps a few packets in flight where other senders fill the queue: the forecast is then of our share of the link, and
/// a sender that follows it sends ever less.
///
/// Whether others fill it is tried: alone on a link, twice as many packets in flight take twice as long; among many,
/// they arrive twice as fast. The paper has no such means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowding {
    /// Since when every packet has waited for [`STANDING`].
    since: Option<Instant>,
    /// How many packets may be in flight whatever the forecast; zero if none are known to be others'.
    level: u64,
    trial: Option<Trial>,
    /// How many at most.
    most: u64,
    /// When the next trial may begin.
    next: Instant,
}

/// Twice as many packets in flight, for two round trips.
#[derive(Clone, Copy, Debug)]
struct Trial {
    began: Instant,
    /// The RTT before it.
    before: Span,
    /// The RTTs of its second half: their sum, and how many.
    sum: Span,
    count: u64,
}

impl Crowding {
    /// How many packets may be in flight whatever the forecast.
    pub(crate) fn packets(&self) -> u64 {
        let level = if self.trial.is_some() { self.doubled() } else { self.level };
        level.min(self.most)
    }

    /// What a trial tries.
    fn doubled(&self) -> u64 {
        (2 * self.level.max(FIRST)).min(self.most)
    }

    /// Whether other senders are known to fill the queue.
    pub(crate) fn is_crowded(&self) -> bool {
        self.level > FIRST
    }

    /// A packet has arrived `rtt` after it was sent, of which it waited for `waited`, while `in_flight` packets are. The
    /// forecast delivers `forecast` in an RTT.
    pub(crate) fn see(
        &mut self,
        now: Instant,
        (rtt, waited): (Span, Span),
        in_flight: u64,
        forecast: u64,
    ) {
        self.most = MOST.max(forecast.saturating_mul(2)).min(MOST_EVER);
        if waited < STANDING {
            *self = Crowding { next: self.next, ..Crowding::default() };
            return;
        }
        // More than that is in flight because the forecast allows it.
        if in_flight > self.packets().max(FIRST) {
            (self.since, self.trial) = (None, None);
            return;
        }
        let since = *self.since.get_or_insert(now);
        if now - since < LASTING {
            return;
        }
        match &mut self.trial {
            None if now >= self.next => {
                self.trial = Some(Trial { began: now, before: rtt, sum: Span::ZERO, count: 0 });
            }
            None => {}
            Some(trial) if now - trial.began < trial.before * 3 / 2 => {}
            Some(trial) => {
                trial.sum += rtt;
                trial.count += 1;
                if now - trial.began >= trial.before * 5 / 2 {
                    self.judge(now);
                }
            }
        }
    }

    /// Ends the trial.
    fn judge(&mut self, now: Instant) {
        let Some(trial) = self.trial.take() else { return };
        let after = trial.sum / trial.count.max(1);
        if after.as_secs_f64() <= GROWTH * trial.before.as_secs_f64() {
            self.level = self.doubled();
            self.next = now;
        } else {
            // What was too much may have been too much before.
            self.level = if self.level > FIRST { self.level * 3 / 4 } else { 0 };
            self.next = now + PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets in flight after a minute, on a link that delivers `rate` packets a second, of which others keep
    /// `others` in the queue.
    fn after_a_minute(rate: f64, others: f64) -> (u64, bool) {
        let mut crowding = Crowding::default();
        for tick in 0..3000 {
            let now = Instant::ZERO + Span::from_millis(20) * tick;
            let ours = crowding.packets().max(FIRST) as f64;
            let waited = Span::from_secs_f64((ours + others) / rate);
            let rtt = waited + Span::from_millis(40);
            crowding.see(now, (rtt, waited), ours as u64, ours as u64);
        }
        (crowding.packets(), crowding.is_crowded())
    }

    #[test]
    fn a_tenth_of_a_crowded_queue_is_kept() {
        let (packets, crowded) = after_a_minute(800.0, 400.0);
        assert!((16..=128).contains(&packets) && crowded, "{packets}");
    }

    #[test]
    fn a_sender_alone_is_not_crowded() {
        for rate in [0.5, 2.0, 8.0, 13.0] {
            let (packets, crowded) = after_a_minute(rate, 0.0);
            assert!(packets <= 2 * FIRST && !crowded, "{rate}: {packets}");
        }
        assert_eq!(after_a_minute(100.0, 0.0), (0, false));
    }

    #[test]
    fn packets_that_do_not_wait_end_it() {
        let mut crowding = Crowding::default();
        let (second, rtt) = (Span::from_secs(1), Span::from_millis(540));
        for tick in 0..1000 {
            crowding.see(Instant::ZERO + Span::from_millis(20) * tick, (rtt, rtt), 1, 1);
        }
        assert!(crowding.is_crowded());
        let short = (Span::from_millis(50), Span::from_millis(10));
        crowding.see(Instant::ZERO + second * 21, short, 1, 1);
        assert_eq!((crowding.packets(), crowding.is_crowded()), (0, false));
    }
}
