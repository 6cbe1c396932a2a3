//! A bottleneck in user space between two devices.
//!
//! What arrives at device 0 waits in a queue of the simulator's own, is transmitted at a fixed rate,
//! and leaves at device 1 after a propagation delay; what arrives at device 1 is only delayed.
//!
//! Each packet has its time: the end of its transmission follows from its arrival and from the
//! packet before it, not from when the thread that moves it gets to run. A thread that is late
//! makes packets late, and notes by how much ([`Lateness`]); rate and queue stay exact.

use crate::{Record, Scenario};
use exm_link::{Limit, Packet, Queue, QueueKind, Server, Site, Verdict};
use exm_random::{Purpose, Stream};
use exm_units::{Instant, Span};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use tun_rs::SyncDevice;

/// The longest it sleeps, so that it notices being told to stop.
const LONGEST_SLEEP: Span = Span::from_millis(20);

/// The time since a transfer's start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "the kernel is measured in real time")]
    pub fn start() -> Clock {
        Clock(std::time::Instant::now())
    }

    /// The time since then.
    pub fn now(self) -> Instant {
        Instant::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// By how much packets were handed on later than they should have been.
#[derive(Clone, Debug, Default)]
pub struct Lateness(Vec<Span>);

impl Lateness {
    /// What the given share of the packets was not later than.
    pub fn quantile(&self, share: f64) -> Span {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let place = (share * sorted.len() as f64) as usize;
        sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(Span::ZERO)
    }
}

/// Moves packets between `devices` for `scenario` until told to `stop`. Returns what it saw of the
/// queue, and how late it was.
///
/// # Errors
/// Where a device fails.
pub fn carry(
    scenario: &Scenario,
    devices: [&SyncDevice; 2],
    clock: Clock,
    stop: &AtomicBool,
) -> io::Result<(Record, Lateness)> {
    let mut buffer = [0; 65_536];
    let mut line = Line::new(scenario);
    let mut back = VecDeque::new();
    let mut lateness = Lateness::default();
    while !stop.load(Ordering::Relaxed) {
        line.advance(clock.now());
        hand_on(&mut line.leaving, devices[1], clock, &mut lateness)?;
        hand_on(&mut back, devices[0], clock, &mut lateness)?;
        while let Some(size) = read(devices[0], &mut buffer)? {
            line.arrive(clock.now(), &buffer[..size]);
        }
        while let Some(size) = read(devices[1], &mut buffer)? {
            back.push_back((clock.now() + line.delay, buffer[..size].into()));
        }
        let due = back.front().map_or(Instant::MAX, |&(due, _)| due).min(line.next_due());
        sleep(devices, due.saturating_since(clock.now()).min(LONGEST_SLEEP))?;
    }
    Ok((line.finish(), lateness))
}

/// A packet on its way, and when it leaves.
type Leaving = (Instant, Box<[u8]>);

fn hand_on(
    leaving: &mut VecDeque<Leaving>,
    device: &SyncDevice,
    clock: Clock,
    lateness: &mut Lateness,
) -> io::Result<()> {
    while let Some((due, packet)) = leaving.pop_front_if(|(due, _)| *due <= clock.now()) {
        lateness.0.push(clock.now() - due);
        device.send(&packet)?;
    }
    Ok(())
}

/// The next IPv4 packet from `device`, if there is one; others are no part of a transfer.
fn read(device: &SyncDevice, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match device.recv(buffer) {
            Ok(size) if buffer[0] >> 4 == 4 => return Ok(Some(size)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Sleeps for `time`, or until a packet comes.
fn sleep(devices: [&SyncDevice; 2], time: Span) -> io::Result<()> {
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(time.as_nanos()));
    let mut polled = devices.map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
    match ppoll(&mut polled, Some(timeout), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The direction with the queue. It is told the time, and reads no clock.
struct Line {
    queue: Queue,
    server: Server,
    verdict: Verdict,
    delay: Span,
    /// The packet in transmission, and when that ends.
    transmitting: Option<(Instant, Packet)>,
    leaving: VecDeque<Leaving>,
    /// What packets in the queue carry, in the place their tag says.
    payloads: Vec<Box<[u8]>>,
    free: Vec<u32>,
    record: Record,
    waited: Span,
    transmitted: u64,
}

impl Line {
    fn new(scenario: &Scenario) -> Line {
        let stream = Stream::new(1, Purpose::Queue, 0);
        let site = Site { limit: Limit::Packets(scenario.buffer), rate: scenario.rate, stream };
        Line {
            queue: QueueKind::default().build(site),
            server: Server::new(scenario.rate),
            verdict: Verdict::default(),
            delay: scenario.rtt / 2,
            transmitting: None,
            leaving: VecDeque::new(),
            payloads: Vec::new(),
            free: Vec::new(),
            record: Record::default(),
            waited: Span::ZERO,
            transmitted: 0,
        }
    }

    /// A packet arrives at `now`, which is not before any time told earlier.
    fn arrive(&mut self, now: Instant, payload: &[u8]) {
        self.advance(now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.payloads.push(Box::default());
            self.payloads.len() as u32 - 1
        });
        self.payloads[slot as usize] = payload.into();
        let packet = Packet { tag: slot, ..Packet::new(0, 0, payload.len() as u32, now) };
        self.queue.enqueue(now, packet, &mut self.verdict);
        for dropped in self.verdict.take_dropped() {
            self.record.drops += 1;
            self.free.push(dropped.tag);
        }
        if self.transmitting.is_none() {
            self.transmit(now);
        } else {
            self.note(now);
        }
    }

    /// All that happened up to `now` happens.
    fn advance(&mut self, now: Instant) {
        while let Some((end, packet)) = self.transmitting.take_if(|(end, _)| *end <= now) {
            let payload = std::mem::take(&mut self.payloads[packet.tag as usize]);
            self.free.push(packet.tag);
            self.leaving.push_back((end + self.delay, payload));
            self.transmit(end);
        }
    }

    /// The next packet is taken up at `now`, if one waits.
    fn transmit(&mut self, now: Instant) {
        if let Some(packet) = self.queue.dequeue(now, &mut self.verdict) {
            self.waited += now - packet.at;
            self.transmitted += 1;
            self.transmitting = Some((self.server.finish(now, packet.size), packet));
        }
        self.note(now);
    }

    fn note(&mut self, now: Instant) {
        self.record.queue.push((now, self.queue.packets() as u64, self.queue.bytes()));
    }

    /// When the next packet leaves for the device.
    fn next_due(&self) -> Instant {
        let leaving = self.leaving.front().map(|&(due, _)| due);
        let ending = self.transmitting.map(|(end, _)| end + self.delay);
        leaving.or(ending).unwrap_or(Instant::MAX)
    }

    fn finish(mut self) -> Record {
        self.record.mean_wait = self.waited / self.transmitted.max(1);
        self.record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::{Packets, Rate};

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn line(buffer: u64) -> Line {
        Line::new(&Scenario {
            name: "test",
            rate: Rate::from_mbps(12.0),
            rtt: Span::from_millis(40),
            buffer: Packets::new(buffer),
            duration: Span::from_secs(1),
            settled: Span::ZERO,
        })
    }

    /// Five packets at once, room for two: one is transmitted, two wait, two are dropped; a driver
    /// that looks once, late, gets the same times as one that looks often.
    #[test]
    fn times_do_not_depend_on_when_it_is_driven() {
        for step in [100, 100_000] {
            let mut line = line(2);
            (0..5).for_each(|number| line.arrive(at(500), &[number; 1500]));
            assert_eq!(line.next_due(), at(21_500));
            (0..).map(|n| at(500 + n * step)).take_while(|t| *t < at(300_000)).for_each(|now| {
                line.advance(now);
            });
            let left: Vec<_> = line.leaving.iter().map(|(due, bytes)| (*due, bytes[0])).collect();
            assert_eq!(left, [(at(21_500), 0), (at(22_500), 1), (at(23_500), 2)]);
            let record = line.finish();
            assert_eq!((record.drops, record.mean_wait), (2, Span::from_millis(1)));
            assert_eq!(record.queue.last(), Some(&(at(3500), 0, 0)));
        }
    }

    #[test]
    fn lateness_is_what_a_share_of_packets_kept_to() {
        let lateness = Lateness((0..1000).map(Span::from_micros).collect());
        assert_eq!(lateness.quantile(0.999), Span::from_micros(999));
        assert_eq!(lateness.quantile(0.5), Span::from_micros(500));
        assert_eq!(Lateness::default().quantile(0.5), Span::ZERO);
    }
}
