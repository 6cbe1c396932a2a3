//! [`InFlight`]: loss detection and the probe timeout of QUIC (RFC 9002), which numbers packets, not segments.

use crate::timer::Timer;
use alloc::collections::{BTreeSet, VecDeque};
use exm_units::{Instant, Span};

/// Section 6.1.1: packets that are this far before one that arrived are lost (`kPacketThreshold`).
const PACKET_THRESHOLD: u64 = 3;
/// Section 6.1.2: `kGranularity`.
const GRANULARITY: Span = Span::from_millis(1);
/// Section 6.2.2: `kInitialRtt`.
const INITIAL_RTT: Span = Span::from_millis(333);
/// Section 7.6.1: so many probe timeouts without any packet that arrives are persistent congestion.
const PERSISTENT: u64 = 3;

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Its number: no packet has that of another, retransmissions included.
    pub(crate) number: u64,
    /// The segment that it carries.
    pub(crate) segment: u64,
    pub(crate) at: Instant,
}

/// Packets that are deemed lost at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Losses {
    pub(crate) count: u64,
    /// When the last of them was sent.
    pub(crate) last: Instant,
    /// Whether they show persistent congestion.
    pub(crate) persistent: bool,
}

/// The packets in flight, in the order in which they were sent, and the timer for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    packets: VecDeque<Packet>,
    next: u64,
    largest_acked: Option<u64>,
    /// Segments to be sent again.
    lost: BTreeSet<u64>,
    latest_rtt: Span,
    min_rtt: Option<Span>,
    /// When the first RTT was measured.
    measured_at: Option<Instant>,
    sent_at: Instant,
    /// Since when losses and marks of earlier packets belong to the last reduction.
    recovery: Option<Instant>,
    /// When the oldest packet in flight becomes lost by time.
    loss_at: Option<Instant>,
    /// When losses were last looked for: a timer set anew lies no further back.
    looked_at: Instant,
    /// Probe timeouts in a row.
    timeouts: u32,
    probe_is_due: bool,
    max_ack_delay: Span,
}

impl InFlight {
    /// With a receiver that delays ACKs by at most `max_ack_delay`.
    pub(crate) fn new(max_ack_delay: Span) -> InFlight {
        InFlight { max_ack_delay, ..InFlight::default() }
    }

    pub(crate) fn count(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Whether a probe is to be sent.
    pub(crate) fn probe_is_due(&self) -> bool {
        self.probe_is_due && !self.packets.is_empty()
    }

    /// The segment to send again first.
    pub(crate) fn next_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }

    /// The segment in the oldest packet.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.packets.front().map(|packet| packet.segment)
    }

    /// `segment` is sent.
    pub(crate) fn send(&mut self, now: Instant, segment: u64) {
        self.lost.remove(&segment);
        self.packets.push_back(Packet { number: self.next, segment, at: now });
        self.next += 1;
        self.sent_at = now;
        self.probe_is_due = false;
    }

    /// The packet with `segment` that was sent `at` that time has arrived, if it was still in flight.
    pub(crate) fn arrive(&mut self, segment: u64, at: Instant) -> Option<Packet> {
        let from = self.packets.partition_point(|packet| packet.at < at);
        let later = self.packets.iter().skip(from).take_while(|packet| packet.at == at);
        let place = later.into_iter().position(|packet| packet.segment == segment)?;
        self.take(from + place)
    }

    /// The oldest packet with `segment` has arrived, if one is in flight.
    pub(crate) fn arrive_at_any_time(&mut self, segment: u64) -> Option<Packet> {
        self.take(self.packets.iter().position(|packet| packet.segment == segment)?)
    }

    fn take(&mut self, place: usize) -> Option<Packet> {
        let packet = self.packets.remove(place)?;
        self.largest_acked = self.largest_acked.max(Some(packet.number));
        Some(packet)
    }

    /// All segments have arrived: copies on their way are not waited for.
    pub(crate) fn settle(&mut self) {
        self.packets.clear();
        self.lost.clear();
        (self.loss_at, self.probe_is_due) = (None, false);
    }

    /// `segment` need not be sent again.
    pub(crate) fn forget(&mut self, segment: u64) {
        self.lost.remove(&segment);
    }

    /// Section 5: an RTT of `latest`, of which the receiver held the ACK for `delay`. Returns the sample for the estimate.
    pub(crate) fn measure(&mut self, now: Instant, latest: Span, delay: Span) -> Span {
        self.latest_rtt = latest;
        self.measured_at = self.measured_at.or(Some(now));
        let least = self.min_rtt.map_or(latest, |least| least.min(latest));
        self.min_rtt = Some(least);
        let delay = delay.min(self.max_ack_delay);
        if latest >= least.saturating_add(delay) { latest - delay } else { latest }
    }

    /// Packets arrived: the next probe timeout is not backed off.
    pub(crate) fn restart(&mut self) {
        self.timeouts = 0;
    }

    /// Section 6.1: what is lost by now. Segments that `is_missing` are to be sent again.
    pub(crate) fn detect(
        &mut self,
        now: Instant,
        timer: &Timer,
        is_missing: impl Fn(u64) -> bool,
    ) -> Option<Losses> {
        (self.loss_at, self.looked_at) = (None, now);
        let largest = self.largest_acked?;
        let rtt = timer.srtt().max(self.latest_rtt);
        let delay = rtt.saturating_add(rtt / 8).max(GRANULARITY);
        let mut losses: Option<Losses> = None;
        // A run of packets one after the other, of which none arrived.
        let mut run: Option<(Packet, Packet)> = None;
        while let Some(&packet) = self.packets.front().filter(|packet| packet.number < largest) {
            let lost_at = packet.at.saturating_add(delay);
            if packet.number + PACKET_THRESHOLD > largest && now < lost_at {
                self.loss_at = Some(lost_at);
                break;
            }
            self.packets.pop_front();
            if is_missing(packet.segment) {
                self.lost.insert(packet.segment);
            }
            let first = run.filter(|(_, last)| last.number + 1 == packet.number);
            let first = first.map_or(packet, |(first, _)| first);
            run = Some((first, packet));
            let length = packet.at.saturating_since(first.at);
            let (count, before) =
                losses.map_or((0, false), |losses| (losses.count, losses.persistent));
            let persistent = before || self.is_persistent(first.at, length, timer);
            losses = Some(Losses { count: count + 1, last: packet.at, persistent });
        }
        losses
    }

    /// Section 7.6.
    fn is_persistent(&self, first: Instant, length: Span, timer: &Timer) -> bool {
        let measured = self.measured_at.is_some_and(|at| first > at);
        measured && length > self.base_timeout(timer) * PERSISTENT
    }

    /// Whether a loss or mark of a packet sent `at` that time asks for a reduction of the window: once per recovery.
    pub(crate) fn begins_recovery(&mut self, now: Instant, at: Instant) -> bool {
        let begins = !self.is_recovering(at);
        if begins {
            self.recovery = Some(now);
        }
        begins
    }

    /// Section 7.3.2: whether a packet sent `at` that time belongs to recovery.
    pub(crate) fn is_recovering(&self, at: Instant) -> bool {
        self.recovery.is_some_and(|since| at <= since)
    }

    /// Section 7.6.2: recovery ends with persistent congestion.
    pub(crate) fn end_recovery(&mut self) {
        self.recovery = None;
    }

    /// Section 6.2.1: the probe timeout without back-off.
    fn base_timeout(&self, timer: &Timer) -> Span {
        let (srtt, rttvar) = match timer.srtt() {
            Span::ZERO => (INITIAL_RTT, INITIAL_RTT / 2),
            srtt => (srtt, timer.rttvar()),
        };
        let margin = (rttvar * 4).max(GRANULARITY);
        srtt.saturating_add(margin).saturating_add(self.max_ack_delay)
    }

    /// When its timer expires; [`Instant::MAX`] for never.
    pub(crate) fn deadline(&self, timer: &Timer) -> Instant {
        if let Some(at) = self.loss_at {
            return at;
        }
        if self.packets.is_empty() || self.probe_is_due {
            return Instant::MAX;
        }
        let timeout = self.base_timeout(timer).as_nanos();
        let backed_off = timeout.saturating_mul(1 << self.timeouts.min(20));
        self.sent_at.saturating_add(Span::from_nanos(backed_off)).max(self.looked_at)
    }

    /// The timer expired. Returns whether it was for a probe, which may then be sent regardless of the window; otherwise
    /// packets have become lost.
    pub(crate) fn time_out(&mut self) -> bool {
        let probes = self.loss_at.is_none();
        if probes {
            self.timeouts = self.timeouts.saturating_add(1);
            self.probe_is_due = true;
        }
        probes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::MinRto;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A packet each millisecond, and an RTT of 100 ms.
    fn sent(count: u64) -> (InFlight, Timer) {
        let (mut flight, mut timer) = (InFlight::new(ms(25)), Timer::new(MinRto::default()));
        (0..count).for_each(|segment| flight.send(at(segment), segment));
        timer.measure(flight.measure(at(0), ms(100), Span::ZERO));
        (flight, timer)
    }

    fn detect(flight: &mut InFlight, now: u64, timer: &Timer) -> Option<u64> {
        flight.detect(at(now), timer, |_| true).map(|losses| losses.count)
    }

    #[test]
    fn a_packet_three_before_one_that_arrived_is_lost_and_others_by_time() {
        let (mut flight, timer) = sent(5);
        flight.arrive(2, at(2)).expect("is in flight");
        assert_eq!(detect(&mut flight, 102, &timer), None);
        // 9/8 of 100 ms after packet 0.
        assert_eq!(flight.deadline(&timer), Instant::ZERO + Span::from_micros(112_500));
        flight.arrive(3, at(3)).expect("is in flight");
        assert_eq!(detect(&mut flight, 103, &timer), Some(1), "packet 0 by the threshold");
        assert_eq!((flight.next_lost(), flight.count()), (Some(0), 2));
        assert_eq!(flight.deadline(&timer), Instant::ZERO + Span::from_micros(113_500));
        assert!(!flight.time_out(), "not a probe");
        assert_eq!(detect(&mut flight, 114, &timer), Some(1), "packet 1 by time");
        // Packet 4 was sent after all that arrived: it waits for a probe.
        assert_eq!(detect(&mut flight, 900, &timer), None);
    }

    #[test]
    fn copies_of_a_segment_are_different_packets() {
        let (mut flight, timer) = sent(4);
        flight.arrive(3, at(3)).expect("is in flight");
        assert_eq!(detect(&mut flight, 103, &timer), Some(1));
        flight.send(at(104), 0);
        assert_eq!((flight.next_lost(), flight.count()), (None, 3));
        assert_eq!(flight.arrive(0, at(0)), None, "the first copy was given up");
        let packet = Packet { number: 4, segment: 0, at: at(104) };
        assert_eq!(flight.arrive(0, at(104)), Some(packet));
    }

    #[test]
    fn probes_follow_the_timeout_of_the_rfc() {
        let mut flight = InFlight::new(ms(25));
        let mut timer = Timer::new(MinRto::default());
        flight.send(at(0), 0);
        // 333 ms, 4 times half of it, and the ACK's delay.
        assert_eq!(flight.deadline(&timer), at(333 + 666 + 25));
        timer.measure(ms(100));
        assert_eq!(flight.deadline(&timer), at(100 + 200 + 25));
        assert!(flight.time_out() && flight.probe_is_due());
        assert_eq!(flight.deadline(&timer), Instant::MAX, "until the probe is sent");
        flight.send(at(325), 0);
        assert_eq!(flight.deadline(&timer), at(325 + 2 * 325));
        flight.restart();
        assert_eq!(flight.deadline(&timer), at(325 + 325));
    }

    #[test]
    fn the_delay_of_an_ack_is_subtracted_down_to_the_least_rtt() {
        let mut flight = InFlight::new(ms(25));
        assert_eq!(flight.measure(at(0), ms(100), Span::ZERO), ms(100));
        assert_eq!(flight.measure(at(0), ms(130), ms(25)), ms(105));
        assert_eq!(flight.measure(at(0), ms(110), ms(25)), ms(110), "implausible");
        assert_eq!(flight.measure(at(0), ms(200), ms(80)), ms(175), "at most 25 ms");
    }

    #[test]
    fn losses_over_three_probe_timeouts_are_persistent_congestion() {
        // The timeout is 325 ms: more than 975 from the first to the last.
        for (last, persistent) in [(1076, false), (1077, true)] {
            let (mut flight, timer) = sent(2);
            flight.arrive(0, at(0)).expect("is in flight");
            for (segment, ms) in [(2, 101), (3, 500), (4, last), (5, 2000)] {
                flight.send(at(ms), segment);
            }
            flight.arrive(1, at(1)).expect("is in flight");
            flight.arrive(5, at(2000)).expect("is in flight");
            let losses = flight.detect(at(2100), &timer, |_| true).expect("three");
            assert_eq!((losses.count, losses.persistent, losses.last), (3, persistent, at(last)));
        }
    }

    #[test]
    fn a_recovery_reduces_once() {
        let mut flight = InFlight::default();
        assert!(flight.begins_recovery(at(100), at(5)));
        assert!(!flight.begins_recovery(at(110), at(90)), "sent before");
        assert!(flight.is_recovering(at(100)) && !flight.is_recovering(at(101)));
        assert!(flight.begins_recovery(at(250), at(101)));
    }
}
