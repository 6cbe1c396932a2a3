//! [`Meter`]: measures what the link does to each packet.

use crate::{Cause, Delivery, Flow, Observer, PacketInfo};
use exm_experiment::Timeline;
use exm_sim::Periods;
use exm_sim::metrics::Histogram;
use exm_sim::traffic::FlowDemand;
use exm_trace::delay::EndToEnd;
use exm_units::{Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Statistics of the data packets.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) end_to_end: EndToEnd,
    pub(crate) queueing: Histogram,
    pub(crate) delivered: u64,
    /// Packets lost at random, and dropped by the queue.
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) periods: Periods,
    /// How long each on-period took that had an amount of data to deliver.
    pub(crate) completion: Histogram,
    /// How many connections it has had, and on-periods, and how many of these have ended.
    connections: usize,
    started: usize,
    ended: usize,
    /// When the last on-period began.
    began: Instant,
    sampler: Option<Sampler>,
    until: Instant,
}

/// The timeline, sampled at a fixed interval.
#[derive(Debug)]
struct Sampler {
    step: Span,
    next: Instant,
    timeline: Timeline,
}

impl Meter {
    /// Scores deliveries from `from` on and before `until`, with a sample every `step`.
    pub(crate) fn new(from: Instant, until: Instant, step: Option<Span>) -> Meter {
        let sampler = step.map(|step| {
            // At multiples of the step, as in the simulator.
            let next = Instant::ZERO + step * from.as_nanos().div_ceil(step.as_nanos().max(1));
            let (from_s, step_s) = (next.as_nanos() as f64 * 1e-9, step.as_secs_f64());
            Sampler { step, next, timeline: Timeline { from_s, step_s, ..Timeline::default() } }
        });
        Meter {
            end_to_end: EndToEnd::new(from, until),
            queueing: Histogram::new(),
            delivered: 0,
            lost: 0,
            dropped: 0,
            periods: Periods::default(),
            completion: Histogram::new(),
            connections: 0,
            started: 0,
            ended: 0,
            began: Instant::ZERO,
            sampler,
            until,
        }
    }

    /// Takes the samples that are due before `now`.
    fn sample_until(&mut self, now: Instant) {
        let Some(sampler) = &mut self.sampler else { return };
        while sampler.next < now.min(self.until) {
            sampler.timeline.bytes.push(self.end_to_end.bytes().get());
            let delay = self.end_to_end.delay_at(sampler.next).map(Span::as_millis_f64);
            sampler.timeline.delay_ms.push(delay);
            sampler.next += sampler.step;
        }
    }

    /// A packet of on-period `period` arrived. A connection's handshake precedes its on-period, and does not count.
    fn arrived(&mut self, delivery: &Delivery, period: usize) {
        if period >= self.started {
            return;
        }
        if period < self.ended {
            self.periods.late(period, delivery.received_at);
        }
        self.take(delivery);
    }

    fn take(&mut self, delivery: &Delivery) {
        self.sample_until(delivery.received_at);
        let packet = &delivery.packet;
        let bytes = Bytes::new(u64::from(packet.size));
        self.end_to_end.arrived(packet.sent_at, delivery.received_at, bytes);
        self.queueing.record(delivery.queueing());
        self.delivered += 1;
    }

    /// The timeline, with nothing delivered after the last packet.
    pub(crate) fn timeline(&mut self) -> Option<Timeline> {
        self.sample_until(Instant::MAX);
        self.sampler.take().map(|sampler| sampler.timeline)
    }
}

/// A [`Meter`] for each flow of a run.
#[derive(Debug)]
pub(crate) struct Meters {
    flows: Vec<Meter>,
    /// Of each connection, by the hash of its addresses: its flow, and the on-period that it carries.
    connections: BTreeMap<u32, (usize, usize)>,
}

impl Meters {
    pub(crate) fn new(flows: impl IntoIterator<Item = Meter>) -> Mutex<Meters> {
        let flows = flows.into_iter().collect();
        Mutex::new(Meters { flows, connections: BTreeMap::new() })
    }

    /// Those of all flows.
    pub(crate) fn into_flows(meters: Mutex<Meters>) -> Vec<Meter> {
        meters.into_inner().unwrap_or_else(PoisonError::into_inner).flows
    }

    /// Has the packets of `connection` belong to the next on-period of this flow that has no connection.
    pub(crate) fn note(&mut self, connection: &Flow, flow: usize) {
        let period = self.flows[flow].connections;
        self.flows[flow].connections += 1;
        self.connections.insert(connection.hash(), (flow, period));
    }

    /// An on-period of this flow starts.
    pub(crate) fn start(&mut self, flow: usize, now: Instant) {
        let flow = &mut self.flows[flow];
        (flow.started, flow.began) = (flow.started + 1, now);
        flow.periods.start(now);
    }

    /// It ends.
    pub(crate) fn end(&mut self, flow: usize, now: Instant, demand: FlowDemand) {
        let flow = &mut self.flows[flow];
        flow.periods.end(now);
        flow.ended = flow.started;
        if matches!(demand, FlowDemand::Deliver(_)) {
            flow.completion.record(now - flow.began);
        }
    }

    /// The meter of the packets of a connection, and its on-period. Packets of none that is known, such as those of
    /// Sprout, which opens sockets of its own, belong to the first.
    fn of(&mut self, connection: u32) -> (&mut Meter, usize) {
        let (flow, period) = self.connections.get(&connection).copied().unwrap_or((0, 0));
        (&mut self.flows[flow], period)
    }
}

/// Locks them. A thread that panics leaves them whole.
pub(crate) fn locked(meters: &Mutex<Meters>) -> MutexGuard<'_, Meters> {
    meters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`Meters`] as an observer of the link, which a single thread calls.
pub(crate) struct Reading<'a>(pub(crate) &'a Mutex<Meters>);

impl Observer for Reading<'_> {
    fn delivered(&mut self, delivery: &Delivery) {
        let mut meters = locked(self.0);
        let (meter, period) = meters.of(delivery.packet.flow);
        meter.arrived(delivery, period);
    }

    fn dropped(&mut self, packet: &PacketInfo, _at: Instant, cause: Cause) {
        let mut meters = locked(self.0);
        let (meter, _) = meters.of(packet.flow);
        match cause {
            Cause::Loss | Cause::Burst => meter.lost += 1,
            Cause::Queue | Cause::Refused | Cause::Memory => meter.dropped += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn delivery(sent: u64, received: u64) -> Delivery {
        let (sent_at, queued_at) = (at(sent), at(sent + 20));
        let packet = PacketInfo { number: 0, flow: 1, size: 1500, sent_at, queued_at };
        let (due_at, received_at) = (at(received), at(received));
        Delivery { packet, due_at, received_at, marked: false }
    }

    #[test]
    fn a_run_by_hand() {
        let mut meter = Meter::new(at(1000), at(1100), Some(Span::from_millis(30)));
        for (sent, received) in [(900, 950), (960, 1030), (970, 1060), (1050, 1075)] {
            meter.take(&delivery(sent, received));
        }
        let timeline = meter.timeline().expect("was asked for");
        assert!((timeline.from_s - 1.02).abs() < 1e-9 && (timeline.step_s - 0.03).abs() < 1e-9);
        // At 1020, 1050 and 1080 ms.
        assert_eq!(timeline.bytes, [0, 1500, 4500]);
        assert_eq!(timeline.delay_ms, [Some(120.0), Some(90.0), Some(30.0)]);
        assert_eq!((meter.delivered, meter.queueing.count()), (4, 4));
        assert_eq!(meter.queueing.max(), Some(Span::from_millis(70)));
        assert_eq!(meter.end_to_end.finish().bytes, Bytes::new(4500));
    }
}
