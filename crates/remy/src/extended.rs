//! [`ExtendedMemory`]: what a RemyCC remembers of its flow by the signals that Remy does not have.

use crate::signal::{Point, Signal};
use exm_cc::{Ack, Congestion, CongestionKind};
use exm_units::Instant;

/// What is left of a moving average of shares after one more packet: DCTCP's gain of 1/16 (RFC 8257, section
/// 4.2), though by packets and not by round trips.
const KEPT: f64 = 1.0 - 1.0 / 16.0;
/// After as many packets less than a ten-millionth of an average is left.
const FORGOTTEN: u64 = 256;
const MILLIS_PER_NANO: f64 = 1e-6;

/// The extended signals of a flow ([`Signal::is_extended`]), and the state needed to update them.
///
/// They are apart from [`Memory`](crate::Memory), so that tables on Remy's signals do not pay for them. At
/// the start of a flow all are zero.
#[derive(Clone, Debug, Default)]
pub struct ExtendedMemory {
    ecn: f64,
    loss: f64,
    receive_rate: f64,
    /// When the packet arrived that opened the present window of [`Signal::ReceiveRate`].
    opened_at: Option<Instant>,
    /// Packets that arrived in that window since.
    received: u64,
    /// Packets lost since the last ACK, as far as congestion events tell.
    reported_lost: u64,
    /// [`Delivery::lost`](exm_cc::Delivery::lost) at the last ACK, where the host measures it.
    measured_lost: Option<u64>,
}

impl ExtendedMemory {
    /// The memory at the start of a flow.
    pub const fn new() -> ExtendedMemory {
        ExtendedMemory {
            ecn: 0.0,
            loss: 0.0,
            receive_rate: 0.0,
            opened_at: None,
            received: 0,
            reported_lost: 0,
            measured_lost: None,
        }
    }

    /// The value of each extended signal, in order.
    pub const fn values(&self) -> [f64; Signal::COUNT - Signal::REMYS] {
        [self.ecn, self.loss, self.receive_rate]
    }

    /// Puts the values of the extended signals into `point`.
    pub fn fill(&self, point: &mut Point) {
        point[Signal::REMYS..].copy_from_slice(&self.values());
    }

    /// Updates the signals with an ACK of packets of this flow. Where it acknowledges several, each counts.
    #[inline(never)]
    pub fn on_ack(&mut self, ack: &Ack) {
        let (acked, marked) = (ack.acked.get(), ack.marked.get());
        let delivered = acked.max(marked);
        let lost = self.take_lost(ack);
        let kept = kept_after(delivered);
        if delivered > 0 {
            self.ecn = kept * self.ecn + (1.0 - kept) * (marked as f64 / delivered as f64);
        }
        // First those lost, then those delivered: the ACK is of the latter.
        self.loss = kept * (1.0 - kept_after(lost) * (1.0 - self.loss));
        self.measure_rate(ack);
    }

    /// Packets lost between the last ACK and this: as the host measured, or else as it reported. Within one
    /// recovery TCP measures all losses but reports only the first.
    fn take_lost(&mut self, ack: &Ack) -> u64 {
        let reported = core::mem::take(&mut self.reported_lost);
        ack.delivery.map_or(reported, |delivery| {
            let before = self.measured_lost.replace(delivery.lost);
            delivery.lost.saturating_sub(before.unwrap_or(delivery.lost_at_send))
        })
    }

    /// Notes packets that the host deems lost: the next ACK updates [`Signal::Loss`] with them. A loss that
    /// proves spurious stays in the average until later packets outweigh it.
    #[inline(never)]
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        if matches!(congestion.kind, CongestionKind::Lost | CongestionKind::Timeout) {
            self.reported_lost = self.reported_lost.saturating_add(congestion.packets.get());
        }
    }

    /// A window ends with the first packet that arrives a round trip or more after the one that opened it,
    /// and that packet opens the next.
    fn measure_rate(&mut self, ack: &Ack) {
        let received_at = ack.received_at.unwrap_or(ack.now);
        let Some(opened_at) = self.opened_at else {
            self.opened_at = Some(received_at);
            return;
        };
        self.received = self.received.saturating_add(ack.acked.get());
        let length = received_at.saturating_since(opened_at).as_nanos();
        if length >= ack.rtt().as_nanos().max(1) {
            self.receive_rate = self.received as f64 / (length as f64 * MILLIS_PER_NANO);
            (self.opened_at, self.received) = (Some(received_at), 0);
        }
    }
}

/// What is left of a moving average after `packets` more packets.
fn kept_after(packets: u64) -> f64 {
    (0..packets.min(FORGOTTEN)).fold(1.0, |kept, _| kept * KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_cc::Delivery;
    use exm_units::{Packets, Span};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// The ACK of a packet sent 10 ms ago.
    fn ack(now: u64, acked: u64, marked: u64) -> Ack {
        let mut ack = Ack::new(0, at(now - 10), at(now));
        (ack.acked, ack.marked) = (Packets::new(acked), Packets::new(marked));
        ack
    }

    fn lost(kind: CongestionKind, packets: u64) -> Congestion {
        let mut congestion = Congestion::new(kind, at(0), at(10));
        congestion.packets = Packets::new(packets);
        congestion
    }

    #[test]
    fn marks_are_averaged_by_packets() {
        let mut memory = ExtendedMemory::new();
        memory.on_ack(&ack(10, 1, 1));
        assert_eq!(memory.values(), [1.0 / 16.0, 0.0, 0.0]);
        memory.on_ack(&ack(10, 1, 0));
        assert_eq!(memory.values()[0], 15.0 / 256.0);
        let (mut each, mut together) = (memory.clone(), memory);
        (0..4).for_each(|_| each.on_ack(&ack(10, 1, 1)));
        together.on_ack(&ack(10, 4, 4));
        assert!((each.values()[0] - together.values()[0]).abs() < 1e-12);
    }

    #[test]
    fn losses_raise_their_average_and_deliveries_lower_it() {
        let mut memory = ExtendedMemory::new();
        memory.on_congestion(&lost(CongestionKind::Lost, 1));
        memory.on_congestion(&lost(CongestionKind::Marked, 1));
        memory.on_congestion(&lost(CongestionKind::Spurious, 1));
        memory.on_congestion(&lost(CongestionKind::Idle, 1));
        assert_eq!(memory.values()[1], 0.0, "until the next ACK");
        memory.on_ack(&ack(10, 1, 0));
        assert_eq!(memory.values()[1], 15.0 / 256.0);
        memory.on_congestion(&lost(CongestionKind::Timeout, u64::MAX));
        memory.on_ack(&ack(10, 1, 0));
        assert!((0.937..=0.9375).contains(&memory.values()[1]), "15/16: one of them arrived");
    }

    #[test]
    fn losses_that_the_host_measures_are_counted_once() {
        let mut memory = ExtendedMemory::new();
        let mut delivered = ack(10, 1, 0);
        let mut delivery = Delivery::new(1, Span::from_millis(10));
        // Two were lost in an earlier on-period, and one since this packet was sent.
        (delivery.lost, delivery.lost_at_send) = (3, 2);
        delivered.delivery = Some(delivery);
        memory.on_congestion(&lost(CongestionKind::Lost, 1));
        memory.on_ack(&delivered);
        assert_eq!(memory.values()[1], 15.0 / 256.0);
        memory.on_ack(&delivered);
        assert_eq!(memory.values()[1], 225.0 / 4096.0);
    }

    #[test]
    fn every_fifth_packet_lost_or_marked_is_a_fifth() {
        let mut memory = ExtendedMemory::new();
        let (mut ecn, mut loss) = (0.0, 0.0);
        for round in 0..200 {
            memory.on_congestion(&lost(CongestionKind::Lost, 1));
            for packet in 0..4 {
                memory.on_ack(&ack(10, 1, u64::from(packet == 0)));
                if round >= 100 {
                    ecn += memory.values()[0] / 400.0;
                    loss += memory.values()[1] / 400.0;
                }
            }
        }
        assert!((ecn - 0.25).abs() < 0.01, "{ecn} of those delivered");
        assert!((loss - 0.2).abs() < 0.03, "{loss} of all");
    }

    #[test]
    fn the_rate_is_that_of_the_last_full_round_trip() {
        let mut memory = ExtendedMemory::new();
        let mut rates = Vec::new();
        for now in 10..=40 {
            memory.on_ack(&ack(now, if now <= 20 { 2 } else { 1 }, 0));
            rates.push(memory.values()[2]);
        }
        assert_eq!(rates[..10], [0.0; 10], "the first window lasts from 10 to 20 ms");
        assert_eq!(rates[10..20], [2.0; 10]);
        assert_eq!(rates[20..], [1.0; 11]);
    }

    #[test]
    fn the_rate_is_by_the_receivers_clock_where_it_is_known() {
        let mut memory = ExtendedMemory::new();
        for packet in 0..=10 {
            // The ACKs of packets that arrived 1 ms apart arrive together.
            let mut ack = ack(30, 1, 0);
            ack.received_at = Some(at(86_400_000 + packet));
            memory.on_ack(&ack);
        }
        assert_eq!(memory.values()[2], 1.0);
    }
}
