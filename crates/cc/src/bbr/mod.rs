//! [`Bbr`]: a controller that models the bandwidth and round-trip time of its path instead of
//! reacting to losses (draft-ietf-ccwg-bbr-06, BBR version 3; also version 2).
//!
//! The sections named here and in the modules below are those of that draft, and so are the names
//! of variables. All volumes are packets, all rates packets a second.

mod aggregation;
mod cycle;
mod filters;
mod loss;
mod marks;
mod model;
mod probe_rtt;
mod state;
#[cfg(test)]
mod tests;

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Needs, Start};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::window::MAX_WINDOW;
pub(crate) use aggregation::{Aggregation, Path};
use cycle::Cycle;
use exm_units::{Instant, Packets, Span};
pub(crate) use filters::Random;
use loss::Loss;
use marks::Marks;
use model::{Model, Sample};
use probe_rtt::ProbeRtt;
use state::{State, Version};

/// Section 5.6.4.3: `MinPipeCwnd`, the window that keeps packets and acknowledgements moving.
const MIN_PIPE_CWND: f64 = 4.0;
/// Section 5.6.2: `PacingMarginPercent`, the part of the bandwidth left unused.
const PACING_MARGIN: f64 = 0.01;
/// Section 5.6.2: the round-trip time assumed until one is known.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// BBR, version 3, as of draft-ietf-ccwg-bbr-06 (July 2026).
///
/// It sets window and pacing rate from the delivery rates it measured. It therefore asks its host
/// for [delivery samples](crate::Delivery) and to leave the window alone during recovery. Its one
/// random choice, the time until it probes for bandwidth again, is drawn from its seed.
///
/// [`Bbr::version_2`] is its predecessor.
#[derive(Clone, Debug)]
pub struct Bbr {
    tuning: Tuning,
    version: Version,
    random: Random,
    model: Model,
    cycle: Cycle,
    loss: Loss,
    marks: Marks,
    probe_rtt: ProbeRtt,
    initial_cwnd: f64,
    cwnd: f64,
    /// `C.pacing_rate`.
    pacing_rate: f64,
    /// Whether the pacing rate was computed from an RTT, measured or from the handshake.
    paced_by_rtt: bool,
    /// The last good window, before recovery or ProbeRTT.
    prior_cwnd: f64,
    /// Whether the flow was idle as the last acknowledgement came (section 5.4.1).
    idle_restart: bool,
}

parameters! {
    Bbr {
        /// The factor to which losses may cut the model in a round trip (draft-ietf-ccwg-bbr-06, section 2.8: `Beta`).
        beta: Number = [0.7, 0.1, 0.99],
        /// The part of a flight that may be lost (section 2.8: `LossThresh`).
        loss_thresh: Number = [0.02, 0.0, 0.9],
        /// The part of the long-term volume left to other flows while cruising (section 2.8: `Headroom`).
        headroom: Number = [0.15, 0.0, 0.9],
        /// The time between probes for the minimum RTT (section 2.16.2: `ProbeRTTInterval`).
        probe_rtt_interval: Duration = [Span::from_secs(5), Span::from_millis(100), Span::from_secs(1000)],
        /// How long such a probe drains the queue (section 2.16.2: `ProbeRTTDuration`).
        probe_rtt_duration: Duration = [Span::from_millis(200), Span::from_millis(1), Span::from_secs(10)],
        /// The weight of the newest round trip in the average of the marked fraction, in version 2 only (1/16).
        ecn_gain: Number = [0.0625, 0.0001, 1.0],
        /// The part of that average by which marks cut what is in flight, once a round trip, in version 2 only (1/3).
        ecn_factor: Number = [1.0 / 3.0, 0.0, 1.0],
    }
}

impl Bbr {
    /// A sender before its first flow, whose random numbers come from `seed`.
    pub fn new(seed: u64) -> Bbr {
        let start = Start::new(Instant::ZERO);
        Bbr::starting(&start, Random::new(seed), Version::default())
    }

    /// Version 2 instead: other gains, and a response to ECN marks, each of which it needs reported. As in DCTCP an average of the
    /// marked fraction says by how much a round trip with marks cuts what may be in flight.
    #[must_use]
    pub fn version_2(self) -> Bbr {
        let start = Start::new(Instant::ZERO);
        Bbr { tuning: self.tuning, ..Bbr::starting(&start, self.random, Version::Two) }
    }

    /// Section 5.2.1.
    fn starting(start: &Start, random: Random, version: Version) -> Bbr {
        let initial_cwnd = (start.initial_window.get() as f64).clamp(1.0, MAX_WINDOW);
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero());
        let mut bbr = Bbr {
            tuning: Tuning::default(),
            version,
            random,
            model: Model::new(start.now, rtt),
            cycle: Cycle::new(),
            loss: Loss::new(),
            marks: Marks::new(),
            probe_rtt: ProbeRtt::new(start.now, rtt),
            initial_cwnd,
            cwnd: initial_cwnd,
            pacing_rate: 0.0,
            paced_by_rtt: rtt.is_some(),
            prior_cwnd: 0.0,
            idle_restart: false,
        };
        bbr.init_pacing_rate(rtt.unwrap_or(NOMINAL_RTT));
        bbr
    }

    /// Section 5.2.3: what an acknowledgement does, in this order.
    fn update(&mut self, ack: &Ack, sample: &Sample) {
        self.leave_recovery(ack);
        self.note_lost_packets(sample);
        self.model.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.update_marks(ack, sample);
        self.model.update_ack_aggregation(sample, self.cwnd, self.cycle.full_bw_reached);
        self.cycle.check_full_bw_reached(sample, self.model.round_start);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_probe_bw_cycle_phase(sample);
        let interval = self.tuning.probe_rtt_interval;
        self.probe_rtt.update_min_rtt(sample, &mut self.model, interval);
        self.check_probe_rtt(sample);
        self.model.advance_latest_delivery_signals(sample);
        self.model.bound_bw();
        self.set_pacing_rate(self.cycle.state.pacing_gain(self.version));
        self.set_cwnd(sample);
        self.note_idleness(ack);
    }

    /// Section 5.6.2, before there is any bandwidth estimate.
    fn init_pacing_rate(&mut self, rtt: Span) {
        let nominal = self.initial_cwnd / rtt.as_secs_f64();
        self.pacing_rate = State::Startup.pacing_gain(self.version) * nominal;
    }

    /// Section 5.6.2.
    fn set_pacing_rate(&mut self, gain: f64) {
        if !self.paced_by_rtt && !self.model.min_rtt.is_zero() && self.model.min_rtt != Span::MAX {
            self.paced_by_rtt = true;
            self.init_pacing_rate(self.model.min_rtt);
        }
        let rate = gain * self.model.bw * (1.0 - PACING_MARGIN);
        if rate > 0.0 && (self.cycle.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Section 5.6.4.2: `BDPMultiple`.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        if self.model.min_rtt == Span::MAX {
            return self.initial_cwnd;
        }
        gain * bw * self.model.min_rtt.as_secs_f64()
    }

    /// Section 5.6.4.2: `QuantizationBudget`. The host sends single packets, so there is no offload
    /// budget.
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let probing = if self.cycle.state == State::Up { 2.0 } else { 0.0 };
        inflight_cap.max(MIN_PIPE_CWND) + probing
    }

    /// Section 5.6.4.2: `Inflight`, the volume at which `bw` fills the path by `gain`.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// Section 5.3.3.8.3: `TargetInflight`, the bandwidth-delay product unless congestion cut the
    /// window.
    fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.model.bw, 1.0).min(self.cwnd)
    }

    /// Section 5.6.4.6.
    fn set_cwnd(&mut self, sample: &Sample) {
        let cap = self.bdp_multiple(self.model.bw, self.cycle.state.cwnd_gain(self.version));
        let max_inflight = self.quantization_budget(cap + self.model.extra_acked());
        let grown = self.cwnd + sample.newly_acked;
        if self.cycle.full_bw_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || (sample.total as f64) < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.clamp(MIN_PIPE_CWND, MAX_WINDOW);
        if self.cycle.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.model_cap());
    }

    /// Section 5.6.4.7: what recent congestion allows.
    fn model_cap(&self) -> f64 {
        let cap = match self.cycle.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.loss.inflight_longterm,
            State::Cruise | State::ProbeRtt => {
                self.loss.inflight_with_headroom(self.tuning.headroom)
            }
        };
        cap.min(self.model.inflight_shortterm).max(MIN_PIPE_CWND)
    }

    /// Section 5.6.4.4.
    fn save_cwnd(&mut self) {
        let modulated = self.loss.recovering || self.cycle.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// Section 5.6.4.4.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Section 5.4.1: the next packet restarts the flow if nothing is in flight and there is
    /// nothing to send. The host reports only ACKs, so the restart is prepared at the last ACK
    /// before it.
    fn note_idleness(&mut self, ack: &Ack) {
        if ack.in_flight == Packets::ZERO && ack.app_limited {
            self.idle_restart = true;
            if self.cycle.state.is_probe_bw() {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn decision(&self) -> Decision {
        let intersend = Span::from_secs_f64(1.0 / self.pacing_rate);
        let cwnd = Packets::new(self.cwnd.clamp(1.0, MAX_WINDOW) as u64);
        Decision { cwnd, intersend, wake_at: None }
    }
}

impl Default for Bbr {
    /// A sender of seed 1.
    fn default() -> Bbr {
        Bbr::new(1)
    }
}

impl Controller for Bbr {
    fn on_start(&mut self, start: &Start) -> Decision {
        // The random stream continues from flow to flow: a flow that starts again draws new
        // numbers.
        let (tuning, version) = (self.tuning, self.version);
        *self = Bbr { tuning, ..Bbr::starting(start, self.random.clone(), version) };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale {
            let limited = self.probe_rtt.limits(ack);
            let sample = Sample::new(ack, self.model.delivered, self.cwnd, limited);
            self.update(ack, &sample);
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost => self.enter_fast_recovery(),
            CongestionKind::Timeout => self.enter_timeout(congestion.now),
            // Section 3.7: no particular response to marks, but they count as congestion.
            // Version 2 learns of each from the ACKs.
            CongestionKind::Marked if self.version == Version::Two => {}
            CongestionKind::Marked => self.note_loss(),
            CongestionKind::Spurious => self.undo(),
            // It paces what follows an idle time, as in Linux, and so needs no smaller window.
            CongestionKind::Idle => {}
        }
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.cwnd).pacing_rate(self.pacing_rate).state(self.cycle.state.name())
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn needs(&self) -> Needs {
        let marks = self.version == Version::Two;
        Needs { own_recovery: true, delivery: true, marks, ..Needs::default() }
    }

    fn seed(&mut self, seed: u64) {
        let (tuning, version) = (self.tuning, self.version);
        let start = Start::new(Instant::ZERO);
        *self = Bbr { tuning, ..Bbr::starting(&start, Random::new(seed), version) };
    }
}
