//! [`Path`]: one direction of an emulated link, without I/O.
//!
//! A packet travels for the propagation delay, comes to the tail of the queue, where it may be lost,
//! waits as the queue's discipline has it, and leaves as the service allows: Cellsim's order
//! (Winstein, Sivaraman & Balakrishnan, NSDI 2013, section 4.2).
//!
//! A path is told the time and reads no clock. When a packet leaves follows from when packets came
//! and not from when it is asked, so that whoever drives it late or in leaps gets the same times.

mod line;
mod loss;
mod propagation;
#[cfg(test)]
mod tests;

pub use loss::Bursts;
pub use propagation::{Propagation, Schedule, ScheduleError};

use exm_link::{
    Ecn, ImpossibleSetting, Limit, Packet, Queue, QueueKind, Server, Service, Site, TraceServer,
    Verdict,
};
use exm_random::{Losses, Purpose, Stream};
use exm_units::{Instant, Probability, Span};
use line::Line;
use loss::Channel;

/// What a path is like.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// How long packets travel before they come to the queue.
    pub propagation: Propagation,
    /// Which are held back meanwhile, so that others overtake them.
    pub reordering: Option<Reordering>,
    /// The chance that a packet is lost as it comes to the queue, each for itself: Cellsim's tail
    /// loss.
    pub loss: Probability,
    /// Losses that come together, at the same place.
    pub bursts: Option<Bursts>,
    /// The discipline of the queue.
    pub queue: QueueKind,
    /// How much may wait in it, besides the packet that is being transmitted.
    pub limit: Limit,
    /// When packets leave.
    pub service: Service,
}

impl PathSpec {
    /// A path of `service`, and nothing else: no delay, no loss, a queue without limit.
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

/// Packets that others overtake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// The chance that a packet is held back.
    pub chance: Probability,
    /// For how much longer it then travels.
    pub extra: Span,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// By chance, for itself.
    Loss,
    /// By chance, with others.
    Burst,
    /// The queue had no room for it, or its discipline chose it.
    Queue,
    /// The device that it was to leave by did not take it.
    Refused,
    /// The emulator holds as much as it may.
    Memory,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 5] =
        [Cause::Loss, Cause::Burst, Cause::Queue, Cause::Refused, Cause::Memory];

    /// What logs call it.
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

/// Whom a path tells what becomes of packets, in the order of time.
pub trait Outcome {
    /// `packet` has come to the queue, when its `at` says, and is not lost there by chance.
    fn queued(&mut self, packet: &Packet);

    /// `packet` leaves at `at`. It has come to the queue when its `at` says.
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
    work: Work,
    verdict: Verdict,
    marked: u64,
    /// The most packets and bytes that waited in the queue.
    most: (usize, u64),
}

/// The service at work.
#[derive(Debug)]
enum Work {
    /// At a fixed rate: the packet in transmission with the end of that.
    Fixed { server: Server, serving: Option<(Instant, Packet)> },
    /// By a trace: the next opportunity, while something waits for it.
    Trace { server: TraceServer, next: Option<Instant> },
}

impl Path {
    /// The path of `spec`, whose chances are those of `seed` for the direction of number `index`.
    ///
    /// # Errors
    /// No such queue can be.
    pub fn new(spec: &PathSpec, seed: u64, index: usize) -> Result<Path, ImpossibleSetting> {
        spec.queue.check()?;
        let stream = |purpose| Stream::new(seed, purpose, index);
        let rate = spec.service.rate();
        let site = Site { limit: spec.limit, rate, stream: stream(Purpose::Queue) };
        let reordering = spec.reordering.map(|rule| (rule, stream(Purpose::Reordering)));
        Ok(Path {
            line: Line::new(spec.propagation.clone(), reordering),
            losses: Losses::new(spec.loss.get(), stream(Purpose::Loss)),
            bursts: spec.bursts.map(|bursts| Channel::new(bursts, stream(Purpose::Bursts))),
            queue: spec.queue.build(site),
            work: match &spec.service {
                Service::Fixed(rate) => Work::Fixed { server: Server::new(*rate), serving: None },
                Service::Trace(trace) => {
                    Work::Trace { server: TraceServer::new(trace.clone()), next: None }
                }
            },
            verdict: Verdict::default(),
            marked: 0,
            most: (0, 0),
        })
    }

    /// `packet` sets out at `now`, which is not before any time told earlier.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: Packet) {
        self.line.push(now, packet);
    }

    /// When a packet may leave next: none that has set out leaves earlier. What comes to the queue
    /// before is seen to as it is [advanced](Path::advance).
    #[inline]
    pub fn next(&self) -> Instant {
        let departure = self.next_departure();
        // An idle link takes up the next that comes.
        if departure == Instant::MAX { self.line.next() } else { departure }
    }

    /// When packets leave next, of those that are in the queue already.
    #[inline]
    fn next_departure(&self) -> Instant {
        match &self.work {
            Work::Fixed { serving, .. } => serving.map_or(Instant::MAX, |(end, _)| end),
            Work::Trace { next, .. } => next.unwrap_or(Instant::MAX),
        }
    }

    /// Whether anything is to happen up to `now`.
    #[inline]
    pub fn is_behind(&self, now: Instant) -> bool {
        let next = self.line.next().min(self.next_departure());
        next <= now && next < Instant::MAX
    }

    /// All that is to happen up to `now` happens. What happens at one and the same time takes turns
    /// as in the simulator: packets leave, others come, and these may leave at once.
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

    /// All packets that come at `now` come to the queue.
    #[inline]
    fn arrive_all(&mut self, now: Instant, outcome: &mut impl Outcome) {
        while self.line.next() == now
            && let Some(packet) = self.line.pop()
        {
            self.arrive(now, packet, outcome);
        }
        match &mut self.work {
            Work::Trace { server, next: next @ None } if self.queue.packets() > 0 => {
                *next = Some(server.next(now));
            }
            _ => {}
        }
    }

    /// `packet` comes to the queue.
    #[inline]
    fn arrive(&mut self, now: Instant, packet: Packet, outcome: &mut impl Outcome) {
        if self.losses.next_is_lost() {
            return outcome.dropped(now, packet, Cause::Loss);
        }
        if self.bursts.as_mut().is_some_and(Channel::next_is_lost) {
            return outcome.dropped(now, packet, Cause::Burst);
        }
        outcome.queued(&packet);
        self.queue.enqueue(now, packet, &mut self.verdict);
        if let Work::Fixed { serving: None, .. } = &self.work {
            self.transmit(now);
        }
        let (packets, bytes) = self.most;
        self.most = (packets.max(self.queue.packets()), bytes.max(self.queue.bytes()));
        self.read_verdict(now, outcome);
    }

    /// What the service lets through at `now` leaves.
    #[inline]
    fn depart(&mut self, now: Instant, outcome: &mut impl Outcome) {
        match &mut self.work {
            Work::Fixed { serving, .. } => {
                if let Some((_, packet)) = serving.take() {
                    outcome.departed(now, packet);
                }
                self.transmit(now);
            }
            Work::Trace { server, next } => {
                let left = |packet| outcome.departed(now, packet);
                server.serve(now, &mut self.queue, &mut self.verdict, left);
                let waits = self.queue.packets() > 0 || server.partly_carried().is_some();
                *next = waits.then(|| server.next(now));
            }
        }
        self.read_verdict(now, outcome);
    }

    /// At a fixed rate, the next packet is taken up at `now`, if one waits.
    #[inline]
    fn transmit(&mut self, now: Instant) {
        let Work::Fixed { server, serving } = &mut self.work else { return };
        if let Some(packet) = self.queue.dequeue(now, &mut self.verdict) {
            *serving = Some((server.finish(now, packet.size), packet));
        }
    }

    #[inline]
    fn read_verdict(&mut self, now: Instant, outcome: &mut impl Outcome) {
        if self.verdict.is_empty() {
            return;
        }
        self.marked += self.verdict.take_marked();
        for packet in self.verdict.take_dropped() {
            outcome.dropped(now, packet, Cause::Queue);
        }
    }

    /// How many packets wait in the queue.
    pub fn queue_packets(&self) -> usize {
        self.queue.packets()
    }

    /// How many bytes wait in the queue.
    pub fn queue_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// The most packets that waited in the queue so far, and the most bytes.
    pub fn most_queued(&self) -> (usize, u64) {
        self.most
    }

    /// How many packets are in it: in propagation, in the queue, and in transmission.
    pub fn holds(&self) -> usize {
        let transmitted = match &self.work {
            Work::Fixed { serving, .. } => serving.is_some(),
            Work::Trace { server, .. } => server.partly_carried().is_some(),
        };
        self.line.packets() + self.queue.packets() + usize::from(transmitted)
    }

    /// How many packets were marked instead of dropped.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Whether `packet` was marked on its way.
pub(crate) fn is_marked(packet: &Packet) -> bool {
    packet.ecn == Ecn::Marked
}
