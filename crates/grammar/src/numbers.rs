//! Distributions given by their numbers: in a file, or by points of the cumulative distribution function.

use crate::error::GrammarError;
use crate::scale::{MOST, Scale, Unit, number};
use exm_random::Distribution;
use std::fmt;
use std::path::Path;

/// The largest file of numbers that is accepted.
const MAX_FILE: u64 = 64 << 20;

/// A value and its cumulative probability, if it has one.
type Point = (f64, Option<f64>);

/// "1:0,10:0.9,1000:1 kB".
pub(crate) fn cdf(text: &str) -> Result<(Distribution, Unit), GrammarError> {
    let example = "such as \"cdf 1:0,10:0.9,1000:1 kB\"";
    let last = text.rsplit_once(char::is_whitespace);
    let (points, scale) = last
        .and_then(|(points, unit)| Some((points, Scale::of(unit)?)))
        .ok_or_else(|| GrammarError::new(format!("the unit is missing: give all, {example}")))?;
    let read = |text: &str| match text.split_once(':') {
        Some((value, probability)) => {
            Ok((scale.apply(number(value.trim())?), Some(number(probability.trim())?)))
        }
        None => Ok((number(text)?, None)),
    };
    let points: Vec<&str> = points.split(',').map(str::trim).collect();
    let read: Vec<Point> = points.iter().map(|text| read(text)).collect::<Result<_, _>>()?;
    if let Some(bare) = read.iter().position(|(_, probability)| probability.is_none()) {
        let problem =
            format!("\"{}\" has no cumulative probability: give all, {example}", points[bare]);
        return Err(GrammarError::new(problem));
    }
    let distribution = distribution(read);
    distribution.check().map_err(GrammarError::new)?;
    Ok((distribution, scale.unit))
}

/// "FILE UNIT", the file's path relative to `dir`.
pub(crate) fn empirical(text: &str, dir: &Path) -> Result<(Distribution, Unit), GrammarError> {
    let missing = "the file or its unit is missing: give both, such as \"empirical flows.txt B\"";
    let (file, unit) =
        text.rsplit_once(char::is_whitespace).ok_or_else(|| GrammarError::new(missing))?;
    let scale = Scale::of(unit).ok_or_else(|| GrammarError::new(missing))?;
    let path = dir.join(file.trim());
    let failed = |what: &dyn fmt::Display| {
        GrammarError::new(format!("cannot read {}: {what}", path.display()))
    };
    let length = std::fs::metadata(&path).map_err(|e| failed(&e))?.len();
    if length > MAX_FILE {
        return Err(failed(&format!("it is larger than {} MiB", MAX_FILE >> 20)));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| failed(&e))?;
    let points = lines(&text, scale).map_err(|problem| failed(&problem))?;
    if points.is_empty() {
        return Err(failed(&"it holds no number"));
    }
    let distribution = distribution(points);
    distribution.check().map_err(|problem| failed(&problem))?;
    Ok((distribution, scale.unit))
}

/// The points of the lines of `text`, all with a cumulative probability or none.
fn lines(text: &str, scale: Scale) -> Result<Vec<Point>, String> {
    let mut points: Vec<Point> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = index + 1;
        let no_number = || format!("line {at}: \"{line}\" is no number from 0 up");
        let mut numbers = line.split([',', ' ', '\t']).filter(|text| !text.is_empty());
        let mut next = || numbers.next().map(str::parse::<f64>).transpose();
        let (value, probability) =
            next().and_then(|value| Ok((value, next()?))).map_err(|_| no_number())?;
        let value = value.filter(|value| (0.0..MOST).contains(value)).ok_or_else(no_number)?;
        if numbers.next().is_some() {
            return Err(format!("line {at}: \"{line}\" has more than a value and its probability"));
        }
        if points.first().is_some_and(|(_, first)| first.is_some() != probability.is_some()) {
            return Err(format!(
                "line {at}: \"{line}\" has no cumulative probability, or others have none: give it \
                 on all lines or on none"
            ));
        }
        points.push((scale.apply(value), probability));
    }
    Ok(points)
}

/// A list of equally likely values, or of points of the cumulative distribution function.
fn distribution(points: Vec<Point>) -> Distribution {
    let pairs: Option<Vec<(f64, f64)>> = points.iter().map(|&(x, p)| Some((x, p?))).collect();
    match pairs {
        Some(points) => Distribution::Cdf(points),
        None => Distribution::Empirical(points.into_iter().map(|(value, _)| value).collect()),
    }
}
