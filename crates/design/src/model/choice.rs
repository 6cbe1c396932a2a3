//! [`Choice`]: the possible values of a quantity of a model's networks.
//!
//! ```text
//! 15 Mbps                    exactly this
//! ["10 Mbps", "20 Mbps"]     one of these, each as likely
//! 10..20 Mbps                anything between, uniform
//! log 4.7..47 Mbps           anything between, uniform in its logarithm
//! 10..20 Mbps, 11 steps      one of 11 evenly spaced values, both ends included
//! log 1..100 Mbps, 3 steps   the same, evenly spaced in the logarithm: 1, 10 and 100 Mbps
//! ```

use super::error::Problem;
use super::section::{Value, elements, parsed};
use exm_grammar::suggest;
use exm_units::{Rate, Span};
use std::fmt;

/// The maximum number of steps of a range.
const MAX_STEPS: usize = 1_000_000;

/// The possible values of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Choice<T> {
    /// One of these, equally likely; never empty, and a single one is exact.
    List(Vec<T>),
    /// Anything between the two, uniform.
    Uniform(T, T),
    /// Anything between the two, uniform in its logarithm.
    LogUniform(T, T),
    /// One of evenly spaced, equally likely values.
    Steps(Steps<T>),
}

/// Evenly spaced values from one end to the other, both included; at least two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steps<T> {
    pub(super) low: T,
    pub(super) high: T,
    /// Whether their logarithms are evenly spaced.
    pub(super) is_log: bool,
    pub(super) count: usize,
}

impl<T: Quantity> Steps<T> {
    fn value(&self, index: usize) -> T {
        let (a, b) = (self.low.number(), self.high.number());
        let part = index as f64 / (self.count - 1) as f64;
        let number = if self.is_log { a * libm::pow(b / a, part) } else { a + part * (b - a) };
        let number = if self.low.is_whole() { number.round() } else { number };
        self.low.with(number.clamp(a, b))
    }
}

/// A quantity that can have a range.
pub(crate) trait Quantity: Copy + PartialEq + fmt::Display {
    /// As a number.
    fn number(self) -> f64;
    /// The quantity of the same kind whose number is `number`.
    fn with(self, number: f64) -> Self;
    /// Whether there are only whole numbers of its kind.
    fn is_whole(self) -> bool;
    /// Whether `other` is of the same kind, so that there is something between the two.
    fn is_like(self, _other: Self) -> bool {
        true
    }
}

impl Quantity for Rate {
    fn number(self) -> f64 {
        self.as_bps() as f64
    }
    fn with(self, number: f64) -> Rate {
        Rate::from_bps(number as u64)
    }
    fn is_whole(self) -> bool {
        true
    }
}

impl Quantity for Span {
    fn number(self) -> f64 {
        self.as_nanos() as f64
    }
    fn with(self, number: f64) -> Span {
        Span::from_nanos(number as u64)
    }
    fn is_whole(self) -> bool {
        true
    }
}

impl<T: Quantity> Choice<T> {
    /// The quantity at `quantile`, from 0 to 1: uniform quantiles give the quantity's distribution.
    pub(crate) fn at(&self, quantile: f64) -> T {
        match self {
            Choice::List(values) => {
                let index = (quantile * values.len() as f64) as usize;
                values[index.min(values.len() - 1)]
            }
            Choice::Steps(steps) => {
                let index = (quantile * steps.count as f64) as usize;
                steps.value(index.min(steps.count - 1))
            }
            Choice::Uniform(low, high) => between(*low, *high, |a, b| a + quantile * (b - a)),
            Choice::LogUniform(low, high) => between(*low, *high, |a, b| {
                let (a, b) = (libm::log(a), libm::log(b));
                libm::exp(a + quantile * (b - a))
            }),
        }
    }

    /// The number of possible values; `None` for a range without steps.
    pub(crate) fn count(&self) -> Option<usize> {
        match self {
            Choice::List(values) => Some(values.len()),
            Choice::Steps(steps) => Some(steps.count),
            Choice::Uniform(..) | Choice::LogUniform(..) => None,
        }
    }

    /// The minimum and maximum possible values.
    pub(crate) fn ends(&self) -> (T, T) {
        let all = self.extremes().into_iter();
        let less = |a: &T, b: &T| a.number().total_cmp(&b.number());
        all.clone().min_by(less).zip(all.max_by(less)).expect("a choice has a value")
    }

    /// All the values of a list, or the ends of a range.
    pub(crate) fn extremes(&self) -> Vec<T> {
        match self {
            Choice::List(values) => values.clone(),
            Choice::Uniform(low, high) | Choice::LogUniform(low, high) => vec![*low, *high],
            Choice::Steps(Steps { low, high, .. }) => vec![*low, *high],
        }
    }
}

/// The quantity that `pick` takes between `low` and `high`; each whole one owns an equal part.
fn between<T: Quantity>(low: T, high: T, pick: impl FnOnce(f64, f64) -> f64) -> T {
    let (a, b) = (low.number(), high.number());
    let picked = if low.is_whole() { pick(a, b + 1.0).floor() } else { pick(a, b) };
    low.with(picked.clamp(a, b))
}

/// How a quantity is written.
pub(super) struct Grammar<'a, T> {
    /// Such as "a rate".
    pub(super) what: &'static str,
    /// Such as "\"15 Mbps\"".
    pub(super) example: &'static str,
    /// Such as "10..20 Mbps".
    pub(super) range: &'static str,
    /// The units that a number may have; empty if it has none.
    pub(super) units: Vec<&'static str>,
    /// Parses a single value, already trimmed; `None` if it does not have the form.
    pub(super) parse: &'a dyn Fn(&str) -> Option<T>,
    /// Describes what is wrong with a value, if anything.
    pub(super) check: &'a dyn Fn(T) -> Result<(), String>,
}

impl<T: Quantity> Grammar<'_, T> {
    /// Parses the quantity's value in a file.
    pub(super) fn read(&self, value: &Value<'_>) -> Result<Choice<T>, Problem> {
        let wanted = format!("{}: {}", self.what, self.help());
        let place = value.span().start;
        let values = elements(value);
        match values.as_slice() {
            [] => {
                let what = "there is nothing to choose from in an empty list: name one at least";
                Err(Problem::at(place, what))
            }
            [only] if std::ptr::eq(*only, value) => parsed(value, &wanted, |text| self.text(text)),
            _ => {
                let single = |value: &&Value<'_>| parsed(value, &wanted, |text| self.listed(text));
                values.iter().map(single).collect::<Result<_, _>>().map(Choice::List)
            }
        }
    }

    fn help(&self) -> String {
        let text =
            format!("give one such as {}, or a range such as \"{}\"", self.example, self.range);
        match &self.units[..] {
            [] => text,
            units => format!("{text}, in {}", units.join(", ")),
        }
    }

    fn listed(&self, text: &str) -> Result<T, String> {
        if text.contains("..") {
            let what = "a list names single values";
            return Err(format!("\"{text}\" is a range, and {what}: give the range alone"));
        }
        self.single(text)
    }

    fn single(&self, text: &str) -> Result<T, String> {
        let value = (self.parse)(text.trim())
            .ok_or_else(|| format!("\"{text}\" is not {}: {}", self.what, self.help()))?;
        (self.check)(value).map(|()| value)
    }

    /// A single value or a range, with steps or without.
    fn text(&self, text: &str) -> Result<Choice<T>, String> {
        let Some((range, steps)) = text.split_once(',') else { return self.unstepped(text) };
        let (low, high, is_log) = match self.unstepped(range)? {
            Choice::Uniform(low, high) => (low, high, false),
            Choice::LogUniform(low, high) => (low, high, true),
            _ => {
                let example = self.range;
                return Err(format!(
                    "\"{range}\" has no steps: give both ends, such as \"{example}, 100 steps\""
                ));
            }
        };
        let count = steps.trim().strip_suffix("steps").and_then(|n| n.trim_end().parse().ok());
        let Some(count @ 2..=MAX_STEPS) = count else {
            return Err(format!(
                "\"{}\" is no number of steps: give 2 to {MAX_STEPS}, such as \"100 steps\"",
                steps.trim()
            ));
        };
        let room = high.number() - low.number();
        if low.is_whole() && room < (count - 1) as f64 {
            return Err(format!("\"{range}\" has fewer than {count} values: give fewer steps"));
        }
        Ok(Choice::Steps(Steps { low, high, is_log, count }))
    }

    fn unstepped(&self, text: &str) -> Result<Choice<T>, String> {
        let (word, ends) = match text.trim().split_once(char::is_whitespace) {
            Some((word, ends)) if word.starts_with(char::is_alphabetic) => (word, ends.trim()),
            _ => ("", text.trim()),
        };
        match (word, ends.split_once("..")) {
            ("" | "uniform", Some((low, high))) => {
                self.range(ends, low, high).map(|(low, high)| Choice::Uniform(low, high))
            }
            ("log", Some((low, high))) => {
                let (low, high) = self.range(ends, low, high)?;
                if low.number() <= 0.0 {
                    return Err(format!(
                        "\"{text}\" starts at zero, which has no logarithm: start above it"
                    ));
                }
                Ok(Choice::LogUniform(low, high))
            }
            ("log" | "uniform", None) => {
                Err(format!("\"{text}\" has one end: give both, such as \"{word} {}\"", self.range))
            }
            (_, None) => self.single(text).map(|value| Choice::List(vec![value])),
            _ => Err(format!(
                "\"{word}\" is no way to draw {}: {}",
                self.what,
                suggest(word, &["uniform", "log"])
            )),
        }
    }

    /// The ends of a range; the lower may leave its unit to the upper.
    fn range(&self, text: &str, low: &str, high: &str) -> Result<(T, T), String> {
        let (low, high) = (low.trim(), high.trim());
        if low.is_empty() || high.is_empty() {
            let example = self.range;
            return Err(format!("\"{text}\" lacks an end: give both, such as \"{example}\""));
        }
        let (high_unit, low_unit) = (unit(high), unit(low));
        let low = if low_unit.is_empty() { format!("{low} {high_unit}") } else { low.to_owned() };
        let (low, high) = (self.single(&low)?, self.single(high)?);
        if !low.is_like(high) || !high.number().is_finite() {
            return Err(format!("there is nothing between \"{low}\" and \"{high}\": list them"));
        }
        if low.number() > high.number() {
            return Err(format!("\"{text}\" runs backwards: give the lower end first"));
        }
        Ok((low, high))
    }
}

/// What follows the number in `text`.
pub(super) fn unit(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-._eE".contains(c)).trim()
}
