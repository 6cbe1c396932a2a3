//! Pictures of designs: score against CPU time.

use super::log::{HeldOutLine, Record};
use crate::shell::Failure;
use exm_measure::figure::{Band, BandPoint, Scale, Style, Sweep};
use exm_measure::median;
use exm_store::counted;
use std::path::Path;

/// The style of the omniscient bound: black in every picture.
const OMNISCIENT: Style = Style::nth(3);

/// A log, and what it is called in a picture.
pub(super) struct Design {
    name: String,
    record: Record,
}

/// How several designs are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Several {
    /// A line for each.
    Lines,
    /// Their median, and the range from the lowest to the highest.
    Median,
}

impl Design {
    /// Reads the logs in the files at `paths`.
    pub(super) fn load(paths: &[&Path]) -> Result<Vec<Design>, Failure> {
        let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
        let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let design = |(path, name): (&&Path, &String)| {
            let name = if is_unique(name) { name.clone() } else { path.display().to_string() };
            Ok(Design { name, record: Record::load(path)? })
        };
        paths.iter().zip(&names).map(design).collect()
    }

    fn end_s(&self) -> f64 {
        self.record.steps.last().map_or(0.0, |step| step.cpu_seconds)
    }

    /// The best score so far at the CPU times at which a score was logged: of those judged, or of all steps.
    fn best(&self, scores: Scores) -> Vec<(f64, f64)> {
        let mut best = f64::NEG_INFINITY;
        let points = self.record.steps.iter().filter_map(|step| {
            best = best.max(scores.of(step.score, step.judged)?);
            Some((step.cpu_seconds, best))
        });
        let mut points: Vec<(f64, f64)> = points.collect();
        if let Some(&(time, best)) = points.last()
            && time < self.end_s()
        {
            points.push((self.end_s(), best));
        }
        points
    }

    /// In words.
    fn described(&self) -> String {
        let (first, steps) = (&self.record.steps[0], self.record.steps.len());
        let mut text = format!(
            "{}: {}, the first with score {:.3}",
            self.name,
            counted(steps as u64, "step", "steps"),
            first.score
        );
        if let Some(held_out) = &self.record.held_out {
            text += &format!("; held-out score {:.3}", held_out.held_out);
        }
        text + "."
    }
}

/// What a log's file is called without the endings that exm design gives it.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".log.jsonl").unwrap_or(&name);
    let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".dna"));
    stem.unwrap_or(name).to_owned()
}

/// By which scores designs are drawn: the same for all of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scores {
    /// Of the tables that a stage of the search ended with, on networks by which no candidate was chosen.
    Judged,
    /// Of every step: where some design has judged no table yet, or never does.
    Steps,
}

impl Scores {
    fn common(designs: &[Design]) -> Scores {
        let judges = |design: &Design| design.record.steps.iter().any(|step| step.judged.is_some());
        if designs.iter().all(judges) { Scores::Judged } else { Scores::Steps }
    }

    fn of(self, score: f64, judged: Option<f64>) -> Option<f64> {
        match self {
            Scores::Judged => judged,
            Scores::Steps => Some(score),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scores::Judged => "best so far",
            Scores::Steps => "best step so far",
        }
    }
}

/// The unit of CPU time, and how many seconds it has.
fn unit(designs: &[Design]) -> (&'static str, f64) {
    match longest(designs) {
        end if end >= 7200.0 => ("h", 3600.0),
        end if end >= 600.0 => ("min", 60.0),
        _ => ("s", 1.0),
    }
}

fn longest(designs: &[Design]) -> f64 {
    designs.iter().map(Design::end_s).fold(0.0, f64::max)
}

/// Score against CPU time, as an SVG file.
pub(super) fn svg(designs: &[Design], several: Several) -> String {
    figure(designs, several).svg()
}

/// Score against CPU time: one design with each of its steps, or several as they are to be drawn. There is at
/// least one.
pub(super) fn figure(designs: &[Design], several: Several) -> Sweep {
    let scores = Scores::common(designs);
    let (unit, seconds) = unit(designs);
    let (mut lines, subtitle) = match (designs, several) {
        ([design], _) => one(design, scores),
        (_, Several::Lines) => each(designs, scores),
        (_, Several::Median) => summary(designs, scores),
    };
    lines.extend(omniscient(designs));
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        point.x /= seconds;
    }
    let described: Vec<String> = designs.iter().map(Design::described).collect();
    Sweep {
        title: "Score against CPU time".to_owned(),
        subtitle,
        description: described.join(" "),
        x_axis: format!("CPU time of all threads, {unit}"),
        x_scale: Scale::Linear,
        y_axis: "score, points".to_owned(),
        y_scale: Scale::Linear,
        lines,
        areas: Vec::new(),
        ranges: Vec::new(),
    }
}

/// The lines of a single design, and the subtitle.
fn one(design: &Design, scores: Scores) -> (Vec<Band>, String) {
    let steps = design.record.steps.iter().map(|step| (step.cpu_seconds, step.score));
    let mut lines = vec![
        line("single steps", Style::BACKGROUND, steps),
        line(scores.name(), Style::nth(0), design.best(scores)),
    ];
    let mut subtitle = format!(
        "{}: {}; grey: each step\'s candidates, on new networks each time",
        design.name,
        subtitle_of(scores)
    );
    if let Some(held_out) = &design.record.held_out {
        let (low, high) = held_out.interval;
        let name = format!("held-out {}", spoken(held_out));
        let ends = [design.record.steps[0].cpu_seconds, design.end_s()];
        lines.push(level(&name, Style::nth(1), ends, (held_out.held_out, low, high)));
        subtitle += "; band: 95 % interval";
    }
    (lines, subtitle)
}

/// A line for each of several designs.
fn each(designs: &[Design], scores: Scores) -> (Vec<Band>, String) {
    let one = |(index, design): (usize, &Design)| {
        let name = match &design.record.held_out {
            Some(held_out) => format!("{}: {}", design.name, spoken(held_out)),
            None => design.name.clone(),
        };
        // The style of the omniscient bound is no design's.
        let style = Style::nth(if index < 3 { index } else { index + 1 });
        line(&name, style, design.best(scores))
    };
    let lines = designs.iter().enumerate().map(one).collect();
    (lines, format!("{}; after names: held-out scores", subtitle_of(scores)))
}

/// The median of several designs in the range of all, and the same of their held-out scores.
fn summary(designs: &[Design], scores: Scores) -> (Vec<Band>, String) {
    let count = designs.len();
    let best: Vec<Vec<(f64, f64)>> = designs.iter().map(|design| design.best(scores)).collect();
    let points = spread_over_time(&best);
    let name = format!("{}, median", scores.name());
    let mut lines = vec![Band { name, style: Style::nth(0), points, dots: Vec::new() }];
    let held_out: Option<Vec<f64>> =
        designs.iter().map(|design| Some(design.record.held_out?.held_out)).collect();
    if let Some((middle, low, high)) = held_out.and_then(|scores| spread(&scores)) {
        let name = format!("held-out, median {middle:.3}");
        lines.push(level(&name, Style::nth(1), ends_of(designs), (middle, low, high)));
    }
    let text = format!("{count} designs: {}; bands: lowest to highest", subtitle_of(scores));
    (lines, text)
}

fn subtitle_of(scores: Scores) -> &'static str {
    match scores {
        Scores::Judged => "best table so far, on networks no candidate was chosen by",
        Scores::Steps => "best step so far, on the networks of the search",
    }
}

/// The bound that omniscient senders set, where it is the same for all.
fn omniscient(designs: &[Design]) -> Option<Band> {
    let known: Option<Vec<f64>> =
        designs.iter().map(|design| Some(design.record.held_out?.omniscient)).collect();
    let known = known?;
    let &first = known.first()?;
    let name = format!("omniscient {first:.3}");
    let is_common = known.iter().all(|&score| score == first);
    is_common.then(|| level(&name, OMNISCIENT, ends_of(designs), (first, first, first)))
}

/// From where to where levels are drawn.
fn ends_of(designs: &[Design]) -> [f64; 2] {
    let starts = designs.iter().map(|design| design.record.steps[0].cpu_seconds);
    [starts.fold(f64::INFINITY, f64::min), longest(designs)]
}

/// "-0.792 ±0.115".
fn spoken(held_out: &HeldOutLine) -> String {
    format!("{:.3} ±{:.3}", held_out.held_out, held_out.interval.1 - held_out.held_out)
}

fn line(name: &str, style: Style, points: impl IntoIterator<Item = (f64, f64)>) -> Band {
    let points = points.into_iter().map(|(x, y)| BandPoint { x, y, low: y, high: y });
    Band { name: name.to_owned(), style, points: points.collect(), dots: Vec::new() }
}

/// A value with its interval, at all times.
fn level(name: &str, style: Style, ends: [f64; 2], (y, low, high): (f64, f64, f64)) -> Band {
    let points = ends.map(|x| BandPoint { x, y, low, high });
    Band { name: name.to_owned(), style, points: points.to_vec(), dots: Vec::new() }
}

/// The median, the minimum and the maximum; `None` if there are no values.
pub(super) fn spread(values: &[f64]) -> Option<(f64, f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((median(values)?, low, high))
}

/// The median and the range of `lines` at every time of one of them, from when all have begun. One that has
/// ended keeps its last value.
fn spread_over_time(lines: &[Vec<(f64, f64)>]) -> Vec<BandPoint> {
    let starts = lines.iter().filter_map(|line| Some(line.first()?.0));
    let start = starts.fold(f64::NEG_INFINITY, f64::max);
    let mut times: Vec<f64> = lines.iter().flatten().map(|point| point.0).collect();
    times.retain(|&time| time >= start);
    times.sort_by(f64::total_cmp);
    times.dedup();
    let point = |x: f64| {
        let value = |line: &Vec<(f64, f64)>| {
            let after = line.partition_point(|point| point.0 <= x);
            Some(line.get(after.checked_sub(1)?)?.1)
        };
        let values: Vec<f64> = lines.iter().filter_map(value).collect();
        spread(&values).map(|(y, low, high)| BandPoint { x, y, low, high })
    };
    times.into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_those_of_tables() {
        let names = ["runs/cc.json.log.jsonl", "a.dna.log.jsonl", "my.jsonl", "x.log.jsonl"];
        assert_eq!(names.map(|name| name_of(Path::new(name))), ["cc", "a", "my.jsonl", "x"]);
    }

    #[test]
    fn a_spread_by_hand() {
        let lines = [vec![(1.0, 1.0), (3.0, 5.0)], vec![(2.0, 2.0), (4.0, 3.0)]];
        let points = spread_over_time(&lines).into_iter().map(|p| (p.x, p.y, p.low, p.high));
        let expected = [(2.0, 1.5, 1.0, 2.0), (3.0, 3.5, 2.0, 5.0), (4.0, 4.0, 3.0, 5.0)];
        assert_eq!(points.collect::<Vec<_>>(), expected);
        assert!(spread_over_time(&[]).is_empty());
    }

    proptest! {
        /// The best so far never falls, and neither do the median and the ends of several.
        #[test]
        fn the_median_of_the_best_never_falls(
            scores in prop::collection::vec(prop::collection::vec(-9.0..9.0, 1..20), 1..6)
        ) {
            let design = |(number, scores): (usize, &Vec<f64>)| {
                let line = |(step, score): (usize, &f64)| {
                    let time = (step + 1) as f64 + number as f64 / 10.0;
                    format!("{{\"step\":{step},\"cpu_seconds\":{time},\"score\":{score}}}\n")
                };
                let text: String = scores.iter().enumerate().map(line).collect();
                let record = Record::parse(&text).expect("a log");
                Design { name: number.to_string(), record }
            };
            let designs: Vec<Design> = scores.iter().enumerate().map(design).collect();
            let best: Vec<_> = designs.iter().map(|design| design.best(Scores::Steps)).collect();
            let points = spread_over_time(&best);
            for pair in points.windows(2) {
                prop_assert!(pair[0].x < pair[1].x && pair[0].y <= pair[1].y);
                prop_assert!(pair[0].low <= pair[1].low && pair[0].high <= pair[1].high);
            }
            prop_assert!(points.iter().all(|p| p.low <= p.y && p.y <= p.high));
            prop_assert_eq!(points.last().map(|p| p.x), Some(longest(&designs)));
        }
    }
}
