//! [`Propagation`]: the propagation delay before the queue.

use exm_units::{Instant, Span};
use std::path::Path;
use std::sync::Arc;

/// The largest file of delays in bytes.
const MAX_FILE: u64 = 64 << 20;
/// How much of an invalid line errors show.
const SHOWN: usize = 40;
/// The latest time of a change, 31 years, far beyond any use.
const MAX_TIME: Span = Span::from_secs(1_000_000_000);

/// The propagation delay before the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// A constant delay.
    Fixed(Span),
    /// The delay at the time at which a packet is sent, by a schedule.
    Varying(Arc<Schedule>),
}

impl Propagation {
    /// The longest delay: a day, far beyond any use.
    pub const LONGEST: Span = Span::from_secs(86_400);

    /// The delay of a packet that is sent at `time`.
    pub fn at(&self, time: Instant) -> Span {
        match self {
            Propagation::Fixed(delay) => *delay,
            Propagation::Varying(schedule) => schedule.at(time),
        }
    }

    /// The longest delay of any packet.
    pub fn longest(&self) -> Span {
        match self {
            Propagation::Fixed(delay) => *delay,
            Propagation::Varying(schedule) => {
                schedule.steps.iter().map(|&(_, delay)| delay).max().unwrap_or(Span::ZERO)
            }
        }
    }
}

/// A delay that changes in steps: each applies from its time until the next, the first also before its time,
/// the last forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Never empty; ordered by time.
    steps: Vec<(Instant, Span)>,
}

/// Why a file is not a schedule of delays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// It cannot be read.
    #[error("cannot read the delays in {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is too large or empty.
    #[error(
        "{file} has {problem}: it needs a line for each change, with the time in milliseconds and \
         the delay from then on in milliseconds, such as 15000 42.5"
    )]
    Size {
        /// The file.
        file: String,
        /// The problem.
        problem: &'static str,
    },
    /// A line is not a step.
    #[error("{file}, line {line}: \"{text}\" {problem}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text of the line, shortened.
        text: String,
        /// The problem.
        problem: &'static str,
    },
}

impl Schedule {
    /// The times and delays of all steps, in order; never empty.
    pub fn steps(&self) -> &[(Instant, Span)] {
        &self.steps
    }

    /// A schedule of times and delays; `None` if there are none, or times decrease.
    pub fn new(steps: Vec<(Instant, Span)>) -> Option<Schedule> {
        let sound = !steps.is_empty() && steps.is_sorted_by_key(|&(time, _)| time);
        sound.then_some(Schedule { steps })
    }

    /// Reads a schedule from `file`, whose lines have a time and a delay, both in milliseconds. `#` begins a
    /// comment.
    ///
    /// # Errors
    /// The file cannot be read, or is not a schedule.
    pub fn load(file: &Path) -> Result<Schedule, ScheduleError> {
        let name = file.display().to_string();
        let failed = |source| ScheduleError::Read { file: name.clone(), source };
        if std::fs::metadata(file).map_err(failed)?.len() > MAX_FILE {
            return Err(ScheduleError::Size { file: name, problem: "more than 64 MB" });
        }
        Schedule::parse(&std::fs::read_to_string(file).map_err(failed)?, &name)
    }

    /// Parses the schedule in `text`, the content of the file called `file`.
    ///
    /// # Errors
    /// It is not a schedule.
    pub fn parse(text: &str, file: &str) -> Result<Schedule, ScheduleError> {
        let mut steps: Vec<(Instant, Span)> = Vec::new();
        for (index, full) in text.lines().enumerate() {
            let line = full.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let after = steps.last().map_or(Instant::ZERO, |&(time, _)| time);
            steps.push(parse_step(line, after).map_err(|problem| ScheduleError::Line {
                file: file.to_owned(),
                line: index + 1,
                text: line.chars().take(SHOWN).collect(),
                problem,
            })?);
        }
        let empty = || ScheduleError::Size { file: file.to_owned(), problem: "no delays" };
        Schedule::new(steps).ok_or_else(empty)
    }

    /// The delay at `time`.
    pub fn at(&self, time: Instant) -> Span {
        let after = self.steps.partition_point(|&(from, _)| from <= time);
        self.steps[after.saturating_sub(1)].1
    }
}

fn parse_step(line: &str, after: Instant) -> Result<(Instant, Span), &'static str> {
    const WRONG: &str = "is not a time and a delay in milliseconds, such as 15000 42.5";
    let mut words = line.split_whitespace();
    let (Some(time), Some(delay), None) = (words.next(), words.next(), words.next()) else {
        return Err(WRONG);
    };
    let millis = |text: &str, most: Span| {
        let value = text.parse::<f64>().ok().filter(|value| *value >= 0.0)?;
        Some(Span::from_millis_f64(value)).filter(|&span| span <= most)
    };
    let time = Instant::ZERO + millis(time, MAX_TIME).ok_or(WRONG)?;
    if time < after {
        return Err("goes back in time: order the changes by time");
    }
    Ok((time, millis(delay, Propagation::LONGEST).ok_or(WRONG)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn delays_hold_until_the_next() {
        let text = "# a satellite\n100 20\n\n200 35.5 # handover\n200 40\n";
        let schedule = Schedule::parse(text, "delays").unwrap();
        let delays = [0, 100, 199, 200, 9_999_999].map(|ms| schedule.at(at(ms)).as_millis_f64());
        assert_eq!(delays, [20.0, 20.0, 20.0, 40.0, 40.0]);
    }

    #[test]
    fn invalid_schedules_are_rejected_with_the_line() {
        for (text, expected) in [
            ("", "delays has no delays: it needs a line"),
            ("0 20\n1 x", "delays, line 2: \"1 x\" is not a time and a delay"),
            ("0 20 30", "line 1: \"0 20 30\" is not a time"),
            ("0 -1", "line 1: \"0 -1\" is not"),
            ("0 nan", "line 1"),
            ("0 1e300", "line 1"),
            ("5 1\n4 1", "line 2: \"4 1\" goes back in time"),
        ] {
            let error = Schedule::parse(text, "delays").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
