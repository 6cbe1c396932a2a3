//! Trace files.
//!
//! One opportunity per line: the time in milliseconds since the start of the trace, never
//! decreasing; several opportunities at the same time are separate lines. The trace repeats after
//! the last. This is mahimahi's format, which the published traces use, with two extensions: a time
//! may have up to six decimals, which makes it exact to the nanosecond, and `#` begins a comment.
//!
//! Traces can also be made from tables of times or rates ([`csv`]) and from captured packets
//! ([`pcap`]).

mod csv;
mod decimal;
mod lines;
mod pcap;

pub use csv::Origin;
pub use pcap::{Import, Imported};

use crate::{MAX_TIME, Trace};
use decimal::{parse_decimal, write_decimal};
use exm_units::{Instant, Span};
use lines::Lines;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The largest file that is accepted, in bytes.
pub const MAX_FILE: u64 = 1 << 30;

/// The most opportunities that are accepted: 800 MB of memory.
pub const MAX_OPPORTUNITIES: usize = 100_000_000;

/// How much of an invalid line is shown.
const SHOWN: usize = 40;

/// The decimals of a nanosecond in milliseconds.
const MILLIS: u32 = 6;

/// Why a file is not a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system could not read it.
    #[error("cannot read the trace {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is larger than [`MAX_FILE`].
    #[error(
        "the trace {file} has more than {MAX_FILE} bytes, the most that is read: cut it, since a \
         trace is repeated anyway"
    )]
    TooLarge {
        /// The file.
        file: String,
    },
    /// It has more than [`MAX_OPPORTUNITIES`].
    #[error(
        "{file}, {place}: the trace has more than {MAX_OPPORTUNITIES} opportunities, the most that \
         are read: cut it, since a trace is repeated anyway"
    )]
    TooMany {
        /// The file.
        file: String,
        /// Where: "line 17".
        place: String,
    },
    /// It has no opportunities.
    #[error(
        "the trace {file} is empty: it needs at least one delivery opportunity, a line with its \
         time in milliseconds"
    )]
    Empty {
        /// The file.
        file: String,
    },
    /// A line that is too long for a trace.
    #[error(
        "{file}, line {line}: the line has no end within {} bytes: is this a text?",
        lines::LONGEST
    )]
    LongLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A line that is not a time.
    #[error(
        "{file}, line {line}: \"{text}\" is not a time in milliseconds such as 17 or 17.250001, \
         with at most six decimals and at most 31 years"
    )]
    NotATime {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Its text, shortened.
        text: String,
    },
    /// A time before the one above it.
    #[error(
        "{file}, {place}: time goes backwards from {before} ms to {after} ms: opportunities \
         stand in the order of their times"
    )]
    Backwards {
        /// The file.
        file: String,
        /// Where: "line 17".
        place: String,
        /// The time of the previous line, in milliseconds.
        before: String,
        /// The time of this line, in milliseconds.
        after: String,
    },
    /// Its last opportunity is at zero.
    #[error(
        "the trace {file} ends at 0 ms, so it cannot be repeated: its last opportunity, after \
         which it starts again, must come later"
    )]
    NoPeriod {
        /// The file.
        file: String,
    },
    /// A table of neither times nor rates.
    #[error("{file}, line {line}: {problem}")]
    Table {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem, and what is expected.
        problem: String,
    },
    /// The file is not a packet capture, or is truncated.
    #[error(transparent)]
    NoCapture(#[from] exm_capture::CaptureError),
    /// A packet capture of which no trace can be made.
    #[error("{file}: {problem}")]
    Capture {
        /// The file, and where in it the problem is.
        file: String,
        /// The problem, and how to solve it.
        problem: String,
    },
}

/// Opens `file` and parses it with `read`.
fn load<T>(
    file: &Path,
    read: impl FnOnce(BufReader<File>, &str) -> Result<T, TraceError>,
) -> Result<T, TraceError> {
    let name = file.display().to_string();
    let opened =
        File::open(file).map_err(|source| TraceError::Read { file: name.clone(), source })?;
    read(BufReader::with_capacity(1 << 16, opened), &name)
}

impl Trace {
    /// Reads the trace in `file`.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is not a trace.
    pub fn load(file: &Path) -> Result<Trace, TraceError> {
        load(file, Trace::read)
    }

    /// Parses the trace in `bytes`, the contents of `file`.
    ///
    /// # Errors
    /// There are too many opportunities, or it is not a trace.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Trace, TraceError> {
        Trace::read(bytes, file)
    }

    /// Reads a trace from `reader`, keeping only one line of text in memory. Errors call it `file`.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is not a trace.
    pub fn read(reader: impl BufRead, file: &str) -> Result<Trace, TraceError> {
        let mut lines = Lines::new(reader, file);
        let mut times = Times::new(file);
        while let Some((line, text)) = lines.next()? {
            match parse_decimal(text, MILLIS) {
                Some(nanos) if nanos <= MAX_TIME.as_nanos() => {
                    times.push(Instant::from_nanos(nanos), || format!("line {line}"))?;
                }
                _ => {
                    let file = file.to_owned();
                    return Err(TraceError::NotATime { file, line, text: shown(text) });
                }
            }
        }
        times.finish()
    }

    /// The text of this trace: whole milliseconds where possible, otherwise as many decimals as
    /// needed.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.times().len() * 8);
        for &time in self.times() {
            write_decimal(&mut text, time.as_nanos(), MILLIS);
            text.push('\n');
        }
        text
    }

    /// The trace with each time rounded up to a whole millisecond, as mahimahi requires.
    pub fn in_whole_millis(&self) -> Trace {
        let up = |time: &Instant| Span::from_millis(time.as_nanos().div_ceil(1_000_000));
        let times = self.times().iter().map(|time| Instant::ZERO + up(time)).collect();
        Trace::new(times).expect("rounding up keeps the order and a last time above zero")
    }
}

/// The beginning of `text` for an error message, escaped: an invalid file may contain terminal
/// control sequences.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}

fn millis(time: Instant) -> String {
    let mut text = String::new();
    write_decimal(&mut text, time.as_nanos(), MILLIS);
    text
}

/// The times of a trace being read.
struct Times<'a> {
    file: &'a str,
    times: Vec<Instant>,
}

impl<'a> Times<'a> {
    fn new(file: &'a str) -> Times<'a> {
        Times { file, times: Vec::new() }
    }

    /// Adds the next time, which is at `place`.
    fn push(&mut self, time: Instant, place: impl FnOnce() -> String) -> Result<(), TraceError> {
        let file = || self.file.to_owned();
        if let Some(&before) = self.times.last()
            && time < before
        {
            let (before, after) = (millis(before), millis(time));
            return Err(TraceError::Backwards { file: file(), place: place(), before, after });
        }
        if self.times.len() == MAX_OPPORTUNITIES {
            return Err(TraceError::TooMany { file: file(), place: place() });
        }
        self.times.push(time);
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    fn finish(mut self) -> Result<Trace, TraceError> {
        let file = || self.file.to_owned();
        if self.times.is_empty() {
            return Err(TraceError::Empty { file: file() });
        }
        self.times.shrink_to_fit();
        Trace::new(self.times).ok_or_else(|| TraceError::NoPeriod { file: self.file.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_units::Span;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        Trace::parse(text.as_bytes(), "some.trace").expect_err("no trace").to_string()
    }

    #[test]
    fn reads_what_mahimahi_and_people_write() {
        let text = "# Verizon, downlink\r\n0\r\n0\r\n\r\n 1 \r\n12.345678 # fine\r\n140000";
        let trace = Trace::parse(text.as_bytes(), "t").expect("a trace");
        let nanos: Vec<u64> = trace.times().iter().map(|time| time.as_nanos()).collect();
        assert_eq!(nanos, [0, 0, 1_000_000, 12_345_678, 140_000_000_000]);
        assert_eq!(trace.period(), Span::from_secs(140));
        assert_eq!(trace.to_text(), "0\n0\n1\n12.345678\n140000\n");
    }

    #[test]
    fn writes_no_more_decimals_than_needed() {
        let times = [0, 500_000, 1_000_000, 1_000_001, 10_100_000, 20_000_000];
        let trace = Trace::new(times.map(Instant::from_nanos).to_vec()).expect("a trace");
        assert_eq!(trace.to_text(), "0\n0.5\n1\n1.000001\n10.1\n20\n");
    }

    #[test]
    fn errors_name_file_line_and_way_out() {
        assert_eq!(
            error("# nothing\n\n"),
            "the trace some.trace is empty: it needs at least one delivery opportunity, a line \
             with its time in milliseconds"
        );
        assert_eq!(
            error("1\ntwo\n"),
            "some.trace, line 2: \"two\" is not a time in milliseconds such as 17 or 17.250001, \
             with at most six decimals and at most 31 years"
        );
        assert_eq!(
            error("5\n\n4.5\n"),
            "some.trace, line 3: time goes backwards from 5 ms to 4.5 ms: opportunities stand in \
             the order of their times"
        );
        assert_eq!(
            error("0\n0\n"),
            "the trace some.trace ends at 0 ms, so it cannot be repeated: its last opportunity, \
             after which it starts again, must come later"
        );
        for bad in ["-1", "1e3", ".5", "5.", "1.1234567", "1000000000001", "99999999999999999999"] {
            assert!(error(bad).contains(&format!("line 1: \"{bad}\" is not a time")), "{bad}");
        }
        assert!(error(&"x".repeat(1000)).len() < 200);
        assert!(error("\u{1b}[2J\u{7}").contains("\"\\u{1b}[2J\\u{7}\" is not a time"));
        assert_eq!(
            error(&format!("1\n2{}3", " ".repeat(5000))),
            "some.trace, line 2: the line has no end within 1024 bytes: is this a text?"
        );
        assert!(Trace::parse(format!("1 #{}\n2", "x".repeat(5000)).as_bytes(), "t").is_ok());
        let missing = Trace::load(Path::new("/no/such/trace")).expect_err("no file").to_string();
        assert!(missing.starts_with("cannot read the trace /no/such/trace: "), "{missing}");
    }

    /// An endless file is rejected at the size limit, without filling the memory.
    #[test]
    fn endless_files_are_rejected() {
        struct Endless(&'static [u8]);
        impl std::io::Read for Endless {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                into.fill(self.0[0]);
                Ok(into.len())
            }
        }
        let endless = |bytes| BufReader::with_capacity(1 << 20, Endless(bytes));
        let error = Trace::read(endless(b"#"), "big").expect_err("too large").to_string();
        assert!(error.starts_with("the trace big has more than 1073741824 bytes"), "{error}");
        let error = Trace::read(endless(b"1"), "big").expect_err("one line").to_string();
        assert!(error.starts_with("big, line 1: the line has no end"), "{error}");
    }

    #[test]
    fn whole_milliseconds_are_rounded_up() {
        let trace = Trace::parse(b"0\n0.25\n1\n1.000001\n", "t").expect("a trace");
        assert_eq!(trace.in_whole_millis().to_text(), "0\n1\n1\n2\n");
    }

    proptest! {
        #[test]
        fn writing_and_reading_gives_the_same_trace(
            gaps in prop::collection::vec(0u64..3_000_000_000, 1..50),
        ) {
            let mut now = Instant::ZERO;
            let mut next = |gap: &u64| { now += Span::from_nanos(*gap); now };
            let times = gaps.iter().map(&mut next).collect();
            let Some(trace) = Trace::new(times) else { return Ok(()) };
            let again = Trace::parse(trace.to_text().as_bytes(), "t").expect("what was written");
            prop_assert_eq!(again, trace);
        }

        #[test]
        fn any_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::parse(&bytes, "t");
        }

        #[test]
        fn near_misses_are_read_or_rejected(text in "([0-9.#\n -]|\r\n){0,60}") {
            if let Ok(trace) = Trace::parse(text.as_bytes(), "t") {
                let again = Trace::parse(trace.to_text().as_bytes(), "t").expect("a trace");
                prop_assert_eq!(again, trace);
            }
        }
    }
}
