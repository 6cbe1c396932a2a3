//! [`Host`]: a sender with its receiver.
//!
//! It switches on and off as its traffic says and keeps the books. What it sends, and what it makes
//! of what comes back, is its transport's affair: [`Bare`] or [`Tcp`]. Acknowledgements take no time
//! of their own, so a packet's arrival and that of its acknowledgement are one event.

mod bare;
mod tcp;

use super::observer::FlowSample;
use super::share::Share;
use crate::controllers::AnyController;
use crate::metrics::FlowReport;
use crate::network::{FlowSpec, Transport as Kind};
use crate::traffic::{Job, Switch};
use bare::Bare;
use exm_link::Packet;
use exm_random::{Purpose, Stream};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;
use tcp::Tcp;

#[derive(Debug)]
pub(super) struct Host {
    controller: AnyController,
    transport: Transport,
    on: bool,
    /// Which of the sender's flows this is, from 1 on.
    epoch: u32,
    last_rtt: Option<Span>,
    began_at: Instant,
    share_at_start: Share,
    share: Share,
    switch: Switch,
    payload: Bytes,
    first_hop: u32,
    pub(super) report: FlowReport,
    /// Packets on their last way, by time of arrival.
    pub(super) acks: VecDeque<Packet>,
}

#[derive(Debug)]
enum Transport {
    Bare(Bare),
    Tcp(Box<Tcp>),
}

/// Where a host is in its network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Where its path begins in the list of hops.
    pub(super) first_hop: u32,
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
    pub(super) fn new(spec: &FlowSpec, seed: u64, index: usize, place: Place) -> Host {
        let stream = Stream::new(seed, Purpose::Traffic, index);
        let transport = match spec.transport {
            Kind::Bare { timer } => Transport::Bare(Bare::new(spec, timer)),
            Kind::Tcp(settings) => {
                Transport::Tcp(Box::new(Tcp::new(spec, settings, place.propagation)))
            }
        };
        let chance = Stream::new(seed, Purpose::Controller, index).seed();
        let payload = spec.transport.payload(spec.packet_size);
        Host {
            controller: spec.controller.clone().seeded(chance),
            transport,
            on: false,
            epoch: 0,
            last_rtt: None,
            began_at: Instant::ZERO,
            share_at_start: Share::default(),
            share: Share::default(),
            switch: Switch::new(spec.traffic.clone(), stream, payload),
            payload,
            first_hop: place.first_hop,
            report: FlowReport { dropped: vec![0; spec.path.len()], ..FlowReport::default() },
            acks: VecDeque::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Where the drops of hop `hop` of the network's list are counted.
    pub(super) fn count_drop(&mut self, hop: u32) {
        self.report.dropped[(hop - self.first_hop) as usize] += 1;
    }

    /// When the first flow starts.
    pub(super) fn first_start(&mut self) -> Instant {
        self.switch.next_start(Instant::ZERO)
    }

    /// A flow starts. Returns when it is to end, where that is known.
    pub(super) fn switch_on(&mut self, now: Instant, share: Share) -> Instant {
        self.on = true;
        self.epoch += 1;
        self.began_at = now;
        self.share_at_start = share;
        let (end, data) = match self.switch.next_job(now) {
            Job::Until(end) => (end, None),
            Job::Deliver(packets) => (Instant::MAX, Some(packets)),
        };
        match &mut self.transport {
            Transport::Bare(bare) => bare.start(now, data, &mut self.controller),
            Transport::Tcp(tcp) => tcp.start(now, data, &mut self.controller),
        }
        end
    }

    /// The flow ends. Returns when the next one starts.
    pub(super) fn switch_off(&mut self, now: Instant, share: Share) -> Instant {
        self.report.on_time += now - self.began_at;
        self.share = self.share.plus(share.since(self.share_at_start));
        self.on = false;
        match &mut self.transport {
            Transport::Bare(bare) => bare.stop(),
            Transport::Tcp(tcp) => tcp.stop(),
        }
        self.switch.next_start(now)
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
    }

    /// When the next packet may leave, from `now` on.
    #[inline]
    pub(super) fn next_send(&self, now: Instant) -> Instant {
        match &self.transport {
            _ if !self.on => Instant::MAX,
            Transport::Bare(bare) => bare.next_send(now),
            Transport::Tcp(tcp) => tcp.next_send(now),
        }
    }

    /// Sends a packet.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: usize) -> Packet {
        let mut packet = match &mut self.transport {
            Transport::Bare(bare) => bare.send(now, flow),
            Transport::Tcp(tcp) => tcp.send(now, flow),
        };
        packet.epoch = self.epoch;
        packet.tag = self.first_hop;
        self.report.sent += 1;
        packet
    }

    /// `packet` arrives at the receiver, and its acknowledgement at the sender. Returns whether it
    /// completes the flow.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, packet: &Packet) -> bool {
        self.report.arrived += 1;
        self.report.queueing_delay.record(packet.waited);
        let current = self.on && packet.epoch == self.epoch;
        let arrived = match &mut self.transport {
            Transport::Bare(bare) => bare.arrive(now, packet, current, &mut self.controller),
            Transport::Tcp(tcp) if current => tcp.arrive(now, packet, &mut self.controller),
            Transport::Tcp(_) => Arrived::default(),
        };
        self.take(now, arrived)
    }

    /// Counts what came of an arrival.
    #[inline]
    fn take(&mut self, now: Instant, arrived: Arrived) -> bool {
        self.report.delivered += arrived.delivered;
        if let Some(rtt) = arrived.rtt {
            self.report.rtt.record(rtt);
            self.last_rtt = Some(rtt);
        }
        if arrived.complete {
            self.report.completion.record(now - self.began_at);
        }
        arrived.complete
    }

    /// When this host wants to be woken if nothing else happens.
    #[inline]
    pub(super) fn next_wake(&self) -> Instant {
        match &self.transport {
            _ if !self.on => Instant::MAX,
            Transport::Bare(bare) => bare.next_wake(),
            Transport::Tcp(tcp) => tcp.next_wake(),
        }
    }

    /// It is time for what [`Host::next_wake`] told. Returns whether that completes the flow.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        if !self.on {
            return false;
        }
        let arrived = match &mut self.transport {
            Transport::Bare(bare) => {
                bare.wake(now, &mut self.controller);
                return false;
            }
            Transport::Tcp(tcp) => tcp.wake(now, &mut self.controller),
        };
        self.take(now, arrived)
    }

    /// The sender as it is at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> FlowSample {
        let remy = self.controller.as_remy();
        let (cwnd, intersend, in_flight) = match &self.transport {
            Transport::Bare(bare) => bare.window(),
            Transport::Tcp(tcp) => tcp.window(),
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
            signals: remy.map(|remy| remy.memory().signals()),
            rule: remy.map(exm_remy::RemyCc::rule),
        }
    }
}
