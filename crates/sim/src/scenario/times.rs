//! Times in scenarios: flows, set times, timers and sampling intervals.

use crate::engine::Pace;
use crate::traffic::{OnFor, OnOff, Traffic};
use crate::video::VideoError;
use exm_grammar::{Amounts, GrammarError, Unit};
use exm_random::Distribution;
use exm_tcp::MinRto;
use exm_units::{Instant, Span};
use serde::Deserialize;
use std::path::Path;

/// How long a sender is on: "always" (formerly "ever"), a distribution of times or amounts, or "video" with its settings;
/// files of numbers are relative to `dir`.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_on(text: &str, dir: &Path) -> Result<OnFor, GrammarError> {
    if matches!(text.trim(), "always" | "ever") {
        return Ok(OnFor::Always);
    }
    if text.split_whitespace().next() == Some("video") {
        let video = text.parse().map_err(|error: VideoError| GrammarError::new(error.to_string()));
        return video.map(OnFor::Video);
    }
    let Amounts { distribution, unit } = Amounts::parse(text, dir)?;
    Ok(match unit {
        Unit::Seconds => OnFor::Time(distribution),
        Unit::Packets => OnFor::Packets(distribution),
        Unit::Bytes => OnFor::Bytes(distribution),
    })
}

/// How long a sender is off: a distribution of times, in seconds.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_off(text: &str, dir: &Path) -> Result<Distribution, GrammarError> {
    match Amounts::parse(text, dir)? {
        Amounts { distribution, unit: Unit::Seconds } => Ok(distribution),
        _ => Err(GrammarError::new(format!(
            "\"{text}\" is no time: give one such as \"exp 5 s\", in {}",
            Span::UNITS.join(", ")
        ))),
    }
}

/// A value that a key of a scenario cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ValueError {
    key: &'static str,
    problem: String,
}

impl ValueError {
    /// The error `problem` in the value of `key`.
    pub fn new(key: &'static str, problem: impl Into<String>) -> ValueError {
        ValueError { key, problem: problem.into() }
    }

    /// The key, such as `"traffic.on"`.
    pub fn key(&self) -> &'static str {
        self.key
    }
}

/// An on/off process as a scenario writes it: `traffic.on`, and `traffic.off` unless a sender is always on;
/// files of numbers are relative to `dir`.
///
/// ```
/// use exm_sim::scenario::parse_traffic;
///
/// assert!(parse_traffic("exp 100 kB", Some("exp 0.5 s"), "".as_ref()).is_ok());
/// let error = parse_traffic("exp 100 kB", Some("soon"), "".as_ref()).unwrap_err();
/// assert_eq!(error.key(), "traffic.off");
/// ```
///
/// # Errors
/// [`ValueError`] of the key whose value is wrong.
pub fn parse_traffic(on: &str, off: Option<&str>, dir: &Path) -> Result<Traffic, ValueError> {
    const KEYS: [&str; 2] = ["traffic.on", "traffic.off"];
    let on = parse_on(on, dir).map_err(|problem| ValueError::new(KEYS[0], problem))?;
    let off = match (&on, off) {
        (on, None) if on.is_endless() => {
            return Ok(OnOff { on: on.clone(), ..OnOff::always() }.into());
        }
        (on, Some(_)) if on.is_endless() => {
            let problem = "a sender that is always on is never off: take \"off\" out";
            return Err(ValueError::new(KEYS[1], problem));
        }
        (_, None) => {
            let problem =
                "the traffic has no \"off\": give the time between flows, such as \"exp 5 s\"";
            return Err(ValueError::new(KEYS[0], problem));
        }
        (_, Some(off)) => parse_off(off, dir),
    };
    let off = off.map_err(|problem| ValueError::new(KEYS[1], problem))?;
    Ok(OnOff { on, off }.into())
}

/// A flow at a fixed time, "10 s", or between two, "10 s..20 s".
pub(super) fn parse_visit(text: &str) -> Result<(Instant, Option<Instant>), String> {
    let time = |text: &str| {
        let span = text.trim().parse::<Span>();
        span.map(|span| Instant::ZERO.saturating_add(span)).map_err(|error| error.to_string())
    };
    match text.split_once("..") {
        Some((start, end)) => Ok((time(start)?, Some(time(end)?))),
        None => Ok((time(text)?, None)),
    }
}

/// A retransmission timer's floor: "linux", or the minimum of the whole timer.
pub(super) fn parse_floor(text: &str) -> Result<MinRto, String> {
    match (text.trim(), text.parse::<Span>()) {
        ("linux", _) => Ok(MinRto::default()),
        (_, Ok(span)) => Ok(MinRto::Timer(span)),
        _ => Err(format!(
            "\"{text}\" is no floor of the retransmission timer: give \"linux\" or a time such as \
             \"1 s\", in {}",
            Span::UNITS.join(", ")
        )),
    }
}

impl std::str::FromStr for Pace {
    type Err = String;

    /// "event", or a duration above zero.
    fn from_str(text: &str) -> Result<Pace, String> {
        match (text.trim(), text.parse::<Span>()) {
            ("event", _) => Ok(Pace::EachEvent),
            (_, Ok(span)) if !span.is_zero() => Ok(Pace::Every(span)),
            _ => Err(format!(
                "\"{text}\" is no pace: give \"event\", or a duration such as \"10 ms\", in {}",
                Span::UNITS.join(", ")
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Pace {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Pace, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_last_times_or_amounts() {
        let on = |text| parse_on(text, Path::new("")).expect(text);
        assert_eq!((on("always"), on("ever")), (OnFor::Always, OnFor::Always));
        assert_eq!(on("exp 5 s"), OnFor::Time(Distribution::Exponential { mean: 5.0 }));
        assert_eq!(on("fixed 15 kB"), OnFor::Bytes(Distribution::Fixed(15_000.0)));
        assert_eq!(on("20 packets"), OnFor::Packets(Distribution::Fixed(20.0)));
        let problem = parse_off("100 kB", Path::new("")).unwrap_err().to_string();
        assert!(problem.contains("is no time"));
    }
}
