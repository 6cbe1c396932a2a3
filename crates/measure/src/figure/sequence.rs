//! The sequence plot: what was delivered up to each moment.

use super::axis::{Axis, Scale};
use super::form::{Form, Plot, csv};
use super::lines::{
    Curve, Drawn, Event, Legend, Marks, Names, draw, extents, from_zero, right_margin, rows,
};
use super::panel::{EDGE, Heading, Panel, left_margin};
use crate::svg::{Drawing, Frame};

const HEIGHT: f64 = 380.0;

/// Data delivered over time, with marks where something happened, as figure 3-6 of the thesis has
/// it: a steeper line is a faster flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// What it shows, in a few words.
    pub title: String,
    /// On which network; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// What is counted: "delivered, MB".
    pub y_axis: String,
    /// The flows: seconds, and what was delivered up to then.
    pub lines: Vec<Curve>,
    /// What happened, by the second.
    pub events: Vec<Event>,
}

impl Plot for Sequence {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let [times, amounts] = extents(&self.lines);
        let y = Axis::around(Scale::Linear, from_zero(amounts));
        let x = Axis::exact(Scale::Linear, times);
        let left = left_margin(&y, &self.y_axis, HEIGHT);
        let right = right_margin(self.lines.iter().map(|line| line.name.as_str()), form);
        let marks = Marks::new(&self.events, &x, (left, right), form);
        let top = heading.bottom() + marks.height();
        let frame = Frame { left, right, top, bottom: top + HEIGHT };
        let panel = Panel { form, frame, x, y };
        let legend =
            Legend::new(self.lines.iter().map(|line| (line.name.as_str(), line.style)), form);
        let foot = frame.bottom + 48.0;
        let mut drawing = Drawing::new(form.width(), foot + legend.height() + EDGE / 2.0);
        heading.draw(&mut drawing);
        panel.draw(&mut drawing, Some("time, s"), &self.y_axis);
        marks.draw(&mut drawing, &frame, true);
        let lines: Vec<Drawn<'_>> = self.lines.iter().map(Drawn::from).collect();
        draw(&mut drawing, &panel, &lines, Names::AtEnds);
        legend.draw(&mut drawing, foot);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        csv(["line", "time, s", &self.y_axis], rows(&self.lines))
    }
}

impl Sequence {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }
}
