//! [`Host`]: a sender with its receiver.
//!
//! It switches on and off as its traffic says and keeps the books. What it sends, and what it makes
//! of what comes back, is its transport's affair: [`Bare`], [`Tcp`] or [`Sprout`]. Where no links lead
//! back, answers take no time of their own, so a packet's arrival and that of its answer are one
//! event.

mod bare;
mod carried;
mod sprout;
mod tcp;

use super::agenda::{Due, Turn};
use super::observer::FlowSample;
use super::share::Share;
use crate::metrics::FlowReport;
use crate::network::{Network, SPROUT_EMPTY, TCP_HEADER, Transport as Kind};
use crate::traffic::{Job, Switch};
use bare::Bare;
use carried::Carried;
use exm_link::Packet;
use exm_random::{Purpose, Stream};
use exm_sprout::Header;
use exm_tcp::Acknowledgement;
use exm_trace::delay::EndToEnd;
use exm_units::{Bytes, Instant, Span};
use sprout::Sprout;
use std::collections::VecDeque;
use tcp::Tcp;

#[derive(Debug)]
pub(super) struct Host {
    transport: Transport,
    on: bool,
    /// Whether its connection goes on while it is off, to retransmit what is lost.
    persistent: bool,
    /// Which of the sender's flows this is, from 1 on.
    epoch: u32,
    last_rtt: Option<Span>,
    began_at: Instant,
    share_at_start: Share,
    share: Share,
    switch: Switch,
    payload: Bytes,
    place: Place,
    /// What arrived and when it was sent, where a way back tells arrivals from answers.
    end_to_end: Option<EndToEnd>,
    /// Answers that are to be sent now, each with the flow of the packet it answers.
    unsent: VecDeque<(Answer, u32)>,
    /// Answers under way.
    answers: Carried<Answer>,
    pub(super) report: FlowReport,
    /// The delay after the last link of its path: that link's and, where no links lead back, its own.
    pub(super) last_delay: Span,
    /// The delay after the last link that leads back: that link's and its own.
    pub(super) back_delay: Span,
    pub(super) plan: Plan,
    /// Packets on their last way, by time of arrival.
    pub(super) arriving: VecDeque<Packet>,
    /// Answers on their last way, by time of arrival.
    pub(super) returning: VecDeque<Packet>,
}

/// When the next event of each kind is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) arrival: Due,
    pub(super) comeback: Due,
    pub(super) wake: Due,
    pub(super) switch: Due,
    pub(super) send: Due,
}

impl Plan {
    /// The first of them.
    #[inline]
    pub(super) fn first(&self) -> Due {
        self.arrival.min(self.comeback).min(self.wake.min(self.switch)).min(self.send)
    }
}

/// What a receiver says.
#[derive(Clone, Debug)]
enum Answer {
    Bare(Heard),
    Tcp(Acknowledgement),
    Sprout(Header),
}

/// A packet that has come to its receiver, as its sender hears of it.
#[derive(Clone, Copy, Debug)]
struct Heard {
    sequence: u64,
    sent_at: Instant,
    received_at: Instant,
}

// The sender that tables are trained on is the one whose speed counts: it stays where its host is.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Transport {
    Bare(Bare),
    Tcp(Box<Tcp>),
    Sprout(Box<Sprout>),
}

/// Where a host is in its network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Where its path begins in the list of hops.
    pub(super) first_hop: u32,
    /// Where its way back begins there, if links lead back.
    pub(super) first_back: Option<u32>,
    /// The propagation delay of its path, there and back.
    pub(super) propagation: Span,
}

/// What a packet's arrival brought its sender.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    /// Packets that now count as delivered.
    delivered: u64,
    /// The round-trip time that its acknowledgement tells, if one was sent.
    rtt: Option<Span>,
    /// Whether it completes what the flow had to deliver.
    complete: bool,
}

impl Host {
    pub(super) fn new(network: &Network, seed: u64, index: usize, place: Place) -> Host {
        let spec = &network.flows()[index];
        let stream = Stream::new(seed, Purpose::Traffic, index);
        let chance = Stream::new(seed, Purpose::Controller, index).seed();
        let size = spec.packet_size;
        let transport = match spec.transport.clone() {
            Kind::Bare { controller, timer } => {
                Transport::Bare(Bare::new(size, controller.seeded(chance), timer))
            }
            Kind::Tcp { controller, settings } => {
                let controller = controller.seeded(chance);
                Transport::Tcp(Box::new(Tcp::new(size, controller, settings, place.propagation)))
            }
            Kind::Sprout(settings) => Transport::Sprout(Box::new(Sprout::new(size, settings))),
        };
        let persistent = matches!(&transport, Transport::Tcp(tcp) if tcp.is_persistent());
        let payload = spec.transport.payload(size);
        let (from, until) = network.scored();
        let mut switch = Switch::new(spec.traffic.clone(), stream, payload);
        let last_delay =
            |path: &[usize]| path.last().map_or(Span::ZERO, |&link| network.links()[link].delay);
        let own_delay = if spec.back.is_empty() { spec.extra_delay } else { Span::ZERO };
        let start = Due::new(switch.next_start(Instant::ZERO), Turn::Switch);
        Host {
            transport,
            on: false,
            persistent,
            epoch: 0,
            last_rtt: None,
            began_at: Instant::ZERO,
            share_at_start: Share::default(),
            share: Share::default(),
            switch,
            payload,
            place,
            end_to_end: place.first_back.map(|_| EndToEnd::new(from, until)),
            unsent: VecDeque::new(),
            answers: Carried::default(),
            report: FlowReport { dropped: vec![0; spec.path.len()], ..FlowReport::default() },
            last_delay: last_delay(&spec.path) + own_delay,
            back_delay: last_delay(&spec.back) + spec.extra_delay,
            plan: Plan {
                arrival: Due::NEVER,
                comeback: Due::NEVER,
                wake: Due::NEVER,
                switch: start,
                send: Due::NEVER,
            },
            arriving: VecDeque::new(),
            returning: VecDeque::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether the sender takes part in the network: a persistent connection does while it is off.
    #[inline]
    fn is_open(&self) -> bool {
        self.on || self.persistent
    }

    /// Whether a packet of on-period `epoch` belongs to the connection in use.
    #[inline]
    fn is_current(&self, epoch: u32) -> bool {
        self.persistent || self.on && epoch == self.epoch
    }

    /// Counts a packet dropped at hop `hop` of the network's list.
    pub(super) fn count_drop(&mut self, hop: u32) {
        if self.is_on_way_back(hop) {
            self.report.answers.lost += 1;
        } else {
            self.report.dropped[(hop - self.place.first_hop) as usize] += 1;
        }
    }

    /// Counts a packet lost at random at hop `hop`.
    pub(super) fn count_loss(&mut self, hop: u32) {
        if self.is_on_way_back(hop) {
            self.report.answers.lost += 1;
        } else {
            self.report.lost += 1;
        }
    }

    fn is_on_way_back(&self, hop: u32) -> bool {
        self.place.first_back.is_some_and(|first| hop >= first)
    }

    /// A flow starts, and plans its end where that is known.
    pub(super) fn switch_on(&mut self, now: Instant, share: Share) {
        self.on = true;
        self.epoch += 1;
        self.began_at = now;
        self.share_at_start = share;
        let (end, data) = match self.switch.next_job(now) {
            Job::Until(end) => (end, None),
            Job::Deliver(packets) => (Instant::MAX, Some(packets)),
        };
        match &mut self.transport {
            Transport::Bare(bare) => bare.start(now, data),
            Transport::Tcp(tcp) => tcp.start(now, data),
            Transport::Sprout(sprout) => sprout.start(now, data),
        }
        self.plan.switch = Due::new(end, Turn::Switch);
    }

    /// The flow ends, and the next one's start is planned.
    pub(super) fn switch_off(&mut self, now: Instant, share: Share) {
        self.report.on_time += now - self.began_at;
        self.share = self.share.plus(share.since(self.share_at_start));
        self.on = false;
        match &mut self.transport {
            Transport::Bare(bare) => bare.stop(),
            Transport::Tcp(tcp) => tcp.stop(self.epoch),
            Transport::Sprout(_) => {}
        }
        self.plan.switch = Due::new(self.switch.next_start(now), Turn::Switch);
    }

    /// Closes the books at the end of the simulation.
    pub(super) fn close(&mut self, end: Instant, share: Share) {
        if self.on {
            self.switch_off(end, share);
        }
        self.report.share_time = self.share.as_secs();
        self.report.bytes = Bytes::new(self.report.delivered * self.payload.get());
        if let Transport::Tcp(tcp) = &self.transport {
            (self.report.resent, self.report.timeouts) = (tcp.resent, tcp.timeouts);
        }
        self.report.end_to_end = self.end_to_end.take().map(EndToEnd::finish);
    }

    /// Plans the next send and the next time to be woken.
    #[inline(always)]
    pub(super) fn plan(&mut self, now: Instant) {
        let send = match &self.transport {
            _ if !self.is_open() => Instant::MAX,
            Transport::Bare(bare) => bare.next_send(now),
            Transport::Tcp(tcp) => tcp.next_send(now),
            Transport::Sprout(sprout) => sprout.next_send(now),
        };
        self.plan.send = Due::new(send, Turn::Send);
        // A time to be woken is not put off before it has come: it may be too early.
        self.plan.wake = self.plan.wake.min(Due::new(self.next_wake().max(now), Turn::Timer));
    }

    /// Whether what is planned may be sent at `now`.
    #[inline]
    pub(super) fn may_send(&self, now: Instant) -> bool {
        self.plan.send.time() == now
            && match &self.transport {
                Transport::Bare(_) | Transport::Tcp(_) => true,
                // What it forecasts depends on when it is asked.
                Transport::Sprout(sprout) => sprout.next_send(now) == now,
            }
    }

    /// Sends a packet.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: usize) -> Packet {
        let mut packet = match &mut self.transport {
            Transport::Bare(bare) => bare.send(now, flow),
            Transport::Tcp(tcp) => tcp.send(now, flow),
            Transport::Sprout(sprout) => sprout.send(now, flow),
        };
        packet.epoch = self.epoch;
        packet.tag = self.place.first_hop;
        self.report.sent += 1;
        packet
    }

    /// `packet` arrives at the receiver; where no links lead back, its answer arrives at the sender.
    /// Returns whether that completes the flow.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, packet: &Packet) -> bool {
        self.report.arrived += 1;
        self.report.queueing_delay.record(packet.waited);
        if let Some(end_to_end) = &mut self.end_to_end {
            end_to_end.arrived(packet.sent_at, now, Bytes::new(u64::from(packet.size)));
        }
        let current = self.is_current(packet.epoch);
        let answer = match &mut self.transport {
            Transport::Bare(bare) => {
                let (sequence, sent_at) = (packet.sequence, packet.sent_at);
                let heard = Heard { sequence, sent_at, received_at: now };
                if self.place.first_back.is_none() {
                    let arrived = bare.hear(now, &heard, current);
                    return self.take(now, arrived);
                }
                Some(Answer::Bare(heard))
            }
            Transport::Tcp(tcp) if current => {
                let Some(answer) = tcp.receive(now, packet) else { return false };
                if self.place.first_back.is_none() {
                    let arrived = tcp.hear(now, &answer);
                    return self.take(now, arrived);
                }
                Some(Answer::Tcp(answer))
            }
            Transport::Sprout(sprout) if current => {
                let arrived = sprout.receive(now, packet);
                let complete = self.take(now, arrived);
                return self.answer_with(now) || complete;
            }
            // What arrives after its on-period still counts, as with RemyCCs' bare sender.
            Transport::Tcp(tcp) => tcp.receive_late(now, packet).map(Answer::Tcp),
            Transport::Sprout(_) => {
                let data = Bytes::new(u64::from(packet.size)) > SPROUT_EMPTY;
                let late = Arrived { delivered: u64::from(data), ..Arrived::default() };
                return self.take(now, late);
            }
        };
        answer.is_some_and(|answer| self.answer(now, answer, packet.epoch))
    }

    /// Sprout's receiver says what it has to say. Returns whether that completes the flow.
    fn answer_with(&mut self, now: Instant) -> bool {
        let Transport::Sprout(sprout) = &mut self.transport else { return false };
        let Some(header) = sprout.answer(now) else { return false };
        self.answer(now, Answer::Sprout(header), self.epoch)
    }

    /// The receiver gives `answer`, which waits to be sent, or, where no links lead back, is heard.
    /// Returns whether it completes the flow.
    #[inline]
    fn answer(&mut self, now: Instant, answer: Answer, epoch: u32) -> bool {
        if self.place.first_back.is_none() {
            return self.hear_answer(now, &answer, epoch);
        }
        self.unsent.push_back((answer, epoch));
        false
    }

    /// Whether answers wait to be sent.
    #[inline]
    pub(super) fn has_answers(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends an answer that waits, if one does.
    pub(super) fn send_answer(&mut self, now: Instant, flow: usize) -> Option<Packet> {
        let (answer, epoch) = self.unsent.pop_front()?;
        let number = self.answers.push(answer);
        let size = match self.transport {
            Transport::Sprout(_) => SPROUT_EMPTY,
            Transport::Bare(_) | Transport::Tcp(_) => TCP_HEADER,
        };
        let mut packet = Packet::new(flow as u32, number, size.get() as u32, now);
        packet.epoch = epoch;
        packet.tag = self.place.first_back?;
        self.report.answers.sent += 1;
        Some(packet)
    }

    /// The answer that `packet` carries arrives at the sender. Returns whether it completes the
    /// flow.
    pub(super) fn hear(&mut self, now: Instant, packet: &Packet) -> bool {
        self.report.answers.arrived += 1;
        let answer = self.answers.take(packet.sequence).expect("what was sent is kept until heard");
        self.hear_answer(now, &answer, packet.epoch)
    }

    #[inline]
    fn hear_answer(&mut self, now: Instant, answer: &Answer, epoch: u32) -> bool {
        let current = self.is_current(epoch);
        let arrived = match (&mut self.transport, answer) {
            (Transport::Bare(bare), Answer::Bare(heard)) => bare.hear(now, heard, current),
            (Transport::Tcp(tcp), Answer::Tcp(answer)) if current => tcp.hear(now, answer),
            (Transport::Tcp(tcp), Answer::Tcp(answer)) => tcp.hear_late(now, epoch, answer),
            (Transport::Sprout(sprout), Answer::Sprout(header)) if current => {
                sprout.hear(now, header);
                return false;
            }
            _ => return false,
        };
        self.take(now, arrived)
    }

    /// Counts what came of an arrival.
    #[inline(always)]
    fn take(&mut self, now: Instant, arrived: Arrived) -> bool {
        self.report.delivered += arrived.delivered;
        if let Some(rtt) = arrived.rtt {
            self.report.rtt.record(rtt);
            self.last_rtt = Some(rtt);
        }
        // All of a persistent connection's data may arrive after its on-period has ended.
        let complete = arrived.complete && self.on;
        if complete {
            self.report.completion.record(now - self.began_at);
        }
        complete
    }

    /// When this host wants to be woken if nothing else happens.
    #[inline]
    pub(super) fn next_wake(&self) -> Instant {
        match &self.transport {
            _ if !self.is_open() => Instant::MAX,
            Transport::Bare(bare) => bare.next_wake(),
            Transport::Tcp(tcp) => tcp.next_wake(),
            Transport::Sprout(sprout) => sprout.next_wake(),
        }
    }

    /// It is time for what [`Host::next_wake`] told. Returns whether that completes the flow.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        if !self.is_open() {
            return false;
        }
        match &mut self.transport {
            Transport::Bare(bare) => bare.wake(now),
            Transport::Tcp(tcp) => {
                let answer = tcp.wake(now).map(Answer::Tcp);
                return answer.is_some_and(|answer| self.answer(now, answer, self.epoch));
            }
            Transport::Sprout(sprout) => {
                sprout.wake(now);
                return self.answer_with(now);
            }
        }
        false
    }

    /// The sender as it is at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> FlowSample {
        let (cwnd, intersend, in_flight) = match &self.transport {
            Transport::Bare(bare) => bare.window(),
            Transport::Tcp(tcp) => tcp.window(),
            Transport::Sprout(sprout) => sprout.window(),
        };
        let remy = match &self.transport {
            Transport::Bare(bare) => bare.controller().as_remy(),
            Transport::Tcp(tcp) => tcp.controller().as_remy(),
            Transport::Sprout(_) => None,
        };
        FlowSample {
            at: now,
            flow,
            on: self.on,
            cwnd,
            intersend,
            in_flight,
            delivered: self.report.delivered,
            rtt: self.last_rtt,
            received: self.end_to_end.as_ref().map(|told| (told.bytes(), told.delay_at(now))),
            signals: remy.map(|remy| remy.memory().signals()),
            rule: remy.map(exm_remy::RemyCc::rule),
        }
    }
}
