//! The emulator's bottleneck between the ends, and the record of its queue.

use super::{Flow, Record, Scenario};
use exm_emulator::{Cause, Delivery, Observer, PacketInfo, PathSpec, Propagation, Setup};
use exm_link::{Limit, Service};
use exm_units::{Bytes, Instant, Rate, Span};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A rate so high that transmission takes no time: the return path only delays.
const AT_ONCE: Rate = Rate::from_bps(1_000_000_000_000);

/// The link of `scenario`: up with the queue, down only the delay.
pub(crate) fn setup(scenario: &Scenario) -> Setup {
    let propagation = Propagation::Fixed(scenario.rtt / 2);
    let up = PathSpec {
        propagation: propagation.clone(),
        limit: Limit::Packets(scenario.buffer),
        ..PathSpec::new(Service::Fixed(scenario.rate))
    };
    Setup::new(up, PathSpec { propagation, ..PathSpec::new(Service::Fixed(AT_ONCE)) })
}

/// Observers that report packets up to `queue`, and ignore those down.
pub(crate) fn observers(queue: &Mutex<Queue>) -> [Box<dyn Observer + '_>; 2] {
    [Box::new(Watching(queue)), Box::new(())]
}

/// When packets arrived at a queue, and when they left it for transmission.
pub(crate) struct Queue {
    rate: Rate,
    /// Time, change in packets, and change in bytes.
    changes: Vec<(Instant, i64, i64)>,
    /// The destination port of each flow, by its number.
    ports: BTreeMap<u32, u16>,
    /// When packets were dropped, and of which flow.
    drops: Vec<(Instant, u32)>,
    waited: Span,
    transmitted: u64,
}

struct Watching<'a>(&'a Mutex<Queue>);

impl Watching<'_> {
    fn note(&self, note: impl FnOnce(&mut Queue)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Observer for Watching<'_> {
    fn queued(&mut self, packet: &PacketInfo) {
        self.note(|queue| queue.changes.push((packet.queued_at, 1, i64::from(packet.size))));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let (size, queued_at) = (delivery.packet.size, delivery.packet.queued_at);
        self.note(|queue| {
            let transmission = queue.rate.service_time(Bytes::new(u64::from(size)));
            let waited = delivery.queueing().saturating_sub(transmission);
            queue.changes.push((queued_at + waited, -1, -i64::from(size)));
            queue.waited += waited;
            queue.transmitted += 1;
        });
    }

    fn dropped(&mut self, packet: &PacketInfo, at: Instant, _cause: Cause) {
        self.note(|queue| {
            queue.changes.push((at, -1, -i64::from(packet.size)));
            queue.drops.push((at, packet.flow));
        });
    }

    fn flow(&mut self, number: u32, flow: &exm_emulator::Flow) {
        self.note(|queue| {
            queue.ports.insert(number, flow.to.1);
        });
    }
}

impl Queue {
    /// The queue of a link of `rate`, empty.
    pub(crate) fn new(rate: Rate) -> Queue {
        Queue {
            rate,
            changes: Vec::new(),
            ports: BTreeMap::new(),
            drops: Vec::new(),
            waited: Span::ZERO,
            transmitted: 0,
        }
    }

    /// Its length over time, and the drops of the flows to each of `ports`, counting those before
    /// `settled` separately.
    pub(crate) fn finish(mut self, ports: &[u16], settled: Instant) -> Record {
        // Packets are reported when they leave the link, after later ones arrived at the queue.
        self.changes.sort_by_key(|&(at, ..)| at);
        let lengths = self.changes.iter().scan((0_i64, 0_i64), |(packets, bytes), change| {
            (*packets, *bytes) = (*packets + change.1, *bytes + change.2);
            Some((change.0, packets.unsigned_abs(), bytes.unsigned_abs()))
        });
        let flow = |port: &u16| {
            let of = |number: &u32| self.ports.get(number) == Some(port);
            let drops = self.drops.iter().filter(|(_, number)| of(number));
            let early = drops.clone().filter(|&&(at, _)| at < settled);
            let (drops, early) = (drops.count() as u64, early.count() as u64);
            Flow { drops, early_drops: early, ..Flow::default() }
        };
        Record {
            queue: lengths.collect(),
            flows: ports.iter().map(flow).collect(),
            mean_wait: self.waited / self.transmitted.max(1),
            ..Record::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// Two packets at once and a third that is dropped: the first is transmitted at once, the second
    /// waits for it.
    #[test]
    fn the_queue_is_what_waits_besides_the_one_in_transmission() {
        let queue = Mutex::new(Queue::new(Rate::from_mbps(12.0)));
        let packet =
            |number| PacketInfo { number, flow: 0, size: 1500, sent_at: at(0), queued_at: at(500) };
        let [mut up, _] = observers(&queue);
        let host = |port| (std::net::IpAddr::from([10, 0, 0, 1]), port);
        up.flow(0, &exm_emulator::Flow { protocol: 6, from: host(4711), to: host(5001) });
        (0..3).for_each(|number| up.queued(&packet(number)));
        up.dropped(&packet(2), at(500), Cause::Queue);
        for (number, due) in [(0, 1500), (1, 2500)] {
            let (due_at, received_at) = (at(due), at(due + 10));
            let packet = packet(number);
            up.delivered(&Delivery { packet, due_at, received_at, marked: false });
        }
        drop(up);
        let record = queue.into_inner().unwrap().finish(&[5001, 5002], at(500));
        assert_eq!((record.drops(), record.mean_wait), (1, Span::from_micros(500)));
        assert_eq!((record.flows[0].drops, record.settled_drops()), (1, 1));
        assert_eq!(record.flows[1].drops, 0);
        assert_eq!(record.queue.last(), Some(&(at(1500), 0, 0)));
        let at_500 = record.queue.iter().rfind(|&&(time, ..)| time == at(500));
        assert_eq!(at_500, Some(&(at(500), 1, 1500)));
    }
}
