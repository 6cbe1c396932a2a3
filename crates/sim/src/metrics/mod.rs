//! The results of a simulation: a [`Report`] of [`FlowReport`]s and [`LinkReport`]s.

mod histogram;

pub use histogram::Histogram;

use crate::active::MeasuredOver;
use crate::video::VideoReport;
use exm_cc::Failure;
use exm_link::Packet;
use exm_measure::mean;
use exm_trace::delay::Scores;
use exm_units::{Bytes, Rate, Span};

/// The results of a simulation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The simulated time.
    pub duration: Span,
    /// The random seed of the run.
    pub seed: u64,
    /// Each sender, in the order of the network's flows.
    pub flows: Vec<FlowReport>,
    /// Each link, in the order of the network's links.
    pub links: Vec<LinkReport>,
    /// Packets in flight at the end: in queues, on links and in delays.
    pub in_network: u64,
    /// How many events were processed: for measuring the engine, not the network.
    pub events: u64,
}

/// The results of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowReport {
    /// Packets sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// How often a retransmission timer expired.
    pub timeouts: u64,
    /// Packets that arrived at the receiver.
    pub arrived: u64,
    /// Packets acknowledged, even if after the on-period in which they were sent; for a transport that
    /// keeps order, those in order.
    pub delivered: u64,
    /// Payload bytes of those packets.
    pub bytes: Bytes,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped by the queue of each link of the path, in order.
    pub dropped: Vec<u64>,
    /// How long the sender was on.
    pub on_time: Span,
    /// The integral of 1 / (senders on) over its on-time, in seconds: its on-time scaled by its equal
    /// share of the network.
    pub share_time: f64,
    /// From the start of each of its on-periods until its end or its last packet's arrival, whichever is
    /// later: see [`MeasuredOver::Arrivals`].
    pub active_time: Span,
    /// The integral of 1 / (senders active) over that time, in seconds.
    pub active_share_time: f64,
    /// Which of these times its throughput is measured over.
    pub over: MeasuredOver,
    /// Round-trip times, as measured by each ACK.
    pub rtt: Histogram,
    /// How long each packet that arrived at the receiver had waited in queues.
    pub queueing_delay: Histogram,
    /// The time from start to last ACK of each completed flow that had an amount of data to deliver;
    /// its count is the number of flows completed.
    pub completion: Histogram,
    /// The minimum rate of the links on the path.
    pub bottleneck: Rate,
    /// Where that link follows a trace: its equal share of what the trace could carry in the time that its
    /// throughput is measured over, bits.
    pub offered: Option<f64>,
    /// Counts of its receiver's ACKs, if links lead back.
    pub acks: AckCounts,
    /// Throughput and end-to-end delay at the receiver, if links lead back.
    pub end_to_end: Option<Scores>,
    /// The same for the omniscient protocol, for the path's first link that follows a trace.
    pub omniscient: Option<Scores>,
    /// What its receiver saw of its video, if its traffic is one.
    pub video: Option<Box<VideoReport>>,
    /// How its controller failed, if it did: all the rest is then worthless.
    pub failure: Option<Failure>,
}

/// Counts of a receiver's ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckCounts {
    /// Sent.
    pub sent: u64,
    /// Arrived at the sender.
    pub arrived: u64,
    /// Lost at random, or dropped by a queue.
    pub lost: u64,
}

/// The results of one link.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LinkReport {
    /// The link's name.
    pub name: String,
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets that it transmitted, including those then lost.
    pub transmitted: u64,
    /// Bytes it transmitted.
    pub bytes: Bytes,
    /// Packets its queue dropped.
    pub dropped: u64,
    /// Packets its queue marked.
    pub marked: u64,
    /// Packets lost at random, before or after the queue (see
    /// [`LinkSpec::loss`](crate::network::LinkSpec)).
    pub lost: u64,
    /// The fraction of the time it was transmitting.
    pub utilisation: f64,
    /// The mean number of packets waiting over all time, not counting the one in transmission.
    pub mean_queue: f64,
    /// The most packets that ever waited.
    pub max_queue: u64,
}

impl Report {
    /// The results of `flows` and `links` over `duration`, with random seed `seed`.
    pub fn new(
        duration: Span,
        seed: u64,
        flows: Vec<FlowReport>,
        links: Vec<LinkReport>,
    ) -> Report {
        Report { duration, seed, flows, links, in_network: 0, events: 0 }
    }

    /// The first failure of a controller. A report with one describes no controller's behaviour.
    pub fn failure(&self) -> Option<&Failure> {
        self.flows.iter().filter_map(|flow| flow.failure.as_ref()).min_by_key(|failure| failure.at)
    }

    /// The mean over senders of [`FlowReport::normalised_throughput`]; senders that were never on do
    /// not count. None if none was on.
    pub fn mean_normalised_throughput(&self) -> Option<f64> {
        mean(self.flows.iter().filter_map(FlowReport::normalised_throughput))
    }

    /// The mean over senders of their mean RTT, in seconds; senders without delivered packets do not
    /// count. None if none had any.
    pub fn mean_rtt_secs(&self) -> Option<f64> {
        mean(self.flows.iter().filter_map(|flow| exact_mean_secs(&flow.rtt)))
    }
}

impl LinkReport {
    /// `packet` was transmitted.
    #[inline]
    pub(crate) fn count_transmission(&mut self, packet: &Packet) {
        self.transmitted += 1;
        self.bytes += Bytes::new(u64::from(packet.size));
    }
}

impl FlowReport {
    /// The time that its throughput is measured over, and the integral of its equal share over that
    /// time, in seconds.
    pub fn measured(&self) -> (Span, f64) {
        match self.over {
            MeasuredOver::Arrivals => (self.active_time, self.active_share_time),
            MeasuredOver::Papers => (self.on_time, self.share_time),
        }
    }

    /// Throughput over that time; none if the sender was never on.
    pub fn throughput(&self) -> Option<Rate> {
        let nanos = u128::from(self.measured().0.as_nanos());
        let bits = u128::from(self.bytes.get()) * 8_000_000_000;
        Some(Rate::from_bps(u64::try_from(bits.checked_div(nanos)?).unwrap_or(u64::MAX)))
    }

    /// Throughput divided by the equal share of the path's slowest link, of a trace by that of what it could
    /// carry in that time: 1 is the whole share. None if the sender was never on.
    pub fn normalised_throughput(&self) -> Option<f64> {
        let of_rate = || self.measured().1 * self.bottleneck.as_bps() as f64;
        let share_bits = self.offered.unwrap_or_else(of_rate);
        (share_bits > 0.0).then(|| self.bytes.get() as f64 * 8.0 / share_bits)
    }

    /// The mean RTT divided by `base`, such as the propagation delay; none if no packet was delivered.
    pub fn rtt_ratio(&self, base: Span) -> Option<f64> {
        exact_mean_secs(&self.rtt).map(|mean| mean / base.as_secs_f64())
    }

    /// Packets the queues of its path dropped.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets and ACKs that neither arrived nor were lost nor dropped: in flight at the end.
    pub fn under_way(&self) -> u64 {
        let acks = self.acks.sent - self.acks.arrived - self.acks.lost;
        self.sent - self.arrived - self.lost - self.dropped_in_all() + acks
    }
}

fn exact_mean_secs(spans: &Histogram) -> Option<f64> {
    (spans.count() > 0).then(|| spans.sum_nanos() as f64 * 1e-9 / spans.count() as f64)
}
