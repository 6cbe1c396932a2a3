//! [`Recorder`]: writes a trace while it is recorded.

use exm_units::Instant;
use std::io::{self, Write};

/// The resolution of the times in a recorded trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Whole milliseconds, rounded down, which every tool reads.
    #[default]
    Millis,
    /// Nanoseconds.
    Nanos,
}

/// Writes arrival times relative to the first one, one per line, in the format of `exm_trace`. After each flush the
/// output is a complete trace.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
    precision: Precision,
    first: Option<Instant>,
    count: u64,
}

impl<W: Write> Recorder<W> {
    /// Writes to `out`.
    pub fn new(out: W, precision: Precision) -> Recorder<W> {
        Recorder { out, precision, first: None, count: 0 }
    }

    /// A packet arrived at `time`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn arrived(&mut self, time: Instant) -> io::Result<()> {
        let since = time.saturating_since(*self.first.get_or_insert(time)).as_nanos();
        let (millis, rest) = (since / 1_000_000, since % 1_000_000);
        self.count += 1;
        match self.precision {
            Precision::Millis => writeln!(self.out, "{millis}"),
            Precision::Nanos => writeln!(self.out, "{millis}.{rest:06}"),
        }
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The number of arrivals.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_trace::Trace;
    use exm_units::Span;

    fn recorded(precision: Precision) -> String {
        let mut out = Vec::new();
        let mut recorder = Recorder::new(&mut out, precision);
        for micros in [7_000_500, 7_000_500, 7_001_499, 7_012_600] {
            recorder
                .arrived(Instant::ZERO + Span::from_micros(micros))
                .expect("writing to memory succeeds");
        }
        recorder.flush().expect("writing to memory succeeds");
        assert_eq!(recorder.count(), 4);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn times_count_from_the_first() {
        assert_eq!(recorded(Precision::Millis), "0\n0\n0\n12\n");
        assert_eq!(recorded(Precision::Nanos), "0.000000\n0.000000\n0.999000\n12.100000\n");
        let trace = Trace::parse(recorded(Precision::Nanos).as_bytes(), "t").expect("a trace");
        assert_eq!(trace.period(), Span::from_micros(12_100));
    }
}
