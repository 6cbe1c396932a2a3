//! [`Way`]: an emulated link in one direction, and what travels over it.

use exm_datagram::OVERHEAD;
use exm_link::{
    Discipline, DropTail, DropTailSettings, Limit, Packet, Queue, QueueActions, QueueConfig,
    TraceServer,
};
use exm_random::{Purpose, Stream};
use exm_sprout::Header;
use exm_tcp::{Acknowledgement, Segment};
use exm_trace::Trace;
use exm_units::{Bytes, Instant, Span};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The propagation delay each way, that of Cellsim in the Sprout paper.
const PROPAGATION: Span = Span::from_millis(20);
/// The limit of the queue in bytes: cellular base stations have deep ones.
const QUEUE: Bytes = Bytes::new(2_000_000);
/// The headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// The length that is counted for Sprout's header: about what one with a forecast and an echo takes.
const SPROUT_HEADER: usize = 40;
const SEGMENT: u32 = 1500;
const TCP_ACK: u32 = 52;

/// A datagram of the session.
pub(crate) struct Datagram {
    pub(crate) sealed: Vec<u8>,
    /// Sprout's header. It travels beside the datagram, and counts as [`SPROUT_HEADER`] bytes.
    pub(crate) header: Option<Header>,
    /// Whether it has a payload of SSP; else it is a heartbeat.
    pub(crate) is_data: bool,
}

impl Datagram {
    /// The bytes on the link of a payload of `length` bytes, with or without Sprout's header.
    pub(crate) fn size(length: usize, has_header: bool) -> u32 {
        let header = if has_header { SPROUT_HEADER } else { 0 };
        (HEADERS + OVERHEAD + length + header) as u32
    }
}

/// What a packet carries.
pub(crate) enum Cargo {
    Session(Datagram),
    Segment(Segment, Instant),
    Ack(Acknowledgement),
}

impl Cargo {
    fn size(&self) -> u32 {
        match self {
            Cargo::Session(datagram) => {
                Datagram::size(datagram.sealed.len() - OVERHEAD, datagram.header.is_some())
            }
            Cargo::Segment(..) => SEGMENT,
            Cargo::Ack(_) => TCP_ACK,
        }
    }
}

/// A link in one direction: a drop-tail queue that a trace serves, and the propagation delay.
pub(crate) struct Way {
    server: TraceServer,
    queue: Queue,
    actions: QueueActions,
    waiting: BTreeMap<u64, Cargo>,
    arriving: VecDeque<(Instant, Cargo, u32)>,
    next: u64,
    /// Bytes of the session that were sent.
    pub(crate) sent: u64,
}

impl Way {
    pub(crate) fn new(trace: Arc<Trace>) -> Way {
        let stream = Stream::new(1, Purpose::Queue, 0);
        let config = QueueConfig { limit: Limit::Bytes(QUEUE), rate: trace.mean_rate(), stream };
        Way {
            server: TraceServer::new(trace),
            queue: Queue::DropTail(DropTail::new(&DropTailSettings::default(), config)),
            actions: QueueActions::default(),
            waiting: BTreeMap::new(),
            arriving: VecDeque::new(),
            next: 0,
            sent: 0,
        }
    }

    pub(crate) fn send(&mut self, now: Instant, cargo: Cargo) {
        let size = cargo.size();
        if let Cargo::Session(_) = cargo {
            self.sent += u64::from(size);
        }
        self.waiting.insert(self.next, cargo);
        self.queue.enqueue(now, Packet::new(0, self.next, size, now), &mut self.actions);
        self.next += 1;
        for dropped in self.actions.take_dropped() {
            self.waiting.remove(&dropped.sequence);
        }
    }

    /// Serves the queue up to `now`. To be called in each step, before anything is sent.
    pub(crate) fn advance(&mut self, now: Instant) {
        let (waiting, arriving) = (&mut self.waiting, &mut self.arriving);
        self.server.serve(now, &mut self.queue, &mut self.actions, |packet| {
            let cargo = waiting.remove(&packet.sequence);
            arriving.extend(cargo.map(|cargo| (now + PROPAGATION, cargo, packet.size)));
        });
    }

    /// What has arrived by `now`, and its size.
    pub(crate) fn arrived(&mut self, now: Instant) -> Option<(Cargo, u32)> {
        self.arriving.front().filter(|(at, ..)| *at <= now)?;
        self.arriving.pop_front().map(|(_, cargo, size)| (cargo, size))
    }
}
