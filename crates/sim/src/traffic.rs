//! When senders have something to send: the on/off process of the papers.

use exm_random::{Distribution, Stream};
use exm_units::{Instant, Packets, Span};

/// How long a flow lasts.
#[derive(Clone, Debug, PartialEq)]
pub enum OnFor {
    /// A time, in seconds.
    Time(Distribution),
    /// An amount of data, in packets; drawn numbers are rounded up to whole packets, at least one.
    Packets(Distribution),
    /// From the start of the simulation to its end.
    Ever,
}

/// An on/off process: a sender is off for a time, then a flow starts, then it is off again.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// How long a flow lasts.
    pub on: OnFor,
    /// The time between flows, in seconds, and before the first.
    pub off: Distribution,
}

/// What a new flow has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Whatever it can until this instant.
    Until(Instant),
    /// This many packets, delivered.
    Deliver(Packets),
}

/// The on/off process of one sender, drawn from a stream of its own.
#[derive(Clone, Debug)]
pub struct Switch {
    process: OnOff,
    stream: Stream,
}

impl Switch {
    /// The process `process`, its chances drawn from `stream`.
    pub fn new(process: OnOff, stream: Stream) -> Switch {
        Switch { process, stream }
    }

    /// When the next flow starts, for a sender that is off from `now` on.
    pub fn next_start(&mut self, now: Instant) -> Instant {
        if self.process.on == OnFor::Ever {
            return if now == Instant::ZERO { now } else { Instant::MAX };
        }
        now.saturating_add(Span::from_secs_f64(self.process.off.draw(&mut self.stream)))
    }

    /// What a flow that starts at `now` has to send.
    pub fn next_job(&mut self, now: Instant) -> Job {
        match &self.process.on {
            OnFor::Time(span) => {
                let span = Span::from_secs_f64(span.draw(&mut self.stream));
                Job::Until(now.saturating_add(span))
            }
            OnFor::Packets(count) => {
                let count = count.draw(&mut self.stream).ceil().max(1.0);
                Job::Deliver(Packets::new(count as u64))
            }
            OnFor::Ever => Job::Until(Instant::MAX),
        }
    }
}
