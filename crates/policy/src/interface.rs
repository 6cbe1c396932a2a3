//! [`Interface`]: what a policy observes and decides, and how often.

use crate::action::ActionSpace;
use crate::observation::Observation;
use exm_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The shortest interval: hosts wake a controller at most once in a millisecond.
const SHORTEST: Span = exm_cc::Wakeup::TICK;
/// The longest.
const LONGEST: Span = Span::from_secs(10);

/// How long a monitor interval is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Interval {
    /// So many smoothed RTTs, between a millisecond and ten seconds.
    Rtts(f64),
    /// A fixed time. Intervals end at its multiples, so those of all flows end together.
    Fixed(Span),
}

impl Interval {
    /// When the interval that begins at `now` ends, with the smoothed RTT `rtt`.
    pub(crate) fn end(self, now: Instant, rtt: Span) -> Instant {
        match self {
            Interval::Rtts(count) => {
                let length = Span::from_secs_f64(count * rtt.as_secs_f64());
                now.saturating_add(length.clamp(SHORTEST, LONGEST))
            }
            Interval::Fixed(length) => {
                let done = now.as_nanos() / length.as_nanos();
                Instant::from_nanos((done + 1).saturating_mul(length.as_nanos()))
            }
        }
    }
}

/// "1 RTT" or "30 ms".
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interval::Rtts(count) => write!(f, "{count} RTT"),
            Interval::Fixed(length) => write!(f, "{length}"),
        }
    }
}

impl FromStr for Interval {
    type Err = InterfaceError;
    fn from_str(text: &str) -> Result<Interval, InterfaceError> {
        let wrong = || InterfaceError::Interval(text.to_owned());
        if let Some(count) = text.trim().strip_suffix("RTT") {
            let count: f64 = count.trim().parse().map_err(|_| wrong())?;
            return if (0.1..=100.0).contains(&count) {
                Ok(Interval::Rtts(count))
            } else {
                Err(wrong())
            };
        }
        let length: Span = text.parse().map_err(|_| wrong())?;
        if (SHORTEST..=LONGEST).contains(&length) {
            Ok(Interval::Fixed(length))
        } else {
            Err(wrong())
        }
    }
}

impl TryFrom<String> for Interval {
    type Error = InterfaceError;
    fn try_from(text: String) -> Result<Interval, InterfaceError> {
        text.parse()
    }
}

impl From<Interval> for String {
    fn from(interval: Interval) -> String {
        interval.to_string()
    }
}

/// What a policy observes and decides, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// What it sees of an interval.
    pub observation: Observation,
    /// How many intervals it sees, the last one included.
    pub history: usize,
    /// What it decides.
    pub action: ActionSpace,
    /// The largest change of an action: see [`Actuator::apply`](crate::Actuator::apply).
    pub change: f64,
    /// How long an interval is.
    pub interval: Interval,
}

/// Why there is no such interface.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InterfaceError {
    /// No such interval.
    #[error(
        "the interval is \"{0}\": write \"1 RTT\", from 0.1 to 100 RTTs, or a time from 1 ms to 10 s, such as \"30 ms\""
    )]
    Interval(String),
    /// Too little or too much history.
    #[error("the history is {0} intervals: it can be from 1 to 100")]
    History(usize),
    /// No such change.
    #[error("the change of an action is {0}: it can be from 0.001 to 10")]
    Change(f64),
}

impl Default for Interface {
    /// Aurora's, with an interval of one RTT.
    fn default() -> Interface {
        Interface {
            observation: Observation::Aurora,
            history: 10,
            action: ActionSpace::Rate,
            change: ActionSpace::Rate.default_change(),
            interval: Interval::Rtts(1.0),
        }
    }
}

impl Interface {
    /// Refuses what no flow can have.
    ///
    /// # Errors
    /// [`InterfaceError`] for numbers out of their ranges.
    pub fn check(&self) -> Result<(), InterfaceError> {
        if !(1..=100).contains(&self.history) {
            return Err(InterfaceError::History(self.history));
        }
        if !(0.001..=10.0).contains(&self.change) {
            return Err(InterfaceError::Change(self.change));
        }
        // Its range is checked where it is read.
        self.interval.to_string().parse::<Interval>().map(drop)
    }

    /// How many features a policy observes.
    pub const fn inputs(&self) -> usize {
        self.observation.width() * self.history
    }

    /// How many numbers it decides.
    pub const fn outputs(&self) -> usize {
        self.action.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_round_trips_or_times() {
        for text in ["1 RTT", "0.5 RTT", "30 ms", "2 s"] {
            assert_eq!(text.parse::<Interval>().unwrap().to_string(), text);
        }
        for text in ["", "RTT", "0 RTT", "1000 RTT", "nan RTT", "-1 RTT", "0.5 ms", "1 min", "30"] {
            let error = text.parse::<Interval>().unwrap_err().to_string();
            assert!(error.starts_with("the interval is"), "{error}");
        }
    }

    #[test]
    fn fixed_intervals_of_all_flows_end_together() {
        let interval = Interval::Fixed(Span::from_millis(30));
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        for (now, end) in [(0, 30), (1, 30), (29, 30), (30, 60)] {
            assert_eq!(interval.end(at(now), Span::ZERO), at(end));
        }
        let rtts = Interval::Rtts(2.0);
        assert_eq!(rtts.end(at(5), Span::from_millis(10)), at(25));
        assert_eq!(rtts.end(at(5), Span::ZERO), at(6));
    }

    #[test]
    fn numbers_have_ranges() {
        let with = |change: f64, history| Interface { change, history, ..Interface::default() };
        assert_eq!(with(0.1, 10).check(), Ok(()));
        assert!(with(f64::NAN, 10).check().is_err() && with(0.0, 10).check().is_err());
        assert!(with(0.1, 0).check().is_err() && with(0.1, 101).check().is_err());
    }
}
