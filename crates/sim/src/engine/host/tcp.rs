//! [`Tcp`]: a TCP sender and its receiver, one connection per flow.

use super::Arrived;
use crate::controllers::AnyController;
use crate::network::{TCP_HEADER, codepoint};
use exm_cc::{Controller, Decision, Needs};
use exm_link::{Ecn, Packet, XcpHeader};
use exm_tcp::{Acknowledgement, Arrival, Receiver, Segment, Sender, Settings, Transfer};
use exm_units::{Bytes, Instant, Packets, Span};
use std::collections::VecDeque;

/// The packet number of a SYN.
const SYN: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Tcp {
    pub(super) cc: AnyController,
    sender: Sender,
    receiver: Receiver,
    settings: Settings,
    needs: Needs,
    packet_size: u32,
    /// The path's propagation delay: the RTT measured by a handshake that is not simulated.
    propagation: Span,
    /// One above the highest segment this connection has sent.
    highest: u64,
    /// Connections that ended with segments in flight, in order. They send nothing more, but their arriving
    /// segments still count.
    ended: VecDeque<Ended>,
    /// Retransmitted segments, and expiries of the retransmission timer.
    pub(super) retransmitted: u64,
    pub(super) timeouts: u64,
    /// Packets of this connection that arrived accelerated (ABC).
    accelerated: u64,
}

/// A connection that ended with segments in flight.
#[derive(Clone, Debug)]
struct Ended {
    epoch: u32,
    receiver: Receiver,
    /// Segments acknowledged so far.
    acknowledged: u64,
}

impl Tcp {
    pub(super) fn new(
        packet_size: Bytes,
        cc: AnyController,
        settings: Settings,
        propagation: Span,
    ) -> Tcp {
        let needs = cc.needs();
        Tcp {
            cc,
            sender: Sender::new(settings, needs),
            receiver: Receiver::new(settings.delayed_acks),
            settings,
            needs,
            packet_size: packet_size.get() as u32,
            propagation,
            highest: 0,
            ended: VecDeque::new(),
            retransmitted: 0,
            timeouts: 0,
            accelerated: 0,
        }
    }

    /// Whether the connection outlives on-periods.
    pub(super) fn is_persistent(&self) -> bool {
        self.settings.persistent
    }

    pub(super) fn start(&mut self, now: Instant, data: Option<Packets>) {
        if self.settings.persistent && self.sender.is_open() {
            return self.sender.resume(now, data, &mut self.cc);
        }
        self.receiver = Receiver::new(self.settings.delayed_acks);
        (self.highest, self.accelerated) = (0, 0);
        let mtu = Bytes::new(u64::from(self.packet_size));
        let transfer = Transfer { data, rtt: Some(self.propagation), mtu };
        self.sender.start(now, transfer, &mut self.cc);
    }

    /// `decision` takes effect, as if its controller had just made it.
    pub(super) fn set_decision(&mut self, decision: Decision) {
        self.sender.set_decision(decision);
    }

    /// `cc` takes over the connection.
    pub(super) fn set_controller(&mut self, now: Instant, cc: AnyController) {
        self.cc = cc;
        self.needs = self.cc.needs();
        self.sender.replace_controller(now, &mut self.cc);
    }

    /// The path's propagation delay, both ways, has changed.
    pub(super) fn set_propagation(&mut self, propagation: Span) {
        self.propagation = propagation;
    }

    /// On-period `epoch` ends.
    pub(super) fn stop(&mut self, epoch: u32) {
        if self.settings.persistent {
            return self.sender.pause();
        }
        self.sender.stop();
        let acknowledged = self.sender.acknowledged();
        if acknowledged < self.highest {
            let fresh = Receiver::new(self.settings.delayed_acks);
            let receiver = std::mem::replace(&mut self.receiver, fresh);
            self.ended.push_back(Ended { epoch, receiver, acknowledged });
        }
    }

    #[inline(always)]
    pub(super) fn next_send(&self, now: Instant) -> Instant {
        self.sender.next_send(now)
    }

    #[inline]
    pub(super) fn send(&mut self, now: Instant, packet: &mut Packet) {
        let Segment::Data(segment) = self.sender.send(now, &mut self.cc) else {
            (packet.sequence, packet.size) = (SYN, TCP_HEADER.get() as u32);
            return;
        };
        if segment < self.highest {
            self.retransmitted += 1;
        } else {
            self.highest = segment + 1;
        }
        (packet.sequence, packet.size) = (segment, self.packet_size);
        packet.ecn = codepoint(self.needs, self.settings.ecn);
        if self.needs.feedback && !self.needs.abc {
            packet.header = XcpHeader {
                cwnd: self.sender.cwnd().get() as f32,
                rtt: self.sender.srtt().as_secs_f64() as f32,
                feedback: f32::INFINITY,
            };
        }
    }

    /// `packet` arrives at the receiver. Returns its ACK, if it sends one now.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Instant, packet: &Packet) -> Option<Acknowledgement> {
        let arrival = self.arrival(packet);
        self.receiver.receive(now, &arrival)
    }

    /// `packet` of on-period `epoch`, which has ended, arrives at the receiver and is acknowledged at once.
    pub(super) fn receive_late(
        &mut self,
        now: Instant,
        packet: &Packet,
    ) -> Option<Acknowledgement> {
        let accelerated = self.accelerated;
        let arrival = self.arrival(packet);
        self.accelerated = accelerated;
        let ended = self.ended.iter_mut().find(|ended| ended.epoch == packet.epoch)?;
        ended.receiver.receive(now, &arrival).or_else(|| ended.receiver.release())
    }

    #[inline]
    fn arrival(&mut self, packet: &Packet) -> Arrival {
        let sequence = packet.sequence;
        Arrival {
            segment: if sequence == SYN { Segment::Syn } else { Segment::Data(sequence) },
            sent_at: packet.sent_at,
            marked: packet.ecn == Ecn::Marked,
            feedback: if self.needs.feedback { self.feedback(packet) } else { None },
        }
    }

    /// The feedback of the path's routers, by `packet` that arrives.
    #[cold]
    fn feedback(&mut self, packet: &Packet) -> Option<f64> {
        if self.needs.abc {
            self.accelerated += u64::from(packet.ecn == Ecn::LowLatency);
            return Some(self.accelerated as f64);
        }
        let granted = packet.header.feedback;
        granted.is_finite().then_some(f64::from(granted))
    }

    /// The sender receives `ack`.
    #[inline(always)]
    pub(super) fn receive_ack(&mut self, now: Instant, ack: &Acknowledgement) -> Arrived {
        if !self.ended.is_empty() {
            self.ended.clear();
        }
        let progress = self.sender.on_ack(now, ack, &mut self.cc);
        Arrived {
            delivered: progress.in_order,
            rtt: Some(now - ack.sent_at),
            complete: progress.finished,
        }
    }

    /// The sender receives `ack` for a packet of on-period `epoch`, which has ended. A flow's packets stay
    /// in order, so all ACKs of packets of earlier ones have arrived or are lost.
    pub(super) fn receive_late_ack(
        &mut self,
        now: Instant,
        epoch: u32,
        ack: &Acknowledgement,
    ) -> Arrived {
        while self.ended.front().is_some_and(|ended| ended.epoch < epoch) {
            self.ended.pop_front();
        }
        let Some(ended) = self.ended.front_mut().filter(|ended| ended.epoch == epoch) else {
            return Arrived::default();
        };
        let delivered = ack.cumulative.saturating_sub(ended.acknowledged);
        ended.acknowledged += delivered;
        Arrived { delivered, rtt: Some(now - ack.sent_at), complete: false }
    }

    #[inline]
    pub(super) fn next_wake(&self) -> Instant {
        self.sender.deadline().min(self.receiver.deadline())
    }

    /// Returns the ACK that the receiver has delayed until now.
    pub(super) fn wake(&mut self, now: Instant) -> Option<Acknowledgement> {
        if now >= self.sender.deadline() {
            self.timeouts += u64::from(self.sender.on_timer(now, &mut self.cc));
        }
        if now >= self.receiver.deadline() { self.receiver.release() } else { None }
    }

    /// The sender of a video has more segments to send.
    pub(super) fn offer(&mut self, packets: Packets) {
        self.sender.offer(packets);
    }

    /// Segments that its application has offered so far: the number of the next one.
    pub(super) fn offered(&self) -> u64 {
        self.sender.offered()
    }

    /// Segments of a video that were not sent yet.
    pub(super) fn waiting(&self) -> Packets {
        Packets::new(self.sender.offered().saturating_sub(self.highest))
    }

    /// Segments that its receiver has received in order.
    pub(super) fn in_order(&self) -> u64 {
        self.receiver.in_order()
    }

    pub(super) fn controller(&self) -> &AnyController {
        &self.cc
    }

    pub(super) fn window(&self) -> (Packets, Span, Packets) {
        (self.sender.cwnd(), self.sender.intersend(), self.sender.in_flight())
    }
}
