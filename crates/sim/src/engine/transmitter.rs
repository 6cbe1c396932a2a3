//! [`Transmitter`]: a link at work.

use super::agenda::{Due, Turn};
use super::ahead::Ahead;
use super::observer::LinkSample;
use crate::metrics::LinkReport;
use crate::network::LinkSpec;
use exm_link::{
    Limit, Packet, Queue, QueueActions, QueueConfig, QueueKind, Server, Service, TraceServer,
};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Bytes, Instant, Probability, Rate, Span};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    queue: Queue,
    pub(super) work: Work,
    losses: Losses,
    pub(super) delay: Span,
    /// When the transmission under way ends, or the next opportunity of the trace is.
    pub(super) transmission_at: Due,
    /// Packets in propagation to a further link, by time of arrival.
    pub(super) wire: VecDeque<Packet>,
    /// Packets that wait in the queue.
    waiting: usize,
    /// The integral of the queue's length, in packet nanoseconds, up to `counted_at`.
    queued: u128,
    counted_at: Instant,
    pub(super) report: LinkReport,
}

/// The service at work.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// At a fixed rate from a drop-tail queue, where it may look ahead: the queue is left empty.
    Ahead(Ahead),
    /// At a fixed rate: when what was taken out of the queue has been transmitted, and the time that
    /// all of it takes, in nanoseconds.
    Fixed { server: Server, free_at: Instant, busy: u128 },
    /// By a trace; `waits` while an opportunity is on the agenda.
    Trace { server: TraceServer, waits: bool },
}

impl Transmitter {
    /// The link of number `index`, for a simulation that ends at `end`; `evented` where it may not look
    /// ahead: each of its events is observed, or it may be changed on the way.
    pub(super) fn new(
        spec: &LinkSpec,
        seed: u64,
        index: usize,
        end: Instant,
        evented: bool,
    ) -> Transmitter {
        let stream = Stream::new(seed, Purpose::Queue, index);
        let config = QueueConfig { limit: spec.buffer, rate: spec.service.rate(), stream };
        let work = match &spec.service {
            Service::Fixed(rate) if matches!(spec.queue, QueueKind::DropTail(_)) && !evented => {
                Work::Ahead(Ahead::new(*rate, spec.buffer, end))
            }
            Service::Fixed(rate) => {
                Work::Fixed { server: Server::new(*rate), free_at: Instant::ZERO, busy: 0 }
            }
            Service::Trace(trace) => {
                Work::Trace { server: TraceServer::new(trace.clone()), waits: false }
            }
        };
        Transmitter {
            queue: spec.queue.build(config),
            work,
            losses: Losses::new(spec.loss.get(), Stream::new(seed, Purpose::Loss, index)),
            delay: spec.delay,
            transmission_at: Due::NEVER,
            wire: VecDeque::new(),
            waiting: 0,
            queued: 0,
            counted_at: Instant::ZERO,
            report: LinkReport { name: spec.name.clone(), ..LinkReport::default() },
        }
    }

    /// Its next event.
    #[inline]
    pub(super) fn first(&self) -> Due {
        let wire = self.wire.front();
        self.transmission_at.min(wire.map_or(Due::NEVER, |packet| Due::new(packet.at, Turn::Wire)))
    }

    /// Whether a packet that comes to the link is lost before its queue, which a link driven by a
    /// trace does, as Cellsim: what it loses takes none of its opportunities. It is counted.
    #[inline]
    pub(super) fn loses(&mut self) -> bool {
        let lost = matches!(self.work, Work::Trace { .. }) && self.next_is_lost();
        self.report.arrived += u64::from(lost);
        lost
    }

    #[inline]
    fn next_is_lost(&mut self) -> bool {
        let lost = self.losses.next_is_lost();
        self.report.lost += u64::from(lost);
        lost
    }

    /// `packet` arrives at `now`, and waits. Returns whether a link of fixed rate is free to take it.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet,
        actions: &mut QueueActions,
    ) -> bool {
        self.report.arrived += 1;
        self.count_queue(now);
        self.queue.enqueue(now, packet, actions);
        self.waiting = self.queue.packets();
        let free = self.transmission_at == Due::NEVER && matches!(self.work, Work::Fixed { .. });
        if !free {
            self.report.max_queue = self.report.max_queue.max(self.waiting as u64);
        }
        free
    }

    /// The next opportunity of a trace, where something has begun to wait for it.
    #[inline]
    pub(super) fn first_opportunity(&mut self, now: Instant) -> Option<Instant> {
        match &mut self.work {
            Work::Trace { server, waits } if !*waits && self.waiting > 0 => {
                *waits = true;
                Some(server.next(now))
            }
            _ => None,
        }
    }

    /// Takes the next packet into transmission at a fixed rate, and returns it with the end of that.
    #[inline]
    pub(super) fn serve(
        &mut self,
        now: Instant,
        actions: &mut QueueActions,
    ) -> Option<(Packet, Instant)> {
        self.count_queue(now);
        let Work::Fixed { server, free_at, busy } = &mut self.work else { return None };
        let dequeued = self.queue.dequeue(now, actions);
        self.waiting = self.queue.packets();
        let mut packet = dequeued?;
        packet.waited += now - packet.at;
        *free_at = server.finish(now, packet.size);
        *busy += u128::from((*free_at - now).as_nanos());
        Some((packet, *free_at))
    }

    /// `packet` has been transmitted at a fixed rate. Returns whether it is lost thereafter.
    #[inline]
    pub(super) fn loses_transmitted(&mut self, packet: &Packet) -> bool {
        self.report.count_transmission(packet);
        self.next_is_lost()
    }

    /// An opportunity of the trace has come: what it carries goes to `departed`. Returns when the next
    /// is that matters.
    pub(super) fn use_opportunity(
        &mut self,
        now: Instant,
        actions: &mut QueueActions,
        departed: &mut Vec<Packet>,
    ) -> Option<Instant> {
        self.count_queue(now);
        let Work::Trace { server, waits } = &mut self.work else { return None };
        server.serve(now, &mut self.queue, actions, |mut packet| {
            packet.waited += now - packet.at;
            self.report.count_transmission(&packet);
            departed.push(packet);
        });
        self.waiting = self.queue.packets();
        *waits = self.waiting > 0 || server.partly_carried().is_some();
        waits.then(|| server.next(now))
    }

    #[inline]
    fn count_queue(&mut self, now: Instant) {
        self.queued = self.queued_until(now);
        self.counted_at = now;
    }

    /// The time that packets have waited until `now`, in packet-nanoseconds.
    #[inline]
    fn queued_until(&self, now: Instant) -> u128 {
        let nanos = (now - self.counted_at).as_nanos();
        self.queued + u128::from(nanos) * self.waiting as u128
    }

    /// Whether a packet is in transmission at `now`, or part of one is.
    fn is_busy(&self, now: Instant) -> bool {
        match &self.work {
            Work::Ahead(ahead) => ahead.is_busy(now),
            Work::Fixed { free_at, .. } => *free_at > now,
            Work::Trace { server, .. } => server.partly_carried().is_some(),
        }
    }

    /// How many packets are in the queue, in part transmitted and in propagation to a further link. What
    /// is in transmission at a fixed rate is on its way already.
    pub(super) fn holds(&self) -> u64 {
        let partly = match &self.work {
            Work::Trace { server, .. } => server.partly_carried().is_some(),
            Work::Ahead(_) | Work::Fixed { .. } => false,
        };
        (self.waiting + self.wire.len()) as u64 + u64::from(partly)
    }

    /// The link as it is at `now`.
    pub(super) fn sample(&self, now: Instant, link: usize) -> LinkSample {
        let (packets, bytes) = match &self.work {
            Work::Ahead(ahead) => ahead.waiting(now),
            _ => (self.waiting as u64, Bytes::new(self.queue.bytes())),
        };
        LinkSample { at: now, link, packets, bytes: bytes.get(), busy: self.is_busy(now) }
    }

    /// From now on it transmits at `rate`, if its rate is fixed. A transmission under way ends when it
    /// would have.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        if let Work::Fixed { server, .. } = &mut self.work {
            *server = Server::new(rate);
        }
        self.queue.set_rate(rate);
    }

    /// From now on at most `limit` may wait.
    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    /// From now on packets are lost with `probability`.
    pub(super) fn set_loss(&mut self, probability: Probability) {
        self.losses.set_probability(probability.get());
    }

    /// Another queue takes the place of the one before the link, and takes in what waits.
    pub(super) fn set_queue(&mut self, now: Instant, queue: Queue, actions: &mut QueueActions) {
        self.count_queue(now);
        let mut old = std::mem::replace(&mut self.queue, queue);
        while let Some(packet) = old.dequeue(now, actions) {
            self.queue.enqueue(now, packet, actions);
        }
        self.waiting = self.queue.packets();
    }

    /// What was measured until `now`.
    pub(super) fn report(&self, now: Instant, spec: &LinkSpec) -> LinkReport {
        let mut report = self.report.clone();
        let nanos = now.as_nanos().max(1) as f64;
        let mut queued = self.queued_until(now);
        if let Work::Ahead(ahead) = &self.work {
            queued = ahead.waited;
            report.max_queue = ahead.longest;
        }
        report.utilisation = match (&self.work, &spec.service) {
            (Work::Ahead(ahead), _) => ahead.busy as f64 / nanos,
            (Work::Fixed { free_at, busy, .. }, _) => {
                (busy - u128::from(free_at.saturating_since(now).as_nanos())) as f64 / nanos
            }
            (_, Service::Trace(trace)) => {
                let capacity = trace.capacity(Instant::ZERO, now).get().max(1);
                report.bytes.get() as f64 / capacity as f64
            }
            (Work::Trace { .. }, Service::Fixed(_)) => 0.0,
        };
        report.mean_queue = queued as f64 / nanos;
        report
    }
}
