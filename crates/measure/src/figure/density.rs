//! Densities on logarithmic axes, on which a power law is a straight line.

use super::axis::{Axis, Scale};
use super::form::{Form, Plot, csv};
use super::lines::{Curve, Drawn, Legend, Names, draw, extents, right_margin, rows};
use super::panel::{EDGE, Heading, Panel, left_margin};
use crate::svg::{Drawing, Frame};

const HEIGHT: f64 = 400.0;

/// How often values of which size are, both axes logarithmic, as figure 2-4 of the thesis shows the
/// times between the packets of a saturated link, with its fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// What it shows, in a few words.
    pub title: String,
    /// Of what; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// What is distributed, with its unit: "time between opportunities, ms".
    pub x_axis: String,
    /// What its density is in: "share of all, per ms".
    pub y_axis: String,
    /// The densities and the fits to them, each a value and its density. What is not above zero has
    /// no place and is left out.
    pub lines: Vec<Curve>,
}

impl Plot for Density {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let lines: Vec<Curve> = self.lines.iter().map(shown).collect();
        let [values, densities] = extents(&lines);
        let y = Axis::around(Scale::Log, densities);
        let top = heading.bottom();
        let frame = Frame {
            left: left_margin(&y, &self.y_axis, HEIGHT),
            right: right_margin(lines.iter().map(|line| line.name.as_str()), form),
            top,
            bottom: top + HEIGHT,
        };
        let panel = Panel { form, frame, x: Axis::around(Scale::Log, values), y };
        let legend = Legend::new(lines.iter().map(|line| (line.name.as_str(), line.style)), form);
        let foot = frame.bottom + panel.below(&self.x_axis);
        let mut drawing = Drawing::new(form.width(), foot + legend.height() + EDGE / 2.0);
        heading.draw(&mut drawing);
        panel.draw(&mut drawing, Some(&self.x_axis), &self.y_axis);
        let drawn: Vec<Drawn<'_>> = lines.iter().map(Drawn::from).collect();
        draw(&mut drawing, &panel, &drawn, Names::Listed);
        legend.draw(&mut drawing, foot);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        csv(["line", &self.x_axis, &self.y_axis], rows(&self.lines))
    }
}

impl Density {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }
}

/// `line` without what has no place on logarithmic axes.
fn shown(line: &Curve) -> Curve {
    let has_place = |value: f64| value > 0.0 && value.is_finite();
    let points = line.points.iter().copied().filter(|&(x, y)| has_place(x) && has_place(y));
    Curve { points: points.collect(), ..line.clone() }
}
