//! Distributions: how many are below a value, or, on logarithmic axes, above it.

use super::axis::{Axis, Scale, extent};
use super::form::{Form, Plot, Value, csv};
use super::lines::{Drawn, Legend, Names, draw, right_margin};
use super::panel::{EDGE, Heading, Panel, left_margin};
use super::style::Style;
use crate::stats::empirical_cdf;
use crate::svg::{Drawing, Frame};

const HEIGHT: f64 = 360.0;

/// The empirical distributions of samples, as steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// What it shows, in a few words.
    pub title: String,
    /// On which network; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// What is distributed, with its unit: "flow completion time, ms".
    pub x_axis: String,
    /// How its axis is divided; what is not above zero has no place on a logarithmic one.
    pub x_scale: Scale,
    /// Whether to show, on a logarithmic axis, the part that is greater: rare large values, which a
    /// plain distribution hides at its top, are a tail then.
    pub is_tail: bool,
    /// What is compared.
    pub samples: Vec<Sample>,
}

/// The values of one scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What stands at the end of its line.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Its values, in any order.
    pub values: Vec<f64>,
}

impl Plot for Distribution {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let lines: Vec<Vec<(f64, f64)>> = self.samples.iter().map(|s| self.steps(s)).collect();
        let points = || lines.iter().flatten();
        let shown = points().map(|point| point.0).filter(|&x| self.is_shown(x));
        let (scale, parts, label) = match self.is_tail {
            true => {
                let least = extent(points().map(|point| point.1)).map_or(0.1, |parts| parts.0);
                (Scale::Log, (least.min(0.1), 1.0), "part that is greater")
            }
            false => (Scale::Linear, (0.0, 1.0), "part that is no greater"),
        };
        let top = heading.bottom();
        let y = Axis::exact(scale, Some(parts));
        let frame = Frame {
            left: left_margin(&y, label, HEIGHT),
            right: right_margin(self.samples.iter().map(|sample| sample.name.as_str()), form),
            top,
            bottom: top + HEIGHT,
        };
        let panel = Panel { form, frame, x: Axis::around(self.x_scale, extent(shown)), y };
        let names = self.samples.iter().map(|sample| (sample.name.as_str(), sample.style));
        let legend = Legend::new(names, form);
        let foot = frame.bottom + panel.below(&self.x_axis);
        let mut drawing = Drawing::new(form.width(), foot + legend.height() + EDGE / 2.0);
        heading.draw(&mut drawing);
        panel.draw(&mut drawing, Some(&self.x_axis), label);
        let drawn = self.samples.iter().zip(&lines).map(|(sample, points)| Drawn {
            name: &sample.name,
            style: sample.style,
            points,
            band: None,
        });
        draw(&mut drawing, &panel, &drawn.collect::<Vec<_>>(), Names::Listed);
        legend.draw(&mut drawing, foot);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        let rows = self.samples.iter().flat_map(|sample| {
            let values = sample.values.iter();
            values.map(|&value| [Value::Text(&sample.name), Value::Number(value)])
        });
        csv(["sample", &self.x_axis], rows)
    }
}

impl Distribution {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }

    fn is_shown(&self, value: f64) -> bool {
        self.x_scale == Scale::Linear || value > 0.0
    }

    /// The corners of the steps of a sample's distribution.
    fn steps(&self, sample: &Sample) -> Vec<(f64, f64)> {
        let finite: Vec<f64> = sample.values.iter().copied().filter(|v| v.is_finite()).collect();
        let mut before = 0.0;
        let mut corners = Vec::new();
        for (value, part) in empirical_cdf(&finite) {
            if self.is_shown(value) {
                corners.extend([(value, before), (value, part)]);
            }
            before = part;
        }
        if self.is_tail {
            // Nothing is greater than the last: its step goes down to where there is no place.
            corners.pop();
            corners.iter_mut().for_each(|corner| corner.1 = 1.0 - corner.1);
        }
        corners
    }
}
