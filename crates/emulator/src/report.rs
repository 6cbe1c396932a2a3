//! [`Report`]: the summary of an emulation.

use crate::{Cause, Direction, Emulated, PathSpec, Propagation, Setup, Tally};
use exm_link::Service;
use exm_trace::Trace;
use exm_trace::delay::{Scores, omniscient};
use exm_units::{Instant, Rate, Span};
use serde::{Serialize, Serializer};
use std::fmt;

/// For a fixed rate, which offers the same at all times, this many opportunities are enough.
const ENOUGH: u64 = 10_000;

/// The utilisation from which a link counts as saturated. The reported end-to-end delay is that of the worst
/// 5 % of the time; if a link is idle for longer than that, idleness determines it.
const SATURATED: f64 = 0.95;

/// The summary of an emulation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The duration in seconds.
    pub seconds: f64,
    /// From the program under test to the outside.
    pub up: OneWay,
    /// The opposite direction.
    pub down: OneWay,
}

/// One direction. Throughput and delays are those after the warm-up.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OneWay {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that crossed the link.
    pub delivered: u64,
    /// Packets still on the link at the end.
    pub inside: u64,
    /// Lost packets by cause.
    pub lost: Lost,
    /// Delivered packets that were marked (ECN).
    pub marked: u64,
    /// Frames of a bridge that bypassed the link, such as those of ARP.
    pub passed_by: u64,
    /// Throughput of IP packets in bit/s.
    pub throughput_bps: u64,
    /// The capacity of the link in bit/s.
    pub capacity_bps: u64,
    /// Throughput over capacity.
    pub utilisation: Option<f64>,
    /// The end-to-end delay that was not exceeded 95 % of the time (thesis, section 2.4.1), in ms.
    #[serde(serialize_with = "millis")]
    pub delay_95_ms: Option<Span>,
    /// That of the omniscient protocol, in ms; `None` if the propagation delay varies.
    #[serde(serialize_with = "millis")]
    pub omniscient_95_ms: Option<Span>,
    /// The difference of the two, the self-inflicted delay, in ms. It characterises the sender only if the
    /// link was [`saturated`](OneWay::saturated).
    #[serde(serialize_with = "millis")]
    pub self_inflicted_ms: Option<Span>,
    /// Whether nearly all of the capacity was used. Otherwise idle times determine the end-to-end delay,
    /// which is the age of the last arrival and grows until the next one.
    pub saturated: bool,
    /// The mean queueing and transmission time of packets, in ms.
    #[serde(serialize_with = "millis")]
    pub queueing_mean_ms: Option<Span>,
    /// The median of these times, in ms.
    #[serde(serialize_with = "millis")]
    pub queueing_median_ms: Option<Span>,
    /// Their 95th percentile, in ms.
    #[serde(serialize_with = "millis")]
    pub queueing_95_ms: Option<Span>,
    /// The largest number of packets in the queue.
    pub max_queue_packets: u64,
    /// The largest number of bytes in the queue.
    pub max_queue_bytes: u64,
    /// The median of how much later than due packets left, in us.
    pub late_median_us: f64,
    /// The 99th percentile, in us.
    pub late_99_us: f64,
    /// The maximum, in us.
    pub late_max_us: f64,
}

/// Lost packets by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Random losses of single packets.
    pub loss: u64,
    /// Bursts of random losses.
    pub burst: u64,
    /// Dropped by the queue.
    pub queue: u64,
    /// Not accepted by the egress device.
    pub refused: u64,
    /// Dropped for lack of memory.
    pub memory: u64,
    /// Dropped before the emulator could read them.
    pub missed: u64,
}

impl Lost {
    /// The sum of all.
    pub fn all(&self) -> u64 {
        self.loss + self.burst + self.queue + self.refused + self.memory + self.missed
    }
}

impl Report {
    /// The report of a link of `setup` with the results `emulated`; `missed` are the packets of each
    /// direction that were dropped before they could be read.
    pub fn new(setup: &Setup, emulated: &Emulated, missed: [u64; 2]) -> Report {
        let one_way = |direction| OneWay::new(setup, emulated, missed, direction);
        Report {
            seconds: emulated.end.as_secs_f64(),
            up: one_way(Direction::Up),
            down: one_way(Direction::Down),
        }
    }
}

impl OneWay {
    fn new(setup: &Setup, emulated: &Emulated, missed: [u64; 2], direction: Direction) -> OneWay {
        let stats = &emulated.stats[direction as usize];
        let (from, end) = (Instant::ZERO + setup.warm_up, emulated.end);
        let scores = stats.scores(end);
        let path = setup.path(direction);
        let best = best(path, from, end);
        let capacity = capacity(path, from, end);
        let lost = |cause| stats.lost(cause).packets;
        let micros = |span: Span| span.as_nanos() as f64 / 1e3;
        let throughput = scores.throughput.as_bps() as f64;
        let utilisation = (capacity.as_bps() > 0).then(|| throughput / capacity.as_bps() as f64);
        let Tally { packets: max_queue_packets, bytes: max_queue_bytes } = stats.max_queue;
        OneWay {
            arrived: stats.arrived.packets,
            delivered: stats.delivered.packets,
            inside: emulated.inside[direction as usize],
            lost: Lost {
                loss: lost(Cause::Loss),
                burst: lost(Cause::Burst),
                queue: lost(Cause::Queue),
                refused: lost(Cause::Refused),
                memory: lost(Cause::Memory),
                missed: missed[direction as usize],
            },
            marked: stats.marked,
            passed_by: stats.passed_by,
            throughput_bps: scores.throughput.as_bps(),
            capacity_bps: capacity.as_bps(),
            utilisation,
            delay_95_ms: scores.delay_95,
            omniscient_95_ms: best.as_ref().and_then(|best| best.delay_95),
            self_inflicted_ms: best.as_ref().and_then(|best| scores.self_inflicted(best)),
            saturated: utilisation.is_some_and(|used| used >= SATURATED),
            queueing_median_ms: stats.queueing.percentile(50.0),
            queueing_mean_ms: stats.queueing.mean(),
            queueing_95_ms: stats.queueing.percentile(95.0),
            max_queue_packets,
            max_queue_bytes,
            late_median_us: micros(stats.lateness.quantile(0.5)),
            late_99_us: micros(stats.lateness.quantile(0.99)),
            late_max_us: micros(stats.lateness.max()),
        }
    }
}

/// The capacity of `path` from `from` on and before `end`.
fn capacity(path: &PathSpec, from: Instant, end: Instant) -> Rate {
    let time = end.saturating_since(from);
    match &path.service {
        Service::Fixed(rate) => *rate,
        Service::Trace(_) if time.is_zero() => Rate::from_bps(0),
        Service::Trace(trace) => {
            let bits = trace.capacity(from, end).get() as f64 * 8.0;
            Rate::from_bps((bits / time.as_secs_f64()).round() as u64)
        }
    }
}

/// The score of the omniscient protocol on `path`, if its propagation delay is constant.
fn best(path: &PathSpec, from: Instant, end: Instant) -> Option<Scores> {
    let Propagation::Fixed(propagation) = path.propagation else { return None };
    match &path.service {
        Service::Trace(trace) => Some(omniscient(trace, propagation, from, end)),
        Service::Fixed(rate) => {
            let gap = rate.service_time(exm_trace::OPPORTUNITY);
            let trace = Trace::new(vec![Instant::ZERO + gap])?;
            // It begins when the first packet can have arrived.
            let from = Instant::ZERO.saturating_add(propagation).saturating_add(gap);
            let end = from.saturating_add(gap * ENOUGH);
            Some(omniscient(&trace, propagation, from, end))
        }
    }
}

fn millis<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    span.map(Span::as_millis_f64).serialize(serializer)
}

impl fmt::Display for Report {
    /// A few lines for each direction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1} s emulated", self.seconds)?;
        for (direction, way) in [(Direction::Up, &self.up), (Direction::Down, &self.down)] {
            writeln!(f, "{:<5} {way}", direction.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for OneWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbps = |bps: u64| bps as f64 * 1e-6;
        let (throughput, capacity) = (mbps(self.throughput_bps), mbps(self.capacity_bps));
        write!(f, "{throughput:.3} of {capacity:.3} Mbps")?;
        if let Some(utilisation) = self.utilisation {
            write!(f, " ({:.1} %)", 100.0 * utilisation)?;
        }
        if let (Some(half), Some(most)) = (self.queueing_median_ms, self.queueing_95_ms) {
            let (half, most) = (half.as_millis_f64(), most.as_millis_f64());
            write!(f, "; queueing delay {half:.1} ms (median), {most:.1} ms (95 %)")?;
        }
        if let (true, Some(delay)) = (self.saturated, self.delay_95_ms) {
            write!(f, "\n      saturated: 95 % end-to-end delay {:.1} ms", delay.as_millis_f64())?;
            if let Some(own) = self.self_inflicted_ms {
                write!(f, ", {:.1} ms of it self-inflicted", own.as_millis_f64())?;
            }
        }
        let (arrived, delivered, inside) = (self.arrived, self.delivered, self.inside);
        write!(
            f,
            "\n      {arrived} packets arrived, {delivered} crossed, {inside} are still inside"
        )?;
        for (count, name) in self.causes() {
            write!(f, ", {count} {name}")?;
        }
        write!(
            f,
            "\n      lateness {:.0} us (median), {:.0} us (99 %), {:.0} us (maximum)",
            self.late_median_us, self.late_99_us, self.late_max_us
        )
    }
}

impl OneWay {
    /// Losses and the like, if any occurred.
    fn causes(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let Lost { loss, burst, queue, refused, memory, missed } = self.lost;
        let all = [
            (self.marked, "marked"),
            (loss, "lost at random"),
            (burst, "lost in bursts"),
            (queue, "dropped by the queue"),
            (refused, "refused by the device"),
            (memory, "without memory"),
            (missed, "missed by the emulator"),
            (self.passed_by, "passed by (ARP and the like)"),
        ];
        all.into_iter().filter(|&(count, _)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delivery, DirectionStats, PacketInfo, Timing};
    use exm_link::{Limit, QueueKind};
    use exm_units::{Bytes, Probability};

    const PROPAGATION: Span = Span::from_millis(20);

    /// The report of a link of 12 Mbps, 1 ms per packet, at which packets arrived at these times, in ms.
    fn report(times: impl Iterator<Item = u64>, seconds: u64) -> OneWay {
        let path = PathSpec {
            propagation: Propagation::Fixed(PROPAGATION),
            reordering: None,
            loss: Probability::ZERO,
            bursts: None,
            queue: QueueKind::default(),
            limit: Limit::Unlimited,
            service: Service::Fixed(Rate::from_mbps(12.0)),
        };
        let mut stats = DirectionStats::new(Instant::ZERO);
        let mut free = Instant::ZERO;
        for (number, time) in (0..).zip(times) {
            let sent_at = Instant::ZERO + Span::from_millis(time);
            let queued_at = sent_at + PROPAGATION;
            let due_at = queued_at.max(free) + Span::from_millis(1);
            free = due_at;
            let packet = PacketInfo { number, flow: 1, size: 1500, sent_at, queued_at };
            stats.arrived.add(1500);
            stats.delivered(&Delivery { packet, due_at, received_at: due_at, marked: false });
        }
        let setup = Setup {
            up: path.clone(),
            down: path,
            seed: 1,
            timing: Timing::default(),
            warm_up: Span::ZERO,
            memory: Bytes::new(1 << 30),
        };
        let end = Instant::ZERO + Span::from_secs(seconds);
        let emulated = Emulated { end, stats: [stats.clone(), stats], inside: [0; 2] };
        Report::new(&setup, &emulated, [0; 2]).up
    }

    /// Five pings are no congestion: each waits only for its own transmission.
    #[test]
    fn an_idle_link_has_no_self_inflicted_delay() {
        let pings = report((0..5).map(|ping| ping * 200), 1);
        assert!(!pings.saturated && pings.delay_95_ms.is_some());
        let text = pings.to_string();
        assert!(text.contains("; queueing delay 1.0 ms (median), 1.0 ms (95 %)\n"), "{text}");
        assert!(!text.contains("self-inflicted") && !text.contains("end-to-end"), "{text}");
    }

    /// A hundred packets more than fit wait all the time.
    #[test]
    fn a_saturated_link_characterises_its_sender() {
        let bulk = report((0..100).map(|_| 0).chain(1..9900), 10);
        assert!(bulk.saturated);
        let text = bulk.to_string();
        assert!(text.contains("queueing delay 100."), "{text}");
        assert!(text.contains("saturated: 95 % end-to-end delay 12"), "{text}");
        assert!(text.contains(" ms of it self-inflicted"), "{text}");
    }
}
