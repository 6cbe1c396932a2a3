//! The states that probe the path: Startup and Drain, then the four states of ProbeBW in turn
//! (sections 5.3.1 to 5.3.3).

use super::Bbr;
use super::loss::Loss;
use super::model::Sample;
use super::state::State;
use exm_units::{Instant, Span};

/// Section 5.3.1.2: growth of the delivery rate by less than this is a plateau.
const FULL_BW_GROWTH: f64 = 1.25;
/// Section 5.3.1.2: after so many round trips on a plateau the pipe is full.
const FULL_BW_ROUNDS: u32 = 3;
/// Section 5.3.1.3: `BBRStartupFullLossCnt`.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// Section 5.3.2: Drain lasts no longer than so many round trips.
const MAX_DRAIN_ROUNDS: u64 = 3;
/// Section 5.3.3.8.3: `T_reno`, the most round trips between two probes.
const MAX_RENO_ROUNDS: f64 = 63.0;
/// Section 5.3.3.8.3: `T_bbr`, the least time between two probes in seconds; up to one second is
/// added.
const MIN_PROBE_WAIT: f64 = 2.0;

/// Section 2.14: which part of a probe the ACKs arriving now belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the probing cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub(super) state: State,
    pub(super) ack_phase: AckPhase,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    pub(super) full_bw_reached: bool,
    drain_start_round: u64,
    cycle_stamp: Instant,
    bw_probe_wait: Span,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    prev_probe_precautionary: bool,
}

impl Cycle {
    pub(super) fn new() -> Cycle {
        Cycle {
            state: State::Startup,
            ack_phase: AckPhase::Init,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_start_round: 0,
            cycle_stamp: Instant::ZERO,
            bw_probe_wait: Span::ZERO,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            prev_probe_precautionary: false,
        }
    }

    /// Section 5.3.1.2.
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// Section 5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self, sample: &Sample, round_start: bool) {
        if self.full_bw_now || !round_start || sample.is_app_limited {
            return;
        }
        if sample.delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = sample.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// Section 5.3.3.9: `RaiseInflightLongtermSlope`: 1, 2, 4, 8 packets more each round trip.
    fn raise_inflight_longterm_slope(&mut self, cwnd: f64) {
        let growth_this_round = (1_u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (cwnd / growth_this_round).max(1.0);
    }

    fn has_elapsed_in_phase(&self, now: Instant) -> bool {
        now > self.cycle_stamp.saturating_add(self.bw_probe_wait)
    }
}

impl Bbr {
    /// Section 5.3.1.1.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.cycle.state == State::Startup && self.cycle.full_bw_reached {
            self.cycle.state = State::Drain;
            self.cycle.drain_start_round = self.model.round_count;
        }
    }

    /// Section 5.3.1.3: the round trip of the first loss is over, and too many packets were lost in
    /// it.
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        if !self.model.loss_round_start {
            return;
        }
        let events = core::mem::take(&mut self.loss.events_in_round);
        if self.cycle.state == State::Startup
            && !self.cycle.full_bw_reached
            && events >= STARTUP_FULL_LOSS_COUNT
            && Loss::is_inflight_too_high(sample, self.tuning.loss_thresh)
        {
            self.loss.undo_state = Some(State::Startup);
            self.cycle.full_bw_reached = true;
            let bdp = self.bdp_multiple(self.model.bw, 1.0);
            self.loss.inflight_longterm = bdp.max(self.model.inflight_latest);
        }
    }

    /// Section 5.3.2.
    pub(super) fn check_drain_done(&mut self, sample: &Sample) {
        let rounds = self.model.round_count.saturating_sub(self.cycle.drain_start_round);
        let drained = sample.inflight <= self.inflight(self.model.bw, 1.0);
        if self.cycle.state == State::Drain && (drained || rounds > MAX_DRAIN_ROUNDS) {
            self.start_down(sample.now);
        }
    }

    /// Section 5.3.3.9.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_congestion_signals();
        self.cycle.probe_up_acked_per_inc = f64::INFINITY;
        // Section 5.3.3.8.3: `PickProbeWait`.
        self.model.rounds_since_probe_up = self.random.bit();
        let wait = MIN_PROBE_WAIT + self.random.uniform();
        self.cycle.bw_probe_wait = Span::from_secs_f64(wait);
        self.cycle.cycle_stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round();
        self.cycle.state = State::Down;
    }

    /// Section 5.3.3.9.
    pub(super) fn start_refill(&mut self) {
        self.model.reset_short_term_model();
        self.cycle.bw_probe_up_rounds = 0;
        self.cycle.bw_probe_up_acked = 0.0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.cycle.state = State::Refill;
    }

    /// Section 5.3.3.9.
    fn start_up(&mut self, sample: &Sample) {
        self.loss.is_bw_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.cycle.reset_full_bw();
        self.cycle.full_bw = sample.delivery_rate;
        self.cycle.state = State::Up;
        self.cycle.raise_inflight_longterm_slope(self.cwnd);
    }

    /// Section 5.3.3.9.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sample: &Sample) {
        if !self.cycle.full_bw_reached || self.adapt_long_term_model(sample) {
            return;
        }
        match self.cycle.state {
            State::Down | State::Cruise if self.is_time_to_probe_bw(sample.now) => {
                self.start_refill();
            }
            State::Down if self.is_time_to_cruise(sample) => self.cycle.state = State::Cruise,
            State::Refill if self.model.round_start => self.start_up(sample),
            State::Up => self.go_down_in_time(sample),
            _ => {}
        }
    }

    /// Section 5.3.3.8.3.
    fn is_time_to_probe_bw(&self, now: Instant) -> bool {
        let reno_rounds = self.target_inflight().min(MAX_RENO_ROUNDS);
        self.cycle.has_elapsed_in_phase(now)
            || self.model.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// Section 5.3.3.9.
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        sample.inflight <= self.loss.inflight_with_headroom(self.tuning.headroom)
            && sample.inflight <= self.inflight(self.model.max_bw(), 1.0)
    }

    fn go_down_in_time(&mut self, sample: &Sample) {
        if self.is_time_to_go_down(sample) {
            self.loss.prev_probe_too_high = false;
            self.start_down(sample.now);
        }
    }

    /// Section 5.3.3.9. In flight includes what this ACK acknowledged: just after it, a full window
    /// is one packet short.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        let limit = self.loss.inflight_longterm;
        if self.loss.prev_probe_too_high && sample.prior_inflight >= libm::floor(limit) {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.model.is_cwnd_limited() && self.cwnd >= limit {
            self.cycle.reset_full_bw();
            self.cycle.full_bw = sample.delivery_rate;
            return false;
        }
        self.cycle.full_bw_now
    }

    /// Section 5.3.3.9; true if it has already changed the state.
    fn adapt_long_term_model(&mut self, sample: &Sample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.model.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.model.round_start {
            self.loss.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.cycle.state.is_probe_bw() {
                if !sample.is_app_limited {
                    self.model.advance_max_bw_filter();
                }
                if self.cycle.prev_probe_precautionary && !self.loss.prev_probe_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let longterm = self.loss.inflight_longterm;
        if !Loss::is_inflight_too_high(sample, self.tuning.loss_thresh) && longterm != f64::INFINITY
        {
            self.loss.inflight_longterm = longterm.max(sample.tx_in_flight);
            if self.cycle.state == State::Up {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }

    /// Section 5.3.3.9.
    fn probe_inflight_longterm_upward(&mut self, sample: &Sample) {
        if !self.model.is_cwnd_limited() || self.cwnd < self.loss.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.bw_probe_up_acked += sample.newly_acked;
        if cycle.bw_probe_up_acked >= cycle.probe_up_acked_per_inc {
            let delta = libm::floor(cycle.bw_probe_up_acked / cycle.probe_up_acked_per_inc);
            cycle.bw_probe_up_acked -= delta * cycle.probe_up_acked_per_inc;
            self.loss.inflight_longterm += delta;
        }
        if self.model.round_start {
            self.cycle.raise_inflight_longterm_slope(self.cwnd);
        }
    }
}
