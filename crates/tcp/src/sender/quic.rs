//! QUIC's recovery (RFC 9002) in place of TCP's: packets have numbers of their own, so that what arrived is never
//! ambiguous, a probe timeout sends a packet and leaves the window alone, and only persistent congestion collapses it.
//!
//! What TCP calls is cold: of the two, it is the one whose speed matters most.

use super::{Progress, Report, Sender, Setup};
use crate::packets::{InFlight, Packet};
use crate::segment::Acknowledgement;
use exm_cc::{Ack, Congestion, CongestionKind, Controller};
use exm_units::{Instant, Packets};

impl Sender {
    /// When the timer of its packets expires; [`Instant::MAX`] for never, as during the handshake.
    #[cold]
    pub(super) fn quic_deadline(&self) -> Instant {
        let quic = self.quic.as_ref().filter(|_| self.setup == Setup::Established);
        quic.map_or(Instant::MAX, |quic| quic.deadline(&self.timer))
    }

    /// The segment to send next, probes included.
    fn next_quic_segment(&self, quic: &InFlight) -> Option<u64> {
        let new = || (!self.is_blocked()).then(|| self.board.next());
        let probe = || quic.oldest().filter(|_| quic.probe_is_due());
        quic.next_lost().or_else(new).or_else(probe)
    }

    /// As [`Sender::next_send`]; a probe is sent whatever the window.
    #[cold]
    pub(super) fn next_quic_send(&self, now: Instant) -> Instant {
        let Some(quic) = &self.quic else { return Instant::MAX };
        match self.next_quic_segment(quic) {
            _ if quic.probe_is_due() => now,
            Some(_) => self.gate.next_send(now, self.in_flight()).unwrap_or(Instant::MAX),
            None => Instant::MAX,
        }
    }

    /// Records the segment to send, and returns it.
    ///
    /// # Panics
    /// If none may be sent, by [`Sender::next_send`].
    #[cold]
    pub(super) fn send_quic(&mut self, now: Instant) -> u64 {
        let next = self.quic.as_ref().and_then(|quic| self.next_quic_segment(quic));
        let segment = next.expect("there is a segment to send");
        if segment == self.board.next() {
            self.board.send(segment);
        }
        self.quic.iter_mut().for_each(|quic| quic.send(now, segment));
        segment
    }

    /// An ACK arrives on a connection of QUIC.
    #[cold]
    pub(super) fn on_quic_ack<C: Controller>(
        &mut self,
        now: Instant,
        ack: &Acknowledgement,
        cc: &mut C,
    ) -> Progress {
        let (una, highest) = (self.board.una(), self.board.highest());
        let (flight, blocked) = (self.in_flight(), self.is_blocked());
        let largest = self.note_arrivals(ack);
        let (delivered, delivery) = self.update_scoreboard(now, ack);
        if let Some(quic) = self.quic.as_mut().filter(|_| self.board.outstanding() == 0) {
            quic.settle();
        }
        if let Some(packet) = largest {
            self.measure(now, &packet, ack);
        }
        let marked = ack.marked.saturating_sub(self.marked);
        self.marked += marked;
        if let Some(packet) = largest.filter(|_| marked > 0) {
            self.respond_to_marks(now, &packet, marked, cc);
        }
        self.lose_by(now, flight, cc);
        let in_order = self.board.una() - una;
        let finished = self.board.una() >= self.end;
        if delivered == 0 && marked == 0 {
            return Progress { in_order, delivered, finished };
        }
        let sent_at = largest.map_or(ack.sent_at, |packet| packet.at);
        let in_flight = self.in_flight();
        let report = Report { delivered, marked, highest, delivery, in_flight };
        let mut event = Ack::new(ack.sequence, sent_at, now);
        self.tell(&mut event, ack, &report);
        event.recovering = self.quic.as_ref().is_some_and(|quic| quic.is_recovering(sent_at));
        event.app_limited = self.settings.window_validation && blocked && flight < self.gate.cwnd();
        let decision = cc.on_ack(&event);
        self.adopt(decision);
        Progress { in_order, delivered, finished }
    }

    /// Takes what `ack` reports from the packets in flight. Returns the one of them that was sent last.
    fn note_arrivals(&mut self, ack: &Acknowledgement) -> Option<Packet> {
        let quic = self.quic.as_mut()?;
        let mut largest = quic.arrive(ack.sequence, ack.sent_at);
        let board = &self.board;
        let blocks = ack.blocks.iter().copied().filter(|block| block.0 < block.1);
        for (from, to) in core::iter::once((board.una(), ack.cumulative)).chain(blocks) {
            board.missing_between(from, to, |segment| {
                quic.forget(segment);
                if segment != ack.sequence {
                    largest = match (largest, quic.arrive_at_any_time(segment)) {
                        (Some(a), Some(b)) if a.number > b.number => Some(a),
                        (a, b) => b.or(a),
                    };
                }
            });
        }
        if largest.is_some() {
            quic.restart();
        }
        largest
    }

    fn measure(&mut self, now: Instant, packet: &Packet, ack: &Acknowledgement) {
        let Some(quic) = &mut self.quic else { return };
        let rtt = self.settings.round_trip(packet.at, now);
        let sample = quic.measure(now, rtt, ack.delay);
        self.timer.measure(sample);
    }

    /// RFC 9002, section 7.1.
    fn respond_to_marks<C: Controller>(
        &mut self,
        now: Instant,
        packet: &Packet,
        marked: u64,
        cc: &mut C,
    ) {
        if self.quic.as_mut().is_some_and(|quic| quic.begins_recovery(now, packet.at)) {
            let mut congestion = Congestion::new(CongestionKind::Marked, packet.at, now);
            congestion.packets = Packets::new(marked);
            congestion.in_flight = self.in_flight();
            let decision = self.notify(congestion, cc);
            self.adopt(decision);
        }
    }

    /// Gives up packets that are lost by now, where `flight` were in flight before.
    fn lose_by<C: Controller>(&mut self, now: Instant, flight: Packets, cc: &mut C) {
        let (Some(quic), board) = (&mut self.quic, &self.board) else { return };
        let losses = quic.detect(now, &self.timer, |segment| board.is_missing(segment));
        let Some(losses) = losses else { return };
        if let Some(sampler) = &mut self.sampler {
            sampler.lose(losses.count);
        }
        let begins = quic.begins_recovery(now, losses.last);
        let kind = match losses.persistent {
            true => CongestionKind::Timeout,
            false if begins => CongestionKind::Lost,
            false => return,
        };
        if losses.persistent {
            quic.end_recovery();
        }
        let mut congestion = Congestion::new(kind, losses.last, now);
        (congestion.packets, congestion.in_flight) = (Packets::new(losses.count), flight);
        let decision = self.notify(congestion, cc);
        self.adopt(decision);
    }

    /// Its timer has expired. Returns whether it was for a probe.
    #[cold]
    pub(super) fn on_quic_timer<C: Controller>(&mut self, now: Instant, cc: &mut C) -> bool {
        let flight = self.in_flight();
        let probes = self.quic.as_mut().is_some_and(|quic| quic.time_out());
        if !probes {
            self.lose_by(now, flight, cc);
        }
        probes
    }
}
