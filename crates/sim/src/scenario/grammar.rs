//! The small languages within a scenario: distributions, buffers, probabilities and paces.
//!
//! A distribution is one of
//! ```text
//! 5 s                                        always this, as "fixed 5 s"
//! exp 5 s                                    exponential of this mean
//! uniform 1..2 s                             uniform between two values
//! pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B    Pareto, moved by shift, at most cap
//! empirical FILE B                           one of the file's numbers, each as likely
//! ```
//! with a unit of time, of data or "packets". A file has a number a line; "#" starts a comment, and
//! its path is taken from where the scenario is.

use super::error::suggest;
use crate::engine::Pace;
use crate::traffic::OnFor;
use exm_link::{Limit, QueueError, QueueKind};
use exm_random::Distribution;
use exm_tcp::Floor;
use exm_units::{Bytes, Instant, Packets, Rate, Span};
use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// The largest file of numbers that is read.
const MAX_FILE: u64 = 64 << 20;

/// What a number of a distribution means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Seconds,
    Bytes,
    Packets,
}

/// How long a sender is on: "always" ("ever" too) or a distribution of times or amounts.
pub(super) fn parse_on(text: &str, dir: &Path) -> Result<OnFor, String> {
    if matches!(text.trim(), "always" | "ever") {
        return Ok(OnFor::Ever);
    }
    let (distribution, kind) = parse_distribution(text, dir)?;
    Ok(match kind {
        Kind::Seconds => OnFor::Time(distribution),
        Kind::Packets => OnFor::Packets(distribution),
        Kind::Bytes => OnFor::Bytes(distribution),
    })
}

/// How long a sender is off: a distribution of times, in seconds.
pub(super) fn parse_off(text: &str, dir: &Path) -> Result<Distribution, String> {
    match parse_distribution(text, dir)? {
        (distribution, Kind::Seconds) => Ok(distribution),
        _ => Err(format!(
            "\"{text}\" is no time: give one such as \"exp 5 s\", in {}",
            Span::UNITS.join(", ")
        )),
    }
}

/// A flow at a set time, "10 s", or from one to another, "10 s..20 s".
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

/// A retransmission timer's floor: "linux", or the least the whole timer may be.
pub(super) fn parse_floor(text: &str) -> Result<Floor, String> {
    match (text.trim(), text.parse::<Span>()) {
        ("linux", _) => Ok(Floor::default()),
        (_, Ok(span)) => Ok(Floor::Timer(span)),
        _ => Err(format!(
            "\"{text}\" is no floor of the retransmission timer: give \"linux\" or a time such as \
             \"1 s\", in {}",
            Span::UNITS.join(", ")
        )),
    }
}

fn parse_distribution(text: &str, dir: &Path) -> Result<(Distribution, Kind), String> {
    let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let rest = rest.trim();
    match word {
        "fixed" => amount(rest).map(|(value, kind)| (Distribution::Fixed(value), kind)),
        "exp" | "exponential" => {
            amount(rest).map(|(mean, kind)| (Distribution::Exponential { mean }, kind))
        }
        "uniform" => parse_uniform(rest),
        "pareto" => parse_pareto(rest),
        "empirical" => parse_empirical(rest, dir),
        _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            amount(text).map(|(value, kind)| (Distribution::Fixed(value), kind))
        }
        _ => {
            let known = ["fixed", "exp", "uniform", "pareto", "empirical", "always", "ever"];
            Err(format!("\"{word}\" is no distribution: {}", suggest(word, &known)))
        }
    }
}

/// "NUMBER UNIT" in seconds, bytes or packets.
fn amount(text: &str) -> Result<(f64, Kind), String> {
    if let Ok(span) = text.parse::<Span>() {
        return Ok((span.as_nanos() as f64 / 1e9, Kind::Seconds));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Ok((bytes.get() as f64, Kind::Bytes));
    }
    if let Ok(packets) = text.parse::<Packets>() {
        return Ok((packets.get() as f64, Kind::Packets));
    }
    Err(format!(
        "\"{text}\" is neither a time nor an amount: give one such as \"5 s\", \"100 kB\" or \
         \"20 packets\", a number and one of {}, {}, {}",
        Span::UNITS.join(", "),
        Bytes::UNITS.join(", "),
        Packets::UNITS.join(", ")
    ))
}

fn parse_uniform(text: &str) -> Result<(Distribution, Kind), String> {
    let problem = || format!("\"{text}\" is no range: give one such as \"1..2 s\"");
    let (low, high) = text.split_once("..").ok_or_else(problem)?;
    let unit = high.trim_start_matches(|c: char| !c.is_alphabetic());
    let (high, kind) = amount(high.trim())?;
    let low = low.trim();
    let low = if low.ends_with(char::is_alphabetic) { amount(low) } else { scaled(low, unit) };
    let (low, low_kind) = low?;
    if low_kind != kind || low > high {
        return Err(problem());
    }
    Ok((Distribution::Uniform { low, high }, kind))
}

/// The plain number `text` in `unit`s.
fn scaled(text: &str, unit: &str) -> Result<(f64, Kind), String> {
    let (scale, kind) = amount(&format!("1 {unit}"))?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((number * scale, kind)),
        _ => Err(format!("\"{text}\" is no number")),
    }
}

fn parse_pareto(text: &str) -> Result<(Distribution, Kind), String> {
    let example = "\"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B\"";
    let (settings, unit) = text
        .rsplit_once(char::is_whitespace)
        .filter(|(_, unit)| !unit.contains('='))
        .ok_or_else(|| format!("the unit is missing: give all of it, such as {example}"))?;
    let (mut scale, mut shape, mut shift, mut cap) = (None, None, Some(0.0), None);
    for setting in settings.split_whitespace() {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("\"{setting}\" is no setting: give all as in {example}"))?;
        match key {
            "xm" => scale = Some(scaled(value, unit)?.0),
            "alpha" => shape = Some(scaled(value, "packets")?.0),
            "shift" => shift = Some(scaled(value, unit)?.0),
            "cap" => cap = Some(scaled(value, unit)?.0),
            _ => {
                let suggestion = suggest(key, &["xm", "alpha", "shift", "cap"]);
                return Err(format!("pareto has no \"{key}\": {suggestion}"));
            }
        }
    }
    let kind = amount(&format!("1 {unit}"))?.1;
    match (scale, shape, shift, cap) {
        (Some(scale), Some(shape), Some(shift), Some(cap)) => {
            Ok((Distribution::Pareto { scale, shape, shift, cap }, kind))
        }
        _ => Err(format!("xm, alpha or cap is missing: give all of them, such as {example}")),
    }
}

fn parse_empirical(text: &str, dir: &Path) -> Result<(Distribution, Kind), String> {
    let (file, unit) = text
        .rsplit_once(char::is_whitespace)
        .ok_or("the file or its unit is missing: give both, such as \"empirical flows.txt B\"")?;
    let (scale, kind) = amount(&format!("1 {unit}"))?;
    let path = dir.join(file.trim());
    let failed = |what: &dyn fmt::Display| format!("cannot read {}: {what}", path.display());
    let length = std::fs::metadata(&path).map_err(|e| failed(&e))?.len();
    if length > MAX_FILE {
        return Err(failed(&format!("it is larger than {} MiB", MAX_FILE >> 20)));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| failed(&e))?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match line.parse::<f64>() {
            Ok(value) if (0.0..1e18).contains(&value) => values.push(value * scale),
            _ => {
                let problem = format!("line {}: \"{line}\" is no number from 0 up", number + 1);
                return Err(failed(&problem));
            }
        }
    }
    if values.is_empty() {
        return Err(failed(&"it holds no number"));
    }
    Ok((Distribution::Empirical(values), kind))
}

/// How much may wait at a link, as written: "1000 packets", "250 kB", "5 BDP" or "unlimited".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Buffer {
    Limit(Limit),
    /// So many times the product of the link's rate and the longest round trip across it.
    Bdp(f64),
}

impl Buffer {
    /// The limit for a link of `rate` whose longest round trip is `rtt`; a multiple of the product
    /// of both becomes packets of `packet`, rounded up, at least one.
    pub(super) fn limit(self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        match self {
            Buffer::Limit(limit) => limit,
            Buffer::Bdp(times) => Limit::Packets(rate.bandwidth_delay(rtt, times, packet)),
        }
    }
}

impl std::str::FromStr for Buffer {
    type Err = String;
    fn from_str(text: &str) -> Result<Buffer, String> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Buffer::Limit(Limit::Unlimited));
        }
        if let Some(Ok(times)) = text.strip_suffix("BDP").map(|n| n.trim_end().parse::<f64>())
            && times > 0.0
            && times < 1e6
        {
            return Ok(Buffer::Bdp(times));
        }
        match amount(text) {
            Ok((count, Kind::Packets)) => {
                Ok(Buffer::Limit(Limit::Packets(Packets::new(count as u64))))
            }
            Ok((count, Kind::Bytes)) => Ok(Buffer::Limit(Limit::Bytes(Bytes::new(count as u64)))),
            _ => Err(format!(
                "\"{text}\" is no buffer: give one such as \"1000 packets\", \"250 kB\", \"5 BDP\" \
                 or \"unlimited\", a number in {}, {}, BDP",
                Packets::UNITS.join(", "),
                Bytes::UNITS.join(", ")
            )),
        }
    }
}

/// A queue, as written: "codel", or "codel target=5ms,interval=50ms".
///
/// # Errors
/// What is wrong, with the nearest name where one is misspelt.
pub fn parse_queue(text: &str) -> Result<QueueKind, String> {
    text.parse().map_err(|error| tell_queue(&error))
}

/// What is wrong with a queue, with the nearest name where one is misspelt.
pub(super) fn tell_queue(error: &QueueError) -> String {
    match error {
        QueueError::UnknownDiscipline(name) => {
            let suggestion = suggest(name, QueueKind::NAMES);
            format!("there is no queue discipline \"{name}\": {suggestion}")
        }
        error => error.to_string(),
    }
}

impl std::str::FromStr for Pace {
    type Err = String;

    /// "event", or a span of time above zero.
    fn from_str(text: &str) -> Result<Pace, String> {
        match (text.trim(), text.parse::<Span>()) {
            ("event", _) => Ok(Pace::EachEvent),
            (_, Ok(span)) if !span.is_zero() => Ok(Pace::Every(span)),
            _ => Err(format!(
                "\"{text}\" is no pace: give \"event\", or a span such as \"10 ms\", in {}",
                Span::UNITS.join(", ")
            )),
        }
    }
}

/// Text that is parsed as it is read.
macro_rules! read_as_text {
    ($type:ty) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<$type, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
read_as_text!(Buffer);
read_as_text!(Pace);

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(text: &str) -> Distribution {
        parse_distribution(text, Path::new("")).expect(text).0
    }

    #[test]
    fn distributions_are_read_as_written() {
        assert_eq!(distribution("5 s"), Distribution::Fixed(5.0));
        assert_eq!(distribution("fixed 100 ms"), Distribution::Fixed(0.1));
        assert_eq!(distribution("exp 5 s"), Distribution::Exponential { mean: 5.0 });
        let uniform = Distribution::Uniform { low: 1.5, high: 2.0 };
        assert_eq!(distribution("uniform 1.5..2 s"), uniform);
        assert_eq!(distribution("uniform 1500 ms..2 s"), uniform);
        assert_eq!(
            distribution("pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B"),
            Distribution::Pareto { scale: 147.0, shape: 0.5, shift: -40.0, cap: 3.3e9 }
        );
    }

    #[test]
    fn files_of_numbers_are_read_from_where_the_scenario_is() {
        let dir = std::env::temp_dir().join(format!("exm-grammar-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        std::fs::write(dir.join("good.txt"), "# flow lengths\n1\n2.5 # two and a half\n\n")
            .and_then(|()| std::fs::write(dir.join("bad.txt"), "1\ntwo\n"))
            .and_then(|()| std::fs::write(dir.join("none.txt"), "# none\n"))
            .expect("can write");
        let read = |text| parse_distribution(text, &dir);
        let good = read("empirical good.txt kB").expect("is sound");
        assert_eq!(good, (Distribution::Empirical(vec![1000.0, 2500.0]), Kind::Bytes));
        assert!(read("empirical bad.txt B").unwrap_err().contains("line 2: \"two\" is no number"));
        assert!(read("empirical none.txt B").unwrap_err().contains("it holds no number"));
        std::fs::remove_dir_all(&dir).ok();
    }

    #[test]
    fn flows_last_times_or_amounts() {
        let on = |text| parse_on(text, Path::new("")).expect(text);
        assert_eq!((on("always"), on("ever")), (OnFor::Ever, OnFor::Ever));
        assert_eq!(on("exp 5 s"), OnFor::Time(Distribution::Exponential { mean: 5.0 }));
        assert_eq!(on("fixed 15 kB"), OnFor::Bytes(Distribution::Fixed(15_000.0)));
        assert_eq!(on("20 packets"), OnFor::Packets(Distribution::Fixed(20.0)));
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_a_remedy() {
        for (text, part) in [
            ("", "is no distribution: give one of"),
            ("5", "\"5\" is neither a time nor an amount"),
            ("expo 5 s", "\"expo\" is no distribution: did you mean \"exp\"?"),
            ("exp five s", "\"five s\" is neither"),
            ("exp -5 s", "\"-5 s\" is neither"),
            ("uniform 2..1 s", "is no range: give one such as"),
            ("uniform 1 s", "is no range: give one such as"),
            ("pareto xm=1 alpha=2 cap=3", "the unit is missing"),
            ("pareto xm=1 alpha=2 B", "xm, alpha or cap is missing"),
            ("pareto xn=1 B", "pareto has no \"xn\": did you mean \"xm\"?"),
            ("pareto xm=nan alpha=1 cap=1 B", "\"nan\" is no number"),
            ("empirical flows.txt", "the file or its unit is missing"),
            ("empirical no/such/file B", "cannot read no/such/file: "),
        ] {
            let error = parse_distribution(text, Path::new("")).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(parse_off("100 kB", Path::new("")).unwrap_err().contains("is no time"));
    }

    #[test]
    fn buffers_are_read_as_written() {
        let limit = |text: &str| {
            let buffer = text.parse::<Buffer>().expect(text);
            buffer.limit(Rate::from_mbps(15.0), Span::from_millis(150), Bytes::new(1500))
        };
        assert_eq!(limit("unlimited"), Limit::Unlimited);
        assert_eq!(limit("1000 packets"), Limit::Packets(Packets::new(1000)));
        assert_eq!(limit("250 kB"), Limit::Bytes(Bytes::new(250_000)));
        assert_eq!(limit("1 BDP"), Limit::Packets(Packets::new(188)), "187.5, rounded up");
        for bad in ["", "10", "5 ms", "-1 BDP", "nan BDP", "0 BDP"] {
            assert!(bad.parse::<Buffer>().unwrap_err().contains("is no buffer"), "{bad}");
        }
    }
}
