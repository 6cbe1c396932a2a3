//! [`Sweep`]: a key of the scenario that takes several values in turn.

use crate::edit::{Change, What};
use crate::file::{SweepTable, place};
use crate::metric::{self, Metric};
use exm_grammar::{FileError, Offset, suggest};
use toml::{Spanned, Value};

/// The most values.
const MAX_POINTS: u64 = 1000;

/// A key of the scenario that takes several values in turn.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is swept, with its unit: "link rate, Mbps".
    pub title: String,
    /// Whether its axis is logarithmic.
    pub is_log: bool,
    /// The metric drawn over it.
    pub y: Metric,
    /// Whether the axis of that is logarithmic.
    pub is_log_in_y: bool,
    /// The values, in the order of the file.
    pub points: Vec<Point>,
}

/// One value of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// The value as written; empty without a sweep.
    pub label: String,
    /// The value as a number, in the unit of the first; the index of the point if it is not a
    /// number.
    pub x: f64,
    pub(crate) changes: Vec<Change>,
}

impl Sweep {
    /// Parses a sweep; `fail` makes an error from a place and a problem.
    pub(crate) fn read(
        table: SweepTable,
        fail: &dyn Fn(Offset, String) -> FileError,
    ) -> Result<Sweep, FileError> {
        let at = place(&table.key);
        let is_log_in_x = is_log(table.scale.as_ref(), fail)?;
        let is_log_in_y = is_log(table.y_scale.as_ref(), fail)?;
        let values: Vec<(Value, Offset)> = match (&table.values, &table.from, &table.to) {
            (Some(values), None, None) => {
                values.as_ref().iter().map(|value| (value.as_ref().clone(), place(value))).collect()
            }
            (None, Some(from), Some(to)) => {
                let count = table.points.as_ref().map_or(10, |points| *points.as_ref());
                let texts = between(from.as_ref(), to.as_ref(), count, is_log_in_x)
                    .map_err(|problem| fail(place(from), problem))?;
                texts.into_iter().map(|text| (Value::String(text), place(from))).collect()
            }
            _ => {
                let problem =
                    "a sweep needs values = [...], or from and to with a number of points";
                return Err(fail(at, problem.to_owned()));
            }
        };
        if values.is_empty() || values.len() as u64 > MAX_POINTS {
            let problem =
                format!("{} values cannot be swept: give 1 to {MAX_POINTS}", values.len());
            return Err(fail(table.values.as_ref().map_or(at, place), problem));
        }
        let y = table.y.map_or_else(|| Ok("objective".to_owned()), |name| y(&name, fail))?;
        let key = table.key.into_inner();
        let (points, unit) = points(&key, values);
        let title = table.title.unwrap_or_else(|| match unit.as_str() {
            "" => key,
            unit => format!("{key}, {unit}"),
        });
        let y = Metric::named(&y).expect("was looked up");
        Ok(Sweep { title, is_log: is_log_in_x, y, is_log_in_y, points })
    }
}

/// Whether an axis of this scale is logarithmic.
fn is_log(
    scale: Option<&Spanned<String>>,
    fail: &dyn Fn(Offset, String) -> FileError,
) -> Result<bool, FileError> {
    let Some(scale) = scale else { return Ok(false) };
    match scale.as_ref().as_str() {
        "linear" => Ok(false),
        "log" => Ok(true),
        other => {
            let suggestion = suggest(other, &["linear", "log"]);
            Err(fail(place(scale), format!("there is no scale \"{other}\": {suggestion}")))
        }
    }
}

fn y(
    name: &Spanned<String>,
    fail: &dyn Fn(Offset, String) -> FileError,
) -> Result<String, FileError> {
    let text = name.as_ref();
    if Metric::named(text).is_some() {
        return Ok(text.clone());
    }
    let problem =
        format!("nothing called \"{text}\" is measured: {}", suggest(text, &metric::keys()));
    Err(fail(place(name), problem))
}

/// The points of `values`, and their unit.
fn points(key: &str, values: Vec<(Value, Offset)>) -> (Vec<Point>, String) {
    let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let quantities: Option<Vec<(f64, String)>> =
        values.iter().map(|(value, _)| quantity(&label(value))).collect();
    let unit = quantities.as_ref().and_then(|all| all.first()).map(|first| first.1.clone());
    // Values of different units are only numbered.
    let same = |all: &Vec<(f64, String)>| all.iter().all(|(_, own)| Some(own) == unit.as_ref());
    let numbers = quantities.filter(same);
    let unit = if numbers.is_some() { unit.unwrap_or_default() } else { String::new() };
    let points = values.into_iter().enumerate().map(|(index, (value, place))| Point {
        label: label(&value),
        x: numbers.as_ref().map_or(index as f64 + 1.0, |numbers| numbers[index].0),
        changes: vec![Change { what: What::Key(key.to_owned(), value), place }],
    });
    (points.collect(), unit)
}

/// The number and the unit of the first quantity in `text`, such as that of "exp 200 ms".
fn quantity(text: &str) -> Option<(f64, String)> {
    let start = text.find(|c: char| c.is_ascii_digit() || c == '.')?;
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, rest[end..].trim().to_owned()))
}

/// The ends of "4.7..47 Mbps" or "15 Mbps".
pub(crate) fn range(text: &str) -> Result<(f64, f64), String> {
    let problem = || format!("\"{text}\" is no range: give one such as \"4.7..47 Mbps\"");
    let Some((low, high)) = text.split_once("..") else {
        let (value, _) = quantity(text).ok_or_else(problem)?;
        return Ok((value, value));
    };
    let ends = low.trim().parse().ok().zip(quantity(high).map(|(high, _)| high));
    ends.filter(|(low, high)| low <= high).ok_or_else(problem)
}

/// `count` quantities from `from` to `to`, evenly spaced on their axis, with four digits each.
fn between(from: &str, to: &str, count: u64, is_log: bool) -> Result<Vec<String>, String> {
    let both = quantity(from).zip(quantity(to));
    let Some(((low, unit), (high, own))) = both.filter(|((_, a), (_, b))| a == b) else {
        return Err(format!("\"{from}\" and \"{to}\" are no quantities of the same unit"));
    };
    debug_assert_eq!(unit, own);
    if !(2..=MAX_POINTS).contains(&count) {
        return Err(format!("{count} points cannot be swept: give 2 to {MAX_POINTS}"));
    }
    if low >= high || (is_log && low <= 0.0) {
        return Err(format!("\"{from}\" is not below \"{to}\", or has no logarithm"));
    }
    let value = |index: u64| {
        let part = index as f64 / (count - 1) as f64;
        if is_log {
            libm::exp(libm::log(low) + part * (libm::log(high) - libm::log(low)))
        } else {
            low + part * (high - low)
        }
    };
    let rounded = |value: f64| {
        let digits = 3 - libm::floor(libm::log10(value.abs().max(1e-300))) as i32;
        let decimals = usize::try_from(digits.max(0)).unwrap_or(0);
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        format!("{text} {unit}").trim().to_owned()
    };
    Ok((0..count).map(|index| rounded(value(index))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_found_in_values() {
        assert_eq!(quantity("4.7 Mbps"), Some((4.7, "Mbps".to_owned())));
        assert_eq!(quantity("exp 200 ms"), Some((200.0, "ms".to_owned())));
        assert_eq!(quantity("8"), Some((8.0, String::new())));
        assert_eq!(quantity("ever"), None);
        assert_eq!(range("4.7..47 Mbps"), Ok((4.7, 47.0)));
        assert_eq!(range("15 Mbps"), Ok((15.0, 15.0)));
        assert!(range("47..4.7 Mbps").unwrap_err().contains("is no range"));
    }

    #[test]
    fn points_are_evenly_spaced_on_their_axis() {
        let points = |from, to, count, is_log| between(from, to, count, is_log);
        assert_eq!(points("1 ms", "3 ms", 3, false).unwrap(), ["1 ms", "2 ms", "3 ms"]);
        assert_eq!(
            points("4.7 Mbps", "47 Mbps", 3, true).unwrap(),
            ["4.7 Mbps", "14.86 Mbps", "47 Mbps"]
        );
        assert!(points("1 ms", "3 s", 3, false).is_err());
        assert!(points("3 ms", "1 ms", 3, false).is_err());
        assert!(points("0 ms", "1 ms", 3, true).is_err());
        assert!(points("0 ms", "1 ms", 1, false).is_err());
    }

    #[test]
    fn values_of_several_units_are_counted() {
        let (points, unit) = points("k", vec![("1 MB".into(), None), ("100 kB".into(), None)]);
        assert_eq!((points[1].x, unit.as_str()), (2.0, ""));
        assert_eq!(points[1].label, "100 kB");
    }
}
