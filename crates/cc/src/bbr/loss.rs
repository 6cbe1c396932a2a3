//! How losses limit the model, in probing and outside it, and how a spurious one is undone:
//! sections 5.5.10, 5.5.11 and 5.6.4.4.

use super::model::Sample;
use super::state::State;
use super::{Bbr, MIN_PIPE_CWND};
use crate::controller::Ack;
use exm_units::Instant;

/// The losses seen.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// `C.lost` as of the last acknowledgement.
    total: u64,
    /// ACKs that reported losses in this round trip.
    pub(super) events_in_round: u32,
    pub(super) inflight_longterm: f64,
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    pub(super) recovering: bool,
    /// When the last timeout was, until a packet sent after it is acknowledged.
    timeout_at: Option<Instant>,
    pub(super) undo_state: Option<State>,
    undo_bw_shortterm: f64,
    undo_inflight_shortterm: f64,
    undo_inflight_longterm: f64,
}

impl Loss {
    pub(super) fn new() -> Loss {
        Loss {
            total: 0,
            events_in_round: 0,
            inflight_longterm: f64::INFINITY,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            recovering: false,
            timeout_at: None,
            undo_state: None,
            undo_bw_shortterm: 0.0,
            undo_inflight_shortterm: 0.0,
            undo_inflight_longterm: 0.0,
        }
    }

    /// Section 5.5.10.2.
    pub(super) fn is_inflight_too_high(sample: &Sample, loss_thresh: f64) -> bool {
        sample.lost > sample.tx_in_flight * loss_thresh
    }

    /// Section 5.3.3.9.
    pub(super) fn inflight_with_headroom(&self, headroom: f64) -> f64 {
        let headroom = (headroom * self.inflight_longterm).max(1.0);
        match self.inflight_longterm {
            f64::INFINITY => f64::INFINITY,
            longterm => (longterm - headroom).max(MIN_PIPE_CWND),
        }
    }
}

/// Section 5.5.10.2: `InflightAtLoss`, the volume at which losses first exceeded the threshold,
/// which happened within the `newly_lost` packets.
fn inflight_at_loss(sample: &Sample, newly_lost: f64, loss_thresh: f64) -> f64 {
    let inflight_prev = sample.tx_in_flight - newly_lost;
    let lost_prev = sample.lost - newly_lost;
    let lost_prefix = (loss_thresh * inflight_prev - lost_prev) / (1.0 - loss_thresh);
    inflight_prev + lost_prefix.clamp(0.0, newly_lost)
}

impl Bbr {
    /// Section 5.5.10.2: `NoteLoss`.
    pub(super) fn note_loss(&mut self) {
        if !self.model.is_loss_in_round {
            self.save_state_upon_loss();
        }
        self.model.note_loss();
    }

    /// Section 5.5.10.2: `HandleLostPacket`, for all packets deemed lost since the last ACK. The
    /// host reports how many, not which; the packet acknowledged now was sent shortly after them
    /// and stands for them.
    pub(super) fn note_lost_packets(&mut self, sample: &Sample) {
        let Some(total) = sample.total_lost else { return };
        let newly_lost = total.saturating_sub(self.loss.total) as f64;
        self.loss.total = total;
        if newly_lost == 0.0 {
            return;
        }
        self.loss.events_in_round = self.loss.events_in_round.saturating_add(1);
        self.note_loss();
        if self.loss.is_bw_probe_sample
            && Loss::is_inflight_too_high(sample, self.tuning.loss_thresh)
        {
            self.handle_inflight_too_high(sample, newly_lost);
        }
    }

    /// Section 5.5.10.2.
    pub(super) fn handle_inflight_too_high(&mut self, sample: &Sample, newly_lost: f64) {
        self.loss.prev_probe_too_high = true;
        self.loss.is_bw_probe_sample = false;
        if !sample.is_app_limited {
            let at_loss = inflight_at_loss(sample, newly_lost, self.tuning.loss_thresh);
            self.loss.inflight_longterm = at_loss.max(self.target_inflight() * self.tuning.beta);
        }
        if self.cycle.state == State::Up {
            self.loss.undo_state = Some(State::Up);
            self.start_down(sample.now);
        }
    }

    /// Section 5.5.10.3.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        self.model.update_max_bw(sample);
        if self.model.loss_round_start {
            if self.model.is_loss_in_round && !self.cycle.state.is_probing() {
                self.model.lower_bounds(self.cwnd, self.tuning.beta);
            }
            self.model.is_loss_in_round = false;
        }
    }

    /// Section 5.5.11.1.
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.loss.undo_state = None;
        self.loss.undo_bw_shortterm = self.model.bw_shortterm;
        self.loss.undo_inflight_shortterm = self.model.inflight_shortterm;
        self.loss.undo_inflight_longterm = self.loss.inflight_longterm;
    }

    /// Section 5.6.4.4.
    pub(super) fn enter_fast_recovery(&mut self) {
        if !self.loss.recovering {
            self.save_state_upon_loss();
            self.loss.recovering = true;
        }
        self.model.note_loss();
    }

    /// Section 5.6.4.4: a window of one packet, because all packets before it are deemed lost.
    pub(super) fn enter_timeout(&mut self, now: Instant) {
        if self.loss.timeout_at.is_none() {
            self.save_state_upon_loss();
        }
        self.loss.recovering = true;
        self.loss.timeout_at = Some(now);
        self.cwnd = 1.0;
    }

    /// Section 5.6.4.4: recovery ends when the host says so; recovery from a timeout ends no sooner
    /// than with the first packet sent after it.
    pub(super) fn leave_recovery(&mut self, ack: &Ack) {
        let timed_out = self.loss.timeout_at.is_some_and(|at| ack.sent_at < at);
        if self.loss.recovering && !ack.recovering && !timed_out {
            self.loss.recovering = false;
            self.loss.timeout_at = None;
            self.restore_cwnd();
        }
    }

    /// Section 5.5.11.2.
    pub(super) fn undo(&mut self) {
        self.restore_cwnd();
        self.loss.recovering = false;
        self.loss.timeout_at = None;
        self.model.is_loss_in_round = false;
        self.cycle.reset_full_bw();
        let (model, loss) = (&mut self.model, &mut self.loss);
        model.bw_shortterm = model.bw_shortterm.max(loss.undo_bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(loss.undo_inflight_shortterm);
        loss.inflight_longterm = loss.inflight_longterm.max(loss.undo_inflight_longterm);
        let in_probe_rtt = self.cycle.state == State::ProbeRtt;
        match loss.undo_state.take() {
            Some(State::Startup) if self.cycle.state != State::Startup => {
                self.cycle.full_bw_reached = false;
                if !in_probe_rtt {
                    self.cycle.state = State::Startup;
                }
            }
            Some(State::Up) if self.cycle.state != State::Up && !in_probe_rtt => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_crossed_within_what_is_lost_at_once() {
        let ack = Ack::new(0, Instant::ZERO, Instant::ZERO);
        let mut sample = Sample::new(&ack, 0, 100.0, false);
        // One of 50 may be lost. With 100 in flight, 90 of them safe: the threshold is crossed
        // where x of 90 + x are lost, at 1.84.
        (sample.tx_in_flight, sample.lost) = (100.0, 10.0);
        assert!((inflight_at_loss(&sample, 10.0, 0.02) - 91.8367).abs() < 1e-3);
        // Three were lost before: the first further loss is too many.
        sample.lost = 4.0;
        assert_eq!(inflight_at_loss(&sample, 1.0, 0.02), 99.0);
    }
}
