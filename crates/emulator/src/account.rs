//! [`Account`]: what one direction carried, lost and delayed.

use crate::{Cause, Delivery};
use exm_trace::delay::{EndToEnd, PacketDelays, Scores};
use exm_units::{Instant, Span};
use hdrhistogram::Histogram;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// How many bytes, as IP packets.
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

/// How late packets were written, to within a thousandth.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram<u64>);

impl Lateness {
    fn new() -> Lateness {
        // It grows to what it is shown; three digits are counted.
        Lateness(Histogram::new(3).expect("three digits are possible"))
    }

    #[inline]
    fn record(&mut self, late: Span) {
        // It grows by itself to any number of 64 bits.
        let _ = self.0.record(late.as_nanos());
    }

    /// What the given share of the packets, from 0 to 1, was not later than; zero of none.
    pub fn quantile(&self, share: f64) -> Span {
        Span::from_nanos(self.0.value_at_quantile(share))
    }

    /// How late the latest was.
    pub fn max(&self) -> Span {
        Span::from_nanos(self.0.max())
    }
}

/// What one direction carried, lost and delayed.
#[derive(Clone, Debug)]
pub struct Account {
    /// What came.
    pub arrived: Tally,
    /// What crossed the link.
    pub delivered: Tally,
    /// What was lost, by [`Cause`].
    dropped: [Tally; Cause::ALL.len()],
    /// How many packets were marked instead of dropped, and crossed.
    pub marked: u64,
    /// How many frames were none of the link's, such as those of ARP, and passed by it.
    pub passed_by: u64,
    /// The largest number of packets and bytes that waited in the queue.
    pub max_queue: Tally,
    /// How late packets were written.
    pub lateness: Lateness,
    /// How long packets were in the queue and in transmission.
    pub queueing: PacketDelays,
    /// How long the packet took in all that crossed last.
    pub(crate) last_total: Span,
    end_to_end: EndToEnd,
}

impl Account {
    /// Nothing yet; delays are counted from `from` on.
    pub(crate) fn new(from: Instant) -> Account {
        Account {
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

    /// What was lost for `cause`.
    pub fn lost(&self, cause: Cause) -> Tally {
        self.dropped[cause as usize]
    }

    /// What was lost in all.
    pub fn lost_in_all(&self) -> Tally {
        self.dropped.iter().fold(Tally::default(), |sum, tally| Tally {
            packets: sum.packets + tally.packets,
            bytes: sum.bytes + tally.bytes,
        })
    }

    /// Throughput and end-to-end delay up to `end`, after which nothing was delivered.
    pub fn scores(&self, end: Instant) -> Scores {
        self.end_to_end.clone().finish_at(end)
    }
}
