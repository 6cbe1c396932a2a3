//! [`Lane`]: the forwarding of one direction, from one port to another.

use crate::frame::{Arena, Frame, Malformed, Part, Place, Written};
use crate::path::{Outcome, Path, is_marked};
use crate::port::{Port, ROOM};
use crate::{Cause, Delivery, DirectionStats, Flow, Observer, PacketInfo, Snapshot, Tally};
use exm_link::Packet;
use exm_os::{Clock, VNET_HEADER};
use exm_units::{Instant, Span};
use std::collections::BTreeSet;
use std::io::{self, IoSlice};

/// The most frames read before the other lane gets its turn.
const READS: usize = 64;
/// The most flows that are announced by name; others only have their number.
const MAX_FLOWS: usize = 1 << 16;

/// The forwarding of one direction.
pub(crate) struct Lane<'a> {
    from: &'a Port,
    path: Path,
    arena: Arena,
    clock: Clock,
    flows: BTreeSet<u32>,
    /// The flow of the last frame: consecutive frames often belong to one flow.
    last_flow: (Option<Flow>, u32),
    number: u64,
    traffic: Traffic<'a>,
}

/// How much of the waiting data was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Nothing was waiting.
    Nothing,
    /// All of it.
    All,
    /// There may be more.
    Some,
}

/// The state of packets that have been read.
struct Traffic<'a> {
    to: &'a Port,
    held: Vec<Held>,
    free: Vec<u32>,
    /// Packets that have left the path, in the order in which they are written.
    leaving: Vec<(Instant, Packet)>,
    /// When packets were written last.
    wrote_at: Instant,
    /// Places whose packets are gone.
    gone: Vec<Place>,
    written: Box<Written>,
    stats: DirectionStats,
    observer: Box<dyn Observer + 'a>,
}

/// A packet on the link: which part of which frame.
#[derive(Clone, Copy, Default)]
struct Held {
    place: Place,
    segment: u32,
}

impl<'a> Lane<'a> {
    /// A lane from `from` to `to` along `path`, with memory for `memory` bytes.
    pub(crate) fn new(
        ports: (&'a Port, &'a Port),
        path: Path,
        clock: Clock,
        memory: usize,
        (stats, observer): (DirectionStats, Box<dyn Observer + 'a>),
    ) -> Lane<'a> {
        Lane {
            from: ports.0,
            path,
            arena: Arena::new(ROOM, memory),
            clock,
            flows: BTreeSet::new(),
            last_flow: (None, 0),
            number: 0,
            traffic: Traffic {
                to: ports.1,
                held: Vec::new(),
                free: Vec::new(),
                leaving: Vec::new(),
                wrote_at: Instant::ZERO,
                gone: Vec::new(),
                written: Box::new(Written::new()),
                stats,
                observer,
            },
        }
    }

    /// The port that packets are read from.
    pub(crate) fn port(&self) -> &'a Port {
        self.from
    }

    /// When packets may next leave, and the earliest time to write them: `gather` after the last write.
    #[inline]
    pub(crate) fn next(&self, gather: Span) -> (Instant, Instant) {
        (self.path.next(), self.traffic.wrote_at.saturating_add(gather))
    }

    /// Writes the packets that are due.
    #[inline]
    pub(crate) fn release(&mut self) {
        let now = self.clock.now();
        if !self.path.is_behind(now) {
            return;
        }
        self.path.advance(now, &mut self.traffic);
        self.traffic.write(&self.arena, self.clock);
        for place in self.traffic.gone.drain(..) {
            self.arena.release(place);
        }
    }

    /// Alternates between reading and writing until nothing is waiting or so much was read that the
    /// other lane should have its turn.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn turn(&mut self) -> io::Result<Read> {
        let mut read = Read::Nothing;
        for _ in 0..READS {
            self.release();
            let Some(space) = self.arena.space() else {
                if !self.refuse()? {
                    return Ok(read);
                }
                read = Read::All;
                continue;
            };
            let Some(length) = self.from.read(space)? else { return Ok(read) };
            read = Read::All;
            let now = self.clock.now();
            let bytes = &space[..length];
            match Frame::parse(self.from.framing(), bytes) {
                Ok(frame) if frame.is_housekeeping(&bytes[VNET_HEADER..]) => {
                    if self.traffic.to.write(&[IoSlice::new(bytes)]) {
                        self.traffic.stats.passed_by += 1;
                    } else {
                        self.lose(now, length, Cause::Refused);
                    }
                }
                Ok(frame) => self.send(now, &frame, length),
                Err(Malformed) => self.lose(now, length, Cause::Refused),
            }
        }
        Ok(Read::Some)
    }

    /// The memory is full: the next packet is lost, and counted. Returns whether there was one.
    fn refuse(&mut self) -> io::Result<bool> {
        let mut buffer = [0; ROOM];
        let length = self.from.read(&mut buffer)?;
        if let Some(length) = length {
            self.lose(self.clock.now(), length, Cause::Memory);
        }
        Ok(length.is_some())
    }

    fn lose(&mut self, now: Instant, length: usize, cause: Cause) {
        let size = length.saturating_sub(VNET_HEADER) as u32;
        let packet = Packet::new(0, self.number, size, now);
        self.number += 1;
        self.traffic.stats.arrived.add(size);
        self.traffic.stats.dropped(size, cause);
        self.traffic.observer.dropped(&packet_info(&packet), now, cause);
    }

    /// The frame just read, of `length` bytes with the kernel's header, enters the path.
    #[inline]
    fn send(&mut self, now: Instant, frame: &Frame, length: usize) {
        let segments = frame.segments();
        let place = self.arena.keep(length, segments as u32);
        let bytes = &self.arena.bytes(place)[VNET_HEADER..];
        let ecn = frame.ecn(bytes);
        let flow = self.traffic.number_of(&mut self.last_flow, &mut self.flows, frame.flow(bytes));
        for segment in 0..segments {
            let tag = self.traffic.hold(Held { place, segment: segment as u32 });
            let size = frame.size(segment);
            let packet = Packet { tag, ecn, ..Packet::new(flow, self.number, size, now) };
            self.number += 1;
            self.traffic.stats.arrived.add(size);
            self.path.send(now, packet);
        }
    }

    /// A snapshot of its state.
    pub(crate) fn snapshot(&self, now: Instant) -> Snapshot {
        let stats = &self.traffic.stats;
        Snapshot {
            at: now,
            arrived: stats.arrived,
            delivered: stats.delivered,
            lost: stats.total_lost(),
            queue: Tally {
                packets: self.path.queue_packets() as u64,
                bytes: self.path.queue_bytes(),
            },
            total: stats.last_total,
        }
    }

    /// Its statistics, and how many packets it still holds.
    pub(crate) fn finish(self) -> (DirectionStats, u64) {
        let mut stats = self.traffic.stats;
        let (packets, bytes) = self.path.max_queued();
        stats.max_queue = Tally { packets: packets as u64, bytes };
        (stats, self.path.holds() as u64)
    }
}

impl Traffic<'_> {
    /// The number of `flow`, which is announced to the observer the first time.
    #[inline]
    fn number_of(
        &mut self,
        last: &mut (Option<Flow>, u32),
        known: &mut BTreeSet<u32>,
        flow: Option<Flow>,
    ) -> u32 {
        if last.0 == flow {
            return last.1;
        }
        let number = flow.as_ref().map_or(0, Flow::hash);
        *last = (flow, number);
        if let Some(flow) = &flow
            && known.len() < MAX_FLOWS
            && known.insert(number)
        {
            self.observer.flow(number, flow);
        }
        number
    }

    #[inline]
    fn hold(&mut self, held: Held) -> u32 {
        if let Some(tag) = self.free.pop() {
            self.held[tag as usize] = held;
            return tag;
        }
        self.held.push(held);
        self.held.len() as u32 - 1
    }

    /// Writes all packets that are leaving. Consecutive segments of one frame are written as one.
    fn write(&mut self, arena: &Arena, clock: Clock) {
        let mut leaving = std::mem::take(&mut self.leaving);
        let mut rest = &leaving[..];
        while let Some((_, first)) = rest.first() {
            let together = self.together(rest);
            let Held { place, segment } = self.held[first.tag as usize];
            let part = Part { first: segment as usize, count: together, marked: is_marked(first) };
            let now = clock.now();
            self.wrote_at = now;
            let taken = self.write_part(arena.bytes(place), part);
            let (written, others) = rest.split_at(together);
            for &(due, packet) in written {
                self.report(due, now, packet, taken);
            }
            rest = others;
        }
        leaving.clear();
        self.leaving = leaving;
    }

    /// How many of the first of `leaving` are consecutive segments of one frame, all marked or none.
    fn together(&self, leaving: &[(Instant, Packet)]) -> usize {
        let held = |packet: &Packet| self.held[packet.tag as usize];
        let follows = |pair: &[(Instant, Packet)]| {
            let ((_, one), (_, other)) = (&pair[0], &pair[1]);
            let (before, after) = (held(one), held(other));
            before.place == after.place
                && before.segment + 1 == after.segment
                && is_marked(one) == is_marked(other)
        };
        1 + leaving.windows(2).take_while(|pair| follows(pair)).count()
    }

    fn write_part(&mut self, bytes: &[u8], part: Part) -> bool {
        // It was a frame when it was read.
        let Ok(frame) = Frame::parse(self.to.framing(), bytes) else { return false };
        self.written.write(&frame, bytes, part);
        self.to.write(&[
            IoSlice::new(self.written.headers()),
            IoSlice::new(self.written.payload(bytes)),
        ])
    }

    /// Reports that `packet`, due at `due_at`, was written at `now`, or was not accepted.
    #[inline]
    fn report(&mut self, due_at: Instant, now: Instant, packet: Packet, taken: bool) {
        self.forget(&packet);
        if !taken {
            return self.lost(now, &packet, Cause::Refused);
        }
        let marked = is_marked(&packet);
        let delivery = Delivery { packet: packet_info(&packet), due_at, received_at: now, marked };
        self.stats.delivered(&delivery);
        self.observer.delivered(&delivery);
    }

    fn lost(&mut self, at: Instant, packet: &Packet, cause: Cause) {
        self.stats.dropped(packet.size, cause);
        self.observer.dropped(&packet_info(packet), at, cause);
    }

    #[inline]
    fn forget(&mut self, packet: &Packet) {
        self.gone.push(self.held[packet.tag as usize].place);
        self.free.push(packet.tag);
    }
}

impl Outcome for Traffic<'_> {
    #[inline]
    fn queued(&mut self, packet: &Packet) {
        self.observer.queued(&packet_info(packet));
    }

    #[inline]
    fn departed(&mut self, at: Instant, packet: Packet) {
        self.leaving.push((at, packet));
    }

    fn dropped(&mut self, at: Instant, packet: Packet, cause: Cause) {
        self.forget(&packet);
        self.lost(at, &packet, cause);
    }
}

#[inline]
fn packet_info(packet: &Packet) -> PacketInfo {
    PacketInfo {
        number: packet.sequence,
        flow: packet.flow,
        size: packet.size,
        sent_at: packet.sent_at,
        queued_at: packet.at,
    }
}
