//! Bars with errors, in groups.

use super::axis::{Axis, Scale, extent, number};
use super::form::{Form, Plot, Value, csv};
use super::label::{SIZE, width, wrapped};
use super::lines::HALO;
use super::panel::{EDGE, Heading, Panel, left_margin};
use super::style::Style;
use crate::svg::{Anchor, Drawing, Frame};

const HEIGHT: f64 = 330.0;

/// Values of several schemes side by side, with the errors of each, as figure 3-10 of the thesis
/// has them: shares of a link by RTT.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What it shows, in a few words.
    pub title: String,
    /// On which network; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// What sets the groups apart: "RTT of the flow, ms".
    pub x_axis: String,
    /// What the bars are as high as.
    pub y_axis: String,
    /// The schemes: each group has one bar of each, in this order.
    pub schemes: Vec<BarScheme>,
    /// The groups from the left.
    pub groups: Vec<BarGroup>,
    /// A value to compare with, such as the equal share.
    pub reference: Option<Reference>,
}

/// A scheme that has bars.
#[derive(Clone, Debug, PartialEq)]
pub struct BarScheme {
    /// What stands above the groups, beside a piece of its bars.
    pub name: String,
    /// How its bars look.
    pub style: Style,
}

/// A line across all groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// At this value.
    pub value: f64,
    /// What stands at its end.
    pub name: String,
}

/// Bars that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    /// What stands below them.
    pub name: String,
    /// One for each scheme, in the order of [`Bars::schemes`]; `None` if there is no value.
    pub bars: Vec<Option<Bar>>,
}

/// A value and the interval that it lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The value.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

impl Plot for Bars {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let legend = self.legend(heading.bottom(), form);
        let bars = self.groups.iter().flat_map(|group| group.bars.iter().flatten());
        let values = bars.flat_map(|bar| [bar.value, bar.low, bar.high]);
        let reference = self.reference.as_ref().map(|reference| reference.value);
        let y = Axis::around(Scale::Linear, extent(values.chain([0.0]).chain(reference)));
        let rows = legend.last().map_or(0.0, |last| last.1.1 - heading.bottom() + 16.0);
        let top = heading.bottom() + rows;
        let reference = self.reference.as_ref();
        // A narrow figure has its name above the line.
        let reference = reference.filter(|_| form == Form::Wide);
        let beside = reference.map_or(0.0, |reference| width(&reference.name, SIZE) + 8.0);
        let (left, right) = (left_margin(&y, &self.y_axis, HEIGHT), form.width() - EDGE - beside);
        let frame = Frame { left, right, top, bottom: top + HEIGHT };
        // The groups stand about the whole numbers.
        let x = Axis::exact(Scale::Linear, Some((-0.5, self.groups.len().max(1) as f64 - 0.5)));
        let panel = Panel { form, frame, x, y };
        let lines = (frame.width() / self.groups.len().max(1) as f64 - 6.0).max(20.0);
        let names = self.groups.iter().map(|group| wrapped(&group.name, SIZE, lines));
        let names: Vec<Vec<String>> = names.collect();
        let lines = names.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
        let mut drawing =
            Drawing::new(form.width(), frame.bottom + 16.0 * lines + 32.0 + EDGE / 2.0);
        heading.draw(&mut drawing);
        for (BarScheme { name, style }, (x, y)) in &legend {
            let swatch = Frame { left: *x, right: x + 22.0, top: y - 9.0, bottom: y + 3.0 };
            style.bar(&mut drawing, &swatch);
            drawing.text((x + 28.0, y + 1.5), Anchor::Start, "", name);
        }
        panel.draw_rows(&mut drawing, &self.y_axis);
        for (index, group) in self.groups.iter().enumerate() {
            self.draw_group(&mut drawing, &panel, index, group);
            for (line, text) in names[index].iter().enumerate() {
                let y = frame.bottom + 18.0 + 16.0 * line as f64;
                drawing.text((panel.x_at(index as f64), y), Anchor::Middle, "", text);
            }
        }
        let below = frame.bottom + 24.0 + 16.0 * lines;
        drawing.text((frame.middle().0, below), Anchor::Middle, "", &self.x_axis);
        self.draw_reference(&mut drawing, &panel);
        panel.draw_frame(&mut drawing);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        let rows = self.groups.iter().flat_map(|group| {
            let bars = self.schemes.iter().zip(&group.bars);
            bars.filter_map(|(scheme, bar)| {
                let [value, low, high] =
                    bar.map(|bar| [bar.value, bar.low, bar.high].map(Value::Number))?;
                Some([Value::Text(&group.name), Value::Text(&scheme.name), value, low, high])
            })
        });
        csv([&self.x_axis, "scheme", &self.y_axis, "low", "high"], rows)
    }
}

impl Bars {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }

    /// The names of the schemes and where they stand, in rows.
    fn legend(&self, top: f64, form: Form) -> Vec<(&BarScheme, (f64, f64))> {
        let (mut x, mut y) = (EDGE, top + 8.0);
        let mut places = Vec::new();
        for scheme in &self.schemes {
            let length = 28.0 + width(&scheme.name, SIZE) + 22.0;
            if x > EDGE && x + length > form.width() {
                (x, y) = (EDGE, y + 20.0);
            }
            places.push((scheme, (x, y)));
            x += length;
        }
        places
    }

    fn draw_group(&self, drawing: &mut Drawing, panel: &Panel, index: usize, group: &BarGroup) {
        let slot = (panel.x_at(1.0) - panel.x_at(0.0)) * 0.8 / self.schemes.len().max(1) as f64;
        let left = panel.x_at(index as f64 - 0.4);
        let bars = self.schemes.iter().zip(&group.bars).enumerate();
        for (place, (BarScheme { name, style }, bar)) in bars {
            let Some(Bar { value, low, high }) = *bar else { continue };
            let from = left + slot * place as f64;
            let gap = (slot * 0.08).min(4.0);
            let (zero, end) = (panel.y_at(0.0), panel.y_at(value));
            let frame = Frame {
                left: from + gap,
                right: from + slot - gap,
                top: zero.min(end),
                bottom: zero.max(end),
            };
            let (value, low_text, high_text) = (number(value), number(low), number(high));
            let tooltip = format!("{name}, {}: {value} ({low_text} to {high_text})", group.name);
            drawing.with_tooltip(&tooltip, |drawing| {
                style.bar(drawing, &frame);
                draw_error(drawing, frame.middle().0, slot, (panel.y_at(low), panel.y_at(high)));
            });
        }
    }

    fn draw_reference(&self, drawing: &mut Drawing, panel: &Panel) {
        let Some(Reference { value, name }) = &self.reference else { return };
        let (y, Frame { left, right, .. }) = (panel.y_at(*value), panel.frame);
        let line = "stroke=\"#000\" stroke-width=\"1\" stroke-dasharray=\"6 4\"";
        drawing.line(&[(left, y), (right + 4.0, y)], line);
        match panel.form {
            Form::Wide => drawing.text((right + 8.0, y + 4.5), Anchor::Start, "", name),
            Form::Narrow => drawing.text((right - 4.0, y - 5.0), Anchor::End, HALO, name),
        }
    }
}

/// An error bar, white about it so that it shows on a dark bar too.
fn draw_error(drawing: &mut Drawing, x: f64, slot: f64, (low, high): (f64, f64)) {
    if !(low.is_finite() && high.is_finite()) || (low - high).abs() < 0.1 {
        return;
    }
    let half = (slot * 0.2).min(6.0);
    let strokes = [
        [(x, low), (x, high)],
        [(x - half, low), (x + half, low)],
        [(x - half, high), (x + half, high)],
    ];
    for style in ["stroke=\"#fff\" stroke-width=\"4\"", "stroke=\"#000\" stroke-width=\"1.5\""] {
        for stroke in &strokes {
            drawing.line(stroke, style);
        }
    }
}
