//! What a [`Host`] does with arriving packets and ACKs.

use super::tap::Tap;
use super::{AckContents, AckInfo, Arrived, Host, Seen, Transport, record};
use crate::network::{SPROUT_EMPTY, TCP_HEADER};
use exm_link::{Ecn, Packet};
use exm_units::{Bytes, Instant};

impl Host {
    /// `packet` arrives at the receiver; if no links lead back, its ACK arrives at the sender. Returns
    /// whether that completes the flow.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, packet: &Packet, tap: &mut impl Tap) -> bool {
        let complete = self.take_in(now, packet, tap);
        if self.encoder.is_some() {
            self.watch_video(now, packet);
        }
        complete
    }

    #[inline(always)]
    fn take_in(&mut self, now: Instant, packet: &Packet, tap: &mut impl Tap) -> bool {
        self.report.arrived += 1;
        record(&mut self.report.queueing_delay, packet.waited, self.distributions);
        if let Some(end_to_end) = &mut self.end_to_end {
            end_to_end.arrived(packet.sent_at, now, Bytes::new(u64::from(packet.size)));
        }
        let current = self.is_current(packet.epoch);
        let ack = match &mut self.transport {
            Transport::Bare(bare) => {
                let (sequence, sent_at) = (packet.sequence, packet.sent_at);
                let marked = packet.ecn == Ecn::Marked;
                let ack = AckInfo { sequence, sent_at, received_at: now, marked };
                if self.path.first_back.is_none() {
                    tap.hear(packet.epoch, || ack.contents());
                    let arrived = bare.receive_ack(now, &ack, current);
                    return self.take(now, arrived, packet.epoch);
                }
                Some(AckContents::Bare(ack))
            }
            Transport::Tcp(tcp) if current => {
                let Some(ack) = tcp.receive(now, packet) else { return false };
                if self.path.first_back.is_none() {
                    tap.hear(packet.epoch, || Seen::Tcp(ack));
                    let arrived = tcp.receive_ack(now, &ack);
                    return self.take(now, arrived, packet.epoch);
                }
                Some(AckContents::Tcp(ack))
            }
            Transport::Sprout(sprout) if current => {
                let arrived = sprout.receive(now, packet);
                let complete = self.take(now, arrived, packet.epoch);
                return self.answer(now, tap) || complete;
            }
            // Arrivals after their on-period still count, as with the bare sender.
            Transport::Tcp(tcp) => tcp.receive_late(now, packet).map(AckContents::Tcp),
            Transport::Sprout(_) => {
                let data = Bytes::new(u64::from(packet.size)) > SPROUT_EMPTY;
                let late = Arrived { delivered: u64::from(data), ..Arrived::default() };
                return self.take(now, late, packet.epoch);
            }
        };
        ack.is_some_and(|ack| self.queue_ack(now, ack, packet.epoch, tap))
    }

    /// Sprout's receiver sends what it has to send. Returns whether that completes the flow.
    pub(super) fn answer(&mut self, now: Instant, tap: &mut impl Tap) -> bool {
        let mut complete = false;
        while let Transport::Sprout(sprout) = &mut self.transport
            && let Some((header, size)) = sprout.answer(now)
        {
            complete |= self.queue_ack(now, AckContents::Sprout(header, size), self.epoch, tap);
        }
        complete
    }

    /// Queues `ack` to be sent; if no links lead back, the sender receives it at once. Returns whether
    /// it completes the flow.
    #[inline]
    pub(super) fn queue_ack(
        &mut self,
        now: Instant,
        ack: AckContents,
        epoch: u32,
        tap: &mut impl Tap,
    ) -> bool {
        if self.path.first_back.is_none() {
            return self.process_ack(now, &ack, epoch, tap);
        }
        self.unsent.push_back((ack, epoch));
        false
    }

    /// Whether ACKs wait to be sent.
    #[inline]
    pub(in crate::engine) fn has_unsent_acks(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends a waiting ACK, if there is one.
    pub(in crate::engine) fn send_ack(&mut self, now: Instant, flow: usize) -> Option<Packet> {
        let (ack, epoch) = self.unsent.pop_front()?;
        let size = match ack {
            AckContents::Sprout(_, size) => size,
            AckContents::Bare(_) | AckContents::Tcp(_) => TCP_HEADER,
        };
        let number = self.acks.push(ack);
        let mut packet = Packet::new(flow as u32, number, size.get() as u32, now);
        packet.epoch = epoch;
        packet.tag = self.path.first_back?;
        self.report.acks.sent += 1;
        Some(packet)
    }

    /// The ACK that `packet` carries arrives at the sender. Returns whether it completes the flow.
    pub(super) fn receive_ack(
        &mut self,
        now: Instant,
        packet: &Packet,
        tap: &mut impl Tap,
    ) -> bool {
        self.report.acks.arrived += 1;
        let ack = self.acks.take(packet.sequence).expect("ACKs are kept until they arrive");
        self.process_ack(now, &ack, packet.epoch, tap)
    }

    #[inline]
    fn process_ack(
        &mut self,
        now: Instant,
        ack: &AckContents,
        epoch: u32,
        tap: &mut impl Tap,
    ) -> bool {
        tap.hear(epoch, || ack.contents());
        let current = self.is_current(epoch);
        let arrived = match (&mut self.transport, ack) {
            (Transport::Bare(bare), AckContents::Bare(ack)) => bare.receive_ack(now, ack, current),
            (Transport::Tcp(tcp), AckContents::Tcp(ack)) if current => tcp.receive_ack(now, ack),
            (Transport::Tcp(tcp), AckContents::Tcp(ack)) => tcp.receive_late_ack(now, epoch, ack),
            (Transport::Sprout(sprout), AckContents::Sprout(header, size)) if current => {
                sprout.receive_answer(now, header, *size);
                return false;
            }
            _ => return false,
        };
        self.take(now, arrived, epoch)
    }

    /// Counts the result of the arrival of a packet of on-period `epoch`, or of its ACK.
    #[inline(always)]
    fn take(&mut self, now: Instant, arrived: Arrived, epoch: u32) -> bool {
        if (!self.on || epoch < self.epoch) && (arrived.delivered > 0 || arrived.rtt.is_some()) {
            self.periods.late((epoch as usize).saturating_sub(1), now);
        }
        self.report.delivered += arrived.delivered;
        if let Some(rtt) = arrived.rtt {
            record(&mut self.report.rtt, rtt, self.distributions);
            self.last_rtt = Some(rtt);
        }
        // All data of a persistent connection's flow may arrive after its on-period has ended.
        let complete = arrived.complete && self.on && self.encoder.is_none();
        if complete {
            self.report.completion.record(now - self.began_at);
        }
        complete
    }
}
