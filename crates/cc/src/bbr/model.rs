//! The model of the path: section 5.5, and the round trips it is measured in.

use super::aggregation::{Aggregation, Path};
use super::filters::MaxBw;
use crate::controller::{Ack, Delivery};
use crate::window::acked;
use exm_units::{Instant, Span};

/// What an ACK reports: `RS`, section 4.1.2.1.3, and the parts of the connection state `C` needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) sent_at: Instant,
    /// None if nothing is newly acknowledged.
    pub(super) rtt: Option<Span>,
    pub(super) newly_acked: f64,
    /// `C.delivered`.
    pub(super) total: u64,
    /// `RS.prior_delivered`.
    pub(super) prior_delivered: u64,
    /// `RS.delivered`.
    pub(super) delivered: f64,
    /// `RS.delivery_rate`; zero where it is unknown.
    pub(super) delivery_rate: f64,
    pub(super) is_app_limited: bool,
    /// `C.lost`; none without a delivery sample.
    pub(super) total_lost: Option<u64>,
    /// `RS.lost`, since the packet was sent.
    pub(super) lost: f64,
    pub(super) tx_in_flight: f64,
    /// `C.inflight` before and after.
    pub(super) prior_inflight: f64,
    pub(super) inflight: f64,
    /// Whether the window was full when the packet was sent or when this ACK arrived.
    pub(super) fills_cwnd: bool,
}

impl Sample {
    /// The sample in `ack`, for a flow with a window of `cwnd` of which `delivered` packets were
    /// delivered before. `limited` marks it as application-limited even if the host does not.
    pub(super) fn new(ack: &Ack, delivered: u64, cwnd: f64, limited: bool) -> Sample {
        let newly_acked = acked(ack);
        let inflight = ack.in_flight.get() as f64;
        let prior_inflight = inflight + newly_acked;
        let delivery = ack.delivery.as_ref();
        let tx_in_flight = delivery.map_or(0.0, |d| d.in_flight_at_send.get() as f64);
        let full = libm::floor(cwnd);
        let total = delivery.map_or(delivered.saturating_add(ack.acked.get()), |d| d.total);
        let prior_delivered = delivery.map_or(0, |d| d.total_at_send);
        Sample {
            now: ack.now,
            sent_at: ack.sent_at,
            rtt: (newly_acked > 0.0).then(|| ack.rtt()),
            newly_acked,
            total,
            prior_delivered,
            delivered: total.saturating_sub(prior_delivered) as f64,
            delivery_rate: delivery.and_then(Delivery::rate).unwrap_or(0.0),
            is_app_limited: limited || delivery.is_some_and(|d| d.app_limited),
            total_lost: delivery.map(|d| d.lost),
            lost: delivery.map_or(0.0, |d| d.lost.saturating_sub(d.lost_at_send) as f64),
            tx_in_flight,
            prior_inflight,
            inflight,
            fills_cwnd: !ack.app_limited && prior_inflight.max(tx_in_flight) >= full,
        }
    }
}

/// The flow's model of its path.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// `C.delivered` as of the last acknowledgement.
    pub(super) delivered: u64,
    max_bw: MaxBw,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    /// `BBR.bw`: the smaller of the two bandwidths above.
    pub(super) bw: f64,
    /// [`Span::MAX`] before the first sample.
    pub(super) min_rtt: Span,
    pub(super) min_rtt_stamp: Instant,
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) is_loss_in_round: bool,
    pub(super) loss_round_start: bool,
    loss_round_delivered: u64,
    next_round_delivered: u64,
    pub(super) round_start: bool,
    pub(super) round_count: u64,
    pub(super) rounds_since_probe_up: u64,
    /// Whether the window was full at any time in this round trip, and in the last.
    filled_cwnd: (bool, bool),
    aggregation: Aggregation,
}

impl Model {
    pub(super) fn new(now: Instant, rtt: Option<Span>) -> Model {
        Model {
            delivered: 0,
            max_bw: MaxBw::default(),
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: rtt.unwrap_or(Span::MAX),
            min_rtt_stamp: now,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0,
            next_round_delivered: 0,
            round_start: false,
            round_count: 0,
            rounds_since_probe_up: 0,
            filled_cwnd: (false, false),
            aggregation: Aggregation::new(now),
        }
    }

    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw.get()
    }

    /// Section 2.2: `C.is_cwnd_limited`, at any time in the last round trip.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.filled_cwnd.0 || self.filled_cwnd.1
    }

    pub(super) fn extra_acked(&self) -> f64 {
        self.aggregation.extra_acked()
    }

    /// Section 5.5.10.3.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        self.delivered = sample.total;
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        self.bw_latest = self.bw_latest.max(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if self.loss_round_start {
            self.loss_round_delivered = sample.total;
        }
    }

    /// Section 5.5.10.3.
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// Section 5.5.10.3.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// Section 5.5.10.2: a loss; the first one starts a round trip for counting losses.
    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
        }
        self.is_loss_in_round = true;
    }

    /// Sections 5.5.1 and 5.5.5.
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1);
            self.filled_cwnd = (false, self.filled_cwnd.0);
        }
        self.filled_cwnd.0 |= sample.fills_cwnd;
        if sample.delivery_rate >= self.max_bw() || !sample.is_app_limited {
            self.max_bw.update(sample.delivery_rate);
        }
    }

    /// Section 5.5.1.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// Section 5.5.6.
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.max_bw.advance();
    }

    /// Section 5.5.10.3: `InitLowerBounds` and `LossLowerBounds`, once a round trip with losses.
    pub(super) fn lower_bounds(&mut self, cwnd: f64, beta: f64) {
        if self.bw_shortterm == f64::INFINITY {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
    }

    /// Version 2: of the volume in flight, at first the window, `part` is left.
    pub(super) fn lower_inflight(&mut self, cwnd: f64, part: f64) {
        self.inflight_shortterm = self.inflight_shortterm.min(cwnd) * part;
    }

    /// Section 5.5.10.3.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// Section 5.5.10.3: `BoundBWForModel`.
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// Section 5.4.1: the flow was idle until it sent at `now`.
    pub(super) fn restart_aggregation(&mut self, now: Instant) {
        self.aggregation.restart(now);
    }

    /// Section 5.5.9.
    pub(super) fn update_ack_aggregation(
        &mut self,
        sample: &Sample,
        cwnd: f64,
        full_bw_reached: bool,
    ) {
        let (bw, round_count) = (self.bw, self.round_count);
        let path = Path { bw, cwnd, round_count, full_bw_reached };
        self.aggregation.update(sample.now, sample.newly_acked, &path);
    }
}
