//! [`Transmitter`]: the state of a link.

use super::agenda::{Due, Turn};
use super::ahead::Ahead;
use super::observer::LinkSample;
use super::pipe::Pipe;
use super::variation::Variation;
use crate::metrics::LinkReport;
use crate::network::LinkSpec;
use exm_link::{
    Clockwork, Conditions, FrameServer, Limit, Packet, Queue, QueueActions, QueueKind, Server,
    Service, Thinner, TraceServer,
};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Bytes, Instant, Probability, Rate, Span};

#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    queue: Queue,
    pub(super) work: ServiceState,
    losses: Losses,
    pub(super) delay: Span,
    /// When the transmission in progress ends, or the next opportunity of the trace.
    transmission_at: Due,
    /// Packets in propagation to the next link, by time of arrival.
    pub(super) wire: Pipe,
    /// What it adds to the delay of each packet, if anything.
    pub(super) variation: Option<Box<Variation>>,
    /// How it changes by the clock, if it does.
    clockwork: Option<Box<Clockwork>>,
    /// Which ACKs it leaves out, if any.
    thinner: Option<Box<Thinner>>,
    /// Packets that wait in the queue.
    waiting: usize,
    /// The integral of the queue's length, in packet nanoseconds, up to `counted_at`.
    queued: u128,
    counted_at: Instant,
    pub(super) report: LinkReport,
}

/// The state of the service.
#[derive(Clone, Debug)]
pub(super) enum ServiceState {
    /// At a fixed rate from a drop-tail queue, when it may look ahead: the queue stays empty.
    Ahead(Ahead),
    /// At a fixed rate: when the packets taken from the queue have been transmitted, and the time that
    /// all of them take, in nanoseconds.
    Fixed { server: Server, free_at: Instant, busy: u128 },
    /// At a fixed rate, in frames.
    Frames(Box<Frames>),
    /// By a trace; `waits` while an opportunity is on the agenda.
    Trace { server: TraceServer, waits: bool },
}

/// The state of a link that transmits in frames.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    server: FrameServer,
    stage: Stage,
    /// When the last frame ends.
    free_at: Instant,
    /// The time that all frames take, in nanoseconds.
    busy: u128,
}

/// What a link that transmits in frames does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// It waits for the medium.
    Access,
    /// It transmits.
    Frame,
}

impl Transmitter {
    /// Link number `index`, for a simulation that ends at `end`; `evented` if it must not look ahead
    /// because its events are observed or it may be changed during the run.
    pub(super) fn new(
        spec: &LinkSpec,
        seed: u64,
        index: usize,
        end: Instant,
        evented: bool,
    ) -> Transmitter {
        let stream = Stream::new(seed, Purpose::Queue, index);
        let evented = evented || !spec.may_look_ahead();
        let work = match &spec.service {
            Service::Fixed(rate) if spec.aggregation.is_some() => {
                let settings = spec.aggregation.clone().unwrap_or_default();
                let accesses = Stream::new(seed, Purpose::Access, index);
                ServiceState::Frames(Box::new(Frames {
                    server: FrameServer::new(*rate, settings, accesses),
                    stage: Stage::Idle,
                    free_at: Instant::ZERO,
                    busy: 0,
                }))
            }
            Service::Fixed(rate) if matches!(spec.queue, QueueKind::DropTail(_)) && !evented => {
                ServiceState::Ahead(Ahead::new(*rate, spec.buffer, end))
            }
            Service::Fixed(rate) => {
                ServiceState::Fixed { server: Server::new(*rate), free_at: Instant::ZERO, busy: 0 }
            }
            Service::Trace(trace) => {
                ServiceState::Trace { server: TraceServer::new(trace.clone()), waits: false }
            }
        };
        Transmitter {
            queue: spec.queue.build_for(&spec.service, spec.buffer, stream),
            work,
            losses: Losses::new(spec.loss.get(), Stream::new(seed, Purpose::Loss, index)),
            delay: spec.delay,
            transmission_at: Due::NEVER,
            wire: Pipe::default(),
            variation: Variation::new(spec, seed, index),
            clockwork: spec.timing.clone().map(|timing| {
                let (rate, loss) = (spec.service.rate(), spec.loss);
                let own = Conditions { rate, delay: Span::ZERO, loss };
                Box::new(Clockwork::new(timing, own, Stream::new(seed, Purpose::Slots, index)))
            }),
            thinner: spec.thinning.map(|rule| Box::new(Thinner::new(rule))),
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

    /// Whether an arriving packet is lost before the queue, as on links with a trace (as in Cellsim):
    /// lost packets use none of its opportunities. The loss is counted.
    #[inline]
    pub(super) fn loses(&mut self, now: Instant) -> bool {
        let lost = matches!(self.work, ServiceState::Trace { .. }) && self.next_is_lost(now);
        self.report.arrived += u64::from(lost);
        lost
    }

    #[inline]
    fn next_is_lost(&mut self, at: Instant) -> bool {
        if self.clockwork.is_some() {
            self.follow_clock(at);
        }
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
        if self.thinner.is_some() {
            self.enqueue_counted(now, packet, actions);
        } else {
            self.queue.enqueue(now, packet, actions);
        }
        self.waiting = self.queue.packets();
        let free =
            self.transmission_at == Due::NEVER && matches!(self.work, ServiceState::Fixed { .. });
        if !free {
            self.report.max_queue = self.report.max_queue.max(self.waiting as u64);
        }
        free
    }

    /// The next opportunity of a trace, or the end of medium access, once packets have begun to wait for it.
    #[inline]
    pub(super) fn first_opportunity(&mut self, now: Instant) -> Option<Instant> {
        match &mut self.work {
            ServiceState::Trace { server, waits } if !*waits && self.waiting > 0 => {
                *waits = true;
                Some(server.next(now))
            }
            ServiceState::Frames(frames) if frames.stage == Stage::Idle && self.waiting > 0 => {
                frames.stage = Stage::Access;
                Some(frames.server.access(now))
            }
            _ => None,
        }
    }

    /// Takes the next packet into transmission at a fixed rate, and returns it with the time at which
    /// that ends in its `at`.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        self.count_queue(now);
        if self.clockwork.is_some() {
            self.follow_clock(now);
        }
        let ServiceState::Fixed { server, free_at, busy } = &mut self.work else { return None };
        let mut dequeued = dequeue(&mut self.queue, self.thinner.as_deref_mut(), now, actions);
        self.waiting = self.queue.packets();
        if let Some(packet) = &mut dequeued {
            packet.waited += now - packet.at;
            *free_at = server.finish(now, packet.size);
            *busy += u128::from((*free_at - now).as_nanos());
            packet.at = *free_at;
        }
        dequeued
    }

    /// The next transmission ends at `finish`, if there is one. Returns the link's next event.
    #[inline]
    pub(super) fn plan_transmission(&mut self, finish: Option<Instant>) -> Due {
        self.transmission_at = finish.map_or(Due::NEVER, |at| Due::new(at, Turn::Transmission));
        self.first()
    }

    /// `packet` has been transmitted at a fixed rate. Returns whether it is then lost.
    #[inline]
    pub(super) fn loses_transmitted(&mut self, packet: &Packet) -> bool {
        self.report.count_transmission(packet);
        self.next_is_lost(packet.at)
    }

    /// At an opportunity of the trace: appends the packets that it carries to `departed`. Returns the
    /// next opportunity that is needed.
    pub(super) fn use_opportunity(
        &mut self,
        now: Instant,
        actions: &mut QueueActions,
        departed: &mut Vec<Packet>,
    ) -> Option<Instant> {
        self.count_queue(now);
        let ServiceState::Trace { server, waits } = &mut self.work else { return None };
        server.serve(now, &mut self.queue, actions, |mut packet| {
            packet.waited += now - packet.at;
            self.report.count_transmission(&packet);
            departed.push(packet);
        });
        self.waiting = self.queue.packets();
        *waits = self.waiting > 0 || server.partly_carried().is_some();
        waits.then(|| server.next(now))
    }

    /// Medium access, or a frame, ends now. In the first case, appends the packets of the frame that begins to
    /// `departed`, each with the end of the frame in its `at`. Returns when the next of the two ends.
    pub(super) fn use_medium(
        &mut self,
        now: Instant,
        actions: &mut QueueActions,
        departed: &mut Vec<Packet>,
    ) -> Option<Instant> {
        self.count_queue(now);
        if self.clockwork.is_some() {
            self.follow_clock(now);
        }
        let ServiceState::Frames(frames) = &mut self.work else { return None };
        if frames.stage == Stage::Access {
            let next = || dequeue(&mut self.queue, self.thinner.as_deref_mut(), now, actions);
            let end = frames.server.frame(now, next, |packet| departed.push(packet));
            self.waiting = self.queue.packets();
            for packet in &mut *departed {
                // All but its own transmission is queueing delay, also the transmission of others in the frame.
                let transmission = frames.server.transmission(packet.size);
                packet.waited += end - packet.at - transmission;
                packet.at = end;
            }
            if !departed.is_empty() {
                frames.stage = Stage::Frame;
                frames.free_at = end;
                frames.busy += u128::from((end - now).as_nanos());
                return Some(end);
            }
        }
        // The discipline may have dropped all that waited.
        if self.waiting == 0 {
            frames.stage = Stage::Idle;
            return None;
        }
        frames.stage = Stage::Access;
        Some(frames.server.access(now))
    }

    /// The ACKs of `flow` cross this link.
    pub(super) fn thin_acks_of(&mut self, flow: usize) {
        if let Some(thinner) = &mut self.thinner {
            thinner.add_flow(flow as u32);
        }
    }

    /// What a packet that leaves at `at` takes longer by to propagate.
    pub(super) fn added_delay(&mut self, at: Instant) -> Span {
        self.follow_clock(at);
        self.clockwork.as_ref().map_or(Span::ZERO, |clockwork| clockwork.present().delay)
    }

    /// Takes the conditions at `at`.
    #[cold]
    fn follow_clock(&mut self, at: Instant) {
        let Some(clockwork) = &mut self.clockwork else { return };
        let before = clockwork.present();
        if !clockwork.advance(at) {
            return;
        }
        let Conditions { rate, loss, .. } = clockwork.present();
        if rate != before.rate {
            self.serve_at(rate);
        }
        if loss != before.loss {
            self.losses.set_probability(loss.get());
        }
    }

    #[cold]
    fn enqueue_counted(&mut self, now: Instant, packet: Packet, actions: &mut QueueActions) {
        let Some(thinner) = &mut self.thinner else { return };
        let before = actions.dropped().len();
        thinner.arrives(packet.flow);
        self.queue.enqueue(now, packet, actions);
        actions.dropped()[before..].iter().for_each(|packet| thinner.is_dropped(packet.flow));
    }

    #[inline]
    fn count_queue(&mut self, now: Instant) {
        self.queued = self.queued_until(now);
        self.counted_at = now;
    }

    /// The total time that packets have waited until `now`, in packet-nanoseconds.
    #[inline]
    fn queued_until(&self, now: Instant) -> u128 {
        let nanos = (now - self.counted_at).as_nanos();
        self.queued + u128::from(nanos) * self.waiting as u128
    }

    /// Whether a packet is in transmission at `now`, wholly or partly.
    fn is_busy(&self, now: Instant) -> bool {
        match &self.work {
            ServiceState::Ahead(ahead) => ahead.is_busy(now),
            ServiceState::Fixed { free_at, .. } => *free_at > now,
            ServiceState::Frames(frames) => frames.free_at > now,
            ServiceState::Trace { server, .. } => server.partly_carried().is_some(),
        }
    }

    /// How many packets are in the queue, partly transmitted and in propagation to the next link. A
    /// packet in transmission at a fixed rate counts as propagating.
    pub(super) fn holds(&self) -> u64 {
        let partly = match &self.work {
            ServiceState::Trace { server, .. } => server.partly_carried().is_some(),
            ServiceState::Ahead(_) | ServiceState::Fixed { .. } | ServiceState::Frames(_) => false,
        };
        (self.waiting + self.wire.len()) as u64 + u64::from(partly)
    }

    /// The queue.
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The packet that a trace has carried partly, and when its last byte leaves.
    pub(super) fn partly_carried(&self) -> Option<(&Packet, Instant)> {
        let ServiceState::Trace { server, .. } = &self.work else { return None };
        server.partly_carried().zip(server.carried_at())
    }

    /// The state of the link at `now`.
    pub(super) fn sample(&self, now: Instant, link: usize) -> LinkSample {
        let (packets, bytes) = match &self.work {
            ServiceState::Ahead(ahead) => ahead.waiting(now),
            _ => (self.waiting as u64, Bytes::new(self.queue.bytes())),
        };
        LinkSample { at: now, link, packets, bytes: bytes.get(), busy: self.is_busy(now) }
    }

    /// Sets the rate to `rate`, if it is fixed. A transmission in progress ends at its previously
    /// computed time.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        if let Some(clockwork) = &mut self.clockwork {
            clockwork.set_own(|own| own.rate = rate);
        }
        self.serve_at(rate);
    }

    fn serve_at(&mut self, rate: Rate) {
        match &mut self.work {
            ServiceState::Fixed { server, .. } => *server = Server::new(rate),
            ServiceState::Frames(frames) => frames.server.set_rate(rate),
            ServiceState::Ahead(_) | ServiceState::Trace { .. } => {}
        }
        self.queue.set_rate(rate);
    }

    /// Limits the queue to `limit`.
    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    /// Sets the probability of random loss.
    pub(super) fn set_loss(&mut self, probability: Probability) {
        if let Some(clockwork) = &mut self.clockwork {
            clockwork.set_own(|own| own.loss = probability);
        }
        self.losses.set_probability(probability.get());
    }

    /// Replaces the queue, and moves the waiting packets to the new one.
    pub(super) fn set_queue(&mut self, now: Instant, queue: Queue, actions: &mut QueueActions) {
        self.count_queue(now);
        let mut old = std::mem::replace(&mut self.queue, queue);
        let before = actions.dropped().len();
        while let Some(packet) = old.dequeue(now, actions) {
            self.queue.enqueue(now, packet, actions);
        }
        if let Some(thinner) = &mut self.thinner {
            actions.dropped()[before..].iter().for_each(|packet| thinner.is_dropped(packet.flow));
        }
        self.waiting = self.queue.packets();
    }

    /// The measurements until `now`.
    pub(super) fn report(&self, now: Instant, spec: &LinkSpec) -> LinkReport {
        let mut report = self.report.clone();
        let nanos = now.as_nanos().max(1) as f64;
        let mut queued = self.queued_until(now);
        if let ServiceState::Ahead(ahead) = &self.work {
            queued = ahead.waited;
            report.max_queue = ahead.longest;
        }
        let busy_until = |free_at: Instant, busy: u128| {
            (busy - u128::from(free_at.saturating_since(now).as_nanos())) as f64 / nanos
        };
        report.utilisation = match (&self.work, &spec.service) {
            (ServiceState::Ahead(ahead), _) => ahead.busy as f64 / nanos,
            (ServiceState::Fixed { free_at, busy, .. }, _) => busy_until(*free_at, *busy),
            (ServiceState::Frames(frames), _) => busy_until(frames.free_at, frames.busy),
            (_, Service::Trace(trace)) => {
                let capacity = trace.capacity(Instant::ZERO, now).get().max(1);
                report.bytes.get() as f64 / capacity as f64
            }
            (ServiceState::Trace { .. }, Service::Fixed(_)) => 0.0,
        };
        report.mean_queue = queued as f64 / nanos;
        report
    }
}

/// Takes the next packet of `queue` that is sent. ACKs that `thinner` leaves out count as dropped.
#[inline]
fn dequeue(
    queue: &mut Queue,
    thinner: Option<&mut Thinner>,
    now: Instant,
    actions: &mut QueueActions,
) -> Option<Packet> {
    match thinner {
        None => queue.dequeue(now, actions),
        Some(thinner) => dequeue_thinned(queue, thinner, now, actions),
    }
}

#[cold]
fn dequeue_thinned(
    queue: &mut Queue,
    thinner: &mut Thinner,
    now: Instant,
    actions: &mut QueueActions,
) -> Option<Packet> {
    loop {
        let before = actions.dropped().len();
        let packet = queue.dequeue(now, actions);
        actions.dropped()[before..].iter().for_each(|packet| thinner.is_dropped(packet.flow));
        let packet = packet?;
        if thinner.sends(packet.flow, now) {
            return Some(packet);
        }
        actions.drop(packet);
    }
}
