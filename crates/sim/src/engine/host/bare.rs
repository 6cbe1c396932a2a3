//! [`Bare`]: the sender that RemyCCs are trained on.
//!
//! It sends when its controller's window and pacing allow, and neither retransmits nor reorders: a
//! lost packet is only a gap in the numbers. A flow that has an amount of data to deliver sends a
//! new packet for each one lost, and after a second of silence deems everything in flight lost; a
//! flow with a duration and without a timer waits for its next on-period. If its controller asks for marks,
//! its packets are ECN-capable and their ACKs tell which were marked.

use super::{AckInfo, Arrived};
use crate::controllers::AnyController;
use crate::network::codepoint;
use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Gate, Sent, Start, Wakeup};
use exm_link::{Ecn, Packet};
use exm_units::{Bytes, Instant, Packets, Span};

/// The minimum timeout: RFC 6298, rule 2.4.
const LEAST_TIMEOUT: Span = Span::from_secs(1);

/// What a sender does when it has packets in flight and no ACK arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// It waits.
    Endless,
    /// It continues after [`LEAST_TIMEOUT`].
    Stall,
    /// It continues after the larger of that and two smoothed round trips, and notifies its
    /// controller.
    Timer,
}

#[derive(Clone, Debug)]
pub(super) struct Bare {
    pub(super) cc: AnyController,
    gate: Gate,
    wakeup: Wakeup,
    /// Packets sent; the number of the next one.
    sent: u64,
    /// One above the largest packet number acknowledged or given up.
    acked: u64,
    /// Packets that this flow still has to deliver; `u64::MAX` for a flow with a duration.
    to_deliver: u64,
    /// Whether lost packets are not made up for by others, since each is a part of a frame.
    is_media: bool,
    patience: Patience,
    keeps_timer: bool,
    srtt: Span,
    /// The later of the last send and the last ACK of this flow.
    active_at: Instant,
    packet_size: u32,
    /// Whether the controller is notified of what is sent.
    reports_sent: bool,
    /// The ECN codepoint of its packets.
    ecn: Ecn,
}

impl Bare {
    pub(super) fn new(packet_size: Bytes, cc: AnyController, timer: bool) -> Bare {
        let closed = Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };
        Bare {
            reports_sent: cc.needs().sent,
            ecn: codepoint(cc.needs(), false),
            cc,
            gate: Gate::new(closed),
            wakeup: Wakeup::NONE,
            sent: 0,
            acked: 0,
            to_deliver: u64::MAX,
            is_media: false,
            patience: Patience::Endless,
            keeps_timer: timer,
            srtt: Span::ZERO,
            active_at: Instant::ZERO,
            packet_size: packet_size.get() as u32,
        }
    }

    /// A flow starts that delivers `data`, or is on for a time; if it `is_media`, it has nothing to send at first.
    pub(super) fn start(&mut self, now: Instant, data: Option<Packets>, is_media: bool) {
        self.is_media = is_media;
        self.acked = self.sent;
        self.active_at = now;
        self.srtt = Span::ZERO;
        let decision = self.cc.on_start(&self.start_event(now));
        self.gate = Gate::new(decision);
        self.wakeup.ask(decision.wake_at);
        self.to_deliver = data.map_or(u64::MAX, Packets::get);
        self.patience = match (self.keeps_timer, data) {
            (true, _) => Patience::Timer,
            (false, None) => Patience::Endless,
            (false, Some(_)) => Patience::Stall,
        };
    }

    /// `cc` takes over; if a flow is on, it starts now. Packets in flight stay in flight.
    pub(super) fn set_controller(&mut self, now: Instant, cc: AnyController, on: bool) {
        self.cc = cc;
        self.reports_sent = self.cc.needs().sent;
        self.ecn = codepoint(self.cc.needs(), false);
        self.wakeup.ask(None);
        if on {
            let decision = self.cc.on_start(&self.start_event(now));
            self.adopt(decision);
        }
    }

    fn start_event(&self, now: Instant) -> Start {
        let mut start = Start::new(now);
        start.mtu = self.bytes(1);
        start
    }

    /// The size of `packets` packets.
    #[inline]
    fn bytes(&self, packets: u64) -> Bytes {
        Bytes::new(packets.saturating_mul(u64::from(self.packet_size)))
    }

    pub(super) fn stop(&mut self) {
        self.wakeup.ask(None);
    }

    #[inline]
    fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }

    #[inline]
    pub(super) fn next_send(&self, now: Instant) -> Instant {
        let in_flight = self.in_flight();
        if in_flight >= self.to_deliver {
            return Instant::MAX;
        }
        self.gate.next_send(now, Packets::new(in_flight)).unwrap_or(Instant::MAX)
    }

    #[inline]
    pub(super) fn send(&mut self, now: Instant, packet: &mut Packet) {
        (packet.sequence, packet.size, packet.ecn) = (self.sent, self.packet_size, self.ecn);
        self.sent += 1;
        self.gate.sent(now);
        self.active_at = now;
        if self.reports_sent {
            self.report_sent(now, packet.sequence);
        }
    }

    #[cold]
    fn report_sent(&mut self, now: Instant, sequence: u64) {
        let mut sent = Sent::new(sequence, now);
        sent.bytes = self.bytes(1);
        sent.in_flight = Packets::new(self.in_flight());
        sent.in_flight_bytes = self.bytes(self.in_flight());
        if let Some(decision) = self.cc.on_sent(&sent) {
            self.adopt(decision);
        }
    }

    /// An ACK arrives, for a packet of the `current` flow or of an earlier one.
    #[inline(always)]
    pub(super) fn receive_ack(&mut self, now: Instant, info: &AckInfo, current: bool) -> Arrived {
        let rtt = now - info.sent_at;
        let first_missing = self.acked;
        let missing = info.sequence.saturating_sub(first_missing);
        if missing > 0 {
            self.give_up(missing);
            self.report(CongestionKind::Lost, now, info.sent_at, missing);
        }
        if info.marked {
            self.report(CongestionKind::Marked, now, info.sent_at, 1);
        }
        let mut ack = Ack::new(info.sequence, info.sent_at, now);
        ack.received_at = Some(info.received_at);
        ack.largest_acked = self.acked.checked_sub(1);
        ack.stale = !current;
        ack.marked = Packets::new(u64::from(info.marked));
        ack.app_limited = self.is_media;
        self.acked = self.acked.max(info.sequence + 1);
        ack.in_flight = Packets::new(self.in_flight());
        (ack.acked_bytes, ack.in_flight_bytes) = (self.bytes(1), self.bytes(self.in_flight()));
        let decision = match &mut self.cc {
            AnyController::Remy(remy) => remy.on_ack(&ack),
            cc => on_ack(cc, ack),
        };
        self.adopt(decision);
        let mut arrived = Arrived { delivered: 1, rtt: Some(rtt), complete: false };
        if !current {
            return arrived;
        }
        self.active_at = now;
        if self.patience == Patience::Timer {
            self.smooth(rtt);
        }
        // A packet of a frame that was given up is late.
        if self.to_deliver != u64::MAX && !(self.is_media && info.sequence < first_missing) {
            self.to_deliver -= 1;
            arrived.complete = self.to_deliver == 0;
        }
        arrived
    }

    /// Packets are lost.
    #[cold]
    fn give_up(&mut self, packets: u64) {
        if self.is_media {
            self.to_deliver -= packets;
        }
    }

    /// The sender of a video has more packets to send.
    pub(super) fn offer(&mut self, packets: Packets) {
        self.to_deliver += packets.get();
    }

    /// Packets of a video that were not sent yet.
    pub(super) fn waiting(&self) -> Packets {
        Packets::new(self.to_deliver.saturating_sub(self.in_flight()))
    }

    /// The number of the next packet.
    pub(super) fn next_sequence(&self) -> u64 {
        self.sent
    }

    #[cold]
    fn report(&mut self, kind: CongestionKind, now: Instant, sent_at: Instant, packets: u64) {
        let mut congestion = Congestion::new(kind, sent_at, now);
        (congestion.packets, congestion.bytes) = (Packets::new(packets), self.bytes(packets));
        congestion.in_flight = Packets::new(self.in_flight());
        congestion.in_flight_bytes = self.bytes(self.in_flight());
        let decision = self.cc.on_congestion(&congestion);
        self.gate.decide(decision);
    }

    /// RFC 6298, section 2: the smoothed RTT moves an eighth of the way.
    fn smooth(&mut self, rtt: Span) {
        self.srtt = if self.srtt.is_zero() { rtt } else { (self.srtt * 7 + rtt) / 8 };
    }

    #[inline]
    pub(super) fn next_wake(&self) -> Instant {
        self.wakeup.due().min(self.deadline())
    }

    #[inline]
    fn deadline(&self) -> Instant {
        let timeout = match self.patience {
            Patience::Endless => return Instant::MAX,
            _ if self.in_flight() == 0 => return Instant::MAX,
            Patience::Stall => LEAST_TIMEOUT,
            Patience::Timer => LEAST_TIMEOUT.max(self.srtt * 2),
        };
        self.active_at.saturating_add(timeout)
    }

    pub(super) fn wake(&mut self, now: Instant) {
        if now >= self.deadline() {
            let mut timeout = Congestion::new(CongestionKind::Timeout, self.active_at, now);
            timeout.bytes = self.bytes(1);
            timeout.in_flight = Packets::new(self.in_flight());
            timeout.in_flight_bytes = self.bytes(self.in_flight());
            self.give_up(timeout.in_flight.get());
            self.acked = self.sent;
            if self.patience == Patience::Timer {
                let decision = self.cc.on_congestion(&timeout);
                self.adopt(decision);
            }
        }
        if self.wakeup.take(now) {
            let decision = self.cc.on_tick(now);
            self.adopt(decision);
        }
    }

    #[inline]
    pub(super) fn adopt(&mut self, decision: Decision) {
        self.gate.decide(decision);
        self.wakeup.ask(decision.wake_at);
    }

    pub(super) fn controller(&self) -> &AnyController {
        &self.cc
    }

    pub(super) fn window(&self) -> (Packets, Span, Packets) {
        (self.gate.cwnd(), self.gate.intersend(), Packets::new(self.in_flight()))
    }
}

/// The decision of a controller other than a RemyCC. By value: the fields that a RemyCC does not look at are then
/// written only here.
#[inline(never)]
fn on_ack(cc: &mut AnyController, ack: Ack) -> Decision {
    cc.on_ack(&ack)
}
