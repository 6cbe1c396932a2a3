//! A rule table as a map of two of its signals.

use super::axis::{Axis, Scale};
use super::form::Form;
use super::label::{SIZE, width};
use super::panel::{EDGE, Heading, MUTED, Panel, left_margin};
use crate::svg::{Anchor, Drawing, Frame};

const HEIGHT: f64 = 430.0;
/// The scale of colours, to the right of the map.
const SCALE_WIDTH: f64 = 16.0;
const SCALE_ROOM: f64 = 140.0;
/// From the map to the scale, and from the scale to its values.
const SCALE_GAPS: [f64; 2] = [18.0, 6.0];
/// The height of a line of the scale's title.
const TITLE_LINE: f64 = 15.0;
/// How many steps the scale of colours has.
const STEPS: u32 = 24;
/// Two points of the trajectory that are closer than this are drawn as one, in pixels.
const CLOSE: f64 = 1.5;
/// The first flows are drawn: more are a tangle that hides the boxes.
const FLOWS: usize = 3;
/// The letters of a box's label.
const LABEL: f64 = 11.0;

/// The rules that a table applies to memories of two signals, the others being held: a box for each, its
/// colour by what the rule does, and the way of a sender through them.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleMap {
    /// What it shows, in a few words.
    pub title: String,
    /// Of what; may be empty.
    pub subtitle: String,
    /// The description for screen readers.
    pub description: String,
    /// The signal to the right, with its unit, and its least and greatest value shown.
    pub x: (String, f64, f64),
    /// The signal upwards.
    pub y: (String, f64, f64),
    /// What colours stand for.
    pub colours: Colours,
    /// The boxes. Together they need not fill the map.
    pub boxes: Vec<RuleBox>,
    /// Where a sender was, one ACK after the other: a line for each of its flows.
    pub trajectory: Vec<Vec<(f64, f64)>>,
}

/// What colours stand for: from white to blue upwards, and to red downwards where there is a middle.
#[derive(Clone, Debug, PartialEq)]
pub struct Colours {
    /// What it is, in a few words.
    pub title: String,
    /// The value of the strongest red, or of white where all is above the middle.
    pub low: f64,
    /// The value of white, if there is red as well.
    pub middle: Option<f64>,
    /// The value of the strongest blue.
    pub high: f64,
    /// How the low, the middle and the high value are written.
    pub names: [String; 3],
}

/// A rule in the map.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleBox {
    /// From where to where it reaches to the right.
    pub x: (f64, f64),
    /// And upwards.
    pub y: (f64, f64),
    /// What its colour is by.
    pub value: f64,
    /// What stands in it, where there is room.
    pub label: String,
    /// Its tooltip.
    pub tooltip: String,
}

impl Colours {
    /// The colour of `value`, as SVG has it.
    fn of(&self, value: f64) -> String {
        const BLUE: [f64; 3] = [33.0, 102.0, 172.0];
        const RED: [f64; 3] = [178.0, 24.0, 43.0];
        let white = self.middle.unwrap_or(self.low);
        let (target, end) = if value < white { (RED, self.low) } else { (BLUE, self.high) };
        let part =
            if end == white { 0.0 } else { ((value - white) / (end - white)).clamp(0.0, 1.0) };
        let mixed = target.map(|channel| 255.0 + (channel - 255.0) * part);
        let [red, green, blue] = mixed.map(|channel| channel.round() as u8);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

impl RuleMap {
    /// The figure as an SVG file.
    pub fn svg(&self) -> String {
        let heading = Heading::new(&self.title, &self.subtitle, Form::Wide);
        let axis =
            |(_, low, high): &(String, f64, f64)| Axis::exact(Scale::Linear, Some((*low, *high)));
        let y = axis(&self.y);
        let top = heading.bottom();
        let frame = Frame {
            left: left_margin(&y, &self.y.0, HEIGHT),
            right: Form::Wide.width() - EDGE - SCALE_ROOM,
            top,
            bottom: top + HEIGHT,
        };
        let panel = Panel { form: Form::Wide, frame, x: axis(&self.x), y };
        let mut drawing = Drawing::new(Form::Wide.width(), frame.bottom + 48.0 + EDGE / 2.0);
        heading.draw(&mut drawing);
        panel.draw(&mut drawing, Some(&self.x.0), &self.y.0);
        drawing.within(&frame, |drawing| {
            self.boxes.iter().for_each(|rule| self.draw_box(drawing, &panel, rule));
            for flow in self.trajectory.iter().take(FLOWS) {
                let points = thinned(flow.iter().map(|&point| panel.at(point)));
                drawing
                    .line(&points, "stroke=\"#222\" stroke-width=\"0.7\" stroke-opacity=\"0.3\"");
            }
            // Where the first flow begins.
            if let Some(&start) = self.trajectory.first().and_then(|flow| flow.first()) {
                drawing.circle(panel.at(start), 4.0, "fill=\"#222\"");
            }
            self.boxes.iter().for_each(|rule| self.draw_label(drawing, &panel, rule));
        });
        panel.draw_frame(&mut drawing);
        self.draw_scale(&mut drawing, &frame);
        drawing.finish(&self.title, &self.description)
    }

    /// What of a box lies within the map, if any of it does.
    fn visible(&self, panel: &Panel, rule: &RuleBox) -> Option<Frame> {
        let (_, low, high) = self.x;
        let (left, right) = (rule.x.0.clamp(low, high), rule.x.1.clamp(low, high));
        let (_, low, high) = self.y;
        let (bottom, top) = (rule.y.0.clamp(low, high), rule.y.1.clamp(low, high));
        (left < right && bottom < top).then(|| Frame {
            left: panel.x_at(left),
            right: panel.x_at(right),
            top: panel.y_at(top),
            bottom: panel.y_at(bottom),
        })
    }

    fn draw_box(&self, drawing: &mut Drawing, panel: &Panel, rule: &RuleBox) {
        let Some(frame) = self.visible(panel, rule) else { return };
        let fill = self.colours.of(rule.value);
        let style = format!("fill=\"{fill}\" stroke=\"#777\" stroke-width=\"0.7\"");
        drawing.with_tooltip(&rule.tooltip, |drawing| drawing.shape(&frame.corners(), &style));
    }

    /// The label of a box where it has room, above the trajectory.
    fn draw_label(&self, drawing: &mut Drawing, panel: &Panel, rule: &RuleBox) {
        let Some(frame) = self.visible(panel, rule) else { return };
        if width(&rule.label, LABEL) + 4.0 < frame.width() && frame.height() > 14.0 {
            let (x, y) = frame.middle();
            let halo = "stroke=\"#fff\" stroke-width=\"2.5\" paint-order=\"stroke\"";
            let style = format!("font-size=\"{LABEL}\" {halo}");
            drawing.text((x, y + 4.0), Anchor::Middle, &style, &rule.label);
        }
    }

    /// The scale of colours, from its low value upwards.
    fn draw_scale(&self, drawing: &mut Drawing, frame: &Frame) {
        let Colours { title, low, middle, high, names } = &self.colours;
        let left = frame.right + SCALE_GAPS[0];
        let lines = super::label::wrapped(title, SIZE, SCALE_ROOM - SCALE_GAPS[0]);
        for (line, text) in lines.iter().enumerate() {
            let y = frame.top + 12.0 + TITLE_LINE * line as f64;
            drawing.text((left, y), Anchor::Start, MUTED, text);
        }
        let top = frame.top + 16.0 + TITLE_LINE * lines.len() as f64;
        let bottom = top + 200.0;
        let height = (bottom - top) / f64::from(STEPS);
        for step in 0..STEPS {
            let part = (f64::from(step) + 0.5) / f64::from(STEPS);
            let value = low + (high - low) * part;
            let y = bottom - height * f64::from(step + 1);
            let swatch = Frame { left, right: left + SCALE_WIDTH, top: y, bottom: y + height };
            let fill = format!("fill=\"{}\"", self.colours.of(value));
            drawing.shape(&swatch.corners(), &fill);
        }
        let scale = Frame { left, right: left + SCALE_WIDTH, top, bottom };
        drawing.shape(&scale.corners(), "fill=\"none\" stroke=\"#555\" stroke-width=\"1\"");
        let places = [Some(*low), *middle, Some(*high)];
        for (value, name) in places.into_iter().zip(names) {
            let Some(value) = value else { continue };
            let part = if high > low { (value - low) / (high - low) } else { 0.5 };
            let y = bottom - (bottom - top) * part + 4.5;
            drawing.text((left + SCALE_WIDTH + SCALE_GAPS[1], y), Anchor::Start, "", name);
        }
    }
}

/// `points` without those that are next to the one before.
fn thinned(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let is_close = kept.last().is_some_and(|last| {
            (last.0 - point.0).abs() < CLOSE && (last.1 - point.1).abs() < CLOSE
        });
        if !is_close {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> RuleMap {
        let rule = |x, value, label: &str| RuleBox {
            x,
            y: (0.0, 16384.0),
            value,
            label: label.to_owned(),
            tooltip: format!("rule {label}"),
        };
        RuleMap {
            title: "A table".to_owned(),
            subtitle: String::new(),
            description: "Two rules.".to_owned(),
            x: ("rtt_ratio".to_owned(), 1.0, 3.0),
            y: ("ack_ewma, ms".to_owned(), 0.0, 10.0),
            colours: Colours {
                title: "growth".to_owned(),
                low: -1.0,
                middle: Some(0.0),
                high: 1.0,
                names: ["half", "same", "double"].map(str::to_owned),
            },
            boxes: vec![rule((0.0, 1.5), 1.0, "75 %"), rule((1.5, 16384.0), -1.0, "25 %")],
            trajectory: vec![vec![(1.0, 1.0), (1.001, 1.0), (2.0, 5.0)]],
        }
    }

    #[test]
    fn rules_are_boxes_with_their_colours() {
        let svg = map().svg();
        let boxes = svg.matches("<title>rule ").count();
        assert_eq!(boxes, 2);
        assert!(svg.contains("fill=\"#2166ac\" stroke") && svg.contains("fill=\"#b2182b\" stroke"));
        assert!(svg.contains(">75 %</text>") && svg.contains(">double</text>"), "{svg}");
        assert_eq!(svg, map().svg());
    }

    #[test]
    fn what_lies_outside_is_left_out() {
        let mut map = map();
        map.boxes[0].x = (5.0, 9.0);
        assert_eq!(map.svg().matches("<title>rule ").count(), 1);
    }

    #[test]
    fn points_that_nobody_can_tell_apart_are_one() {
        let points = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (4.0, 1.0)];
        assert_eq!(thinned(points.into_iter()), [(0.0, 0.0), (4.0, 1.0)]);
    }

    #[test]
    fn colours_run_from_white() {
        let colours = map().colours;
        assert_eq!(colours.of(0.0), "#ffffff");
        assert_eq!(colours.of(-9.0), colours.of(-1.0));
        let pace = Colours { low: 0.0, middle: None, ..colours };
        assert_eq!((pace.of(0.0), pace.of(1.0)), ("#ffffff".to_owned(), "#2166ac".to_owned()));
    }
}
