//! What all figures have: a heading, and panels with axes.

use super::axis::{Axis, Tick};
use super::form::Form;
use super::label::{BOLD, width, wrapped};
use crate::svg::{Anchor, Drawing, Frame};

/// Room at the edges.
pub(super) const EDGE: f64 = 20.0;
/// The letters of titles, and their lines.
const TITLE: f64 = 17.0;
/// From one line to the next of a label at the left.
const LABEL_LINE: f64 = 16.0;
const GRID: &str = "stroke=\"#ddd\" stroke-width=\"1\"";
/// The attributes of text that is not about the data.
pub(super) const MUTED: &str = "fill=\"#444\"";

/// How much of the width a line of a heading may take, by our estimate: text is a tenth wider in DejaVu Sans than in Helvetica, Arial or
/// Noto Sans, and that is what browsers draw in where they have none of these.
const LINE_FILL: f64 = 0.88;

/// The heading of a figure.
pub(super) struct Heading {
    title: Vec<String>,
    subtitle: Vec<String>,
}

impl Heading {
    pub(super) fn new(title: &str, subtitle: &str, form: Form) -> Heading {
        let room = (form.width() - 2.0 * EDGE) * LINE_FILL;
        Heading {
            title: wrapped(title, TITLE * BOLD, room),
            subtitle: wrapped(subtitle, 13.0, room),
        }
    }

    /// Where what follows may begin.
    pub(super) fn bottom(&self) -> f64 {
        let (title, subtitle) = (self.title.len() as f64, self.subtitle.len() as f64);
        12.0 + 21.0 * title + 18.0 * subtitle + 12.0
    }

    pub(super) fn draw(&self, drawing: &mut Drawing) {
        let mut y = 8.0;
        for line in &self.title {
            y += 21.0;
            let style = format!("font-size=\"{TITLE}\" font-weight=\"bold\"");
            drawing.text((EDGE, y), Anchor::Start, &style, line);
        }
        for line in &self.subtitle {
            y += 18.0;
            drawing.text((EDGE, y), Anchor::Start, MUTED, line);
        }
    }
}

/// A frame with two axes.
pub(super) struct Panel {
    pub(super) form: Form,
    pub(super) frame: Frame,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Panel {
    /// Where the point of these values lies.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x_at(x), self.y_at(y))
    }

    pub(super) fn x_at(&self, x: f64) -> f64 {
        self.frame.left + self.frame.width() * self.x.part(x)
    }

    pub(super) fn y_at(&self, y: f64) -> f64 {
        self.frame.bottom - self.frame.height() * self.y.part(y)
    }

    /// The grid with its numbers, and the frame. Of stacked panels only the last has numbers and a
    /// `label` below.
    pub(super) fn draw(&self, drawing: &mut Drawing, x_label: Option<&str>, y_label: &str) {
        self.draw_columns(drawing, x_label.is_some());
        self.draw_rows(drawing, y_label);
        self.draw_frame(drawing);
        for (index, line) in self.x_lines(x_label.unwrap_or_default()).iter().enumerate() {
            let y = self.frame.bottom + 42.0 + LABEL_LINE * index as f64;
            drawing.text((self.frame.middle().0, y), Anchor::Middle, "", line);
        }
    }

    /// How much room the numbers and the label below the panel take.
    pub(super) fn below(&self, x_label: &str) -> f64 {
        48.0 + LABEL_LINE * (self.x_lines(x_label).len().max(1) - 1) as f64
    }

    /// The lines of the label below the panel: several where a narrow figure has no room for one.
    fn x_lines(&self, label: &str) -> Vec<String> {
        let middle = self.frame.middle().0;
        let room = 2.0 * middle.min(self.form.width() - middle) - 8.0;
        match self.form {
            Form::Wide if label.is_empty() => Vec::new(),
            Form::Wide => vec![label.to_owned()],
            Form::Narrow => wrapped(label, 13.0, room),
        }
    }

    /// The grid's rows with their numbers, and what they are of.
    pub(super) fn draw_rows(&self, drawing: &mut Drawing, y_label: &str) {
        let Frame { left, right, .. } = self.frame;
        for Tick { value, label } in self.y.ticks(rows(self.frame.height())) {
            let y = self.y_at(value);
            drawing.line(&[(left, y), (right, y)], GRID);
            drawing.text((left - 8.0, y + 4.5), Anchor::End, "", &label);
        }
        for (index, line) in label_lines(y_label, self.frame.height()).iter().enumerate() {
            let x = EDGE + 8.0 + LABEL_LINE * index as f64;
            drawing.upward_text((x, self.frame.middle().1), line);
        }
    }

    fn draw_columns(&self, drawing: &mut Drawing, is_numbered: bool) {
        let Frame { left, right, top, bottom } = self.frame;
        // Numbers never touch: of those that would, only some are written.
        let mut free_from = f64::NEG_INFINITY;
        let mut ticks = self.x.ticks((self.frame.width() / 75.0) as usize);
        ticks.sort_by(|a, b| self.x_at(a.value).total_cmp(&self.x_at(b.value)));
        for Tick { value, label } in ticks {
            let x = self.x_at(value);
            drawing.line(&[(x, top), (x, bottom)], GRID);
            let half = width(&label, 13.0) / 2.0;
            if is_numbered && x - half >= free_from && (left - 1.0..=right + 1.0).contains(&x) {
                drawing.text((x, bottom + 19.0), Anchor::Middle, "", &label);
                free_from = x + half + 6.0;
            }
        }
    }

    pub(super) fn draw_frame(&self, drawing: &mut Drawing) {
        drawing.shape(&self.frame.corners(), "fill=\"none\" stroke=\"#555\" stroke-width=\"1\"");
    }
}

/// How far from the left edge a panel begins, so that its numbers and its label have room.
pub(super) fn left_margin(y: &Axis, label: &str, height: f64) -> f64 {
    let ticks = y.ticks(rows(height));
    let widest = ticks.iter().map(|tick| width(&tick.label, 13.0)).fold(0.0, f64::max);
    let lines = label_lines(label, height).len().max(1) as f64;
    EDGE + 10.0 + LABEL_LINE * lines + widest
}

/// The lines of a label beside a panel of this height.
fn label_lines(label: &str, height: f64) -> Vec<String> {
    wrapped(label, 13.0, height + 8.0)
}

/// About how many rows a panel of this height has.
fn rows(height: f64) -> usize {
    (height / 45.0).max(2.0) as usize
}
