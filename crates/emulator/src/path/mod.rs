//! [`Path`]: one direction of an emulated link, without I/O.
//!
//! A packet travels for the propagation delay, arrives at the tail of the queue, where it may be lost at
//! random, waits as the queue's discipline determines, and leaves when the service allows: Cellsim's order of
//! processing (Winstein, Sivaraman & Balakrishnan, NSDI 2013, section 4.2).
//!
//! A path reads no clock; the caller passes in the time. When a packet leaves depends on when packets
//! arrived, not on when the path is asked, so a caller that is late gets the same times.

mod line;
mod loss;
mod propagation;
#[cfg(test)]
mod tests;

pub use loss::Bursts;
pub use propagation::{Propagation, Schedule, ScheduleError};

pub use exm_link::Reordering;
use exm_link::{
    Ecn, ImpossibleSetting, Limit, Packet, Queue, QueueActions, QueueKind, Server, Service,
    TraceServer,
};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Instant, Probability, Span};
use line::Line;
use loss::Channel;

/// The configuration of a path.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// The propagation delay before the queue.
    pub propagation: Propagation,
    /// Random reordering during propagation.
    pub reordering: Option<Reordering>,
    /// The probability that a packet is lost at the tail of the queue, independently of others: Cellsim's
    /// tail loss.
    pub loss: Probability,
    /// Bursty losses at the same place.
    pub bursts: Option<Bursts>,
    /// The discipline of the queue.
    pub queue: QueueKind,
    /// The limit of the queue, which does not count the packet in transmission.
    pub limit: Limit,
    /// When packets leave the queue.
    pub service: Service,
}

impl PathSpec {
    /// A path with `service`, no delay, no loss and an unlimited queue.
    pub fn new(service: Service) -> PathSpec {
        PathSpec {
            propagation: Propagation::Fixed(Span::ZERO),
            reordering: None,
            loss: Probability::ZERO,
            bursts: None,
            queue: QueueKind::default(),
            limit: Limit::Unlimited,
            service,
        }
    }
}

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Random loss of single packets.
    Loss,
    /// A burst of random losses.
    Burst,
    /// The queue: it was full, or the discipline dropped the packet.
    Queue,
    /// The egress device did not accept the packet.
    Refused,
    /// The emulator's memory was exhausted.
    Memory,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 5] =
        [Cause::Loss, Cause::Burst, Cause::Queue, Cause::Refused, Cause::Memory];

    /// The name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Loss => "loss",
            Cause::Burst => "burst",
            Cause::Queue => "queue",
            Cause::Refused => "refused",
            Cause::Memory => "memory",
        }
    }
}

/// Receives what happens to packets on a path, in order of time.
pub trait Outcome {
    /// `packet` has arrived at the queue at the time in its `at`, and was not lost at random.
    fn queued(&mut self, packet: &Packet);

    /// `packet` leaves at `at`. The time of its arrival at the queue is in its own `at`.
    fn departed(&mut self, at: Instant, packet: Packet);

    /// `packet` is lost at `at`.
    fn dropped(&mut self, at: Instant, packet: Packet, cause: Cause);
}

/// One direction of an emulated link.
#[derive(Debug)]
pub struct Path {
    line: Line,
    losses: Losses,
    bursts: Option<Channel>,
    queue: Queue,
    work: ServiceState,
    actions: QueueActions,
    marked: u64,
    /// The largest numbers of packets and bytes in the queue.
    most: (usize, u64),
}

/// The state of the service.
#[derive(Debug)]
enum ServiceState {
    /// A fixed rate: the packet in transmission and the end of its transmission.
    Fixed { server: Server, serving: Option<(Instant, Packet)> },
    /// A trace: the next delivery opportunity, if packets wait for it.
    Trace { server: TraceServer, next: Option<Instant> },
}

impl Path {
    /// The path of `spec`; `seed` and the number `index` of the direction determine its random losses.
    ///
    /// # Errors
    /// The configuration of the queue is impossible.
    pub fn new(spec: &PathSpec, seed: u64, index: usize) -> Result<Path, ImpossibleSetting> {
        spec.queue.check()?;
        let stream = |purpose| Stream::new(seed, purpose, index);
        let reordering = spec.reordering.map(|rule| (rule, stream(Purpose::Reordering)));
        Ok(Path {
            line: Line::new(spec.propagation.clone(), reordering),
            losses: Losses::new(spec.loss.get(), stream(Purpose::Loss)),
            bursts: spec.bursts.map(|bursts| Channel::new(bursts, stream(Purpose::Bursts))),
            queue: spec.queue.build_for(&spec.service, spec.limit, stream(Purpose::Queue)),
            work: match &spec.service {
                Service::Fixed(rate) => {
                    ServiceState::Fixed { server: Server::new(*rate), serving: None }
                }
                Service::Trace(trace) => {
                    ServiceState::Trace { server: TraceServer::new(trace.clone()), next: None }
                }
            },
            actions: QueueActions::default(),
            marked: 0,
            most: (0, 0),
        })
    }

    /// Sends `packet` at `now`, which must not be before any earlier time.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: Packet) {
        self.line.push(now, packet);
    }

    /// When a packet may leave next: none that has been sent leaves earlier. Arrivals at the queue before
    /// that are processed when the path is [advanced](Path::advance).
    #[inline]
    pub fn next(&self) -> Instant {
        let departure = self.next_departure();
        // An idle link transmits the next arrival at once.
        if departure == Instant::MAX { self.line.next() } else { departure }
    }

    /// When packets leave next, of those in the queue.
    #[inline]
    fn next_departure(&self) -> Instant {
        match &self.work {
            ServiceState::Fixed { serving, .. } => serving.map_or(Instant::MAX, |(end, _)| end),
            ServiceState::Trace { next, .. } => next.unwrap_or(Instant::MAX),
        }
    }

    /// Whether anything happens until `now`.
    #[inline]
    pub fn is_behind(&self, now: Instant) -> bool {
        let next = self.line.next().min(self.next_departure());
        next <= now && next < Instant::MAX
    }

    /// Processes everything that happens until `now`. Simultaneous events are processed as in the simulator:
    /// packets leave, others arrive, and these may leave at once.
    #[inline]
    pub fn advance(&mut self, now: Instant, outcome: &mut impl Outcome) {
        loop {
            let (departure, arrival) = (self.next_departure(), self.line.next());
            if departure.min(arrival) > now || departure.min(arrival) == Instant::MAX {
                return;
            }
            if departure <= arrival {
                self.depart(departure, outcome);
            } else {
                self.arrive_all(arrival, outcome);
            }
        }
    }

    /// All packets that arrive at `now` enter the queue.
    #[inline]
    fn arrive_all(&mut self, now: Instant, outcome: &mut impl Outcome) {
        while self.line.next() == now
            && let Some(packet) = self.line.pop()
        {
            self.arrive(now, packet, outcome);
        }
        match &mut self.work {
            ServiceState::Trace { server, next: next @ None } if self.queue.packets() > 0 => {
                *next = Some(server.next(now));
            }
            _ => {}
        }
    }

    /// `packet` enters the queue.
    #[inline]
    fn arrive(&mut self, now: Instant, packet: Packet, outcome: &mut impl Outcome) {
        if self.losses.next_is_lost() {
            return outcome.dropped(now, packet, Cause::Loss);
        }
        if self.bursts.as_mut().is_some_and(Channel::next_is_lost) {
            return outcome.dropped(now, packet, Cause::Burst);
        }
        outcome.queued(&packet);
        self.queue.enqueue(now, packet, &mut self.actions);
        if let ServiceState::Fixed { serving: None, .. } = &self.work {
            self.transmit(now);
        }
        let (packets, bytes) = self.most;
        self.most = (packets.max(self.queue.packets()), bytes.max(self.queue.bytes()));
        self.read_actions(now, outcome);
    }

    /// Packets leave that the service transmits at `now`.
    #[inline]
    fn depart(&mut self, now: Instant, outcome: &mut impl Outcome) {
        match &mut self.work {
            ServiceState::Fixed { serving, .. } => {
                if let Some((_, packet)) = serving.take() {
                    outcome.departed(now, packet);
                }
                self.transmit(now);
            }
            ServiceState::Trace { server, next } => {
                let left = |packet| outcome.departed(now, packet);
                server.serve(now, &mut self.queue, &mut self.actions, left);
                let waits = self.queue.packets() > 0 || server.partly_carried().is_some();
                *next = waits.then(|| server.next(now));
            }
        }
        self.read_actions(now, outcome);
    }

    /// At a fixed rate, starts the transmission of the next packet at `now`, if one waits.
    #[inline]
    fn transmit(&mut self, now: Instant) {
        let ServiceState::Fixed { server, serving } = &mut self.work else { return };
        if let Some(packet) = self.queue.dequeue(now, &mut self.actions) {
            *serving = Some((server.finish(now, packet.size), packet));
        }
    }

    #[inline]
    fn read_actions(&mut self, now: Instant, outcome: &mut impl Outcome) {
        if self.actions.is_empty() {
            return;
        }
        self.marked += self.actions.take_marked().len() as u64;
        for packet in self.actions.take_dropped() {
            outcome.dropped(now, packet, Cause::Queue);
        }
    }

    /// The number of packets in the queue.
    pub fn queue_packets(&self) -> usize {
        self.queue.packets()
    }

    /// The number of bytes in the queue.
    pub fn queue_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// The largest numbers of packets and of bytes in the queue so far.
    pub fn max_queued(&self) -> (usize, u64) {
        self.most
    }

    /// The number of packets in propagation, in the queue, and in transmission.
    pub fn holds(&self) -> usize {
        let transmitted = match &self.work {
            ServiceState::Fixed { serving, .. } => serving.is_some(),
            ServiceState::Trace { server, .. } => server.partly_carried().is_some(),
        };
        self.line.packets() + self.queue.packets() + usize::from(transmitted)
    }

    /// The number of packets marked instead of dropped.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Whether `packet` was marked on the path.
pub(crate) fn is_marked(packet: &Packet) -> bool {
    packet.ecn == Ecn::Marked
}
