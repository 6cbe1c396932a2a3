//! [`Opportunities`]: walking along a trace.

use crate::Trace;
use exm_units::Instant;
use std::sync::Arc;

/// So many opportunities are looked at one after the other before a search is cheaper.
const STEPS: usize = 8;

/// A place in a trace: the next opportunity that was not taken yet.
///
/// Going on is a step or two as long as time moves forward in steps of a few opportunities, and
/// logarithmic in the trace's length for any jump.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    /// When the lap began, in nanoseconds.
    lap: u64,
    /// Which of the lap's opportunities is next; always one that exists.
    index: usize,
}

impl Opportunities {
    /// The opportunities of `trace`, from its start on.
    pub fn new(trace: Arc<Trace>) -> Opportunities {
        Opportunities { trace, lap: 0, index: 0 }
    }

    /// The trace.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// When the next one is.
    #[inline]
    pub fn peek(&self) -> Instant {
        let within = self.trace.times()[self.index].as_nanos();
        Instant::from_nanos(self.lap.saturating_add(within))
    }

    /// Takes the next one, and says when it is.
    #[inline]
    pub fn take(&mut self) -> Instant {
        let taken = self.peek();
        self.index += 1;
        if self.index == self.trace.times().len() {
            self.index = 0;
            self.lap = self.lap.saturating_add(self.trace.period().as_nanos());
        }
        taken
    }

    /// Passes over those before `time`, and says when the next one is: the first at or after `time`
    /// that was not taken. It never goes back.
    #[inline]
    pub fn seek(&mut self, time: Instant) -> Instant {
        for _ in 0..STEPS {
            let next = self.peek();
            if next >= time {
                return next;
            }
            self.take();
        }
        if self.peek() < time {
            self.jump(time);
        }
        self.peek()
    }

    /// Goes to the first opportunity at or after `time`.
    fn jump(&mut self, time: Instant) {
        let length = self.trace.times().len() as u64;
        let passed = self.trace.count_before(time);
        self.index = usize::try_from(passed % length).expect("an index of the trace");
        self.lap = (passed / length).saturating_mul(self.trace.period().as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is taken and passed over, the cursor stands where a scan of all laps would.
        #[test]
        fn agrees_with_a_naive_scan(
            times in prop::collection::vec(0u64..40, 1..12),
            steps in prop::collection::vec(prop::option::of(0u64..60), 1..40),
        ) {
            let mut times = times;
            times.sort_unstable();
            let instants = times.iter().map(|&t| Instant::from_nanos(t)).collect();
            let Some(trace) = Trace::new(instants) else { return Ok(()) };
            let period = trace.period().as_nanos();
            let mut naive =
                (0..).flat_map(|lap| times.iter().map(move |t| t + lap * period)).peekable();
            let mut cursor = Opportunities::new(Arc::new(trace));
            let mut now = 0;
            for step in steps {
                if let Some(forward) = step {
                    now += forward;
                    while naive.peek().is_some_and(|&time| time < now) {
                        naive.next();
                    }
                    let found = cursor.seek(Instant::from_nanos(now));
                    prop_assert_eq!(Some(&found.as_nanos()), naive.peek());
                } else {
                    prop_assert_eq!(Some(cursor.take().as_nanos()), naive.next());
                }
            }
        }

        #[test]
        fn the_end_of_time_is_reached_without_a_fault(
            jumps in prop::collection::vec(any::<u64>(), 1..20),
        ) {
            let trace = Trace::new(vec![Instant::from_nanos(1), Instant::from_nanos(7)]);
            let mut cursor = Opportunities::new(Arc::new(trace.expect("a trace")));
            for jump in jumps {
                cursor.seek(Instant::from_nanos(jump));
                cursor.take();
            }
            cursor.seek(Instant::MAX);
            cursor.take();
            prop_assert_eq!(cursor.seek(Instant::MAX), Instant::MAX);
        }
    }
}
