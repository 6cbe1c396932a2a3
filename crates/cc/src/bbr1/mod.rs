//! [`Bbr1`]: BBR as it was first specified, and as Linux has it
//! (draft-cardwell-iccrg-bbr-congestion-control-00, BBR version 1).
//!
//! The sections named here are those of that draft, and so are the names of variables. All volumes
//! are packets, all rates packets a second; where the draft has bits, a packet counts as
//! [`PACKET_BITS`]. What Linux adds to the draft is marked so.

mod long_term;
mod model;
#[cfg(test)]
mod tests;

use crate::bbr::Random;
use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Needs, Start};
use crate::metrics::Metrics;
use crate::parameters::parameters;
use crate::window::MAX_WINDOW;
use exm_units::{Instant, Packets, Span};
use model::{Model, Sample};

/// Section 4.3.2.1: `BBRHighGain`, 2 / ln 2, the least at which the rate doubles each round trip.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
/// Section 4.3.4.3: the pacing gains of ProbeBW, each for about a round trip.
const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Section 4.3.2.2: less growth than this in a round trip is little.
const FULL_BW_GROWTH: f64 = 1.25;
/// Section 4.3.2.2: after so many rounds of little growth the pipe is full.
const FULL_BW_ROUNDS: u32 = 3;
/// Section 4.2.3.3: `BBRMinPipeCwnd`, the window that keeps packets and acknowledgements moving.
const MIN_PIPE_CWND: f64 = 4.0;
/// Section 4.2.1: the round-trip time assumed until one is known.
const NOMINAL_RTT: Span = Span::from_millis(1);
/// Linux: the part of the bandwidth left unused, so that a queue eventually drains.
const PACING_MARGIN: f64 = 0.01;
/// The bits of a packet on the wire: 1500 bytes.
const PACKET_BITS: f64 = 12_000.0;
/// Section 4.2.2: below the first of these pacing rates, in bits a second, packets are sent one at a
/// time, below the second two at a time.
const QUANTUM_RATES: [f64; 2] = [1.2e6, 24e6];
/// Section 4.2.2: above them, a quantum is this many seconds of packets, up to 64 kB.
const QUANTUM_TIME: f64 = 1e-3;
const QUANTUM_MOST: f64 = 64e3 * 8.0 / PACKET_BITS;
/// Section 4.2.3.2: this many quanta are in flight beyond the bandwidth-delay product, to keep the
/// hosts at both ends busy.
const QUANTA: f64 = 3.0;

/// The state machine of section 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Startup,
    Drain,
    /// With the phase of the gain cycle.
    ProbeBw(usize),
    ProbeRtt,
}

impl State {
    /// Its name in section 4.3.
    fn name(self) -> &'static str {
        match self {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::ProbeBw(_) => "ProbeBW",
            State::ProbeRtt => "ProbeRTT",
        }
    }

    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw(phase) => PACING_GAINS[phase],
            State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(self, probing: f64) -> f64 {
        match self {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw(_) => probing,
            State::ProbeRtt => 1.0,
        }
    }
}

/// BBR, version 1.
///
/// Like [`Bbr`](crate::Bbr), its successor, it sets window and pacing rate from the delivery rates it
/// measured, but it ignores losses. It asks its host for [delivery samples](crate::Delivery) and to
/// leave the window alone during recovery. Its one random choice, the phase in which the gain cycle
/// begins, is drawn from its seed.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    tuning: Tuning,
    random: Random,
    model: Model,
    state: State,
    /// When the phase of the gain cycle began.
    cycle_stamp: Instant,
    full_bw: f64,
    full_bw_count: u32,
    filled_pipe: bool,
    probe: Probe,
    initial_cwnd: f64,
    cwnd: f64,
    pacing_rate: f64,
    /// The last good window, before recovery or ProbeRTT.
    prior_cwnd: f64,
    recovery: Recovery,
    /// Whether the flow was idle as the last acknowledgement came (section 4.3.4.4).
    idle_restart: bool,
}

/// The progress of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    done_stamp: Option<Instant>,
    round_done: bool,
}

/// The response to losses.
#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    /// Whether losses are being repaired.
    active: bool,
    /// Packet conservation: until a packet sent when this many were delivered is acknowledged, no
    /// more is sent than leaves the network.
    packet_conservation: Option<u64>,
    /// When the last timeout was, until a packet sent after it is acknowledged.
    timeout_at: Option<Instant>,
}

parameters! {
    Bbr1 {
        /// The window while probing for bandwidth, in bandwidth-delay products (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.4.3: `cwnd_gain`).
        cwnd_gain: Number = [2.0, 1.0, 100.0],
        /// How long a probe for the minimum RTT drains the queue (section 4.3.5: `ProbeRTTDuration`).
        probe_rtt_duration: Duration = [Span::from_millis(200), Span::from_millis(1), Span::from_secs(10)],
    }
}

impl Bbr1 {
    /// A sender before its first flow, whose random numbers come from `seed`.
    pub fn new(seed: u64) -> Bbr1 {
        Bbr1::starting(&Start::new(Instant::ZERO), Random::new(seed))
    }

    /// Section 4.3.1.
    fn starting(start: &Start, random: Random) -> Bbr1 {
        let initial_cwnd = (start.initial_window.get() as f64).clamp(1.0, MAX_WINDOW);
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero());
        let nominal_bandwidth = initial_cwnd / rtt.unwrap_or(NOMINAL_RTT).as_secs_f64();
        Bbr1 {
            tuning: Tuning::default(),
            random,
            model: Model::new(start.now, rtt),
            state: State::Startup,
            cycle_stamp: start.now,
            full_bw: 0.0,
            full_bw_count: 0,
            filled_pipe: false,
            probe: Probe::default(),
            initial_cwnd,
            cwnd: initial_cwnd,
            pacing_rate: HIGH_GAIN * nominal_bandwidth,
            prior_cwnd: 0.0,
            recovery: Recovery::default(),
            idle_restart: false,
        }
    }

    /// Section 3.5.2: what an acknowledgement does, in this order.
    fn update(&mut self, sample: &Sample) {
        self.recovery.packet_conservation.take_if(|until| sample.prior_delivered >= *until);
        self.model.update_btl_bw(sample);
        if self.model.update_long_term(sample, matches!(self.state, State::ProbeBw(_))) {
            self.enter_probe_bw(sample.now);
        }
        self.model.update_ack_aggregation(sample, self.cwnd);
        self.check_cycle_phase(sample);
        self.check_full_pipe(sample);
        self.check_drain(sample);
        let rtprop_expired = self.model.update_rtprop(sample);
        self.check_probe_rtt(sample, rtprop_expired);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(sample);
    }

    /// Linux: while a policer is suspected, ProbeBW does not probe.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::ProbeBw(_) if self.model.is_policed() => 1.0,
            state => state.pacing_gain(),
        }
    }

    /// Section 4.2.1.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * (1.0 - PACING_MARGIN);
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Section 4.2.2: `send_quantum`. The host sends single packets, so only the room for the quantum
    /// in the window matters.
    fn send_quantum(&self) -> f64 {
        let rate = self.pacing_rate * PACKET_BITS;
        match QUANTUM_RATES.iter().position(|&below| rate < below) {
            Some(0) => 1.0,
            Some(_) => 2.0,
            None => (self.pacing_rate * QUANTUM_TIME).min(QUANTUM_MOST),
        }
    }

    /// Section 4.2.3.2: `BBRInflight`. Linux rounds up to an even number, since every second packet
    /// is acknowledged, and adds two while it probes so that a small window probes at all.
    fn inflight(&self, gain: f64) -> f64 {
        self.inflight_at(self.model.btl_bw(), gain, 0.0)
    }

    /// The same at the bandwidth `bw`, with room for `extra` packets.
    fn inflight_at(&self, bw: f64, gain: f64, extra: f64) -> f64 {
        let Some(rtprop) = self.model.rtprop() else { return self.initial_cwnd };
        let estimated_bdp = bw * rtprop.as_secs_f64();
        let inflight = gain * estimated_bdp + extra + QUANTA * self.send_quantum();
        let probing = if self.state == State::ProbeBw(0) { 2.0 } else { 0.0 };
        2.0 * libm::ceil(inflight / 2.0) + probing
    }

    /// Linux: not the packets in flight now, but those in flight at the next send. That is half a
    /// quantum away on average; while it probes, the quantum sent then counts too.
    fn inflight_at_next_send(&self, inflight: f64) -> f64 {
        let half = self.send_quantum() / 2.0;
        if self.pacing_gain() > 1.0 { inflight + half } else { inflight - half }
    }

    /// Section 4.2.3.6. Linux: with room for aggregated ACKs once the pipe is full.
    fn set_cwnd(&mut self, sample: &Sample) {
        // Section 4.2.3.4: `BBRModulateCwndForRecovery`.
        self.cwnd = (self.cwnd - sample.lost).max(1.0);
        if self.recovery.packet_conservation.is_some() {
            self.cwnd = self.cwnd.max(sample.inflight + sample.acked);
        } else {
            let extra = if self.filled_pipe { self.model.extra_acked() } else { 0.0 };
            let target = self.inflight_at(
                self.model.bw(),
                self.state.cwnd_gain(self.tuning.cwnd_gain),
                extra,
            );
            let grown = self.cwnd + sample.acked;
            if self.filled_pipe {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || (sample.total as f64) < self.initial_cwnd {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        }
        // Section 4.2.3.5.
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    /// Section 4.2.3.4.
    fn save_cwnd(&mut self) {
        let modulated = self.recovery.active || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// Section 4.2.3.4.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Section 4.2.3.4: for a round trip, the window is what is in flight plus what left with the ACK
    /// that reported the loss.
    ///
    /// Linux looks at the state of the connection once per ACK. If the ACK that ends a recovery
    /// reports the next loss, it sees one recovery and does not conserve packets for the second.
    /// Flows that overflow a buffer together are in that state most of the time.
    fn enter_fast_recovery(&mut self, congestion: &Congestion) {
        self.save_cwnd();
        if self.recovery.active && self.recovery.timeout_at.is_none() {
            return;
        }
        self.recovery.active = true;
        self.recovery.packet_conservation = Some(self.model.delivered());
        self.cwnd = (congestion.in_flight.get() as f64).clamp(1.0, MAX_WINDOW);
    }

    /// Section 4.2.3.4: a window of one packet, because all packets before it are deemed lost.
    fn enter_timeout(&mut self, now: Instant) {
        self.save_cwnd();
        self.recovery = Recovery { active: true, packet_conservation: None, timeout_at: Some(now) };
        self.cwnd = 1.0;
    }

    /// Section 4.2.3.4, also after a spurious loss.
    fn exit_recovery(&mut self) {
        self.recovery = Recovery::default();
        self.restore_cwnd();
    }

    /// Recovery ends when the host says so; recovery from a timeout ends no sooner than with the
    /// first packet sent after it.
    fn check_recovery(&mut self, ack: &Ack) {
        let timed_out = self.recovery.timeout_at.is_some_and(|at| ack.sent_at < at);
        if self.recovery.active && !ack.recovering && !timed_out {
            self.exit_recovery();
        }
    }

    /// Section 4.3.2.2.
    fn check_full_pipe(&mut self, sample: &Sample) {
        if self.filled_pipe || !self.model.round_start() || sample.is_app_limited {
            return;
        }
        if self.model.btl_bw() >= self.full_bw * FULL_BW_GROWTH {
            (self.full_bw, self.full_bw_count) = (self.model.btl_bw(), 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    /// Section 4.3.3.
    fn check_drain(&mut self, sample: &Sample) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        let inflight = self.inflight_at_next_send(sample.inflight);
        if self.state == State::Drain && inflight <= self.inflight(1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    /// Section 4.3.4.3: starts in any phase but the second, which would drain an empty queue.
    fn enter_probe_bw(&mut self, now: Instant) {
        let phases = PACING_GAINS.len();
        let back = (self.random.uniform() * (phases - 1) as f64) as usize;
        self.state = State::ProbeBw((phases - back) % phases);
        self.cycle_stamp = now;
    }

    /// Section 4.3.4.3.
    fn check_cycle_phase(&mut self, sample: &Sample) {
        let State::ProbeBw(phase) = self.state else { return };
        let full_length = self
            .model
            .rtprop()
            .is_some_and(|rtprop| sample.now.saturating_since(self.cycle_stamp) > rtprop);
        let gain = self.pacing_gain();
        let inflight = self.inflight_at_next_send(sample.prior_inflight);
        let next = if gain > 1.0 {
            full_length && (sample.lost > 0.0 || inflight >= self.inflight(gain))
        } else {
            full_length || gain < 1.0 && inflight <= self.inflight(1.0)
        };
        if next {
            self.state = State::ProbeBw((phase + 1) % PACING_GAINS.len());
            self.cycle_stamp = sample.now;
        }
    }

    /// Section 4.3.5.
    fn check_probe_rtt(&mut self, sample: &Sample, rtprop_expired: bool) {
        if self.state != State::ProbeRtt && rtprop_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe = Probe::default();
            self.model.begin_limit();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, sample: &Sample) {
        self.model.extend_limit(sample);
        match self.probe.done_stamp {
            None if sample.inflight <= MIN_PIPE_CWND => {
                let duration = self.tuning.probe_rtt_duration;
                self.probe.done_stamp = Some(sample.now.saturating_add(duration));
                self.model.start_round();
            }
            Some(done) => {
                self.probe.round_done |= self.model.round_start();
                if self.probe.round_done && sample.now > done {
                    self.model.keep_rtprop(sample.now);
                    self.restore_cwnd();
                    if self.filled_pipe {
                        self.enter_probe_bw(sample.now);
                    } else {
                        self.state = State::Startup;
                    }
                }
            }
            None => {}
        }
    }

    /// Section 4.3.4.4: the next packet restarts the flow if nothing is in flight and there is
    /// nothing to send. The host reports only ACKs, so the restart is prepared at the last ACK before
    /// it.
    fn note_idleness(&mut self, ack: &Ack) {
        if ack.in_flight == Packets::ZERO && ack.app_limited {
            self.idle_restart = true;
            if matches!(self.state, State::ProbeBw(_)) {
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

impl Default for Bbr1 {
    /// A sender of seed 1.
    fn default() -> Bbr1 {
        Bbr1::new(1)
    }
}

impl Controller for Bbr1 {
    fn on_start(&mut self, start: &Start) -> Decision {
        // The random stream continues from flow to flow: a flow that starts again draws new numbers.
        *self = Bbr1 { tuning: self.tuning, ..Bbr1::starting(start, self.random.clone()) };
        self.decision()
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if !ack.stale {
            self.check_recovery(ack);
            if let Some(sample) = self.model.sample(ack) {
                self.update(&sample);
            }
            self.note_idleness(ack);
        }
        self.decision()
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        match congestion.kind {
            CongestionKind::Lost => self.enter_fast_recovery(congestion),
            CongestionKind::Timeout => self.enter_timeout(congestion.now),
            CongestionKind::Spurious => {
                self.model.forget_policer();
                self.exit_recovery();
            }
            // The draft ignores ECN marks; and it paces what follows an idle time, as in Linux.
            CongestionKind::Marked | CongestionKind::Idle => {}
        }
        self.decision()
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.cwnd).pacing_rate(self.pacing_rate).state(self.state.name())
    }

    fn on_tick(&mut self, _now: Instant) -> Decision {
        self.decision()
    }

    fn needs(&self) -> Needs {
        Needs { own_recovery: true, delivery: true, ..Needs::default() }
    }

    fn seed(&mut self, seed: u64) {
        *self = Bbr1 { tuning: self.tuning, ..Bbr1::new(seed) };
    }
}
