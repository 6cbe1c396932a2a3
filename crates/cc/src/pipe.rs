//! A sender over one link, for tests: a window, a gate and a FIFO buffer, without loss recovery.

use crate::controller::{Ack, Congestion, CongestionKind, Controller, Decision, Delivery, Start};
use crate::gate::Gate;
use exm_units::{Instant, Packets, Span};
use std::collections::VecDeque;

/// The instant this many milliseconds after zero.
pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// A link with a drop-tail buffer, and the propagation delay both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// Packets a second.
    rate: f64,
    /// The time from which the rate differs, and that rate.
    then: Option<(Instant, f64)>,
    /// The round trip without any queue.
    rtt: Span,
    /// The buffer in packets.
    buffer: u64,
    /// Packets that find more than this waiting are marked.
    mark_above: Option<u64>,
}

/// What a test observes at each ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) now: Instant,
    pub(crate) decision: Decision,
    /// How long the acknowledged packet waited at the link.
    pub(crate) queueing: Span,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    pub(crate) drops: u64,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sequence: u64,
    sent_at: Instant,
    acked_at: Option<Instant>,
    marked: bool,
    queueing: Span,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    in_flight: u64,
}

struct Host {
    now: Instant,
    packets: VecDeque<Packet>,
    link_free: Instant,
    next_sequence: u64,
    in_flight: u64,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    marked_until: Instant,
}

impl Pipe {
    pub(crate) fn new(rate: f64, rtt: Span, buffer: u64) -> Pipe {
        Pipe { rate, then: None, rtt, buffer, mark_above: None }
    }

    pub(crate) fn marking_above(self, packets: u64) -> Pipe {
        Pipe { mark_above: Some(packets), ..self }
    }

    pub(crate) fn then(self, at: Instant, rate: f64) -> Pipe {
        Pipe { then: Some((at, rate)), ..self }
    }

    /// Runs `cc` for a minute. Returns the packets acknowledged a second in its second half, and their mean queueing delay, in ms.
    pub(crate) fn second_half(&self, cc: &mut impl Controller) -> (f64, f64) {
        let (mut waits, mut count) = (0.0, 0.0);
        self.run(cc, Span::from_secs(60), |seen| {
            if seen.now > at(30_000) {
                waits += seen.queueing.as_millis_f64();
                count += 1.0;
            }
        });
        (count / 30.0, waits / count)
    }

    /// Runs `cc` for `length`; `watch` is called with each ACK.
    pub(crate) fn run(
        &self,
        cc: &mut impl Controller,
        length: Span,
        mut watch: impl FnMut(&Seen),
    ) -> Outcome {
        // The handshake's packets are small, and meet no queue.
        let start = Start { rtt: Some(self.rtt), ..Start::new(Instant::ZERO) };
        let mut gate = Gate::new(cc.on_start(&start));
        let mut host = Host::new();
        let mut outcome = Outcome::default();
        while host.now.saturating_since(Instant::ZERO) < length {
            let send = gate.next_send(host.now, Packets::new(host.in_flight));
            let ack = host.packets.iter().find_map(|packet| packet.acked_at);
            match (send, ack) {
                (Some(send), ack) if ack.is_none_or(|ack| send < ack) => {
                    host.now = send;
                    gate.sent(send);
                    outcome.drops += u64::from(!self.send(&mut host));
                }
                (_, Some(_)) => {
                    let decision = host.acknowledge(cc, &mut outcome, &mut watch);
                    gate.decide(decision);
                }
                _ => {
                    host.now += Span::from_secs(1);
                    host.lost += host.in_flight;
                    host.packets.clear();
                    host.in_flight = 0;
                    let timeout = CongestionKind::Timeout;
                    let congestion = Congestion::new(timeout, host.now, host.now);
                    gate.decide(cc.on_congestion(&congestion));
                }
            }
        }
        outcome
    }

    /// Whether there was room for the packet.
    fn send(&self, host: &mut Host) -> bool {
        let later = self.then.filter(|&(at, _)| host.now >= at);
        let service = Span::from_secs_f64(1.0 / later.map_or(self.rate, |(_, rate)| rate));
        let queueing = host.link_free.saturating_since(host.now);
        let waiting = queueing.as_nanos() / service.as_nanos();
        let fits = waiting < self.buffer;
        if fits {
            host.link_free = host.now.max(host.link_free) + service;
        }
        if host.in_flight == 0 {
            (host.first_sent_at, host.delivered_at) = (host.now, host.now);
        }
        host.in_flight += 1;
        host.packets.push_back(Packet {
            sequence: host.next_sequence,
            sent_at: host.now,
            acked_at: fits.then_some(host.link_free + self.rtt),
            marked: self.mark_above.is_some_and(|above| waiting > above),
            queueing,
            delivered: host.delivered,
            delivered_at: host.delivered_at,
            first_sent_at: host.first_sent_at,
            lost: host.lost,
            in_flight: host.in_flight,
        });
        host.next_sequence += 1;
        fits
    }
}

impl Host {
    fn new() -> Host {
        Host {
            now: Instant::ZERO,
            packets: VecDeque::new(),
            link_free: Instant::ZERO,
            next_sequence: 0,
            in_flight: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            lost: 0,
            marked_until: Instant::ZERO,
        }
    }

    /// Processes the next ACK, and the gaps before it as losses.
    fn acknowledge(
        &mut self,
        cc: &mut impl Controller,
        outcome: &mut Outcome,
        watch: &mut impl FnMut(&Seen),
    ) -> Decision {
        let mut gap = None;
        while let Some(packet) = self.packets.pop_front() {
            self.in_flight -= 1;
            let Some(acked_at) = packet.acked_at else {
                self.lost += 1;
                gap = Some(packet);
                continue;
            };
            self.now = acked_at;
            self.delivered += 1;
            outcome.delivered += 1;
            let ack = self.ack(&packet);
            (self.delivered_at, self.first_sent_at) = (acked_at, packet.sent_at);
            if let Some(gap) = gap {
                cc.on_congestion(&self.congestion(CongestionKind::Lost, &gap));
            }
            if packet.marked && packet.sent_at >= self.marked_until {
                self.marked_until = acked_at;
                cc.on_congestion(&self.congestion(CongestionKind::Marked, &packet));
            }
            let decision = cc.on_ack(&ack);
            watch(&Seen { now: self.now, decision, queueing: packet.queueing });
            return decision;
        }
        unreachable!("called only with an acknowledgement on its way")
    }

    fn ack(&self, packet: &Packet) -> Ack {
        let acknowledging = self.now.saturating_since(packet.delivered_at);
        let sending = packet.sent_at.saturating_since(packet.first_sent_at);
        let mut delivery = Delivery::new(self.delivered, acknowledging.max(sending));
        delivery.total_at_send = packet.delivered;
        delivery.lost = self.lost;
        delivery.lost_at_send = packet.lost;
        delivery.in_flight_at_send = Packets::new(packet.in_flight);
        let mut ack = Ack::new(packet.sequence, packet.sent_at, self.now);
        ack.marked = Packets::new(u64::from(packet.marked));
        ack.in_flight = Packets::new(self.in_flight);
        ack.delivery = Some(delivery);
        ack
    }

    fn congestion(&self, kind: CongestionKind, packet: &Packet) -> Congestion {
        let mut congestion = Congestion::new(kind, packet.sent_at, self.now);
        congestion.in_flight = Packets::new(self.in_flight);
        congestion
    }
}
