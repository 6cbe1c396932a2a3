//! When senders have something to send, as a model writes it: [`Amounts`], a list of single ones, or
//! "always" (formerly "ever").

use super::error::Problem;
use super::section::{Section, Value, elements, parsed};
use exm_grammar::{Amounts, Unit};
use exm_random::Distribution;
use exm_sim::traffic::{OnFor, OnOff};
use exm_units::{Bytes, Span};
use std::fmt;
use std::path::Path;

const ON: &str = "\"exponential 5 s\"";
const OFF: &str = "\"exponential 5 s\"";

/// The largest number drawn, in seconds or packets: thirty years keep sums from overflowing.
const LARGEST: f64 = 1e9;

/// The shortest mean time of a flow, in seconds, which is the clock's tick: of shorter ones nothing would be sent.
const SHORTEST: f64 = 1e-9;

/// Flows that start together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bursts {
    /// All senders start a flow at each multiple of this,
    pub(crate) every: Span,
    /// each up to so much later.
    pub(crate) spread: Span,
}

/// Reads the section; amounts of data become packets of `packet`. Of flows that start together, what the
/// process has for its times off is their period.
pub(super) fn read(
    section: Section<'_>,
    packet: Bytes,
) -> Result<(OnOff, Option<Bursts>), Problem> {
    let on = section.need("on", ON)?;
    let off = section.get("off");
    let bursts = read_bursts(section)?;
    let always = |text: &str| Ok(matches!(text.trim(), "always" | "ever"));
    if elements(on).len() == 1 && parsed(elements(on)[0], "", always).unwrap_or(false) {
        return match off.map(|_| "off").or(bursts.map(|_| "every")) {
            None => Ok((OnOff { on: OnFor::Always, off: Distribution::Fixed(0.0) }, None)),
            Some(key) => {
                let what = format!("a sender that is always on is never off: take \"{key}\" away");
                Err(section.problem(key, what))
            }
        };
    }
    let Amounts { distribution, unit } = amounts(on, packet, section.dir())?;
    let (least, text) = match unit {
        Unit::Seconds => (SHORTEST, "a nanosecond or more"),
        Unit::Packets | Unit::Bytes => (f64::MIN_POSITIVE, "more than zero"),
    };
    if distribution.mean() < least {
        let what = format!("a flow must last: give {text}");
        return Err(Problem::at(on.span().start, what));
    }
    let on = match unit {
        Unit::Seconds => OnFor::Time(distribution),
        Unit::Packets | Unit::Bytes => OnFor::Packets(distribution),
    };
    if let Some(Bursts { every, .. }) = bursts {
        return Ok((OnOff { on, off: Distribution::Fixed(every.as_secs_f64()) }, bursts));
    }
    let off = section.need("off", OFF)?;
    match amounts(off, packet, section.dir())? {
        Amounts { distribution, unit: Unit::Seconds } => {
            Ok((OnOff { on, off: distribution }, None))
        }
        _ => {
            let what =
                format!("the time between flows is no amount of data: give one such as {OFF}");
            Err(Problem::at(off.span().start, what))
        }
    }
}

/// When flows start together, if they do.
fn read_bursts(section: Section<'_>) -> Result<Option<Bursts>, Problem> {
    let time = |key| {
        let wanted = "a time: give one such as \"500 ms\"";
        let read = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        section.get(key).map(|value| parsed(value, wanted, read)).transpose()
    };
    match (time("every")?, time("spread")?) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let what = "flows do not start together: add \"every\", the time between their starts";
            Err(section.problem("spread", what))
        }
        (Some(_), _) if section.get("off").is_some() => {
            let what = "flows start after \"off\" or \"every\" so often: give one of the two";
            Err(section.problem("every", what))
        }
        (Some(every), spread)
            if every.is_zero() || spread.is_some_and(|spread| spread >= every) =>
        {
            let what = "flows would start without end: let \"every\" be more than zero and than \"spread\"";
            Err(section.problem("every", what))
        }
        (Some(every), spread) => Ok(Some(Bursts { every, spread: spread.unwrap_or(Span::ZERO) })),
    }
}

/// A distribution, of bytes as packets of `packet`.
fn amounts(value: &Value<'_>, packet: Bytes, dir: &Path) -> Result<Amounts, Problem> {
    let values = elements(value);
    let amounts = match values.as_slice() {
        [only] if std::ptr::eq(*only, value) => {
            let wanted = format!("a distribution: give one such as {ON}");
            parsed(value, &wanted, |text| Ok(Amounts::parse(text, dir)?))?
        }
        _ => list(value, &values, packet)?,
    };
    let amounts = amounts.in_packets(packet);
    let largest = match &amounts.distribution {
        Distribution::Fixed(value) => *value,
        Distribution::Exponential { mean } => *mean,
        Distribution::Uniform { high, .. } => *high,
        Distribution::Pareto { scale, shift, cap, .. } => scale.max(*shift).max(*cap),
        Distribution::Empirical(values) => values.iter().copied().fold(0.0, f64::max),
        Distribution::Cdf(points) => points.last().map_or(0.0, |&(value, _)| value),
    };
    if largest <= LARGEST {
        return Ok(amounts);
    }
    let unit = amounts.unit;
    let what = format!("it is out of bounds: give a number from 0 to {LARGEST} {unit}");
    Err(Problem::at(value.span().start, what))
}

/// The listed ones, each as likely.
fn list(value: &Value<'_>, values: &[&Value<'_>], packet: Bytes) -> Result<Amounts, Problem> {
    let wanted = format!("a time or an amount: give one such as {ON}");
    let single = |value: &&Value<'_>| {
        let (value, unit) = parsed(value, &wanted, |text| Ok(Amounts::single(text)?))?;
        let one = Amounts { distribution: Distribution::Fixed(value), unit }.in_packets(packet);
        Ok((one.distribution.mean(), one.unit))
    };
    let singles = values.iter().map(single).collect::<Result<Vec<_>, Problem>>()?;
    let place = value.span().start;
    let Some(&(_, unit)) = singles.first() else {
        return Err(Problem::at(place, "an empty list leaves nothing to draw: name one at least"));
    };
    if singles.iter().any(|&(_, other)| other != unit) {
        let what = "times and amounts of data do not mix: list one or the other";
        return Err(Problem::at(place, what));
    }
    let values = singles.into_iter().map(|(value, _)| value).collect();
    Ok(Amounts { distribution: Distribution::Empirical(values), unit })
}

/// Writes the section as it is read.
pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    traffic: &OnOff,
    bursts: Option<Bursts>,
) -> fmt::Result {
    let Some(on) = traffic.on.amounts() else { return writeln!(f, "on = \"always\"") };
    if let Some(Bursts { every, spread }) = bursts {
        let on = Written(on);
        return writeln!(f, "on = {on}\nevery = \"{every}\"\nspread = \"{spread}\"");
    }
    let off = Amounts { distribution: traffic.off.clone(), unit: Unit::Seconds };
    writeln!(f, "on = {}\noff = {}", Written(on), Written(off))
}

/// A distribution as a file has it: text, or a list of texts.
struct Written(Amounts);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written(amounts) = self;
        let Distribution::Empirical(values) = &amounts.distribution else {
            return write!(f, "\"{amounts}\"");
        };
        let unit = amounts.unit;
        let values: Vec<_> = values.iter().map(|value| format!("\"{value} {unit}\"")).collect();
        write!(f, "[{}]", values.join(", "))
    }
}
