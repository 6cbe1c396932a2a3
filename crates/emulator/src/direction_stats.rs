//! [`DirectionStats`]: the counters and delays of one direction.

use crate::{Cause, Delivery};
use exm_trace::delay::{EndToEnd, PacketDelays, Scores};
use exm_units::{Instant, Span};
use hdrhistogram::Histogram;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of packets.
    pub packets: u64,
    /// Their size in bytes, as IP packets.
    pub bytes: u64,
}

impl Tally {
    /// Counts a packet of `size` bytes.
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// How much later than due packets were written, to three significant digits.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram<u64>);

impl Lateness {
    fn new() -> Lateness {
        // The range grows automatically.
        Lateness(Histogram::new(3).expect("three digits are possible"))
    }

    #[inline]
    fn record(&mut self, late: Span) {
        // The range grows to any 64-bit value.
        let _ = self.0.record(late.as_nanos());
    }

    /// The quantile `share`, from 0 to 1; zero if there are no packets.
    pub fn quantile(&self, share: f64) -> Span {
        Span::from_nanos(self.0.value_at_quantile(share))
    }

    /// The maximum.
    pub fn max(&self) -> Span {
        Span::from_nanos(self.0.max())
    }
}

/// The counters and delays of one direction.
#[derive(Clone, Debug)]
pub struct DirectionStats {
    /// Packets that arrived.
    pub arrived: Tally,
    /// Packets that crossed the link.
    pub delivered: Tally,
    /// Packets that were lost, by [`Cause`].
    dropped: [Tally; Cause::ALL.len()],
    /// How many of the delivered packets were marked (ECN).
    pub marked: u64,
    /// How many frames bypassed the link, such as those of ARP.
    pub passed_by: u64,
    /// The largest numbers of packets and of bytes in the queue.
    pub max_queue: Tally,
    /// How much later than due packets were written.
    pub lateness: Lateness,
    /// The queueing and transmission times of packets.
    pub queueing: PacketDelays,
    /// The end-to-end delay of the last packet.
    pub(crate) last_total: Span,
    end_to_end: EndToEnd,
}

impl DirectionStats {
    /// Empty statistics; delays are counted from `from` on.
    pub(crate) fn new(from: Instant) -> DirectionStats {
        DirectionStats {
            arrived: Tally::default(),
            delivered: Tally::default(),
            dropped: [Tally::default(); Cause::ALL.len()],
            marked: 0,
            passed_by: 0,
            max_queue: Tally::default(),
            lateness: Lateness::new(),
            queueing: PacketDelays::new(from, Instant::MAX),
            last_total: Span::ZERO,
            end_to_end: EndToEnd::new(from, Instant::MAX),
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, delivery: &Delivery) {
        self.delivered.add(delivery.packet.size);
        self.marked += u64::from(delivery.marked);
        self.lateness.record(delivery.lateness());
        self.last_total = delivery.total();
        self.queueing.record(delivery.received_at, delivery.queueing());
        let bytes = exm_units::Bytes::new(u64::from(delivery.packet.size));
        self.end_to_end.arrived(delivery.packet.sent_at, delivery.received_at, bytes);
    }

    #[inline]
    pub(crate) fn dropped(&mut self, size: u32, cause: Cause) {
        self.dropped[cause as usize].add(size);
    }

    /// Packets lost for `cause`.
    pub fn lost(&self, cause: Cause) -> Tally {
        self.dropped[cause as usize]
    }

    /// Packets lost for any cause.
    pub fn total_lost(&self) -> Tally {
        self.dropped.iter().fold(Tally::default(), |sum, tally| Tally {
            packets: sum.packets + tally.packets,
            bytes: sum.bytes + tally.bytes,
        })
    }

    /// Throughput and end-to-end delay until `end`.
    pub fn scores(&self, end: Instant) -> Scores {
        self.end_to_end.clone().finish_at(end)
    }
}
