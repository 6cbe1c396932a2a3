//! [`Policer`]: a token bucket that drops what exceeds a rate.

use crate::backlog::{Backlog, holds_packets_in};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_units::{Bytes, Instant, Rate};

/// A policer, as operators put it in front of a customer's link to enforce the rate that is paid for (Flach et al., "An
/// Internet-wide analysis of traffic policing", SIGCOMM 2016): tokens come at its rate, a bucket holds so many of
/// them, and a packet that finds fewer than its bytes is dropped at once. What passes waits in a drop-tail queue for the link,
/// which is usually much faster: so a sender meets losses without any queueing delay before them.
#[derive(Clone, Debug)]
pub struct Policer {
    settings: PolicerSettings,
    /// In bits.
    tokens: f64,
    /// When they were counted last.
    at: Instant,
    backlog: Backlog,
}

/// The parameters of [`Policer`], by default those of a video stream's typical policer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicerSettings {
    /// The rate that passes: 5 Mbps. (The paper finds 0.5 to 12 Mbps for most.)
    pub rate: Rate,
    /// How much may pass at once after a pause: 100 kB.
    pub burst: Bytes,
}

parameters!(PolicerSettings { rate, burst });

impl Default for PolicerSettings {
    fn default() -> PolicerSettings {
        PolicerSettings { rate: Rate::from_mbps(5.0), burst: Bytes::new(100_000) }
    }
}

impl Policer {
    /// Whether `packet` finds its tokens at `now`; it takes them.
    fn passes(&mut self, now: Instant, packet: &Packet) -> bool {
        let full = self.settings.burst.get() as f64 * 8.0;
        let elapsed = now.saturating_since(self.at).as_secs_f64();
        self.at = now;
        self.tokens = (self.tokens + elapsed * self.settings.rate.as_bps() as f64).min(full);
        let needed = f64::from(packet.size) * 8.0;
        let passes = self.tokens >= needed;
        if passes {
            self.tokens -= needed;
        }
        passes
    }
}

impl Discipline for Policer {
    const NAME: &'static str = "policer";

    type Settings = PolicerSettings;

    fn check(settings: &PolicerSettings) -> Result<(), ImpossibleSetting> {
        let PolicerSettings { rate, burst } = *settings;
        if rate.as_bps() == 0 {
            let must = "it must be above 0, such as \"5 Mbps\"";
            return Err(ImpossibleSetting::new("rate", rate, must));
        }
        if burst < Bytes::new(1500) {
            let must = "it must hold a packet, so at least 1500 B, such as \"100 kB\"";
            return Err(ImpossibleSetting::new("burst", burst, must));
        }
        Ok(())
    }

    fn new(settings: &PolicerSettings, config: QueueConfig) -> Policer {
        Policer {
            settings: *settings,
            tokens: settings.burst.get() as f64 * 8.0,
            at: Instant::ZERO,
            backlog: Backlog::new(config.limit),
        }
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
        if self.backlog.is_full(packet.size) || !self.passes(now, &packet) {
            actions.drop(packet);
        } else {
            self.backlog.push(packet);
        }
    }

    fn dequeue(&mut self, _now: Instant, _actions: &mut QueueActions) -> Option<Packet> {
        self.backlog.pop()
    }

    holds_packets_in!(backlog);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use crate::tests::config;
    use exm_units::Span;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // A token for 1500 bytes each 2.4 ms.
        let mut policer = Policer::new(&PolicerSettings::default(), config(Limit::Unlimited));
        let mut actions = QueueActions::default();
        let mut passed = [0; 2];
        for ms in 0..2_000 {
            let now = Instant::ZERO + Span::from_millis(ms);
            policer.enqueue(now, Packet::new(0, ms, 1500, now), &mut actions);
            passed[usize::from(ms >= 1_000)] += usize::from(actions.take_dropped().count() == 0);
        }
        // The bucket's 66 packets lie in the first second.
        assert_eq!(passed[1], 416 + 1);
        assert!((passed[0] as i64 - (416 + 66)).abs() <= 1, "{passed:?}");
        assert_eq!(policer.packets(), passed[0] + passed[1]);
    }
}
