//! When senders have something to send, and how much.

use crate::video::Video;
use exm_grammar::{Amounts, Unit};
use exm_random::{Distribution, Stream};
use exm_units::{Bytes, Instant, Packets, Span};

/// How long a flow lasts.
#[derive(Clone, Debug, PartialEq)]
pub enum OnFor {
    /// A duration, in seconds.
    Time(Distribution),
    /// An amount of data, in packets; drawn numbers are rounded up to whole packets, at least one.
    Packets(Distribution),
    /// An amount of payload, in bytes; it fills whole packets, at least one.
    Bytes(Distribution),
    /// Until the end of the simulation.
    Always,
    /// The same, but a sender has only the frames of a live video to send.
    Video(Video),
}

/// An on/off process: a sender is off for a time, then a flow starts, then it is off again. A flow
/// that is always on starts at once.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// How long a flow lasts.
    pub on: OnFor,
    /// The time between flows, in seconds, and before the first.
    pub off: Distribution,
}

impl OnFor {
    /// What the lengths of flows are drawn from, and their unit; none for flows that do not end.
    pub fn amounts(&self) -> Option<Amounts> {
        let (distribution, unit) = match self {
            OnFor::Always | OnFor::Video(_) => return None,
            OnFor::Time(distribution) => (distribution, Unit::Seconds),
            OnFor::Packets(distribution) => (distribution, Unit::Packets),
            OnFor::Bytes(distribution) => (distribution, Unit::Bytes),
        };
        Some(Amounts { distribution: distribution.clone(), unit })
    }
}

impl OnFor {
    /// Whether a flow does not end by itself.
    pub const fn is_endless(&self) -> bool {
        matches!(self, OnFor::Always | OnFor::Video(_))
    }

    /// The video that is sent, if it is one.
    pub const fn video(&self) -> Option<&Video> {
        match self {
            OnFor::Video(video) => Some(video),
            _ => None,
        }
    }
}

impl OnOff {
    /// A sender that always has something to send.
    pub const fn always() -> OnOff {
        OnOff { on: OnFor::Always, off: Distribution::Fixed(0.0) }
    }
}

/// When flows start, and how long they last.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// An on/off process, as in the papers.
    OnOff(OnOff),
    /// One flow at each multiple of a period, from the start on; a flow that takes longer than the
    /// period postpones the next to a later multiple. Senders of equal periods start together:
    /// incast.
    Every {
        /// The period.
        period: Span,
        /// Each flow starts up to this much later than the multiple, uniformly; less than the period.
        spread: Span,
        /// How long a flow lasts.
        on: OnFor,
    },
    /// Flows at fixed times; a flow that is still on when the next is due postpones it to its own
    /// end.
    Schedule {
        /// The start and, if set, the end of each; in order.
        visits: Vec<(Instant, Option<Instant>)>,
        /// How long a flow without a set end lasts.
        on: OnFor,
    },
}

impl From<OnOff> for Traffic {
    fn from(process: OnOff) -> Traffic {
        Traffic::OnOff(process)
    }
}

impl Traffic {
    /// No flow ever starts.
    pub const fn none() -> Traffic {
        Traffic::Schedule { visits: Vec::new(), on: OnFor::Always }
    }

    /// How long its flows last.
    pub fn on(&self) -> &OnFor {
        match self {
            Traffic::OnOff(OnOff { on, .. })
            | Traffic::Every { on, .. }
            | Traffic::Schedule { on, .. } => on,
        }
    }
}

/// The demand of a new flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDemand {
    /// As much as possible until this instant.
    Until(Instant),
    /// This many packets, delivered.
    Deliver(Packets),
}

/// The traffic of one sender, drawn from a random stream of its own.
#[derive(Clone, Debug)]
pub struct TrafficSource {
    traffic: Traffic,
    stream: Stream,
    /// The payload of a packet.
    payload: Bytes,
    /// How many flows of this traffic have started.
    started: usize,
}

impl TrafficSource {
    /// The source of `traffic` in packets that each carry `payload`, with random draws from
    /// `stream`.
    pub fn new(traffic: impl Into<Traffic>, stream: Stream, payload: Bytes) -> TrafficSource {
        TrafficSource { traffic: traffic.into(), stream, payload, started: 0 }
    }

    /// Replaces the traffic by `traffic`, from its beginning; the random stream continues.
    pub fn set_traffic(&mut self, traffic: Traffic) {
        (self.traffic, self.started) = (traffic, 0);
    }

    /// When the next flow starts, if the sender is off from `now` on.
    pub fn next_start(&mut self, now: Instant) -> Instant {
        match &self.traffic {
            Traffic::OnOff(OnOff { on, .. }) if on.is_endless() => {
                if self.started == 0 {
                    now
                } else {
                    Instant::MAX
                }
            }
            Traffic::OnOff(OnOff { off, .. }) => {
                now.saturating_add(Span::from_secs_f64(off.draw(&mut self.stream)))
            }
            Traffic::Every { period, spread, .. } => {
                let periods = now.as_nanos().div_ceil(period.as_nanos());
                let start = Instant::from_nanos(periods.saturating_mul(period.as_nanos()));
                if spread.is_zero() {
                    return start;
                }
                let nanos = spread.as_nanos() as f64 * self.stream.uniform();
                start.saturating_add(Span::from_nanos(nanos as u64))
            }
            Traffic::Schedule { visits, .. } => {
                visits.get(self.started).map_or(Instant::MAX, |&(start, _)| start.max(now))
            }
        }
    }

    /// The demand of a flow that starts at `now`.
    pub fn next_flow(&mut self, now: Instant) -> FlowDemand {
        let flow = self.started;
        self.started += 1;
        if let Traffic::Schedule { visits, .. } = &self.traffic
            && let Some(&(_, Some(end))) = visits.get(flow)
        {
            return FlowDemand::Until(end.max(now));
        }
        let payload = self.payload.get().max(1) as f64;
        let packets = |count: f64| FlowDemand::Deliver(Packets::new(count.ceil().max(1.0) as u64));
        match self.traffic.on() {
            OnFor::Time(span) => {
                let span = Span::from_secs_f64(span.draw(&mut self.stream));
                FlowDemand::Until(now.saturating_add(span))
            }
            OnFor::Packets(count) => packets(count.draw(&mut self.stream)),
            OnFor::Bytes(count) => packets(count.draw(&mut self.stream) / payload),
            OnFor::Always | OnFor::Video(_) => FlowDemand::Until(Instant::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn source(traffic: Traffic) -> TrafficSource {
        TrafficSource::new(traffic, Stream::new(1, Purpose::Traffic, 0), Bytes::new(1448))
    }

    #[test]
    fn periods_start_together_and_wait_for_one_another() {
        let on = OnFor::Bytes(Distribution::Fixed(64_000.0));
        let (period, spread) = (Span::from_millis(100), Span::ZERO);
        let mut source = source(Traffic::Every { period, spread, on });
        assert_eq!(source.next_start(at(0)), at(0));
        assert_eq!(source.next_flow(at(0)), FlowDemand::Deliver(Packets::new(45)));
        assert_eq!(source.next_start(at(30)), at(100));
        assert_eq!(source.next_start(at(230)), at(300));
    }

    #[test]
    fn starts_are_spread_after_each_period() {
        let (period, spread) = (Span::from_millis(100), Span::from_millis(20));
        let on = OnFor::Packets(Distribution::Fixed(1.0));
        let mut source = source(Traffic::Every { period, spread, on });
        let mut sum = Span::ZERO;
        for round in 0..1000 {
            let start = source.next_start(at(100 * round));
            assert!((at(100 * round)..at(100 * round + 20)).contains(&start), "{start}");
            sum += start - at(100 * round);
        }
        let mean = (sum / 1000).as_millis_f64();
        assert!((mean - 10.0).abs() < 0.8, "{mean}");
    }

    #[test]
    fn flows_follow_a_schedule() {
        let visits = vec![(at(10), Some(at(20))), (at(15), Some(at(40))), (at(50), None)];
        let mut source = source(Traffic::Schedule { visits, on: OnFor::Always });
        assert_eq!(
            (source.next_start(at(0)), source.next_flow(at(10))),
            (at(10), FlowDemand::Until(at(20)))
        );
        assert_eq!(
            (source.next_start(at(20)), source.next_flow(at(20))),
            (at(20), FlowDemand::Until(at(40)))
        );
        let last = (source.next_start(at(40)), source.next_flow(at(50)));
        assert_eq!(last, (at(50), FlowDemand::Until(Instant::MAX)));
        assert_eq!(source.next_start(at(60)), Instant::MAX);
    }
}
