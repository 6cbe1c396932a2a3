//! The throughput-delay plot of the papers: up is more throughput, right is less delay, and the upper
//! right corner is best.

use super::axis::{Axis, Scale, extent, number};
use super::form::{Form, Plot, Value, csv};
use super::label::{Obstacles, Placed, SIZE, place, width};
use super::lines::HALO;
use super::panel::{EDGE, Heading, Panel, left_margin};
use super::style::{MARKER, Style};
use crate::stats::{Ellipse, efficient_frontier, median, quantile};
use crate::svg::{Anchor, Drawing, Frame};
use std::fmt::Write;

const HEIGHT: f64 = 380.0;
/// Delays below this, in ms, are drawn there: a logarithmic axis has no zero.
const LEAST_MS: f64 = 0.01;
/// The height of what names the lines below the axis.
const LEGEND: f64 = 24.0;
/// The line of the frame of the original's axes.
const ORIGINAL: &str = "stroke=\"#777\" stroke-width=\"1.5\" stroke-dasharray=\"2 4\"";
/// The lines of frontiers, where there are several.
const FRONTIERS: [&str; 3] = ["none", "7 4", "2 3"];

/// Throughput against delay: a point at the medians of each scheme, an ellipse or bars for how its runs
/// scatter, efficient frontiers, lines that join schemes of one curve, and an arrow to where schemes are
/// better.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputDelay {
    /// What it shows, in a few words.
    pub title: String,
    /// On which network; may be empty.
    pub subtitle: String,
    /// The description for screen readers, to which the medians are added.
    pub description: String,
    /// What throughput is in: "throughput, Mbps".
    pub y_axis: String,
    /// Which delay it is, in ms: "queueing delay".
    pub delay: String,
    /// How the scatter of a scheme's runs is shown.
    pub spread: Spread,
    /// The axes of the figure that this one reproduces, drawn as a dotted frame: the ends of its delay,
    /// ms, and of its throughput.
    pub original: Option<[[f64; 2]; 2]>,
    /// The schemes. Those to which nothing was ever delivered are left out.
    pub schemes: Vec<Scheme>,
    /// Thousands of others, each a dot without a name, with the efficient frontier of them all.
    pub cloud: Vec<Run>,
}

/// How the scatter of runs is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// By the ellipse of so many standard deviations of the most likely Gaussian of throughput and the
    /// logarithm of delay, around the medians, as in the papers: for many runs on one network.
    Ellipse(f64),
    /// By bars from the lower to the upper quartile: for networks that differ.
    Quartiles,
    /// Not at all: for a single run.
    None,
}

/// What one scheme got.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// What stands beside its point.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// The names of the efficient frontiers that it takes part in. Each is a line through those of its
    /// schemes that no other of them beats on both axes.
    pub frontiers: Vec<String>,
    /// What it shares with the schemes that a line joins it with, in their order: one scheme at
    /// several settings.
    pub curve: Option<String>,
    /// Its runs, or its senders in all runs.
    pub runs: Vec<Run>,
    /// What it is the mean of, such as designs with different seeds: dots around its point.
    pub dots: Vec<Run>,
}

/// What was got in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The delay, ms; `None` if nothing was delivered.
    pub delay_ms: Option<f64>,
    /// The throughput, in the unit of the axis.
    pub throughput: f64,
}

/// The lower quartile, median and upper quartile.
#[derive(Clone, Copy, Debug)]
struct Quartiles {
    low: f64,
    middle: f64,
    high: f64,
}

impl Quartiles {
    fn of(values: &[f64]) -> Option<Quartiles> {
        Some(Quartiles {
            low: quantile(values, 0.25)?,
            middle: median(values)?,
            high: quantile(values, 0.75)?,
        })
    }
}

/// A scheme as it is drawn.
struct Mark<'a> {
    scheme: &'a Scheme,
    delay: Quartiles,
    throughput: Quartiles,
    /// Delays and throughputs along its ellipse; none without one.
    outline: Vec<(f64, f64)>,
}

impl Mark<'_> {
    fn new(scheme: &Scheme, spread: Spread) -> Option<Mark<'_>> {
        let delays = scheme.runs.iter().filter_map(|run| run.delay_ms);
        let delays: Vec<f64> = delays.map(|ms| ms.max(LEAST_MS)).collect();
        let throughputs: Vec<f64> = scheme.runs.iter().map(|run| run.throughput).collect();
        let (delay, throughput) = (Quartiles::of(&delays)?, Quartiles::of(&throughputs)?);
        let pairs = scheme.runs.iter().filter_map(|run| Some((run.delay_ms?, run.throughput)));
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let outline = match spread {
            Spread::Ellipse(sigmas) => {
                // In the coordinates of the drawing, in which its centre is where the medians are.
                let drawn: Vec<(f64, f64)> =
                    pairs.iter().map(|&(ms, mbps)| (libm::log(ms.max(LEAST_MS)), mbps)).collect();
                let centre = (libm::log(delay.middle), throughput.middle);
                let ellipse = Ellipse::of(&drawn).map(|one| one.scaled(sigmas).moved_to(centre));
                ellipse.map_or(Vec::new(), |one| one.outline(96))
            }
            Spread::Quartiles | Spread::None => Vec::new(),
        };
        let outline = outline.into_iter().map(|(log_ms, mbps)| (libm::exp(log_ms), mbps.max(0.0)));
        Some(Mark { scheme, delay, throughput, outline: outline.collect() })
    }

    fn medians(&self) -> (f64, f64) {
        (self.delay.middle, self.throughput.middle)
    }

    fn delays(&self, spread: Spread) -> Vec<f64> {
        match spread {
            Spread::Quartiles => vec![self.delay.low, self.delay.high],
            Spread::Ellipse(_) | Spread::None => {
                self.outline.iter().map(|at| at.0).chain([self.delay.middle]).collect()
            }
        }
    }

    fn throughputs(&self, spread: Spread) -> Vec<f64> {
        match spread {
            Spread::Quartiles => vec![self.throughput.low, self.throughput.high],
            Spread::Ellipse(_) | Spread::None => {
                self.outline.iter().map(|at| at.1).chain([self.throughput.middle]).collect()
            }
        }
    }
}

impl Plot for ThroughputDelay {
    fn drawn(&self, form: Form) -> String {
        let marks = self.schemes.iter().filter_map(|scheme| Mark::new(scheme, self.spread));
        let marks: Vec<Mark<'_>> = marks.collect();
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let panel = self.panel(&marks, heading.bottom(), form);
        let frontiers = frontiers(&marks);
        let legend = self.legend(&frontiers, form);
        let below = legend.last().map_or(0.0, |last| LEGEND + last.1);
        let x_axis = format!("{}, ms (logarithmic, less to the right)", self.delay);
        let foot = panel.frame.bottom + panel.below(&x_axis);
        let mut drawing = Drawing::new(form.width(), foot + below + EDGE / 2.0);
        heading.draw(&mut drawing);
        panel.draw(&mut drawing, Some(&x_axis), &self.y_axis);
        let (arrow, at) = arrow_place(&panel, &marks);
        drawing.within(&panel.frame, |drawing| {
            self.original.iter().for_each(|axes| draw_original(drawing, &panel, axes));
            draw_arrow(drawing, at);
            draw_cloud(drawing, &panel, &self.cloud);
            if self.spread != Spread::None {
                marks.iter().for_each(|mark| draw_spread(drawing, &panel, mark));
            }
            draw_frontiers(drawing, &panel, &frontiers);
            curves(&marks).iter().for_each(|curve| draw_curve(drawing, &panel, curve));
        });
        panel.draw_frame(&mut drawing);
        for Mark { scheme, .. } in &marks {
            let dots = points_of(&scheme.dots).into_iter();
            dots.for_each(|dot| scheme.style.dot(&mut drawing, panel.at(dot)));
        }
        marks.iter().for_each(|mark| draw_point(&mut drawing, &panel, mark, &self.delay));
        draw_names(&mut drawing, &panel, &marks, (arrow, self.spread));
        for ((line, name), (x, y)) in self.legend_lines(&frontiers).into_iter().zip(legend) {
            let y = foot + 18.0 + y;
            drawing.line(&[(x, y - 4.5), (x + 30.0, y - 4.5)], line);
            drawing.text((x + 36.0, y), Anchor::Start, "", name);
        }
        drawing.finish(&self.title, &self.described(&marks))
    }

    fn csv(&self) -> String {
        let rows = self.schemes.iter().flat_map(|scheme| {
            scheme.runs.iter().map(|run| {
                let delay = run.delay_ms.unwrap_or(f64::NAN);
                [Value::Text(&scheme.name), Value::Number(delay), Value::Number(run.throughput)]
            })
        });
        let cloud = self.cloud.iter().map(|run| {
            let delay = run.delay_ms.unwrap_or(f64::NAN);
            [Value::Text(""), Value::Number(delay), Value::Number(run.throughput)]
        });
        let rows = rows.chain(cloud);
        csv(["scheme", &format!("{}, ms", self.delay), &self.y_axis], rows)
    }
}

impl ThroughputDelay {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }

    fn panel(&self, marks: &[Mark<'_>], top: f64, form: Form) -> Panel {
        let original = |axis: usize| self.original.into_iter().flat_map(move |axes| axes[axis]);
        let delays = marks.iter().flat_map(|mark| mark.delays(self.spread));
        let mut cloud = points_of(&self.cloud);
        cloud.extend(marks.iter().flat_map(|mark| points_of(&mark.scheme.dots)));
        let delays = extent(delays.chain(original(0)).chain(cloud.iter().map(|at| at.0)));
        let throughputs = marks.iter().flat_map(|mark| mark.throughputs(self.spread));
        let throughputs = extent(throughputs.chain(original(1)).chain(cloud.iter().map(|at| at.1)));
        // Some room for names above and below.
        let roomy = throughputs.map(|(low, high)| {
            let room = ((high - low) * 0.06).max(high.abs() * 0.02);
            ((low - room).max(low.min(0.0)), high + room)
        });
        let y = Axis::around(Scale::Linear, roomy);
        let x = Axis::around(Scale::ReversedLog, delays);
        let left = left_margin(&y, &self.y_axis, HEIGHT);
        let frame = Frame { left, right: form.width() - EDGE, top, bottom: top + HEIGHT };
        Panel { form, frame, x, y }
    }

    /// What the lines are, where there is more than one frontier, or a frame: how each looks, and its name.
    fn legend_lines<'a>(&self, frontiers: &'a [Frontier]) -> Vec<(&'a str, &'a str)> {
        if frontiers.len() < 2 && self.original.is_none() {
            return Vec::new();
        }
        let frontiers = frontiers.iter();
        let lines = frontiers.map(|one| (one.line.as_str(), one.name.as_str()));
        lines.chain(self.original.map(|_| (ORIGINAL, "the paper's axes"))).collect()
    }

    /// Where each entry of the legend is: from the left, and below the first row.
    fn legend(&self, frontiers: &[Frontier], form: Form) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (EDGE + 28.0, 0.0);
        let place = |(_, name): (&str, &str)| {
            let length = 36.0 + width(name, SIZE);
            if form == Form::Narrow && x > EDGE + 28.0 && x + length > form.width() {
                (x, y) = (EDGE + 28.0, y + 20.0);
            }
            let at = (x, y);
            x += length + 20.0;
            at
        };
        self.legend_lines(frontiers).into_iter().map(place).collect()
    }

    /// The description, and the medians in words.
    fn described(&self, marks: &[Mark<'_>]) -> String {
        let mut text = self.description.clone();
        for mark in marks {
            let (delay, throughput) = mark.medians();
            let space = if text.is_empty() { "" } else { " " };
            let (name, y_axis, which) = (&mark.scheme.name, &self.y_axis, &self.delay);
            let (delay, throughput) = (number(delay), number(throughput));
            write!(text, "{space}{name}: {y_axis} {throughput}, {which} {delay} ms.")
                .expect("memory takes it");
        }
        text
    }
}

/// The ellipse or the bars of a scheme.
fn draw_spread(drawing: &mut Drawing, panel: &Panel, mark: &Mark<'_>) {
    let style = mark.scheme.style;
    if !mark.outline.is_empty() {
        let outline: Vec<(f64, f64)> = mark.outline.iter().map(|&at| panel.at(at)).collect();
        drawing.shape(&outline, &format!("{} {}", style.area(0.1), style.stroke(1.5)));
        return;
    }
    for bar in bars(panel, mark) {
        drawing.line(&bar, &style.stroke(2.0));
    }
}

/// The bars between the quartiles of a scheme.
fn bars(panel: &Panel, mark: &Mark<'_>) -> [[(f64, f64); 2]; 2] {
    let ((x, y), Mark { delay, throughput, .. }) = (panel.at(mark.medians()), mark);
    [
        [(panel.x_at(delay.high), y), (panel.x_at(delay.low), y)],
        [(x, panel.y_at(throughput.low)), (x, panel.y_at(throughput.high))],
    ]
}

/// Points on the way from one to another, closer together than a label is high, so that none fits between them.
fn along(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    const APART: f64 = 4.0;
    let steps = (libm::hypot(to.0 - from.0, to.1 - from.1) / APART).ceil().max(1.0);
    (0..=steps as u32).map(move |step| {
        let part = f64::from(step) / steps;
        (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
    })
}

/// An efficient frontier as it is drawn.
struct Frontier {
    name: String,
    /// The attributes of its line.
    line: String,
    /// The medians that it runs through.
    medians: Vec<(f64, f64)>,
}

/// The frontiers of more than one scheme, in the order in which schemes name them.
fn frontiers(marks: &[Mark<'_>]) -> Vec<Frontier> {
    let mut names: Vec<&String> = Vec::new();
    for name in marks.iter().flat_map(|mark| &mark.scheme.frontiers) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let frontier = |(index, name): (usize, &String)| {
        let own = marks.iter().filter(|mark| mark.scheme.frontiers.contains(name));
        let own: Vec<(f64, f64)> = own.map(Mark::medians).collect();
        let medians = efficient_frontier(&own).into_iter().map(|index| own[index]).collect();
        let dashes = match FRONTIERS[index % FRONTIERS.len()] {
            "none" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        let line = format!("stroke=\"#000\" stroke-width=\"1.5\" stroke-opacity=\"0.75\"{dashes}");
        Frontier { name: name.clone(), line, medians }
    };
    let all = names.into_iter().enumerate().map(frontier);
    all.filter(|frontier| frontier.medians.len() > 1).collect()
}

/// Delays and throughputs of the runs to which something was delivered.
fn points_of(runs: &[Run]) -> Vec<(f64, f64)> {
    let points = runs.iter().filter_map(|run| Some((run.delay_ms?, run.throughput)));
    points.map(|(ms, throughput)| (ms.max(LEAST_MS), throughput)).collect()
}

/// A dot for each run, and the frontier of all.
fn draw_cloud(drawing: &mut Drawing, panel: &Panel, cloud: &[Run]) {
    let points = points_of(cloud);
    for &point in &points {
        drawing.circle(panel.at(point), 1.6, "fill=\"#777\" fill-opacity=\"0.45\"");
    }
    let frontier = efficient_frontier(&points).into_iter().map(|index| panel.at(points[index]));
    let frontier: Vec<(f64, f64)> = frontier.collect();
    if frontier.len() > 1 {
        let line = "stroke=\"#000\" stroke-width=\"1.5\" stroke-opacity=\"0.75\"";
        drawing.with_tooltip("empirical frontier", |drawing| drawing.line(&frontier, line));
    }
}

fn draw_frontiers(drawing: &mut Drawing, panel: &Panel, frontiers: &[Frontier]) {
    for Frontier { name, line, medians } in frontiers {
        let points: Vec<(f64, f64)> = medians.iter().map(|&medians| panel.at(medians)).collect();
        drawing.with_tooltip(name, |drawing| drawing.line(&points, line));
    }
}

/// The frame of the axes of the figure that this one reproduces.
fn draw_original(drawing: &mut Drawing, panel: &Panel, [delays, throughputs]: &[[f64; 2]; 2]) {
    let corners = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)];
    let frame = corners.map(|(x, y)| panel.at((delays[x], throughputs[y])));
    drawing.with_tooltip("axes of the paper's figure", |drawing| drawing.line(&frame, ORIGINAL));
}

/// The marks of each curve of more than one.
fn curves<'a>(marks: &'a [Mark<'a>]) -> Vec<Vec<&'a Mark<'a>>> {
    let mut curves: Vec<(&str, Vec<&Mark<'_>>)> = Vec::new();
    for mark in marks {
        let Some(name) = mark.scheme.curve.as_deref() else { continue };
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) => own.push(mark),
            None => curves.push((name, vec![mark])),
        }
    }
    curves.into_iter().map(|(_, own)| own).filter(|own| own.len() > 1).collect()
}

/// Where a curve passes in the drawing.
fn course(panel: &Panel, curve: &[&Mark<'_>]) -> Vec<(f64, f64)> {
    curve.iter().map(|mark| panel.at(mark.medians())).collect()
}

fn draw_curve(drawing: &mut Drawing, panel: &Panel, curve: &[&Mark<'_>]) {
    let name = curve[0].scheme.curve.as_deref().unwrap_or_default();
    let stroke = curve[0].scheme.style.stroke(2.0);
    drawing.with_tooltip(name, |drawing| drawing.line(&course(panel, curve), &stroke));
}

fn draw_point(drawing: &mut Drawing, panel: &Panel, mark: &Mark<'_>, which: &str) {
    let Mark { scheme, delay, throughput, .. } = mark;
    let between = |q: &Quartiles| {
        format!("{} (quartiles {} to {})", number(q.middle), number(q.low), number(q.high))
    };
    let tooltip = format!(
        "{}\nthroughput {}\n{which} {} ms\n{} runs",
        scheme.name,
        between(throughput),
        between(delay),
        scheme.runs.len()
    );
    drawing.with_tooltip(&tooltip, |drawing| {
        scheme.style.marker(drawing, panel.at(mark.medians()), 1.3);
    });
}

fn draw_names(
    drawing: &mut Drawing,
    panel: &Panel,
    marks: &[Mark<'_>],
    (arrow, spread): (Frame, Spread),
) {
    let reach = MARKER * 1.3 + 2.0;
    let around = |(x, y): (f64, f64)| Frame { left: x, right: x, top: y, bottom: y }.grown(reach);
    let points: Vec<(f64, f64)> = marks.iter().map(|mark| panel.at(mark.medians())).collect();
    let mut boxes: Vec<Frame> = points.iter().map(|&point| around(point)).collect();
    boxes.push(arrow);
    let mut soft: Vec<(f64, f64)> =
        marks.iter().flat_map(|mark| mark.outline.iter().map(|&at| panel.at(at))).collect();
    for Frontier { medians, .. } in frontiers(marks) {
        let line: Vec<(f64, f64)> = medians.into_iter().map(|at| panel.at(at)).collect();
        soft.extend(line.windows(2).flat_map(|pair| along(pair[0], pair[1])));
    }
    for curve in curves(marks) {
        let line = course(panel, &curve);
        soft.extend(line.windows(2).flat_map(|pair| along(pair[0], pair[1])));
    }
    for mark in marks.iter().filter(|_| spread == Spread::Quartiles) {
        soft.extend(bars(panel, mark).into_iter().flat_map(|[from, to]| along(from, to)));
    }
    let obstacles = Obstacles { frame: panel.frame, boxes, points: soft };
    let labels: Vec<((f64, f64), &str)> =
        points.iter().zip(marks).map(|(&point, mark)| (point, mark.scheme.name.as_str())).collect();
    let placed: Vec<Placed> = place(&labels, &obstacles);
    for ((mark, point), place) in marks.iter().zip(points).zip(placed) {
        if let Some(leader) = place.leader(point) {
            drawing.line(&leader, "stroke=\"#777\" stroke-width=\"0.8\"");
        }
        let style = format!("font-weight=\"bold\" fill=\"{}\" {HALO}", mark.scheme.style.ink());
        drawing.text(place.at, place.anchor, &style, &mark.scheme.name);
    }
}

/// Where the arrow to better schemes has most room, and what it covers there.
fn arrow_place(panel: &Panel, marks: &[Mark<'_>]) -> (Frame, (f64, f64)) {
    let Frame { left, right, top, bottom } = panel.frame;
    let places = [
        (right - 60.0, top + 50.0),
        (left + 60.0, bottom - 50.0),
        (left + 60.0, top + 50.0),
        (right - 60.0, bottom - 50.0),
    ];
    let taken: Vec<(f64, f64)> = marks
        .iter()
        .flat_map(|mark| mark.outline.iter().copied().chain([mark.medians()]))
        .map(|at| panel.at(at))
        .collect();
    let room = |&(x, y): &(f64, f64)| {
        let gaps = taken.iter().map(|at| (x - at.0).abs().max((y - at.1).abs()));
        gaps.fold(f64::INFINITY, f64::min)
    };
    let best = places.iter().rev().max_by(|a, b| room(a).total_cmp(&room(b)));
    let &(x, y) = best.expect("a frame has corners");
    (Frame { left: x - 36.0, right: x + 40.0, top: y - 28.0, bottom: y + 32.0 }, (x, y))
}

/// An arrow to the upper right.
fn draw_arrow(drawing: &mut Drawing, (x, y): (f64, f64)) {
    let (tail, tip) = ((x - 28.0, y + 20.0), (x + 28.0, y - 20.0));
    let shaft = [tail, (tip.0 - 8.0, tip.1 + 5.7)];
    drawing.line(&shaft, "stroke=\"#999\" stroke-width=\"4\"");
    let head = [tip, (tip.0 - 17.0, tip.1 + 2.5), (tip.0 - 8.0, tip.1 + 14.5)];
    drawing.shape(&head, "fill=\"#999\"");
    let style = "fill=\"#555\" font-style=\"italic\"";
    drawing.text((x + 12.0, y + 24.0), Anchor::Middle, style, "better");
}
