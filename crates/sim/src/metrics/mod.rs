//! What a simulation measured: a [`Report`] of [`FlowReport`]s and [`LinkReport`]s.

mod histogram;

pub use histogram::Histogram;

use exm_link::Packet;
use exm_measure::mean;
use exm_trace::delay::Scores;
use exm_units::{Bytes, Rate, Span};

/// What a simulation measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// How much time was simulated.
    pub duration: Span,
    /// The random seed of the run.
    pub seed: u64,
    /// Each sender, in the order of the network's flows.
    pub flows: Vec<FlowReport>,
    /// Each link, in the order of the network's links.
    pub links: Vec<LinkReport>,
    /// Packets still under way at the end, as counted in queues, on links and in delays.
    pub in_network: u64,
    /// How many events were handled: for measuring the engine, not the network.
    pub events: u64,
}

/// What became of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowReport {
    /// Packets sent, again or for the first time.
    pub sent: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// How often a retransmission timer ran out.
    pub timeouts: u64,
    /// Packets that came to the receiver.
    pub arrived: u64,
    /// Packets acknowledged, also after the on-period in which they were sent; of a transport that
    /// keeps order, those in order.
    pub delivered: u64,
    /// Bytes of its user's acknowledged so.
    pub bytes: Bytes,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped by the queue of each link of the path, in order.
    pub dropped: Vec<u64>,
    /// How long the sender was on.
    pub on_time: Span,
    /// The integral over its on-time of 1 / (senders on), in seconds: the time it would have had
    /// the network to itself, had all shared by turns.
    pub share_time: f64,
    /// Round-trip times, as each ACK measured them.
    pub rtt: Histogram,
    /// How long each packet that came to the receiver had waited in queues.
    pub queueing_delay: Histogram,
    /// The time from start to last acknowledgement of each flow that had an amount of data to
    /// deliver and did; its count is the number of flows completed.
    pub completion: Histogram,
    /// The least rate of the links on the path.
    pub bottleneck: Rate,
    /// What became of its receiver's ACKs, where links lead back.
    pub acks: AckCounts,
    /// Throughput and end-to-end delay at the receiver, where links lead back.
    pub end_to_end: Option<Scores>,
    /// The same of a protocol that knew the trace of the path's first link that follows one.
    pub omniscient: Option<Scores>,
}

/// What became of a receiver's ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckCounts {
    /// Sent.
    pub sent: u64,
    /// Come to the sender.
    pub arrived: u64,
    /// Lost at random, or dropped by a queue.
    pub lost: u64,
}

/// What became of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkReport {
    /// The link's name.
    pub name: String,
    /// Packets that came to it.
    pub arrived: u64,
    /// Packets it transmitted, those then lost included.
    pub transmitted: u64,
    /// Bytes it transmitted.
    pub bytes: Bytes,
    /// Packets its queue dropped.
    pub dropped: u64,
    /// Packets its queue marked.
    pub marked: u64,
    /// Packets lost at random, before or after that (see [`LinkSpec::loss`](crate::network::LinkSpec)).
    pub lost: u64,
    /// The fraction of the time it was transmitting.
    pub utilisation: f64,
    /// The mean number of packets waiting, over all time; the one in transmission not counted.
    pub mean_queue: f64,
    /// The most packets that ever waited.
    pub max_queue: u64,
}

impl Report {
    /// The mean over senders of [`FlowReport::normalised_throughput`]; senders that were never on
    /// do not count. Nothing where none was on.
    pub fn mean_normalised_throughput(&self) -> Option<f64> {
        mean(self.flows.iter().filter_map(FlowReport::normalised_throughput))
    }

    /// The mean over senders of their mean round-trip times, in seconds; senders that had nothing
    /// delivered do not count. Nothing where none had.
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
    /// Throughput over the time the sender was on; nothing where it never was.
    pub fn throughput(&self) -> Option<Rate> {
        let nanos = u128::from(self.on_time.as_nanos());
        let bits = u128::from(self.bytes.get()) * 8_000_000_000;
        Some(Rate::from_bps(u64::try_from(bits.checked_div(nanos)?).unwrap_or(u64::MAX)))
    }

    /// Throughput over the equal share of the path's narrowest link: 1 is the whole share. Nothing
    /// where the sender was never on.
    pub fn normalised_throughput(&self) -> Option<f64> {
        let share_bits = self.share_time * self.bottleneck.as_bps() as f64;
        (share_bits > 0.0).then(|| self.bytes.get() as f64 * 8.0 / share_bits)
    }

    /// The mean round-trip time over `base`, such as the propagation delay; nothing where no packet
    /// was delivered.
    pub fn rtt_ratio(&self, base: Span) -> Option<f64> {
        exact_mean_secs(&self.rtt).map(|mean| mean / base.as_secs_f64())
    }

    /// Packets the queues of its path dropped.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets and ACKs neither arrived nor lost nor dropped: still under way at the end.
    pub fn under_way(&self) -> u64 {
        let acks = self.acks.sent - self.acks.arrived - self.acks.lost;
        self.sent - self.arrived - self.lost - self.dropped_in_all() + acks
    }
}

fn exact_mean_secs(spans: &Histogram) -> Option<f64> {
    (spans.count() > 0).then(|| spans.sum_nanos() as f64 * 1e-9 / spans.count() as f64)
}
