//! Lines in a panel, each with a label at its end.

use super::axis::{Axis, extent, number};
use super::form::{Form, Value};
use super::label::{SIZE, spread, width};
use super::panel::{EDGE, MUTED, Panel};
use super::style::Style;
use crate::svg::{Anchor, Drawing, Frame};

/// A named line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What stands at its end.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Its points, x and y, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// Something that happened at a time: another flow started or stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, in the unit of the axis.
    pub time: f64,
    /// What.
    pub label: String,
}

/// A line as it is drawn: with an area about it, and steps if it is one of a distribution.
pub(super) struct Drawn<'a> {
    pub(super) name: &'a str,
    pub(super) style: Style,
    pub(super) points: &'a [(f64, f64)],
    /// The lower and the upper bound at each point.
    pub(super) band: Option<Vec<(f64, f64)>>,
}

impl<'a> From<&'a Curve> for Drawn<'a> {
    fn from(line: &'a Curve) -> Drawn<'a> {
        Drawn { name: &line.name, style: line.style, points: &line.points, band: None }
    }
}

/// The least and the greatest x of `lines`, then y.
pub(super) fn extents<'a>(lines: impl IntoIterator<Item = &'a Curve>) -> [Option<(f64, f64)>; 2] {
    let points = lines.into_iter().flat_map(|line| line.points.iter().copied());
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.unzip();
    [extent(xs.into_iter()), extent(ys.into_iter())]
}

/// `range` made to hold zero.
pub(super) fn from_zero(range: Option<(f64, f64)>) -> Option<(f64, f64)> {
    range.map(|(low, high)| (low.min(0.0), high.max(0.0)))
}

/// Where a panel ends at the right, so that these names have room beside it, or below it in a narrow figure.
pub(super) fn right_margin<'a>(names: impl Iterator<Item = &'a str>, form: Form) -> f64 {
    let widest = names.map(|name| width(name, SIZE)).fold(0.0, f64::max);
    match form {
        Form::Wide => (form.width() - EDGE - widest - 45.0).max(form.width() / 2.0),
        Form::Narrow => form.width() - EDGE,
    }
}

/// The points of `lines` as rows of a CSV file, name, x and y.
pub(super) fn rows<'a>(lines: impl IntoIterator<Item = &'a Curve>) -> Vec<[Value<'a>; 3]> {
    let row = |line: &'a Curve, &(x, y): &(f64, f64)| {
        [Value::Text(&line.name), Value::Number(x), Value::Number(y)]
    };
    let rows = lines.into_iter().flat_map(|line| line.points.iter().map(move |at| row(line, at)));
    rows.collect()
}

/// Where the names of lines stand at the right of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Each beside the end of its line.
    AtEnds,
    /// One below the other: for lines that end at the same place.
    Listed,
}

/// Draws `lines` and their names.
pub(super) fn draw(drawing: &mut Drawing, panel: &Panel, lines: &[Drawn<'_>], names: Names) {
    drawing.within(&panel.frame, |drawing| {
        for line in lines {
            if let Some(band) = &line.band {
                draw_band(drawing, panel, line, band);
            }
        }
        for line in lines {
            draw_line(drawing, panel, line);
        }
    });
    panel.draw_frame(drawing);
    for (index, line) in lines.iter().enumerate() {
        draw_markers(drawing, panel, line, index as f64 / lines.len() as f64);
    }
    if panel.form == Form::Wide {
        draw_names(drawing, panel, lines, names);
    }
}

/// The names of lines below the panels of a narrow figure, which has no room beside them; empty in a wide one.
pub(super) struct Legend<'a> {
    entries: Vec<(&'a str, Style)>,
    form: Form,
}

impl<'a> Legend<'a> {
    /// The height of a row.
    const ROW: f64 = 20.0;

    /// Lines of the same name, in several panels, are named once.
    pub(super) fn new(lines: impl IntoIterator<Item = (&'a str, Style)>, form: Form) -> Legend<'a> {
        let mut entries: Vec<(&str, Style)> = Vec::new();
        for (name, style) in lines.into_iter().filter(|_| form == Form::Narrow) {
            if entries.iter().all(|entry| entry.0 != name) {
                entries.push((name, style));
            }
        }
        Legend { entries, form }
    }

    /// How much room it takes below the axis.
    pub(super) fn height(&self) -> f64 {
        let last = self.places().last().map(|place| place.1);
        last.map_or(0.0, |last| last + Legend::ROW)
    }

    /// Draws it from this height downwards.
    pub(super) fn draw(&self, drawing: &mut Drawing, top: f64) {
        for ((name, style), (x, row)) in self.entries.iter().zip(self.places()) {
            let y = top + row + 12.0;
            drawing.line(&[(x, y), (x + 32.0, y)], &style.stroke(2.0));
            style.marker(drawing, (x + 16.0, y), 0.8);
            let ink = format!("fill=\"{}\"", style.ink());
            drawing.text((x + 37.0, y + 4.5), Anchor::Start, &ink, name);
        }
    }

    /// Where each entry begins: from the left, and from the top of the legend.
    fn places(&self) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (EDGE, 0.0);
        let place = |(name, _): &(&str, Style)| {
            let length = 37.0 + width(name, SIZE);
            if x > EDGE && x + length > self.form.width() - EDGE / 2.0 {
                (x, y) = (EDGE, y + Legend::ROW);
            }
            let at = (x, y);
            x += length + 14.0;
            at
        };
        self.entries.iter().map(place).collect()
    }
}

fn draw_band(drawing: &mut Drawing, panel: &Panel, line: &Drawn<'_>, band: &[(f64, f64)]) {
    let bounded =
        || line.points.iter().zip(band).filter(|(_, (low, high))| !(low.is_nan() || high.is_nan()));
    let lower = bounded().map(|(point, bounds)| panel.at((point.0, bounds.0)));
    let mut outline: Vec<(f64, f64)> = lower.collect();
    outline.extend(bounded().rev().map(|(point, bounds)| panel.at((point.0, bounds.1))));
    drawing.shape(&outline, &line.style.area(0.16));
}

fn draw_line(drawing: &mut Drawing, panel: &Panel, line: &Drawn<'_>) {
    let points: Vec<(f64, f64)> = line.points.iter().map(|&point| panel.at(point)).collect();
    // A hole in the data is a hole in the line.
    for part in points.split(|point| !(point.0.is_finite() && point.1.is_finite())) {
        if part.len() > 1 {
            drawing.with_tooltip(line.name, |drawing| {
                drawing.line(&thinned(part), &line.style.stroke(2.0));
            });
        }
    }
}

/// `points` with at most four for each half pixel of width: the first, the last, the least and the
/// greatest there.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let column = |point: &(f64, f64)| (point.0 * 2.0).floor();
    let mut kept = Vec::new();
    for chunk in points.chunk_by(|a, b| column(a) == column(b)) {
        let height = |&index: &usize| chunk[index].1;
        let order = |a: &usize, b: &usize| height(a).total_cmp(&height(b));
        let extremes = [(0..chunk.len()).min_by(order), (0..chunk.len()).max_by(order)];
        let mut places = vec![0, chunk.len() - 1];
        places.extend(extremes.into_iter().flatten());
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|place| chunk[place]));
    }
    kept
}

/// Markers with the values: on every point where they are far apart, else about every 70 pixels,
/// shifted by a `part` of that so that lines that lie on each other show theirs in turn.
fn draw_markers(drawing: &mut Drawing, panel: &Panel, line: &Drawn<'_>, part: f64) {
    let spacing = match line.points.len() {
        0..=40 => 0.0,
        _ => 70.0,
    };
    let mut next = panel.frame.left + spacing * part;
    for (index, &(x, y)) in line.points.iter().enumerate() {
        let at = panel.at((x, y));
        if !at.1.is_finite() || !panel.frame.grown(0.5).contains(at) || at.0 < next {
            continue;
        }
        let bounds = line.band.as_ref().map(|band| band[index]);
        let bounds = bounds
            .map_or(String::new(), |(low, high)| format!(" ({} to {})", number(low), number(high)));
        let tooltip = format!("{}: {}, {}{bounds}", line.name, number(x), number(y));
        drawing.with_tooltip(&tooltip, |drawing| line.style.marker(drawing, at, 0.8));
        next = at.0 + spacing;
    }
}

/// The names, each with a piece of its line, and a thread to where the line ends.
fn draw_names(drawing: &mut Drawing, panel: &Panel, lines: &[Drawn<'_>], names: Names) {
    let Frame { right, top, bottom, .. } = panel.frame;
    let ends = lines.iter().map(|line| {
        let shown = |point: &&(f64, f64)| panel.frame.grown(1.0).contains(panel.at(**point));
        let last = line.points.iter().rev().find(shown);
        last.map_or((right, bottom), |&point| panel.at(point))
    });
    let ends: Vec<(f64, f64)> = ends.collect();
    let heights: Vec<f64> = match names {
        Names::AtEnds => ends.iter().map(|end| end.1).collect(),
        Names::Listed => (0..lines.len()).map(|index| top + 20.0 * index as f64).collect(),
    };
    let places = spread(&heights, SIZE + 5.0, (top + 6.0, bottom - 6.0));
    for ((line, (x, y)), place) in lines.iter().zip(ends).zip(places) {
        if names == Names::AtEnds {
            let thread = [(x, y), (right + 5.0, place)];
            drawing.line(&thread, "stroke=\"#999\" stroke-width=\"0.7\"");
        }
        let sample = [(right + 6.0, place), (right + 38.0, place)];
        drawing.line(&sample, &line.style.stroke(2.0));
        line.style.marker(drawing, (right + 22.0, place), 0.8);
        let ink = format!("fill=\"{}\"", line.style.ink());
        drawing.text((right + 43.0, place + 4.5), Anchor::Start, &ink, line.name);
    }
}

/// Events as they are drawn: upright lines, named in rows above the panel.
pub(super) struct Marks<'a>(Vec<Mark<'a>>);

struct Mark<'a> {
    label: &'a str,
    x: f64,
    /// Where the label begins and ends.
    from: f64,
    to: f64,
    /// How many rows of labels lie below its own.
    row: usize,
}

impl<'a> Marks<'a> {
    /// Those of `events` that lie on the axis `x` from `left` to `right`. The last comes lowest:
    /// then no line crosses a name.
    pub(super) fn new(
        events: &'a [Event],
        x: &Axis,
        (left, right): (f64, f64),
        form: Form,
    ) -> Marks<'a> {
        let mut marks: Vec<Mark<'a>> = Vec::new();
        let mut order: Vec<&Event> = events.iter().collect();
        order.sort_by(|a, b| b.time.total_cmp(&a.time));
        for event in order.into_iter().filter(|event| (x.low()..=x.high()).contains(&event.time)) {
            let x = left + (right - left) * x.part(event.time);
            let length = width(&event.label, SIZE);
            let from = (x + 4.0).min(form.width() - EDGE - length).max(4.0);
            let to = from + length;
            let is_free = |row: &usize| {
                marks.iter().all(|m| {
                    m.row != *row || m.from.min(m.x) - 8.0 > to || m.to + 8.0 < from.min(x)
                })
            };
            let row = (0..=marks.len()).find(is_free).unwrap_or(0);
            marks.push(Mark { label: &event.label, x, from, to, row });
        }
        Marks(marks)
    }

    /// How much room the names take above the panel.
    pub(super) fn height(&self) -> f64 {
        self.0.iter().map(|mark| mark.row + 1).max().map_or(0.0, |rows| 17.0 * rows as f64 + 2.0)
    }

    /// Draws the lines across `frame`, and the names if it `is_first` of the panels.
    pub(super) fn draw(&self, drawing: &mut Drawing, frame: &Frame, is_first: bool) {
        for mark in &self.0 {
            let baseline = frame.top - 6.0 - 17.0 * mark.row as f64;
            let top = if is_first { baseline - 10.0 } else { frame.top };
            let stroke = "stroke=\"#444\" stroke-width=\"1\" stroke-dasharray=\"4 3\"";
            drawing.line(&[(mark.x, frame.bottom), (mark.x, top)], stroke);
            if is_first {
                drawing.text((mark.from, baseline), Anchor::Start, MUTED, mark.label);
            }
        }
    }
}

/// The attributes of text that stays readable over lines.
pub(super) const HALO: &str =
    "stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let points: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i) / 1000.0, f64::from(i * 7919 % 10_007))).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= 84, "{}", kept.len());
        for extreme in [f64::min as fn(f64, f64) -> f64, f64::max] {
            let of = |points: &[(f64, f64)]| points.iter().map(|point| point.1).reduce(extreme);
            assert_eq!(of(&kept), of(&points));
        }
        assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
        assert_eq!(thinned(&[(0.0, 1.0)]), [(0.0, 1.0)]);
    }
}
