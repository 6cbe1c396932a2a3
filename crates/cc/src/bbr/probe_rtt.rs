//! ProbeRTT: drains the queue from time to time, to see the round-trip time without it (section
//! 5.3.4).

use super::cycle::AckPhase;
use super::model::{Model, Sample};
use super::state::State;
use super::{Bbr, MIN_PIPE_CWND};
use crate::controller::Ack;
use exm_units::{Instant, Span};

/// Section 2.16.1: `MinRTTFilterLen`.
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);

/// When to probe, and how far a probe is.
#[derive(Clone, Debug)]
pub(super) struct ProbeRtt {
    min_delay: Span,
    min_stamp: Instant,
    expired: bool,
    done_stamp: Option<Instant>,
    round_done: bool,
    /// Samples of packets sent while this many were delivered reflect the probe's limit, not what
    /// the network could (section 4.1.2.4, which has the host mark them).
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    pub(super) fn new(now: Instant, rtt: Option<Span>) -> ProbeRtt {
        ProbeRtt {
            min_delay: rtt.unwrap_or(Span::MAX),
            min_stamp: now,
            expired: false,
            done_stamp: None,
            round_done: false,
            limited: None,
        }
    }

    /// Whether a probe limited the delivery rate sample of `ack`.
    pub(super) fn limits(&self, ack: &Ack) -> bool {
        let Some((delivery, (from, until))) = ack.delivery.zip(self.limited) else { return false };
        (from..=until).contains(&delivery.total_at_send)
    }

    /// Section 5.3.4.3.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample, model: &mut Model, interval: Span) {
        let now = sample.now;
        self.expired = now > self.min_stamp.saturating_add(interval);
        if let Some(rtt) = sample.rtt.filter(|&rtt| rtt < self.min_delay || self.expired) {
            (self.min_delay, self.min_stamp) = (rtt, now);
        }
        let min_rtt_expired = now > model.min_rtt_stamp.saturating_add(MIN_RTT_FILTER_LEN);
        if self.min_delay < model.min_rtt || min_rtt_expired {
            (model.min_rtt, model.min_rtt_stamp) = (self.min_delay, self.min_stamp);
        }
    }
}

impl Bbr {
    /// Section 5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample) {
        if self.idle_restart {
            self.model.restart_aggregation(sample.sent_at);
        }
        let entering = self.cycle.state != State::ProbeRtt && self.probe_rtt.expired;
        if entering && !self.idle_restart {
            self.save_cwnd();
            self.cycle.state = State::ProbeRtt;
            self.probe_rtt.done_stamp = None;
            self.probe_rtt.limited = Some((sample.total, sample.total));
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.cycle.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.newly_acked > 0.0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, sample: &Sample) {
        if let Some((_, until)) = &mut self.probe_rtt.limited {
            *until = sample.total.saturating_add(sample.inflight as u64);
        }
        match self.probe_rtt.done_stamp {
            None if sample.inflight <= self.probe_rtt_cwnd() => {
                let duration = self.tuning.probe_rtt_duration;
                self.probe_rtt.done_stamp = Some(sample.now.saturating_add(duration));
                self.probe_rtt.round_done = false;
                self.model.start_round();
            }
            Some(done) => {
                self.probe_rtt.round_done |= self.model.round_start;
                if self.probe_rtt.round_done && sample.now > done {
                    self.probe_rtt.min_stamp = sample.now;
                    self.restore_cwnd();
                    self.exit_probe_rtt(sample.now);
                }
            }
            None => {}
        }
    }

    /// Section 5.3.4.4.
    fn exit_probe_rtt(&mut self, now: Instant) {
        self.model.reset_short_term_model();
        if self.cycle.full_bw_reached {
            self.start_down(now);
            self.cycle.state = State::Cruise;
        } else {
            self.cycle.state = State::Startup;
        }
    }

    /// Section 5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.model.bw, State::ProbeRtt.cwnd_gain(self.version)).max(MIN_PIPE_CWND)
    }
}
