//! [`Opportunities`]: a cursor over a trace.

use crate::Trace;
use exm_units::Instant;
use std::sync::Arc;

/// How many opportunities are scanned before switching to a binary search.
const STEPS: usize = 8;

/// A position in a trace: the next opportunity not yet taken.
///
/// Advancing takes a step or two as long as time moves forward by a few opportunities, and time
/// logarithmic in the trace's length for any jump.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    /// The start of the current lap, in nanoseconds.
    lap: u64,
    /// The index of the next opportunity in the lap; always valid.
    index: usize,
}

impl Opportunities {
    /// A cursor at the start of `trace`.
    pub fn new(trace: Arc<Trace>) -> Opportunities {
        Opportunities { trace, lap: 0, index: 0 }
    }

    /// The trace.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// The time of the next opportunity.
    #[inline]
    pub fn peek(&self) -> Instant {
        let within = self.trace.times()[self.index].as_nanos();
        Instant::from_nanos(self.lap.saturating_add(within))
    }

    /// Takes the next opportunity, and returns its time.
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

    /// Skips the opportunities before `time`, and returns the time of the next: the first at or
    /// after `time` that was not taken. It never goes back.
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

    /// Moves to the first opportunity at or after `time`.
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
        /// For any takes and skips, the cursor agrees with a scan of all laps.
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
        fn the_largest_times_do_not_overflow(
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
