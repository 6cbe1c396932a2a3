//! Time series, one panel below the other.

use super::axis::{Axis, Scale, extent};
use super::form::{Form, Plot, Value, csv};
use super::lines::{
    Curve, Drawn, Event, Legend, Marks, Names, draw, extents, from_zero, right_margin, rows,
};
use super::panel::{EDGE, Heading, Panel, left_margin};
use crate::svg::{Drawing, Frame};

/// The height of a panel, and the gap below it.
const HEIGHT: f64 = 150.0;
const GAP: f64 = 16.0;
/// How far the ticks at a panel's upper edge reach down.
const TICK: f64 = 9.0;

/// Quantities over the same time: the queue in one panel, the windows in the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it shows, in a few words.
    pub title: String,
    /// On which network; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// The panels from above.
    pub panels: Vec<SeriesPanel>,
    /// What happened, by the second.
    pub events: Vec<Event>,
}

/// One quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPanel {
    /// Its name and unit: "queue, packets".
    pub y_axis: String,
    /// How its axis is divided; it starts at zero where it is linear.
    pub y_scale: Scale,
    /// What there is behind the lines, as an area: what a link offered.
    pub backdrop: Option<Curve>,
    /// Its lines: seconds and values.
    pub lines: Vec<Curve>,
    /// The seconds that are ticked at its upper edge: when packets were dropped.
    pub ticks: Vec<f64>,
}

impl Plot for Series {
    fn drawn(&self, form: Form) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, form);
        let times = self.panels.iter().filter_map(|panel| panel.extents()[0]);
        let x = Axis::exact(Scale::Linear, extent(times.flat_map(|(from, to)| [from, to])));
        let axes: Vec<Axis> = self.panels.iter().map(SeriesPanel::axis).collect();
        let left = axes
            .iter()
            .zip(&self.panels)
            .map(|(y, panel)| left_margin(y, &panel.y_axis, HEIGHT))
            .fold(0.0, f64::max);
        let names = || self.panels.iter().flat_map(SeriesPanel::all);
        let right = right_margin(names().map(|line| line.name.as_str()), form);
        let legend = Legend::new(names().map(|line| (line.name.as_str(), line.style)), form);
        let marks = Marks::new(&self.events, &x, (left, right), form);
        let count = self.panels.len() as f64;
        let mut top = heading.bottom() + marks.height();
        let bottom = top + count * (HEIGHT + GAP) - GAP;
        let mut drawing = Drawing::new(form.width(), bottom + 48.0 + legend.height() + EDGE / 2.0);
        heading.draw(&mut drawing);
        for (index, (panel, y)) in self.panels.iter().zip(axes).enumerate() {
            let frame = Frame { left, right, top, bottom: top + HEIGHT };
            let axes = Panel { form, frame, x, y };
            let label = (index + 1 == self.panels.len()).then_some("time, s");
            axes.draw(&mut drawing, label, &panel.y_axis);
            marks.draw(&mut drawing, &frame, index == 0);
            draw(&mut drawing, &axes, &panel.drawn(y.low()), Names::AtEnds);
            draw_ticks(&mut drawing, &axes, &panel.ticks);
            top += HEIGHT + GAP;
        }
        legend.draw(&mut drawing, bottom + 48.0);
        drawing.finish(&self.title, &self.description)
    }

    fn csv(&self) -> String {
        let rows = self.panels.iter().flat_map(|panel| {
            let rows = rows(panel.all()).into_iter();
            rows.map(|[name, x, y]| [Value::Text(&panel.y_axis), name, x, y])
        });
        csv(["quantity", "line", "time, s", "value"], rows)
    }
}

impl Series {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        self.drawn(Form::Wide)
    }
}

impl SeriesPanel {
    /// Linear, of `lines` alone.
    pub fn new(y_axis: impl Into<String>, lines: Vec<Curve>) -> SeriesPanel {
        SeriesPanel {
            y_axis: y_axis.into(),
            y_scale: Scale::Linear,
            backdrop: None,
            lines,
            ticks: Vec::new(),
        }
    }

    /// All lines, that at the back first.
    fn all(&self) -> impl Iterator<Item = &Curve> + Clone {
        self.backdrop.iter().chain(&self.lines)
    }

    /// The least and the greatest time, then value.
    fn extents(&self) -> [Option<(f64, f64)>; 2] {
        extents(self.all())
    }

    fn axis(&self) -> Axis {
        let values = self.extents()[1];
        match self.y_scale {
            Scale::Linear => Axis::around(Scale::Linear, from_zero(values)),
            scale => Axis::around(scale, values),
        }
    }

    /// The lines as they are drawn; what is behind them is filled down to `low`.
    fn drawn(&self, low: f64) -> Vec<Drawn<'_>> {
        let back = self.backdrop.iter().map(|line| {
            let band = line.points.iter().map(|&(_, value)| (low, value)).collect();
            Drawn { band: Some(band), ..Drawn::from(line) }
        });
        back.chain(self.lines.iter().map(Drawn::from)).collect()
    }
}

/// At most one tick for each half pixel: queues drop packets in bursts.
fn draw_ticks(drawing: &mut Drawing, panel: &Panel, seconds: &[f64]) {
    let top = panel.frame.top;
    let places = seconds.iter().map(|&second| (2.0 * panel.x_at(second)).round() as i64);
    let mut places: Vec<i64> = places.collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let x = place as f64 / 2.0;
        drawing.line(&[(x, top), (x, top + TICK)], "stroke=\"#b00\" stroke-width=\"1\"");
    }
}
