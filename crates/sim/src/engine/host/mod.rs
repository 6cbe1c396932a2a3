//! [`Host`]: a sender with its receiver.
//!
//! It switches on and off as its traffic requires, and counts. What it sends, and how it processes
//! ACKs, is up to its transport: [`Bare`], [`Tcp`] or [`Sprout`]. If no links lead back, ACKs take no
//! time of their own, so the arrivals of a packet and of its ACK are one event. A sender of video has the frames
//! of an [`Encoder`] to send.

mod acks;
mod bare;
mod carried;
mod changes;
mod oracle;
mod sprout;
mod tap;
mod tcp;
mod video;

pub(super) use tap::{HeardAck, Occasion};

use super::agenda::{Due, Turn};
use super::observer::{AckContents as Seen, FlowSample, Limited, SproutSample};
use super::pipe::Pipe;
use crate::active::Periods;
use crate::controllers::AnyController;
use crate::metrics::{FlowReport, Histogram};
use crate::network::{FlowSpec, LinkSpec, Network, Transport as Kind};
use crate::traffic::{FlowDemand, TrafficSource};
use crate::video::Encoder;
use bare::Bare;
use carried::Carried;
use exm_cc::Controller;
use exm_link::Packet;
use exm_random::{Purpose, Stream};
use exm_sprout::Header;
use exm_tcp::Acknowledgement;
use exm_trace::delay::EndToEnd;
use exm_units::{Bytes, Instant, Packets, Span};
use sprout::Sprout;
use std::collections::VecDeque;
use tap::Tap;
use tcp::Tcp;

#[derive(Clone, Debug)]
pub(super) struct Host {
    transport: Transport,
    on: bool,
    /// Whether its connection persists while it is off, to retransmit lost packets.
    persistent: bool,
    /// Which of the sender's flows this is, from 1 on.
    epoch: u32,
    /// What was last reported to the observer.
    pub(super) limited: Limited,
    last_rtt: Option<Span>,
    began_at: Instant,
    periods: Periods,
    source: TrafficSource,
    /// What makes the data of a sender of video.
    encoder: Option<Box<Encoder>>,
    /// When its next frame is due.
    frame_at: Instant,
    payload: Bytes,
    path: HostPath,
    /// Arrival and send times, if links lead back.
    end_to_end: Option<EndToEnd>,
    /// ACKs to send now, each with the flow of the packet that it acknowledges.
    unsent: VecDeque<(AckContents, u32)>,
    /// ACKs in the network.
    acks: Carried<AckContents>,
    pub(super) report: FlowReport,
    /// Whether the report has distributions.
    distributions: bool,
    /// The delay after the last link of its path: that link's and, if no links lead back, its own.
    pub(super) last_delay: Span,
    /// The delay after the last link of the return path: that link's and its own.
    pub(super) back_delay: Span,
    pub(super) plan: Plan,
    /// Packets past their last link, by time of arrival.
    pub(super) arriving: Pipe,
    /// ACKs past their last link, by time of arrival.
    pub(super) acks_arriving: Pipe,
}

/// When the next event of each kind is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) arrival: Due,
    pub(super) ack_arrival: Due,
    pub(super) wake: Due,
    pub(super) switch: Due,
    pub(super) send: Due,
}

impl Plan {
    /// The first of them.
    #[inline]
    pub(super) fn first(&self) -> Due {
        self.arrival.min(self.ack_arrival).min(self.wake.min(self.switch)).min(self.send)
    }
}

/// What an ACK carries.
#[derive(Clone, Debug)]
enum AckContents {
    Bare(AckInfo),
    Tcp(Acknowledgement),
    /// A packet of Sprout's far endpoint, and its size.
    Sprout(Header, Bytes),
}

/// What an ACK of the bare host reports: the arrival of one packet.
#[derive(Clone, Copy, Debug)]
struct AckInfo {
    sequence: u64,
    sent_at: Instant,
    received_at: Instant,
    /// Whether the packet arrived marked.
    marked: bool,
}

// The bare host is kept inline: it is the one whose speed matters most, in training. With a representation of its
// own, the kind costs fewer instructions to read than from a niche.
#[allow(clippy::large_enum_variant)]
#[repr(u8)]
#[derive(Clone, Debug)]
enum Transport {
    Bare(Bare),
    Tcp(Box<Tcp>),
    Sprout(Box<Sprout>),
}

/// A host's position in its network.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPath {
    /// The start of its path in the list of hops.
    pub(super) first_hop: u32,
    /// The start of its return path there, if links lead back.
    pub(super) first_back: Option<u32>,
    /// The propagation delay of its path, both ways.
    pub(super) propagation: Span,
}

/// The result of a packet's arrival.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    /// Packets that now count as delivered.
    delivered: u64,
    /// The RTT that its ACK measured, if one was sent.
    rtt: Option<Span>,
    /// Whether it completes the flow's demand.
    complete: bool,
}

impl Host {
    pub(super) fn new(network: &Network, seed: u64, index: usize, path: HostPath) -> Host {
        let spec = &network.flows()[index];
        let stream = Stream::new(seed, Purpose::Traffic, index);
        let random = Stream::new(seed, Purpose::Controller, index).seed();
        let size = spec.packet_size;
        let transport = match spec.transport.clone() {
            Kind::Bare { controller, timer } => {
                Transport::Bare(Bare::new(size, controller.seeded(random), timer))
            }
            Kind::Tcp { controller, settings } => {
                let controller = controller.seeded(random);
                Transport::Tcp(Box::new(Tcp::new(size, controller, settings, path.propagation)))
            }
            Kind::Sprout(settings) => {
                Transport::Sprout(Box::new(Sprout::new(network, spec, settings)))
            }
        };
        let persistent = matches!(&transport, Transport::Tcp(tcp) if tcp.is_persistent());
        let payload = spec.transport.payload(size);
        let (from, until) = network.scored();
        let encoder = video::encoder(network, seed, index);
        let mut source = TrafficSource::new(spec.traffic.clone(), stream, payload);
        let (last_delay, back_delay) = end_delays(spec, network.links());
        let start = Due::new(source.next_start(Instant::ZERO), Turn::Switch);
        Host {
            transport,
            on: false,
            persistent,
            epoch: 0,
            limited: Limited::Off,
            last_rtt: None,
            began_at: Instant::ZERO,
            periods: Periods::default(),
            source,
            encoder,
            frame_at: Instant::MAX,
            payload,
            path,
            end_to_end: path.first_back.map(|_| EndToEnd::new(from, until)),
            unsent: VecDeque::new(),
            acks: Carried::default(),
            report: FlowReport { dropped: vec![0; spec.path.len()], ..FlowReport::default() },
            distributions: network.has_distributions(),
            last_delay,
            back_delay,
            plan: Plan {
                arrival: Due::NEVER,
                ack_arrival: Due::NEVER,
                wake: Due::NEVER,
                switch: start,
                send: Due::NEVER,
            },
            arriving: Pipe::default(),
            acks_arriving: Pipe::default(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether the sender is active: with a persistent connection it is even while it is off.
    #[inline]
    fn is_open(&self) -> bool {
        self.on || self.persistent
    }

    /// Whether a packet of on-period `epoch` belongs to the current connection.
    #[inline]
    fn is_current(&self, epoch: u32) -> bool {
        self.persistent || self.on && epoch == self.epoch
    }

    /// `packet` is dropped by a queue.
    pub(super) fn count_drop(&mut self, packet: &Packet) {
        if !self.forget(packet) {
            self.report.dropped[(packet.tag - self.path.first_hop) as usize] += 1;
        }
    }

    /// `packet` is lost at random.
    pub(super) fn count_loss(&mut self, packet: &Packet) {
        if !self.forget(packet) {
            self.report.lost += 1;
        }
    }

    /// Forgets what `packet` carries, which will not arrive. Returns whether it is an ACK.
    fn forget(&mut self, packet: &Packet) -> bool {
        let is_ack = self.is_on_way_back(packet.tag);
        if is_ack {
            self.report.acks.lost += 1;
            self.acks.take(packet.sequence);
        } else if let Transport::Sprout(sprout) = &mut self.transport {
            sprout.forget(packet);
        }
        is_ack
    }

    pub(super) fn is_on_way_back(&self, hop: u32) -> bool {
        self.path.first_back.is_some_and(|first| hop >= first)
    }

    /// A flow starts; its end is planned if it is known.
    pub(super) fn switch_on(&mut self, now: Instant) {
        self.on = true;
        self.epoch += 1;
        self.began_at = now;
        self.periods.start(now);
        let (end, data) = match self.source.next_flow(now) {
            FlowDemand::Until(end) => (end, None),
            FlowDemand::Deliver(packets) => (Instant::MAX, Some(packets)),
        };
        let is_media = self.encoder.is_some();
        let data = if is_media { Some(Packets::ZERO) } else { data };
        match &mut self.transport {
            Transport::Bare(bare) => bare.start(now, data, is_media),
            Transport::Tcp(tcp) => tcp.start(now, data),
            Transport::Sprout(sprout) => sprout.start(now, data),
        }
        self.start_video(now);
        self.plan.switch = Due::new(end, Turn::Switch);
    }

    /// The flow ends, and the start of the next one is planned.
    pub(super) fn switch_off(&mut self, now: Instant) {
        self.periods.end(now);
        self.on = false;
        match &mut self.transport {
            Transport::Bare(bare) => bare.stop(),
            Transport::Tcp(tcp) => tcp.stop(self.epoch),
            Transport::Sprout(_) => {}
        }
        self.stop_video();
        self.plan.switch = Due::new(self.source.next_start(now), Turn::Switch);
    }

    /// When it was on, and when its last packets arrived.
    pub(super) fn periods(&self) -> &Periods {
        &self.periods
    }

    /// The measurements until `now`, except the times that depend on other senders.
    pub(super) fn report(&self, now: Instant) -> FlowReport {
        let mut report = self.report.clone();
        report.bytes = Bytes::new(report.delivered * self.payload.get());
        if let Transport::Tcp(tcp) = &self.transport {
            (report.retransmitted, report.timeouts) = (tcp.retransmitted, tcp.timeouts);
        }
        report.end_to_end = self.end_to_end.clone().map(|end_to_end| end_to_end.finish_at(now));
        report.video = self.encoder.as_ref().map(|encoder| Box::new(encoder.report(now)));
        report.failure = self.controller().and_then(Controller::failure);
        report
    }

    /// Plans the next send and the next wake-up.
    #[inline(always)]
    pub(super) fn plan(&mut self, now: Instant) {
        let send = match &self.transport {
            _ if !self.is_open() => Instant::MAX,
            Transport::Bare(bare) => bare.next_send(now),
            Transport::Tcp(tcp) => tcp.next_send(now),
            Transport::Sprout(sprout) => sprout.next_send(now),
        };
        self.plan.send = Due::new(send, Turn::Send);
        // A wake-up is not postponed before its time has come: its event may be too early.
        let wake = self.next_timer(now);
        if wake < Instant::MAX {
            self.plan.wake = self.plan.wake.min(Due::new(wake.max(now), Turn::Timer));
        }
    }

    /// Whether the planned packet may be sent at `now`.
    #[inline]
    pub(super) fn may_send(&self, now: Instant) -> bool {
        self.plan.send.time() == now
            && match &self.transport {
                Transport::Bare(_) | Transport::Tcp(_) => true,
                // Sprout's forecast depends on when it is queried.
                Transport::Sprout(sprout) => sprout.next_send(now) == now,
            }
    }

    /// Sends a packet.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: usize) -> Packet {
        let mut packet = Packet::new(flow as u32, 0, 0, now);
        packet.epoch = self.epoch;
        packet.tag = self.path.first_hop;
        match &mut self.transport {
            Transport::Bare(bare) => bare.send(now, &mut packet),
            Transport::Tcp(tcp) => tcp.send(now, &mut packet),
            Transport::Sprout(sprout) => sprout.send(now, &mut packet),
        }
        self.report.sent += 1;
        packet
    }

    fn controller(&self) -> Option<&AnyController> {
        match &self.transport {
            Transport::Bare(bare) => Some(&bare.cc),
            Transport::Tcp(tcp) => Some(&tcp.cc),
            Transport::Sprout(_) => None,
        }
    }

    /// What limits the sender, as of its last plan.
    pub(super) fn limited(&self) -> Limited {
        let (cwnd, _, in_flight) = self.window();
        match self.plan.send.is_never() {
            _ if !self.on => Limited::Off,
            true if in_flight >= cwnd => Limited::Window,
            true => Limited::Data,
            false => Limited::Pace,
        }
    }

    /// Packets retransmitted so far.
    pub(super) fn retransmissions(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.retransmitted,
            Transport::Bare(_) | Transport::Sprout(_) => 0,
        }
    }

    /// The RTT of the packet acknowledged last.
    pub(super) fn last_rtt(&self) -> Option<Span> {
        self.last_rtt
    }

    /// The window and the packets in flight, in packets, and the least time between sends.
    fn window(&self) -> (Packets, Span, Packets) {
        match &self.transport {
            Transport::Bare(bare) => bare.window(),
            Transport::Tcp(tcp) => tcp.window(),
            Transport::Sprout(sprout) => sprout.window(),
        }
    }

    /// When the next timer of its transport expires.
    #[inline(always)]
    fn next_timer(&self, now: Instant) -> Instant {
        match &self.transport {
            _ if !self.is_open() => Instant::MAX,
            Transport::Bare(bare) => bare.next_wake(),
            Transport::Tcp(tcp) => tcp.next_wake(),
            Transport::Sprout(sprout) => sprout.next_wake(now),
        }
    }

    /// When this host's next timer expires, or a frame is due.
    pub(super) fn next_wake(&self, now: Instant) -> Instant {
        self.next_timer(now).min(self.frame_at)
    }

    /// The time of [`Host::next_wake`] has come. Returns whether that completes the flow.
    fn wake(&mut self, now: Instant, tap: &mut impl Tap) -> bool {
        if !self.is_open() {
            return false;
        }
        if now >= self.frame_at {
            self.encode(now);
        }
        match &mut self.transport {
            Transport::Bare(bare) => bare.wake(now),
            Transport::Tcp(tcp) => {
                let ack = tcp.wake(now).map(AckContents::Tcp);
                return ack.is_some_and(|ack| self.queue_ack(now, ack, self.epoch, tap));
            }
            Transport::Sprout(sprout) => {
                sprout.wake(now);
                return self.answer(now, tap);
            }
        }
        false
    }

    /// The state of its Sprout session at `now`, if it runs Sprout.
    pub(super) fn sample_sprout(&self, now: Instant, flow: usize) -> Option<SproutSample> {
        match &self.transport {
            Transport::Sprout(sprout) => Some(sprout.sample(now, flow)),
            Transport::Bare(_) | Transport::Tcp(_) => None,
        }
    }

    /// The state of the sender at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> FlowSample {
        let (cwnd, intersend, in_flight) = self.window();
        let controller = match &self.transport {
            Transport::Bare(bare) => Some(bare.controller()),
            Transport::Tcp(tcp) => Some(tcp.controller()),
            Transport::Sprout(_) => None,
        };
        let remy = controller.and_then(AnyController::as_remy);
        FlowSample {
            at: now,
            flow,
            on: self.on,
            cwnd,
            intersend,
            in_flight,
            limited: self.limited(),
            delivered: self.report.delivered,
            rtt: self.last_rtt,
            received: self.end_to_end.as_ref().map(|scored| (scored.bytes(), scored.delay_at(now))),
            metrics: controller.map(AnyController::metrics).unwrap_or_default(),
            signals: remy.map(exm_remy::RemyCc::signals),
            rule: remy.map(exm_remy::RemyCc::rule),
        }
    }
}

/// Counts `span`, with its distribution or without.
#[inline(always)]
fn record(histogram: &mut Histogram, span: Span, distribution: bool) {
    if distribution {
        histogram.record(span);
    } else {
        histogram.record_sum(span);
    }
}

/// The delays after the last link of the path and after the last link that leads back.
fn end_delays(spec: &FlowSpec, links: &[LinkSpec]) -> (Span, Span) {
    let last = |path: &[usize]| path.last().map_or(Span::ZERO, |&link| links[link].delay);
    let own = if spec.back.is_empty() { spec.extra_delay } else { Span::ZERO };
    (last(&spec.path) + own, last(&spec.back) + spec.extra_delay)
}
