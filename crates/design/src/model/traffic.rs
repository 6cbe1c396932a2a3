//! When senders have something to send, as a model writes it.
//!
//! ```text
//! 5 s                                        always this, as "fixed 5 s"
//! exponential 5 s                            exponential of this mean; "exp" for short
//! uniform 1..5 s                             uniform between two values
//! pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B    Pareto, moved by shift, at most cap
//! ["100 kB", "1 MB"]                         one of these, each as likely
//! always                                     from the first moment to the last ("ever" too)
//! ```
//! with a unit of time, of data or "packets".

use super::choice::unit;
use super::error::Problem;
use super::section::{Section, Value, elements, parsed};
use exm_random::Distribution;
use exm_sim::scenario::suggest;
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Bytes, Packets, Span};
use std::fmt;

const ON: &str = "\"exponential 5 s\"";
const OFF: &str = "\"exponential 5 s\"";
const WORDS: [&str; 6] = ["exponential", "exp", "fixed", "uniform", "pareto", "always"];

/// The largest number drawn, in seconds or packets: thirty years keep sums from overflowing.
const LARGEST: f64 = 1e9;

/// What the numbers of a distribution count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Seconds,
    Packets,
}

/// Reads the section; amounts of data become packets of `packet`.
pub(super) fn read(section: Section<'_>, packet: Bytes) -> Result<OnOff, Problem> {
    let on = section.need("on", ON)?;
    let off = section.get("off");
    let ever = |text: &str| Ok(matches!(text.trim(), "always" | "ever"));
    if elements(on).len() == 1 && parsed(elements(on)[0], "", ever).unwrap_or(false) {
        return match off {
            None => Ok(OnOff { on: OnFor::Ever, off: Distribution::Fixed(0.0) }),
            Some(off) => Err(Problem::at(
                off.span().start,
                "a sender that is always on is never off: take \"off\" away",
            )),
        };
    }
    let (distribution, kind) = distribution(on, packet)?;
    if mean(&distribution) <= 0.0 {
        let what = "a flow must last: give more than zero";
        return Err(Problem::at(on.span().start, what));
    }
    let on = match kind {
        Kind::Seconds => OnFor::Time(distribution),
        Kind::Packets => OnFor::Packets(distribution),
    };
    let off = section.need("off", OFF)?;
    match self::distribution(off, packet)? {
        (distribution, Kind::Seconds) => Ok(OnOff { on, off: distribution }),
        (_, Kind::Packets) => {
            let what =
                format!("the time between flows is no amount of data: give one such as {OFF}");
            Err(Problem::at(off.span().start, what))
        }
    }
}

fn distribution(value: &Value<'_>, packet: Bytes) -> Result<(Distribution, Kind), Problem> {
    let wanted = format!("a distribution: give one such as {ON}");
    let values = elements(value);
    if matches!(values.as_slice(), [only] if std::ptr::eq(*only, value)) {
        return parsed(value, &wanted, |text| parse(text, packet));
    }
    let amounts = values
        .iter()
        .map(|value| parsed(value, &wanted, |text| amount(text, packet)))
        .collect::<Result<Vec<_>, _>>()?;
    let place = value.span().start;
    let Some(&(_, kind)) = amounts.first() else {
        return Err(Problem::at(place, "an empty list leaves nothing to draw: name one at least"));
    };
    if amounts.iter().any(|&(_, other)| other != kind) {
        let what = "times and amounts of data do not mix: list one or the other";
        return Err(Problem::at(place, what));
    }
    Ok((Distribution::Empirical(amounts.into_iter().map(|(value, _)| value).collect()), kind))
}

fn parse(text: &str, packet: Bytes) -> Result<(Distribution, Kind), String> {
    let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    match word {
        "fixed" => amount(rest, packet).map(|(value, kind)| (Distribution::Fixed(value), kind)),
        "exp" | "exponential" => {
            let (mean, kind) = amount(rest, packet)?;
            if mean <= 0.0 {
                return Err(format!("the mean of \"{text}\" is zero: give more than zero"));
            }
            Ok((Distribution::Exponential { mean }, kind))
        }
        "uniform" => uniform(rest.trim(), packet),
        "pareto" => pareto(rest, packet),
        _ if word.starts_with(|c: char| c.is_alphabetic()) => {
            Err(format!("\"{word}\" is no distribution: {}", suggest(word, &WORDS)))
        }
        _ => amount(text, packet).map(|(value, kind)| (Distribution::Fixed(value), kind)),
    }
}

/// "NUMBER UNIT" in seconds or packets.
fn amount(text: &str, packet: Bytes) -> Result<(f64, Kind), String> {
    let text = text.trim();
    let unit = unit(text);
    let number = text.strip_suffix(unit).unwrap_or(text).trim();
    let (scale, parts, kind) = scale(unit, packet).ok_or_else(|| {
        format!(
            "\"{text}\" is neither a time nor an amount of data: give one such as \"5 s\", \
             \"100 kB\" or \"20 packets\", a number and one of {}, {}, packet, packets",
            Span::UNITS.join(", "),
            Bytes::UNITS.join(", ")
        )
    })?;
    let value = number.parse::<f64>().map_err(|_| format!("\"{number}\" is no number"))?;
    let value = value * scale / parts;
    if (0.0..=LARGEST).contains(&value) {
        Ok((value, kind))
    } else {
        Err(format!("\"{text}\" is out of bounds: give a number from 0 to {LARGEST} {kind}"))
    }
}

/// What a number of `unit` is to be multiplied and divided by to become seconds or packets.
fn scale(unit: &str, packet: Bytes) -> Option<(f64, f64, Kind)> {
    let one = format!("1 {unit}");
    if let Ok(span) = one.parse::<Span>() {
        return Some((span.as_nanos() as f64, 1e9, Kind::Seconds));
    }
    if let Ok(bytes) = one.parse::<Bytes>() {
        return Some((bytes.get() as f64, packet.get() as f64, Kind::Packets));
    }
    one.parse::<Packets>().ok().map(|_| (1.0, 1.0, Kind::Packets))
}

fn uniform(text: &str, packet: Bytes) -> Result<(Distribution, Kind), String> {
    let problem = || format!("\"{text}\" is no range: give one such as \"uniform 1..5 s\"");
    let (low, high) = text.split_once("..").ok_or_else(problem)?;
    let low = if unit(low).is_empty() { format!("{low} {}", unit(high)) } else { low.to_owned() };
    let (low, low_kind) = amount(&low, packet)?;
    let (high, kind) = amount(high, packet)?;
    if low_kind != kind {
        return Err(problem());
    }
    if low > high {
        return Err(format!("\"{text}\" runs backwards: give the lower end first"));
    }
    Ok((Distribution::Uniform { low, high }, kind))
}

fn pareto(text: &str, packet: Bytes) -> Result<(Distribution, Kind), String> {
    let example = "\"pareto xm=147 alpha=0.5 shift=-40 cap=3.3e9 B\"";
    let (settings, unit) = text
        .trim()
        .rsplit_once(char::is_whitespace)
        .filter(|(_, unit)| !unit.contains('='))
        .ok_or_else(|| format!("the unit is missing: give all of it, such as {example}"))?;
    let (multiply, divide, kind) =
        scale(unit, packet).ok_or_else(|| format!("\"{unit}\" is no unit: give \"s\" or \"B\""))?;
    let (mut xm, mut alpha, mut shift, mut cap) = (f64::NAN, f64::NAN, 0.0, f64::NAN);
    for setting in settings.split_whitespace() {
        let (key, number) = setting
            .split_once('=')
            .ok_or_else(|| format!("\"{setting}\" is no setting: give all as in {example}"))?;
        let value = number.parse::<f64>().map_err(|_| format!("\"{number}\" is no number"))?;
        let scaled = value * multiply / divide;
        match key {
            "xm" => xm = scaled,
            "alpha" => alpha = value,
            "shift" => shift = scaled,
            "cap" => cap = scaled,
            _ => {
                let suggestion = suggest(key, &["xm", "alpha", "shift", "cap"]);
                return Err(format!("pareto has no \"{key}\": {suggestion}"));
            }
        }
    }
    for (name, value, most) in [("xm", xm, LARGEST), ("alpha", alpha, 1e3), ("cap", cap, LARGEST)] {
        if value.is_nan() {
            return Err(format!("\"{name}\" is missing: give all, such as {example}"));
        }
        if value <= 0.0 || value > most {
            return Err(format!(
                "\"{name}\" is out of bounds: give a number above 0, at most {most}"
            ));
        }
    }
    if !(xm + shift > 0.0 && shift <= LARGEST) {
        return Err("what is drawn must be above zero: let xm + shift be".to_owned());
    }
    Ok((Distribution::Pareto { scale: xm, shape: alpha, shift, cap }, kind))
}

/// The mean of a distribution, of a Pareto one as well: what `cap` cuts off counts as `cap`.
pub(crate) fn mean(distribution: &Distribution) -> f64 {
    mean_below(distribution, f64::INFINITY)
}

/// The mean of a distribution where all that is above `most` counts as `most`.
pub(super) fn mean_below(distribution: &Distribution, most: f64) -> f64 {
    match distribution {
        Distribution::Fixed(value) => value.min(most),
        Distribution::Exponential { mean } => -mean * libm::expm1(-most / mean),
        Distribution::Uniform { low, high } if *high <= most => 0.5 * (low + high),
        Distribution::Uniform { low, .. } if most <= *low => most,
        Distribution::Uniform { low, high } => {
            let below = (most - low) / (high - low);
            below * 0.5 * (low + most) + (1.0 - below) * most
        }
        Distribution::Empirical(values) => {
            values.iter().map(|value| value.min(most)).sum::<f64>() / values.len() as f64
        }
        Distribution::Pareto { scale, shape, shift, cap } => {
            // The least value plus the integral of the chance to exceed x, up to the cap.
            let cap = cap.min(most);
            let ratio = ((cap - shift) / scale).max(0.0);
            if ratio <= 1.0 {
                return cap;
            }
            let tail = if *shape == 1.0 {
                libm::log(ratio)
            } else {
                (libm::pow(ratio, 1.0 - shape) - 1.0) / (1.0 - shape)
            };
            shift + scale * (1.0 + tail)
        }
    }
}

/// Writes the section as it is read.
pub(super) fn write(f: &mut fmt::Formatter<'_>, traffic: &OnOff) -> fmt::Result {
    let (distribution, unit) = match &traffic.on {
        OnFor::Ever => return writeln!(f, "on = \"always\""),
        OnFor::Time(distribution) => (distribution, "s"),
        OnFor::Packets(distribution) => (distribution, "packets"),
        OnFor::Bytes(distribution) => (distribution, "B"),
    };
    writeln!(f, "on = {}", Written(distribution, unit))?;
    writeln!(f, "off = {}", Written(&traffic.off, "s"))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Seconds => "s",
            Kind::Packets => "packets",
        })
    }
}

/// A distribution as a file has it, with its unit.
struct Written<'a>(&'a Distribution, &'static str);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written(distribution, unit) = self;
        match distribution {
            Distribution::Fixed(value) => write!(f, "\"fixed {value} {unit}\""),
            Distribution::Exponential { mean } => write!(f, "\"exponential {mean} {unit}\""),
            Distribution::Uniform { low, high } => write!(f, "\"uniform {low}..{high} {unit}\""),
            Distribution::Pareto { scale, shape, shift, cap } => {
                write!(f, "\"pareto xm={scale} alpha={shape} shift={shift} cap={cap} {unit}\"")
            }
            Distribution::Empirical(values) => {
                let values: Vec<_> =
                    values.iter().map(|value| format!("\"{value} {unit}\"")).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}
