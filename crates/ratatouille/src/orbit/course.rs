//! [`Course`]: the packets in flight of a flow, as they change.

use super::{IdealLink, Orbit, UNMEASURED};
use crate::measures::{Measures, Sample};
use crate::watch::Gates;
use exm_units::{Instant, Span};

/// How many samples are taken in an RTT for the period.
const SAMPLES_PER_RTT: u64 = 64;

/// The packets in flight of one flow over time: a step function.
#[derive(Debug)]
pub(super) struct Course {
    measures: Measures,
    ideal: f64,
    interval: Span,
    /// When the measures begin.
    from: Instant,
    next_sample: Instant,
    /// Since when as many are in flight.
    since: Instant,
    in_flight: u64,
    least: u64,
    most: u64,
    /// The integral of the packets in flight, in packets times nanoseconds.
    total: f64,
}

impl Course {
    /// That of one of `flows` flows over `link`, from time zero on, with nothing in flight.
    pub(super) fn new(link: &IdealLink, flows: usize) -> Course {
        let interval = (link.rtt / SAMPLES_PER_RTT).max(Span::from_nanos(1));
        let samples = link.duration().as_nanos() / interval.as_nanos();
        // At a sample, so that both courses, by steps and by samples, are measured at the same times.
        let from = Instant::ZERO + interval * (samples / UNMEASURED);
        let measures = Measures::new(link.rtt, interval, samples as usize + 1);
        let ideal = link.bdp() / flows as f64;
        Course {
            measures,
            ideal,
            interval,
            from,
            next_sample: from,
            since: from,
            in_flight: 0,
            least: u64::MAX,
            most: 0,
            total: 0.0,
        }
    }

    /// The time between its samples.
    pub(super) fn interval(&self) -> Span {
        self.interval
    }

    /// From `at` on, this many are in flight. Times ascend; of several numbers at one time the last counts.
    #[inline]
    pub(super) fn set(&mut self, at: Instant, in_flight: u64) {
        if at > self.since {
            self.pass(at);
        }
        self.in_flight = in_flight;
    }

    /// The number in flight lasted until `now`.
    fn pass(&mut self, now: Instant) {
        self.least = self.least.min(self.in_flight);
        self.most = self.most.max(self.in_flight);
        self.total += (now - self.since).as_nanos() as f64 * self.in_flight as f64;
        self.since = now;
        while self.next_sample < now {
            let (at, in_flight) = (self.next_sample, self.in_flight as f64);
            let gates = Gates::default();
            self.measures.add(Sample {
                at,
                on: true,
                in_flight,
                ideal: self.ideal,
                delivered: 0,
                gates,
            });
            self.next_sample += self.interval;
        }
    }

    /// The orbit of the course, which ends at `end`.
    pub(super) fn orbit(mut self, end: Instant) -> Orbit {
        self.pass(end);
        let packets = self.most - self.least;
        Orbit {
            in_flight: self.total / (end - self.from).as_nanos() as f64 / self.ideal,
            amplitude: packets as f64 / self.ideal,
            packets,
            period: self.measures.period(),
            exact: None,
        }
    }
}
