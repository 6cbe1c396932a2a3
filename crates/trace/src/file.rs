//! The files of traces.
//!
//! One opportunity a line: the time in milliseconds since the start of the trace, never decreasing;
//! several opportunities at one time are as many lines. The trace repeats after the last. This is
//! mahimahi's format, and what the published traces are in. Two things are ours: a time may have up
//! to six decimals, which makes it exact to the nanosecond, and `#` begins a comment.

use crate::{MAX_TIME, Trace};
use exm_units::Instant;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The largest file that is read, in bytes: some 100 million opportunities.
pub const MAX_FILE: u64 = 1 << 30;

/// How much of a line that is wrong is shown.
const SHOWN: usize = 40;

/// Why a file is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system did not let it be read.
    #[error("cannot read the trace {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
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
    /// It has no opportunity.
    #[error(
        "the trace {file} is empty: it needs at least one delivery opportunity, a line with its \
         time in milliseconds"
    )]
    Empty {
        /// The file.
        file: String,
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
        /// What it says, shortened.
        text: String,
    },
    /// A time before the one above it.
    #[error(
        "{file}, line {line}: time goes backwards from {before} ms to {after} ms: opportunities \
         stand in the order of their times"
    )]
    Backwards {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The time above, in milliseconds.
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
}

impl Trace {
    /// Reads the trace in `file`.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is no trace.
    pub fn load(file: &Path) -> Result<Trace, TraceError> {
        let name = file.display().to_string();
        let failed = |source| TraceError::Read { file: name.clone(), source };
        let opened = File::open(file).map_err(failed)?;
        let mut bytes = Vec::new();
        // One byte more than is allowed shows that there are too many, even where the system cannot
        // tell how large a file is.
        opened.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        Trace::parse(&bytes, &name)
    }

    /// Reads the trace in `bytes`, the contents of the file called `file`.
    ///
    /// # Errors
    /// They are too many, or no trace.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Trace, TraceError> {
        let file = || file.to_owned();
        if bytes.len() as u64 > MAX_FILE {
            return Err(TraceError::TooLarge { file: file() });
        }
        let mut times: Vec<Instant> = Vec::new();
        for (index, full) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = index + 1;
            let text = full.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
            if text.is_empty() {
                continue;
            }
            let Some(time) = parse_millis(text) else {
                let text = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
                return Err(TraceError::NotATime { file: file(), line, text });
            };
            if let Some(&before) = times.last()
                && time < before
            {
                let (before, after) = (millis(before), millis(time));
                return Err(TraceError::Backwards { file: file(), line, before, after });
            }
            times.push(time);
        }
        if times.is_empty() {
            return Err(TraceError::Empty { file: file() });
        }
        times.shrink_to_fit();
        Trace::new(times).ok_or_else(|| TraceError::NoPeriod { file: file() })
    }

    /// The file that holds this trace: whole milliseconds where times are such, and otherwise as
    /// many decimals as they need.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.times().len() * 8);
        for &time in self.times() {
            write_millis(&mut text, time);
            text.push('\n');
        }
        text
    }
}

/// The time in `text`, digits with at most six decimals: milliseconds.
fn parse_millis(text: &[u8]) -> Option<Instant> {
    let point = text.iter().position(|&byte| byte == b'.');
    let (whole, decimals) = point.map_or((text, &[][..]), |at| (&text[..at], &text[at + 1..]));
    if whole.is_empty() || decimals.len() > 6 || point.is_some_and(|at| at + 1 == text.len()) {
        return None;
    }
    let padding = &b"000000"[decimals.len()..];
    let mut nanos = 0u64;
    for &digit in whole.iter().chain(decimals).chain(padding) {
        if !digit.is_ascii_digit() {
            return None;
        }
        nanos = nanos.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    let time = Instant::from_nanos(nanos);
    (time <= MAX_TIME).then_some(time)
}

fn millis(time: Instant) -> String {
    let mut text = String::new();
    write_millis(&mut text, time);
    text
}

fn write_millis(text: &mut String, time: Instant) {
    let (whole, nanos) = (time.as_nanos() / 1_000_000, time.as_nanos() % 1_000_000);
    let written = match nanos {
        0 => write!(text, "{whole}"),
        _ => write!(text, "{whole}.{nanos:06}"),
    };
    written.expect("a string takes whatever is written to it");
    if nanos > 0 {
        text.truncate(text.trim_end_matches('0').len());
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
        let missing = Trace::load(Path::new("/no/such/trace")).expect_err("no file").to_string();
        assert!(missing.starts_with("cannot read the trace /no/such/trace: "), "{missing}");
    }

    proptest! {
        #[test]
        fn survives_being_written_and_read(
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
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::parse(&bytes, "t");
        }

        #[test]
        fn near_misses_are_read_or_refused(text in "([0-9.#\n -]|\r\n){0,60}") {
            if let Ok(trace) = Trace::parse(text.as_bytes(), "t") {
                let again = Trace::parse(trace.to_text().as_bytes(), "t").expect("a trace");
                prop_assert_eq!(again, trace);
            }
        }
    }
}
