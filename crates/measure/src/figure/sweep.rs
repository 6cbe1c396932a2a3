//! The sweep: a quantity over a parameter of the network, with bands of confidence.

use super::axis::{Axis, Scale, extent};
use super::form::{Form, Plot, Value, csv};
use super::label::{SIZE, width};
use super::lines::{Drawn, HALO, Legend, Names, draw, right_margin};
use super::panel::{EDGE, Heading, MUTED, Panel, left_margin};
use super::style::Style;
use crate::svg::{Anchor, Drawing, Frame};

const HEIGHT: f64 = 380.0;

/// How schemes do as a parameter of the network is swept, as figure 11 of SIGCOMM 2013 has it: the
/// objective over link rates, with the range that each RemyCC was designed for.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// What it shows, in a few words.
    pub title: String,
    /// On which networks; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// What is swept, with its unit: "link rate, Mbps".
    pub x_axis: String,
    /// How it is divided: logarithmic for rates.
    pub x_scale: Scale,
    /// What is measured, with its unit: "throughput, Mbps".
    pub y_axis: String,
    /// How it is divided.
    pub y_scale: Scale,
    /// A line and its band of confidence for each scheme.
    pub lines: Vec<Band>,
    /// Between which lines, by number, the area is shaded: the edges of what one scheme does under different settings.
    pub areas: Vec<[usize; 2]>,
    /// The ranges that some of them were designed for.
    pub ranges: Vec<DesignRange>,
}

/// A line with a band of confidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// What stands at its end.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Its points in the order of x.
    pub points: Vec<BandPoint>,
    /// The values that the line is the mean of, such as those of designs with different seeds: dots.
    pub dots: Vec<(f64, f64)>,
}

/// A value and the interval that it lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// The parameter.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

/// The networks that something was designed for.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignRange {
    /// What.
    pub name: String,
    /// From this parameter.
    pub low: f64,
    /// To this one.
    pub high: f64,
}

impl Plot for Sweep {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let swept = extent(points().map(|point| point.x));
        let dots = || self.lines.iter().flat_map(|line| &line.dots);
        let values = points().flat_map(|p| [p.y, p.low, p.high]).chain(dots().map(|dot| dot.1));
        let values = extent(values);
        let y = Axis::around(self.y_scale, values);
        let rows = self.ranges.len() as f64;
        let top = heading.bottom() + range_row(form) * rows + 2.0;
        let frame = Frame {
            left: left_margin(&y, &self.y_axis, HEIGHT),
            right: right_margin(self.lines.iter().map(|line| line.name.as_str()), form),
            top,
            bottom: top + HEIGHT,
        };
        let panel = Panel { form, frame, x: Axis::exact(self.x_scale, swept), y };
        let legend =
            Legend::new(self.lines.iter().map(|line| (line.name.as_str(), line.style)), form);
        let foot = frame.bottom + panel.below(&self.x_axis);
        let mut drawing = Drawing::new(form.width(), foot + legend.height() + EDGE / 2.0);
        heading.draw(&mut drawing);
        self.draw_shades(&mut drawing, &panel);
        panel.draw(&mut drawing, Some(&self.x_axis), &self.y_axis);
        for &[a, b] in &self.areas {
            let mut outline = self.lines[a].line();
            outline.extend(self.lines[b].line().into_iter().rev());
            let outline: Vec<(f64, f64)> =
                outline.into_iter().map(|point| panel.at(point)).collect();
            drawing.shape(&outline, &self.lines[a].style.area(0.25));
        }
        self.draw_ranges(&mut drawing, &panel);
        let xys: Vec<Vec<(f64, f64)>> = self.lines.iter().map(Band::line).collect();
        let lines = self.lines.iter().zip(&xys).map(|(band, points)| Drawn {
            name: &band.name,
            style: band.style,
            points,
            band: Some(band.points.iter().map(|point| (point.low, point.high)).collect()),
        });
        draw(&mut drawing, &panel, &lines.collect::<Vec<_>>(), Names::AtEnds);
        for line in &self.lines {
            line.dots.iter().for_each(|&dot| line.style.dot(&mut drawing, panel.at(dot)));
        }
        legend.draw(&mut drawing, foot);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        let rows = self.lines.iter().flat_map(|line| {
            let points = line.points.iter().map(|&BandPoint { x, y, low, high }| [x, y, low, high]);
            // Each dot has a row, without an interval.
            let dots = line.dots.iter().map(|&(x, y)| [x, y, f64::NAN, f64::NAN]);
            points.chain(dots).map(|numbers| {
                let [x, y, low, high] = numbers.map(Value::Number);
                [Value::Text(&line.name), x, y, low, high]
            })
        });
        csv(["scheme", &self.x_axis, &self.y_axis, "low", "high"], rows)
    }
}

impl Sweep {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }

    /// Where a range lies in the drawing, if it does.
    fn ends(range: &DesignRange, panel: &Panel) -> Option<(f64, f64)> {
        let Frame { left, right, .. } = panel.frame;
        let clamp = |value: f64| panel.x_at(value).clamp(left, right);
        let (low, high) = (clamp(range.low), clamp(range.high));
        let ends = if low < high { (low, high) } else { (high, low) };
        let is_outside = range.high < panel.x.low() || range.low > panel.x.high();
        (!is_outside).then_some(ends)
    }

    fn draw_shades(&self, drawing: &mut Drawing, panel: &Panel) {
        let Frame { top, bottom, .. } = panel.frame;
        for (low, high) in self.ranges.iter().filter_map(|range| Self::ends(range, panel)) {
            let shade = Frame { left: low, right: high.max(low + 1.0), top, bottom };
            drawing.shape(&shade.corners(), "fill=\"#000\" fill-opacity=\"0.05\"");
        }
    }

    /// A brace for each range above the panel.
    fn draw_ranges(&self, drawing: &mut Drawing, panel: &Panel) {
        let Frame { left, right, top, bottom } = panel.frame;
        for (row, range) in self.ranges.iter().rev().enumerate() {
            let Some((low, high)) = Self::ends(range, panel) else { continue };
            let y = top - 12.0 - range_row(panel.form) * row as f64;
            drawing.line(&[(low, y - 4.0), (low, y + 4.0)], "stroke=\"#444\" stroke-width=\"1.5\"");
            drawing.line(&[(low, y), (high, y)], "stroke=\"#444\" stroke-width=\"1.5\"");
            drawing
                .line(&[(high, y - 4.0), (high, y + 4.0)], "stroke=\"#444\" stroke-width=\"1.5\"");
            let edge = "stroke=\"#999\" stroke-width=\"0.7\"";
            drawing.line(&[(low, top), (low, bottom)], edge);
            drawing.line(&[(high, top), (high, bottom)], edge);
            let length = width(&range.name, SIZE);
            let edge = panel.form.width() - EDGE;
            let is_wide = panel.form == Form::Wide;
            let (at, anchor) = if is_wide && high + 8.0 + length < right.max(edge) {
                ((high + 7.0, y + 4.5), Anchor::Start)
            } else if is_wide && low - 8.0 - length > left - 40.0 {
                ((low - 7.0, y + 4.5), Anchor::End)
            } else {
                // Where there is room at neither end, above the line.
                let most = panel.form.width() - 4.0 - length / 2.0;
                let middle = ((low + high) / 2.0).min(most).max(4.0 + length / 2.0);
                let gap = if is_wide { 4.0 } else { 6.0 };
                ((middle, y - gap), Anchor::Middle)
            };
            drawing.text(at, anchor, &format!("{MUTED} {HALO}"), &range.name);
        }
    }
}

/// The height of a range's name and brace above the panel: in a narrow figure, the name is above the brace.
const fn range_row(form: Form) -> f64 {
    match form {
        Form::Wide => 20.0,
        Form::Narrow => 26.0,
    }
}

impl Band {
    fn line(&self) -> Vec<(f64, f64)> {
        self.points.iter().map(|point| (point.x, point.y)).collect()
    }
}
