//! [`Transmitter`]: a link at work.

use super::agenda::{Due, Turn};
use super::ahead::Ahead;
use super::observer::LinkSample;
use crate::metrics::LinkReport;
use crate::network::LinkSpec;
use exm_link::{Packet, Queue, QueueKind, Server, Service, Site, TraceServer, Verdict};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

#[derive(Debug)]
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
#[derive(Debug)]
pub(super) enum Work {
    /// At a fixed rate from a drop-tail queue, where nobody watches each event: all is known ahead,
    /// and the queue is left empty.
    Ahead(Ahead),
    /// At a fixed rate: the packet in transmission with the end of that, and the time spent
    /// transmitting so far.
    Fixed { server: Server, serving: Option<(Packet, Instant)>, busy: u128 },
    /// By a trace; `waits` while an opportunity is on the agenda.
    Trace { server: TraceServer, waits: bool },
}

impl Transmitter {
    /// The link of number `index`, for a simulation that ends at `end`; `watched` where each of its
    /// events is to be observed.
    pub(super) fn new(
        spec: &LinkSpec,
        seed: u64,
        index: usize,
        (end, watched): (Instant, bool),
    ) -> Transmitter {
        let stream = Stream::new(seed, Purpose::Queue, index);
        let site = Site { limit: spec.buffer, rate: spec.service.rate(), stream };
        let work = match &spec.service {
            Service::Fixed(rate) if matches!(spec.queue, QueueKind::DropTail(_)) && !watched => {
                Work::Ahead(Ahead::new(*rate, spec.buffer, end))
            }
            Service::Fixed(rate) => {
                Work::Fixed { server: Server::new(*rate), serving: None, busy: 0 }
            }
            Service::Trace(trace) => {
                Work::Trace { server: TraceServer::new(trace.clone()), waits: false }
            }
        };
        Transmitter {
            queue: spec.queue.build(site),
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
    pub(super) fn next_is_lost(&mut self) -> bool {
        let lost = self.losses.next_is_lost();
        self.report.lost += u64::from(lost);
        lost
    }

    /// `packet` arrives at `now`. Returns when the next transmission ends, if it is news.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        packet: Packet,
        verdict: &mut Verdict,
    ) -> Option<Instant> {
        self.report.arrived += 1;
        self.count_queue(now);
        self.queue.enqueue(now, packet, verdict);
        self.waiting = self.queue.packets();
        if let Work::Fixed { serving: None, .. } = self.work {
            return self.serve(now, verdict);
        }
        self.report.max_queue = self.report.max_queue.max(self.waiting as u64);
        match &mut self.work {
            Work::Trace { server, waits } if !*waits && self.waiting > 0 => {
                *waits = true;
                Some(server.next(now))
            }
            _ => None,
        }
    }

    /// The packet in transmission at a fixed rate is through: it comes back, unless the link lost
    /// it, with that. Of a trace there is none.
    #[inline]
    pub(super) fn depart(&mut self) -> Option<(Packet, bool)> {
        let Work::Fixed { serving, .. } = &mut self.work else { return None };
        let (packet, _) = serving.take()?;
        self.report.count_transmission(&packet);
        Some((packet, self.next_is_lost()))
    }

    /// Takes the next packet into transmission at a fixed rate, and returns when that ends.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, verdict: &mut Verdict) -> Option<Instant> {
        self.count_queue(now);
        let Work::Fixed { server, serving, busy } = &mut self.work else { return None };
        let dequeued = self.queue.dequeue(now, verdict);
        self.waiting = self.queue.packets();
        let mut packet = dequeued?;
        packet.waited += now - packet.at;
        let finish = server.finish(now, packet.size);
        *busy += u128::from((finish - now).as_nanos());
        *serving = Some((packet, finish));
        Some(finish)
    }

    /// An opportunity of the trace has come: what it carries goes to `departed`. Returns when the next
    /// is that matters.
    pub(super) fn use_opportunity(
        &mut self,
        now: Instant,
        verdict: &mut Verdict,
        departed: &mut Vec<Packet>,
    ) -> Option<Instant> {
        self.count_queue(now);
        let Work::Trace { server, waits } = &mut self.work else { return None };
        server.serve(now, &mut self.queue, verdict, |mut packet| {
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
        let nanos = (now - self.counted_at).as_nanos();
        self.queued += u128::from(nanos) * self.waiting as u128;
        self.counted_at = now;
    }

    /// Whether a packet is in transmission at `now`, or part of one is.
    fn is_busy(&self, now: Instant) -> bool {
        match &self.work {
            Work::Ahead(ahead) => ahead.is_busy(now),
            Work::Fixed { serving, .. } => serving.is_some(),
            Work::Trace { server, .. } => server.partly_carried().is_some(),
        }
    }

    /// How many packets are in the queue, in transmission and in propagation to a further link, at the
    /// end. Those of which all is known ahead are on their way already.
    pub(super) fn holds(&self, end: Instant) -> u64 {
        let busy = !matches!(self.work, Work::Ahead(_)) && self.is_busy(end);
        (self.waiting + self.wire.len()) as u64 + u64::from(busy)
    }

    /// The link as it is at `now`.
    pub(super) fn sample(&self, now: Instant, link: usize) -> LinkSample {
        let (packets, bytes) = match &self.work {
            Work::Ahead(ahead) => ahead.waiting(now),
            _ => (self.waiting as u64, Bytes::new(self.queue.bytes())),
        };
        LinkSample { at: now, link, packets, bytes: bytes.get(), busy: self.is_busy(now) }
    }

    /// Closes the books at `end`.
    pub(super) fn finish(mut self, end: Instant, spec: &LinkSpec) -> LinkReport {
        self.count_queue(end);
        let nanos = end.as_nanos() as f64;
        if let Work::Ahead(ahead) = &self.work {
            self.queued = ahead.waited;
            self.report.max_queue = ahead.longest;
        }
        self.report.utilisation = match (&self.work, &spec.service) {
            (Work::Ahead(ahead), _) => ahead.busy as f64 / nanos,
            (Work::Fixed { serving, busy, .. }, _) => {
                let finish = serving.map_or(end, |(_, finish)| finish);
                (busy - u128::from(finish.saturating_since(end).as_nanos())) as f64 / nanos
            }
            (_, Service::Trace(trace)) => {
                let capacity = trace.capacity(Instant::ZERO, end).get().max(1);
                self.report.bytes.get() as f64 / capacity as f64
            }
            (Work::Trace { .. }, Service::Fixed(_)) => 0.0,
        };
        self.report.mean_queue = self.queued as f64 / nanos;
        self.report
    }
}
