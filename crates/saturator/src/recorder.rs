//! [`Recorder`]: writes a trace while it is recorded.

use exm_trace::OPPORTUNITY;
use exm_units::{Bytes, Instant};
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

/// Writes the delivery opportunities that arrivals show, one per line, in the format of `exm_trace`: an opportunity has carried
/// [`OPPORTUNITY`] bytes, so 21 packets of 1428 bytes show 20. Times are relative to the first arrival. After each flush
/// the output is a complete trace.
#[derive(Debug)]
pub struct Recorder<W> {
    out: W,
    precision: Precision,
    /// The bytes of a packet, with all headers.
    packet: Bytes,
    first: Option<Instant>,
    count: u64,
    opportunities: u64,
}

impl<W: Write> Recorder<W> {
    /// Writes to `out` what packets of `packet` bytes show, all headers included.
    pub fn new(out: W, precision: Precision, packet: Bytes) -> Recorder<W> {
        Recorder { out, precision, packet, first: None, count: 0, opportunities: 0 }
    }

    /// A packet arrived at `time`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn arrived(&mut self, time: Instant) -> io::Result<()> {
        let since = time.saturating_since(*self.first.get_or_insert(time)).as_nanos();
        let (millis, rest) = (since / 1_000_000, since % 1_000_000);
        self.count += 1;
        // The first packet shows an opportunity, however small it is: of that, the rest is not known.
        let bytes = self.packet.get().saturating_mul(self.count - 1);
        let shown = bytes / OPPORTUNITY.get() + 1;
        for _ in std::mem::replace(&mut self.opportunities, shown)..shown {
            match self.precision {
                Precision::Millis => writeln!(self.out, "{millis}")?,
                Precision::Nanos => writeln!(self.out, "{millis}.{rest:06}")?,
            }
        }
        Ok(())
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The number of opportunities.
    pub fn opportunities(&self) -> u64 {
        self.opportunities
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
        let mut recorder = Recorder::new(&mut out, precision, OPPORTUNITY);
        for micros in [7_000_500, 7_000_500, 7_001_499, 7_012_600] {
            recorder
                .arrived(Instant::ZERO + Span::from_micros(micros))
                .expect("writing to memory succeeds");
        }
        recorder.flush().expect("writing to memory succeeds");
        assert_eq!(recorder.count(), 4);
        String::from_utf8(out).expect("text")
    }

    /// The bytes of opportunities are those that arrived, whatever the packets' size.
    #[test]
    fn opportunities_are_counted_by_bytes() {
        for size in [100, 750, 1428, 1500, 4000] {
            let mut out = Vec::new();
            let mut recorder = Recorder::new(&mut out, Precision::Nanos, Bytes::new(size));
            for micros in 0..3000 {
                let at = Instant::ZERO + Span::from_micros(micros);
                recorder.arrived(at).expect("writing to memory succeeds");
            }
            let shown = recorder.opportunities();
            assert_eq!(shown, 2999 * size / 1500 + 1);
            assert_eq!(out.split(|&byte| byte == b'\n').count() as u64, shown + 1);
        }
    }

    #[test]
    fn times_count_from_the_first() {
        assert_eq!(recorded(Precision::Millis), "0\n0\n0\n12\n");
        assert_eq!(recorded(Precision::Nanos), "0.000000\n0.000000\n0.999000\n12.100000\n");
        let trace = Trace::parse(recorded(Precision::Nanos).as_bytes(), "t").expect("a trace");
        assert_eq!(trace.period(), Span::from_micros(12_100));
    }
}
