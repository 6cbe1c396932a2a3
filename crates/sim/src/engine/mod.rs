//! The event engine: any number of senders on any directed graph of links.
//!
//! Because a link's propagation delay is fixed and its transmissions end one after the other, the
//! packets it has sent arrive in the order they left: of all that is under way on a link only the
//! first can be the next event. So the engine has a fixed set of *sources* of events, its links and
//! its flows; each knows the next event of each of its kinds, and the agenda the earliest of them. No
//! event or packet is ever allocated by itself.
//!
//! When a link of fixed rate has transmitted a packet is known when it takes it up, and of a drop-tail
//! queue when it comes (`ahead.rs`); so packets are handed on then, with the time at which they leave.
//!
//! What happens at one and the same instant takes turns in this order (`Turn`): transmissions end (by
//! link), packets arrive at further links (by link), packets arrive at receivers (by flow), answers that
//! crossed links arrive at senders (by flow), timers run out (by flow), senders switch on or off (by
//! flow), senders send, each all it may at that instant (by flow); last, the observer looks. A sender
//! that switches off at an instant sends nothing at it.
//!
//! Results depend on the network and the seed alone. Memory grows with the packets under way, never
//! with the time simulated.

mod agenda;
mod ahead;
mod host;
mod observer;
mod share;
mod transmitter;

pub use observer::{FlowSample, LinkSample, Observer, Pace};

use crate::metrics::Report;
use crate::network::{FlowSpec, Network};
use agenda::{Agenda, Due, Turn};
use exm_link::{Packet, Service, Verdict};
use exm_trace::delay::Scores;
use exm_units::{Instant, Rate, Span};
use host::{Host, Place};
use share::Sharing;
use std::collections::VecDeque;
use transmitter::{Transmitter, Work};

/// Where a path ends, in the list of hops, and where a way back does.
const RECEIVER: u32 = u32::MAX;
const SENDER: u32 = u32::MAX - 1;

/// Simulates `network`, its chances drawn from `seed`.
pub fn run(network: &Network, seed: u64) -> Report {
    run_observed(network, seed, &mut ())
}

/// As [`run`], with an observer.
pub fn run_observed(network: &Network, seed: u64, observer: &mut impl Observer) -> Report {
    let mut simulation = Simulation::new(network, seed, observer);
    simulation.run();
    simulation.report(network, seed)
}

struct Simulation<'a, O> {
    now: Instant,
    end: Instant,
    /// Its sources are the links, then the flows, then the observer.
    agenda: Agenda,
    links: Vec<Transmitter>,
    hosts: Vec<Host>,
    /// All paths one after the other, each ended by [`RECEIVER`], and the way back, if there is one,
    /// by [`SENDER`].
    hops: Vec<u32>,
    sharing: Sharing,
    verdict: Verdict,
    /// Packets that one opportunity of a trace let through, and whether each is lost.
    departed: Vec<Packet>,
    events: u64,
    pace: Pace,
    observer: &'a mut O,
}

impl<'a, O: Observer> Simulation<'a, O> {
    fn new(network: &Network, seed: u64, observer: &'a mut O) -> Simulation<'a, O> {
        let (links, flows) = (network.links(), network.flows());
        let mut agenda = Agenda::new(links.len() + flows.len() + 1);
        let mut hops = Vec::new();
        let mut hosts = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let delays = flow.path.iter().chain(&flow.back).map(|&link| links[link].delay);
            let propagation = delays.fold(flow.extra_delay, Span::saturating_add);
            let first_hop = hops.len() as u32;
            hops.extend(flow.path.iter().map(|&link| link as u32).chain([RECEIVER]));
            let first_back = (!flow.back.is_empty()).then_some(hops.len() as u32);
            if first_back.is_some() {
                hops.extend(flow.back.iter().map(|&link| link as u32).chain([SENDER]));
            }
            let place = Place { first_hop, first_back, propagation };
            let host = Host::new(network, seed, index, place);
            agenda.set(links.len() + index, host.plan.first());
            hosts.push(host);
        }
        let pace = observer.pace();
        let watched = pace == Pace::EachEvent;
        if let Pace::Every(_) = pace {
            agenda.set(links.len() + flows.len(), Due::new(Instant::ZERO, Turn::Observer));
        }
        let end = Instant::ZERO + network.duration();
        let transmitter = |(index, link)| Transmitter::new(link, seed, index, end, watched);
        Simulation {
            now: Instant::ZERO,
            end,
            agenda,
            links: links.iter().enumerate().map(transmitter).collect(),
            hosts,
            hops,
            sharing: Sharing::default(),
            verdict: Verdict::default(),
            departed: Vec::new(),
            events: 0,
            pace,
            observer,
        }
    }

    fn run(&mut self) {
        loop {
            let (due, source) = self.agenda.first();
            self.now = due.time();
            if self.now >= self.end {
                break;
            }
            self.events += 1;
            let flow = source.wrapping_sub(self.links.len());
            match due.turn() {
                Turn::Transmission => self.depart(source),
                Turn::Wire => self.leave_wire(source),
                Turn::Arrival => self.deliver(flow),
                Turn::Return => self.come_back(flow),
                Turn::Timer => self.wake(flow),
                Turn::Switch => self.switch(flow),
                Turn::Send => self.send(flow),
                Turn::Observer => self.observe(),
            }
        }
    }

    /// A transmission ends, and the next packet is taken up.
    #[inline]
    fn depart(&mut self, link: usize) {
        if let Work::Trace { .. } = self.links[link].work {
            return self.use_opportunity(link);
        }
        self.serve(link);
        self.tell_of_link(link);
    }

    /// `link` takes up the next packet, if there is one. When its transmission ends is known now.
    #[inline]
    fn serve(&mut self, link: usize) {
        let served = self.links[link].serve(self.now, &mut self.verdict);
        self.plan_transmission(link, served.map(|(_, finish)| finish));
        self.read_verdict(link);
        if let Some((packet, finish)) = served {
            self.transmit(link, packet, finish);
        }
    }

    /// `packet` has been transmitted at a fixed rate when it is `finish`. What is transmitted after the
    /// end is still under way then.
    #[inline(always)]
    fn transmit(&mut self, link: usize, packet: Packet, finish: Instant) {
        if finish < self.end && self.links[link].loses_transmitted(&packet) {
            return self.hosts[packet.flow as usize].count_loss(packet.tag);
        }
        self.forward(link, packet, finish);
    }

    /// A trace lets packets through.
    fn use_opportunity(&mut self, link: usize) {
        let mut departed = std::mem::take(&mut self.departed);
        let next = self.links[link].use_opportunity(self.now, &mut self.verdict, &mut departed);
        self.plan_transmission(link, next);
        self.read_verdict(link);
        for packet in departed.drain(..) {
            self.forward(link, packet, self.now);
        }
        self.departed = departed;
        self.tell_of_link(link);
    }

    /// The next transmission of `link` ends at `finish`, if there is one.
    #[inline]
    fn plan_transmission(&mut self, link: usize, finish: Option<Instant>) {
        self.links[link].transmission_at =
            finish.map_or(Due::NEVER, |at| Due::new(at, Turn::Transmission));
        self.agenda.set(link, self.links[link].first());
    }

    /// What `flow` plans has changed.
    #[inline(always)]
    fn set_flow(&mut self, flow: usize) {
        self.agenda.set(self.links.len() + flow, self.hosts[flow].plan.first());
    }

    /// `packet` leaves `link` at `at`, for the next one or for its receiver.
    #[inline(always)]
    fn forward(&mut self, link: usize, mut packet: Packet, at: Instant) {
        let flow = packet.flow as usize;
        packet.tag += 1;
        let host = &mut self.hosts[flow];
        let plan = &mut host.plan;
        let (pipe, planned, delay, turn) = match self.hops[packet.tag as usize] {
            RECEIVER => (&mut host.arriving, &mut plan.arrival, host.last_delay, Turn::Arrival),
            SENDER => (&mut host.returning, &mut plan.comeback, host.back_delay, Turn::Return),
            _ => return self.cross_wire(link, packet, at),
        };
        packet.at = at + delay;
        let alone = pipe.is_empty();
        pipe.push_back(packet);
        if alone {
            *planned = Due::new(packet.at, turn);
            self.set_flow(flow);
        }
    }

    /// `packet` propagates from `link` to a further one from `at` on.
    fn cross_wire(&mut self, link: usize, mut packet: Packet, at: Instant) {
        let transmitter = &mut self.links[link];
        packet.at = at + transmitter.delay;
        transmitter.wire.push_back(packet);
        self.agenda.set(link, self.links[link].first());
    }

    /// A packet comes to the end of a link's propagation delay, where a further link begins.
    fn leave_wire(&mut self, link: usize) {
        let (packet, _) = take_first(&mut self.links[link].wire, Turn::Wire);
        self.agenda.set(link, self.links[link].first());
        self.arrive(packet);
    }

    /// `packet` arrives at the link it is to cross next.
    #[inline]
    fn arrive(&mut self, packet: Packet) {
        let link = self.hops[packet.tag as usize] as usize;
        let transmitter = &mut self.links[link];
        if let Work::Ahead(_) = transmitter.work {
            return self.look_ahead(link, packet);
        }
        if transmitter.loses() {
            return self.hosts[packet.flow as usize].count_loss(packet.tag);
        }
        if transmitter.enqueue(self.now, packet, &mut self.verdict) {
            self.serve(link);
        } else {
            if let Some(at) = transmitter.first_opportunity(self.now) {
                self.plan_transmission(link, Some(at));
            }
            self.read_verdict(link);
        }
        self.tell_of_link(link);
    }

    /// `packet` arrives at a link that knows ahead what becomes of it.
    #[inline]
    fn look_ahead(&mut self, link: usize, mut packet: Packet) {
        let transmitter = &mut self.links[link];
        let Work::Ahead(ahead) = &mut transmitter.work else { return };
        transmitter.report.arrived += 1;
        let Some(finish) = ahead.take_in(self.now, &mut packet) else {
            transmitter.report.dropped += 1;
            return self.hosts[packet.flow as usize].count_drop(packet.tag);
        };
        self.events += u64::from(finish < self.end);
        self.transmit(link, packet, finish);
    }

    #[inline]
    fn read_verdict(&mut self, link: usize) {
        if !self.verdict.is_empty() {
            self.count_verdict(link);
        }
    }

    #[cold]
    fn count_verdict(&mut self, link: usize) {
        for packet in self.verdict.take_dropped() {
            self.links[link].report.dropped += 1;
            self.hosts[packet.flow as usize].count_drop(packet.tag);
        }
        self.links[link].report.marked += self.verdict.take_marked();
    }

    /// A packet arrives at its receiver.
    #[inline]
    fn deliver(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        let (packet, next) = take_first(&mut host.arriving, Turn::Arrival);
        host.plan.arrival = next;
        let complete = host.arrive(self.now, &packet);
        self.follow_up(flow, complete);
    }

    /// An answer arrives at its sender.
    fn come_back(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        let (packet, next) = take_first(&mut host.returning, Turn::Return);
        host.plan.comeback = next;
        let complete = host.hear(self.now, &packet);
        self.follow_up(flow, complete);
    }

    /// What follows on an arrival, that perhaps has completed the flow.
    #[inline(always)]
    fn follow_up(&mut self, flow: usize, complete: bool) {
        if complete {
            self.switch_off(flow);
        }
        if self.hosts[flow].has_answers() {
            self.send_answers(flow);
        }
        self.plan(flow);
        if self.pace == Pace::EachEvent {
            self.observer.flow(&self.hosts[flow].sample(self.now, flow));
        }
    }

    /// Sends what `flow`'s receiver has to say.
    fn send_answers(&mut self, flow: usize) {
        while let Some(packet) = self.hosts[flow].send_answer(self.now, flow) {
            self.arrive(packet);
        }
    }

    fn wake(&mut self, flow: usize) {
        let host = &mut self.hosts[flow];
        // Plans are not put off as long as their time has not come: it may be too early.
        host.plan.wake = Due::NEVER;
        if self.now >= host.next_wake() && host.wake(self.now) {
            self.switch_off(flow);
        }
        self.send_answers(flow);
        self.plan(flow);
    }

    fn switch(&mut self, flow: usize) {
        if self.hosts[flow].is_on() {
            self.switch_off(flow);
        } else {
            let share = self.sharing.until(self.now);
            self.sharing.join();
            self.hosts[flow].switch_on(self.now, share);
        }
        self.plan(flow);
    }

    fn switch_off(&mut self, flow: usize) {
        let share = self.sharing.until(self.now);
        self.sharing.leave();
        self.hosts[flow].switch_off(self.now, share);
    }

    /// Sends all that `flow` may send now.
    #[inline]
    fn send(&mut self, flow: usize) {
        while self.hosts[flow].may_send(self.now) {
            let packet = self.hosts[flow].send(self.now, flow);
            self.arrive(packet);
            self.hosts[flow].plan(self.now);
        }
        self.set_flow(flow);
    }

    /// Brings the agenda up to date with what `flow` plans.
    #[inline(always)]
    fn plan(&mut self, flow: usize) {
        self.hosts[flow].plan(self.now);
        self.set_flow(flow);
    }

    #[inline]
    fn tell_of_link(&mut self, link: usize) {
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
        let source = self.links.len() + self.hosts.len();
        self.agenda.set(source, Due::new(next, Turn::Observer));
    }

    fn report(mut self, network: &Network, seed: u64) -> Report {
        let share = self.sharing.until(self.end);
        let held: u64 = self.links.iter().map(Transmitter::holds).sum();
        let coming: usize =
            self.hosts.iter().map(|host| host.arriving.len() + host.returning.len()).sum();
        let flows = self.hosts.into_iter().zip(network.flows()).map(|(mut host, spec)| {
            host.close(self.end, share);
            let rates = spec.path.iter().map(|&link| network.links()[link].service.rate());
            host.report.bottleneck = rates.min().unwrap_or(Rate::from_bps(0));
            if host.report.end_to_end.is_some() {
                host.report.omniscient = omniscient(network, spec);
            }
            host.report
        });
        let links = self.links.into_iter().zip(network.links());
        Report {
            duration: network.duration(),
            seed,
            flows: flows.collect(),
            links: links.map(|(link, spec)| link.finish(self.end, spec)).collect(),
            in_network: held + coming as u64,
            events: self.events,
        }
    }
}

/// Takes the first packet of a pipe whose `turn` has come, and tells when the next one's is.
#[inline]
fn take_first(pipe: &mut VecDeque<Packet>, turn: Turn) -> (Packet, Due) {
    let packet = pipe.pop_front().expect("a pipe's turn comes only when it holds a packet");
    (packet, pipe.front().map_or(Due::NEVER, |packet| Due::new(packet.at, turn)))
}

/// What a protocol would score on the path of `flow` that knew the trace of its first link that
/// follows one, if any does.
pub fn omniscient(network: &Network, flow: &FlowSpec) -> Option<Scores> {
    let links = || flow.path.iter().map(|&link| &network.links()[link]);
    let trace = links().find_map(|link| match &link.service {
        Service::Trace(trace) => Some(trace),
        Service::Fixed(_) => None,
    })?;
    let propagation = links().map(|link| link.delay).sum();
    let (from, until) = network.scored();
    Some(exm_trace::delay::omniscient(trace, propagation, from, until))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::Hostile;
