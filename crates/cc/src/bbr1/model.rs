//! The model of the path: section 4.1, and the round trips it is measured in.

use super::PACKET_BITS;
use super::long_term::{LongTerm, Seen};
use crate::bbr::{Aggregation, Path};
use crate::controller::{Ack, Delivery};
use crate::window::acked;
use exm_units::{Instant, Span};

/// Section 4.1.1.2: `BtlBwFilterLen`, in round trips.
const BTL_BW_FILTER_LEN: u64 = 10;
/// Section 4.1.2.2: `RTpropFilterLen`, and `ProbeRTTInterval` of section 4.3.5.
const RTPROP_FILTER_LEN: Span = Span::from_secs(10);
/// Linux: ACK aggregation gets no more room than this many seconds of the bandwidth.
const EXTRA_ACKED_MOST: f64 = 0.1;

/// What an ACK reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    /// None if nothing is newly acknowledged.
    rtt: Option<Span>,
    /// `packets_delivered`.
    pub(super) acked: f64,
    /// `packets_lost`, since the last sample.
    pub(super) lost: f64,
    /// `BBR.delivered`.
    pub(super) total: u64,
    /// `packet.delivered`.
    pub(super) prior_delivered: u64,
    /// `rs.delivery_rate`; zero where it is unknown.
    delivery_rate: f64,
    pub(super) is_app_limited: bool,
    /// Packets in flight before and after.
    pub(super) prior_inflight: f64,
    pub(super) inflight: f64,
}

/// The flow's estimates of its path.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// `BBR.delivered` and the packets lost, as of the last sample.
    delivered: u64,
    lost: u64,
    round_count: u64,
    next_round_delivered: u64,
    round_start: bool,
    btl_bw_filter: BtlBwFilter,
    aggregation: Aggregation,
    long_term: LongTerm,
    /// [`Span::MAX`] before the first sample.
    rtprop: Span,
    rtprop_stamp: Instant,
    /// Samples of packets sent while this many were delivered reflect ProbeRTT's limit, not what the
    /// network could (section 4.3.5, which has the host mark them).
    limited: Option<(u64, u64)>,
}

impl Model {
    pub(super) fn new(now: Instant, rtt: Option<Span>) -> Model {
        Model {
            delivered: 0,
            lost: 0,
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            btl_bw_filter: BtlBwFilter::default(),
            aggregation: Aggregation::new(now),
            long_term: LongTerm::default(),
            rtprop: rtt.unwrap_or(Span::MAX),
            rtprop_stamp: now,
            limited: None,
        }
    }

    /// The sample that `ack` carries; `None` if its host took no delivery sample.
    pub(super) fn sample(&mut self, ack: &Ack) -> Option<Sample> {
        let delivery = ack.delivery?;
        let (acked, inflight) = (acked(ack), ack.in_flight.get() as f64);
        let lost = delivery.lost.saturating_sub(self.lost) as f64;
        (self.delivered, self.lost) = (delivery.total, delivery.lost);
        let limited =
            self.limited.is_some_and(|(from, to)| (from..=to).contains(&delivery.total_at_send));
        Some(Sample {
            now: ack.now,
            rtt: (acked > 0.0).then(|| ack.rtt()),
            acked,
            lost,
            total: delivery.total,
            prior_delivered: delivery.total_at_send,
            delivery_rate: Delivery::rate(&delivery).unwrap_or(0.0),
            is_app_limited: delivery.app_limited || limited,
            prior_inflight: inflight + acked + lost,
            inflight,
        })
    }

    /// `BBR.delivered`.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// `BBR.BtlBw`.
    pub(super) fn btl_bw(&self) -> f64 {
        self.btl_bw_filter.max
    }

    /// Linux: the bandwidth that pacing rate and window follow; a policer's where one is suspected.
    pub(super) fn bw(&self) -> f64 {
        self.long_term.bw().unwrap_or(self.btl_bw())
    }

    /// A policer of the rate `bw` is suspected.
    #[cfg(test)]
    pub(super) fn police(&mut self, bw: f64) {
        self.long_term = LongTerm::using(bw);
    }

    /// Linux: whether a policer is suspected.
    pub(super) fn is_policed(&self) -> bool {
        self.long_term.bw().is_some()
    }

    /// Linux: no policer is suspected.
    pub(super) fn forget_policer(&mut self) {
        self.long_term.reset();
    }

    /// `BBR.RTprop`; none before the first sample.
    pub(super) fn rtprop(&self) -> Option<Span> {
        (self.rtprop != Span::MAX).then_some(self.rtprop)
    }

    /// Whether the last sample began a round trip.
    pub(super) fn round_start(&self) -> bool {
        self.round_start
    }

    /// A round trip begins now, whenever the last one began.
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// Sections 4.1.1.3 and 4.1.1.5.
    pub(super) fn update_btl_bw(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
        }
        if sample.delivery_rate >= self.btl_bw() || !sample.is_app_limited {
            self.btl_bw_filter.update(self.round_count, sample.delivery_rate);
        }
    }

    /// Linux: looks for a policer. Returns whether one is no longer suspected, after a while.
    pub(super) fn update_long_term(&mut self, sample: &Sample, probing_bw: bool) -> bool {
        let seen = Seen {
            now: sample.now,
            delivered: sample.total,
            lost: self.lost,
            losses: sample.lost > 0.0,
            is_app_limited: sample.is_app_limited,
            round_start: self.round_start,
        };
        self.long_term.update(&seen, probing_bw, PACKET_BITS)
    }

    /// Linux: as section 5.5.9 of draft-ietf-ccwg-bbr-06, but with the full filter length from the
    /// start.
    pub(super) fn update_ack_aggregation(&mut self, sample: &Sample, cwnd: f64) {
        let (bw, round_count) = (self.bw(), self.round_count);
        let path = Path { bw, cwnd, round_count, full_bw_reached: true };
        self.aggregation.update(sample.now, sample.acked, &path);
    }

    /// Linux: how many packets more than the bandwidth accounts for are acknowledged at once.
    pub(super) fn extra_acked(&self) -> f64 {
        self.aggregation.extra_acked().min(self.bw() * EXTRA_ACKED_MOST)
    }

    /// Section 4.1.2.3. Returns whether the estimate was due for a refresh.
    pub(super) fn update_rtprop(&mut self, sample: &Sample) -> bool {
        let expired = sample.now > self.rtprop_stamp.saturating_add(RTPROP_FILTER_LEN);
        if let Some(rtt) = sample.rtt.filter(|&rtt| rtt <= self.rtprop || expired) {
            (self.rtprop, self.rtprop_stamp) = (rtt, sample.now);
        }
        expired
    }

    /// Renews the estimate's timestamp: it counts as measured at `now`.
    pub(super) fn keep_rtprop(&mut self, now: Instant) {
        self.rtprop_stamp = now;
    }

    /// From now on samples are limited by ProbeRTT, until [`Model::extend_limit`] is not called.
    pub(super) fn begin_limit(&mut self) {
        self.limited = Some((self.delivered, self.delivered));
    }

    /// What is in flight at `sample` is limited by ProbeRTT.
    pub(super) fn extend_limit(&mut self, sample: &Sample) {
        if let Some((_, until)) = &mut self.limited {
            *until = sample.total.saturating_add(sample.inflight as u64);
        }
    }
}

/// The largest rate of the last round trips.
#[derive(Clone, Copy, Debug, Default)]
struct BtlBwFilter {
    max: f64,
    /// The largest rate of each round trip, at the index of the round's number.
    rounds: [(u64, f64); BTL_BW_FILTER_LEN as usize],
}

impl BtlBwFilter {
    fn update(&mut self, round: u64, rate: f64) {
        let place = &mut self.rounds[(round % BTL_BW_FILTER_LEN) as usize];
        *place = (round, if place.0 == round { place.1.max(rate) } else { rate });
        let recent = self.rounds.iter().filter(|(at, _)| at + BTL_BW_FILTER_LEN > round);
        self.max = recent.fold(0.0, |max, &(_, rate)| max.max(rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_remembered_for_ten_round_trips() {
        let mut filter = BtlBwFilter::default();
        filter.update(1, 100.0);
        filter.update(1, 90.0);
        for round in 2..11 {
            filter.update(round, 50.0);
            assert_eq!(filter.max, 100.0, "{round}");
        }
        filter.update(11, 40.0);
        assert_eq!(filter.max, 50.0);
        filter.update(40, 10.0);
        assert_eq!(filter.max, 10.0);
    }
}
