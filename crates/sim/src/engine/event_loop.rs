//! [`Engine`]: the loop over events.

use super::agenda::{Agenda, Due, Turn};
use super::host::{HeardAck, Host, HostPath, Occasion};
use super::observer::{Event, EventKind, Observer, Pace, PacketId, ReceivedAck};
use super::pipe::Pipe;
use super::transmitter::Transmitter;
use crate::active::{MeasuredOver, shares, times};
use crate::metrics::Report;
use crate::network::{FlowSpec, Network, Transport};
use exm_link::{Packet, QueueActions, Service};
use exm_trace::Trace;
use exm_trace::delay::Scores;
use exm_units::{Bytes, Instant, Rate, Span};
use std::collections::BTreeMap;

/// The markers, in the list of hops, of the end of a path and of the end of a return path.
pub(super) const RECEIVER: u32 = u32::MAX;
pub(super) const SENDER: u32 = u32::MAX - 1;

/// The state of a simulation, without its network. `LIVE` is set if the network may be changed during
/// the run: then links do not look ahead, and packets keep their order when a delay is shortened.
#[derive(Clone, Debug)]
pub(super) struct Engine<O, const LIVE: bool> {
    pub(super) now: Instant,
    pub(super) end: Instant,
    pub(super) agenda: Agenda,
    pub(super) links: Vec<Transmitter>,
    pub(super) hosts: Vec<Host>,
    /// All paths one after the other, each ended by [`RECEIVER`], and the return path, if there is one,
    /// by [`SENDER`].
    pub(super) hops: Vec<u32>,
    pub(super) actions: QueueActions,
    /// The packets that one opportunity of a trace carried, and whether each is lost.
    pub(super) departed: Vec<Packet>,
    /// The ACKs that one event brought, for an observer that wants them.
    heard: Vec<HeardAck>,
    pub(super) events: u64,
    pace: Pace,
    pub(super) observer: O,
}

impl<O: Observer, const LIVE: bool> Engine<O, LIVE> {
    pub(super) fn new(network: &Network, seed: u64, observer: O) -> Engine<O, LIVE> {
        let (links, flows) = (network.links(), network.flows());
        let mut hops = Vec::new();
        let mut hosts = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let first_hop = hops.len() as u32;
            hops.extend(flow.path.iter().map(|&link| link as u32).chain([RECEIVER]));
            let first_back = (!flow.back.is_empty()).then_some(hops.len() as u32);
            if first_back.is_some() {
                hops.extend(flow.back.iter().map(|&link| link as u32).chain([SENDER]));
            }
            let path = HostPath { first_hop, first_back, propagation: flow.propagation(links) };
            hosts.push(Host::new(network, seed, index, path));
        }
        let pace = observer.pace();
        let evented = LIVE || pace == Pace::EachEvent;
        let end = Instant::ZERO + network.duration();
        let transmitter = |(index, link)| Transmitter::new(link, seed, index, end, evented);
        let mut links: Vec<Transmitter> = links.iter().enumerate().map(transmitter).collect();
        for (index, flow) in flows.iter().enumerate() {
            // Sprout's receiver sends forecasts, and data where it is duplex.
            if !matches!(flow.transport, Transport::Sprout(_)) {
                flow.back.iter().for_each(|&link| links[link].thin_acks_of(index));
            }
        }
        let mut agenda = Agenda::new(hosts.len(), links.len() + 1);
        for (flow, host) in hosts.iter().enumerate() {
            agenda.set_flow(flow, host.plan.first());
        }
        if let Pace::Every(_) = pace {
            agenda.set_link(links.len(), Due::new(Instant::ZERO, Turn::Observer));
        }
        Engine {
            now: Instant::ZERO,
            end,
            agenda,
            links,
            hosts,
            hops,
            actions: QueueActions::default(),
            departed: Vec::new(),
            heard: Vec::new(),
            events: 0,
            pace,
            observer,
        }
    }

    /// When the next event is due, if one is before the end.
    pub(super) fn next_event(&self) -> Option<Instant> {
        let (due, _) = self.agenda.first();
        Some(due.time()).filter(|&at| at < self.end)
    }

    /// Processes all events before `until`, which is not after the end; then the time is `until`.
    // If it were inlined, the engine would be a local variable of the caller, which costs 3 % more
    // instructions.
    #[inline(never)]
    pub(super) fn run_until(&mut self, until: Instant) {
        loop {
            let (due, source) = self.agenda.first();
            if due.time() >= until {
                break;
            }
            self.handle(due, source);
        }
        self.now = until;
    }

    /// Processes the next event, which is before the end.
    pub(super) fn step(&mut self) {
        let (due, source) = self.agenda.first();
        self.handle(due, source);
    }

    #[inline(always)]
    fn handle(&mut self, due: Due, source: usize) {
        self.now = due.time();
        self.events += 1;
        match due.turn() {
            Turn::Transmission => self.depart(source),
            Turn::Wire => self.leave_wire(source),
            Turn::Arrival => self.deliver(source),
            Turn::AckArrival => self.receive_ack(source),
            Turn::Timer => self.wake(source),
            Turn::Switch => self.switch(source),
            Turn::Send => self.send(source),
            Turn::Observer => self.observe(),
        }
    }

    /// Reports that `kind` happened to `packet` at `at`, if events are wanted.
    #[inline(always)]
    pub(super) fn report_packet(
        &mut self,
        at: Instant,
        packet: &Packet,
        kind: impl FnOnce(PacketId) -> EventKind,
    ) {
        if self.observer.wants_events() {
            let (flow, id) = (packet.flow as usize, self.identify(packet));
            self.observer.event(&Event { at, flow, kind: kind(id) });
        }
    }

    #[inline(always)]
    pub(super) fn identify(&self, packet: &Packet) -> PacketId {
        PacketId {
            sequence: packet.sequence,
            sent_at: packet.sent_at,
            size: Bytes::new(u64::from(packet.size)),
            is_ack: self.hosts[packet.flow as usize].is_on_way_back(packet.tag),
            period: packet.epoch,
        }
    }

    /// Reports that `kind` happens to `flow` now, if events are wanted.
    #[inline(always)]
    fn report_flow(&mut self, flow: usize, kind: EventKind) {
        if self.observer.wants_events() {
            self.observer.event(&Event { at: self.now, flow, kind });
        }
    }

    /// A packet arrives at its receiver.
    #[inline]
    fn deliver(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        let (packet, next) = take_first::<LIVE>(&mut host.arriving, Turn::Arrival);
        host.plan.arrival = next;
        self.report_packet(self.now, &packet, |packet| EventKind::Delivered { packet });
        let complete = self.acknowledge(flow, &Occasion::Arrival(&packet));
        self.follow_up(flow, complete);
    }

    /// An ACK arrives at its sender.
    fn receive_ack(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        let (packet, next) = take_first::<LIVE>(&mut host.acks_arriving, Turn::AckArrival);
        host.plan.ack_arrival = next;
        let complete = self.acknowledge(flow, &Occasion::Ack(&packet));
        self.follow_up(flow, complete);
    }

    /// What may bring `flow`'s sender an ACK. Returns whether that completes the flow.
    #[inline(always)]
    fn acknowledge(&mut self, flow: usize, occasion: &Occasion<'_>) -> bool {
        if self.observer.wants_events() || self.observer.wants_acks() {
            return self.acknowledge_watched(flow, occasion);
        }
        self.hosts[flow].meet(self.now, occasion, &mut ())
    }

    /// As [`Engine::acknowledge`], for an observer that wants events or ACKs.
    #[inline(never)]
    fn acknowledge_watched(&mut self, flow: usize, occasion: &Occasion<'_>) -> bool {
        let (host, at) = (&mut self.hosts[flow], self.now);
        let (acks, delivered) = (host.report.rtt.count(), host.report.delivered);
        let complete = if self.observer.wants_acks() {
            let complete = host.meet(at, occasion, &mut self.heard);
            for HeardAck { period, contents } in self.heard.drain(..) {
                self.observer.ack(&ReceivedAck { at, flow, period, contents });
            }
            complete
        } else {
            host.meet(at, occasion, &mut ())
        };
        let host = &self.hosts[flow];
        if host.report.rtt.count() > acks {
            let (delivered, rtt) = (host.report.delivered - delivered, host.last_rtt());
            self.report_flow(flow, EventKind::Acknowledged { delivered, rtt });
        }
        complete
    }

    /// Updates the plans after an arrival, which may have completed the flow.
    #[inline(always)]
    fn follow_up(&mut self, flow: usize, complete: bool) {
        if complete {
            self.switch_off(flow);
        }
        if self.hosts[flow].has_unsent_acks() {
            self.send_acks(flow);
        }
        self.plan(flow);
        if self.pace == Pace::EachEvent {
            self.observer.flow(&self.hosts[flow].sample(self.now, flow));
        }
        self.report_update(flow);
    }

    /// Reports the state of `flow`'s sender, if updates are wanted.
    #[inline(always)]
    fn report_update(&mut self, flow: usize) {
        if self.observer.wants_updates() {
            self.observer.update(&self.hosts[flow].sample(self.now, flow));
        }
    }

    /// Sends the ACKs of `flow`'s receiver.
    #[inline(never)]
    fn send_acks(&mut self, flow: usize) {
        while let Some(mut packet) = self.hosts[flow].send_ack(self.now, flow) {
            let sent = |packet| EventKind::Sent { packet, retransmission: false };
            self.report_packet(self.now, &packet, sent);
            self.arrive(&mut packet);
        }
    }

    fn wake(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        // A plan is not postponed before its time has come: its event may be too early.
        host.plan.wake = Due::NEVER;
        if self.now >= host.next_wake(self.now) && self.acknowledge(flow, &Occasion::Timer) {
            self.switch_off(flow);
        }
        self.hosts[flow].plan_frame();
        self.send_acks(flow);
        self.plan(flow);
        self.report_update(flow);
    }

    fn switch(&mut self, flow: usize) {
        if self.hosts[flow].is_on() {
            self.switch_off(flow);
        } else {
            self.hosts[flow].switch_on(self.now);
            self.report_flow(flow, EventKind::Started);
        }
        self.plan(flow);
        self.report_update(flow);
    }

    pub(super) fn switch_off(&mut self, flow: usize) {
        self.hosts[flow].switch_off(self.now);
        self.report_flow(flow, EventKind::Stopped);
    }

    /// Sends everything that `flow` may send now.
    #[inline]
    fn send(&mut self, flow: usize) {
        let mut host = &mut self.hosts[flow];
        while host.may_send(self.now) {
            let mut packet = self.send_packet(flow);
            self.arrive(&mut packet);
            host = &mut self.hosts[flow];
            host.plan(self.now);
        }
        self.agenda.set_flow(flow, host.plan.first());
        self.report_limited(flow);
        self.report_update(flow);
    }

    #[inline(always)]
    fn send_packet(&mut self, flow: usize) -> Packet {
        if !self.observer.wants_events() {
            return self.hosts[flow].send(self.now, flow);
        }
        let before = self.hosts[flow].retransmissions();
        let packet = self.hosts[flow].send(self.now, flow);
        let retransmission = self.hosts[flow].retransmissions() > before;
        self.report_packet(self.now, &packet, |packet| EventKind::Sent { packet, retransmission });
        packet
    }

    /// Updates the agenda to `flow`'s plan.
    #[inline(always)]
    pub(super) fn plan(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        host.plan(self.now);
        self.agenda.set_flow(flow, host.plan.first());
        self.report_limited(flow);
    }

    /// Reports a change in what limits `flow`. If its turn to send comes at this very instant, that is
    /// not known yet.
    #[inline(always)]
    fn report_limited(&mut self, flow: usize) {
        if self.observer.wants_events() {
            let host = &mut self.hosts[flow];
            let limited = host.limited();
            if host.plan.send.time() != self.now && limited != host.limited {
                host.limited = limited;
                self.report_flow(flow, EventKind::Limited(limited));
            }
        }
    }

    #[inline]
    pub(super) fn report_link(&mut self, link: usize) {
        if self.pace == Pace::EachEvent {
            self.observer.link(&self.links[link].sample(self.now, link));
        }
    }

    fn observe(&mut self) {
        for (flow, host) in self.hosts.iter().enumerate() {
            self.observer.flow(&host.sample(self.now, flow));
        }
        for (link, transmitter) in self.links.iter().enumerate() {
            self.observer.link(&transmitter.sample(self.now, link));
        }
        let next = match self.pace {
            Pace::Every(span) => self.now.saturating_add(span.max(Span::from_nanos(1))),
            Pace::Never | Pace::EachEvent => Instant::MAX,
        };
        self.agenda.set_link(self.links.len(), Due::new(next, Turn::Observer));
    }

    /// The equal share of each sender of what `trace` could carry so far while it was active, bits.
    fn offered(&self, trace: &Trace, over: MeasuredOver) -> Vec<f64> {
        let carried = |at| trace.capacity(Instant::ZERO, at).get() * 8;
        let all = shares(self.hosts.iter().map(Host::periods), self.now, over, carried);
        all.into_iter().map(|(_, bits)| bits).collect()
    }

    /// The measurements of `network` so far.
    pub(super) fn report(&self, network: &Network, seed: u64) -> Report {
        let over = |over| times(self.hosts.iter().map(Host::periods), self.now, over);
        let (on, active) = (over(MeasuredOver::Papers), over(MeasuredOver::Arrivals));
        let times = on.into_iter().zip(active);
        let held: u64 = self.links.iter().map(Transmitter::holds).sum();
        let coming: usize =
            self.hosts.iter().map(|host| host.arriving.len() + host.acks_arriving.len()).sum();
        let mut offered: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let flows = self.hosts.iter().zip(network.flows()).zip(times).enumerate();
        let flows = flows.map(|(index, ((host, spec), (on, active)))| {
            let mut report = host.report(self.now);
            (report.on_time, report.share_time) = (on.time, on.share);
            (report.active_time, report.active_share_time) = (active.time, active.share);
            report.over = network.over();
            let rate_of = |link: usize| network.links()[link].service.rate();
            let slowest = spec.path.iter().copied().min_by_key(|&link| rate_of(link));
            report.bottleneck = slowest.map_or(Rate::from_bps(0), rate_of);
            report.offered = slowest.and_then(|link| {
                let Service::Trace(trace) = &network.links()[link].service else { return None };
                let all = || self.offered(trace, network.over());
                Some(offered.entry(link).or_insert_with(all)[index])
            });
            if report.end_to_end.is_some() {
                report.omniscient = omniscient_until(network, spec, self.now);
            }
            report
        });
        let links = self.links.iter().zip(network.links());
        Report {
            duration: self.now - Instant::ZERO,
            seed,
            flows: flows.collect(),
            links: links.map(|(link, spec)| link.report(self.now, spec)).collect(),
            in_network: held + coming as u64,
            events: self.events,
        }
    }
}

/// Takes the first packet of a pipe whose `turn` has come, and returns when the next one is due.
#[inline]
pub(super) fn take_first<const LIVE: bool>(pipe: &mut Pipe, turn: Turn) -> (Packet, Due) {
    let packet =
        pipe.pop_front::<LIVE>().expect("a pipe is scheduled only while it holds a packet");
    (packet, pipe.front().map_or(Due::NEVER, |packet| Due::new(packet.at, turn)))
}

/// The score of the omniscient protocol on the path of `flow`, for the first link that follows a trace,
/// if any.
pub fn omniscient(network: &Network, flow: &FlowSpec) -> Option<Scores> {
    omniscient_until(network, flow, network.scored().1)
}

fn omniscient_until(network: &Network, flow: &FlowSpec, until: Instant) -> Option<Scores> {
    let links = || flow.path.iter().map(|&link| &network.links()[link]);
    let trace = links().find_map(|link| match &link.service {
        Service::Trace(trace) => Some(trace),
        Service::Fixed(_) => None,
    })?;
    let propagation = links().map(|link| link.delay).sum();
    let (from, _) = network.scored();
    Some(exm_trace::delay::omniscient(trace, propagation, from, until))
}
