//! Drawing in SVG: shapes with coordinates to a tenth of a pixel, text as text.
//!
//! No element has an id, so any number of drawings can stand in one page.

use crate::escape::escaped;
use std::fmt::{self, Write};

/// A drawing in progress.
pub(crate) struct Drawing {
    body: String,
    size: (f64, f64),
}

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A rectangle of a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn middle(&self) -> (f64, f64) {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    /// The corners, in turn.
    pub(crate) fn corners(&self) -> [(f64, f64); 4] {
        let Frame { left, right, top, bottom } = *self;
        [(left, top), (right, top), (right, bottom), (left, bottom)]
    }

    /// The same with so much more on every side.
    pub(crate) fn grown(&self, by: f64) -> Frame {
        let Frame { left, right, top, bottom } = *self;
        Frame { left: left - by, right: right + by, top: top - by, bottom: bottom + by }
    }

    pub(crate) fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The area that both cover.
    pub(crate) fn overlap(&self, other: &Frame) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }
}

impl Drawing {
    /// An empty white drawing of this width and height.
    pub(crate) fn new(width: f64, height: f64) -> Drawing {
        let body = format!("<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n");
        Drawing { body, size: (width, height) }
    }

    /// A line through `points`, with further attributes.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points = Path(points);
        self.put(format_args!("<polyline points=\"{points}\" fill=\"none\" {attributes}/>"));
    }

    /// Separate strokes, each from one point to another.
    pub(crate) fn strokes(&mut self, strokes: &[[(f64, f64); 2]], attributes: &str) {
        let mut path = String::new();
        for [from, to] in strokes {
            write!(path, "M{:.1},{:.1}L{:.1},{:.1}", from.0, from.1, to.0, to.1)
                .expect("memory takes it");
        }
        self.put(format_args!("<path d=\"{path}\" fill=\"none\" {attributes}/>"));
    }

    /// A closed shape through `points`.
    pub(crate) fn shape(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points = Path(points);
        self.put(format_args!("<polygon points=\"{points}\" {attributes}/>"));
    }

    /// A circle.
    pub(crate) fn circle(&mut self, (x, y): (f64, f64), radius: f64, attributes: &str) {
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {attributes}/>"
        ));
    }

    /// A text, its baseline at a point.
    pub(crate) fn text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        attributes: &str,
        text: &str,
    ) {
        let anchor = anchor.name();
        let text = escaped(text);
        let space = if attributes.is_empty() { "" } else { " " };
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{space}{attributes}>{text}</text>"
        ));
    }

    /// A text that is read from below upwards, its middle at a point.
    pub(crate) fn upward_text(&mut self, (x, y): (f64, f64), text: &str) {
        let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.text((x, y), Anchor::Middle, &turn, text);
    }

    /// What `draw` draws, as one group with `tooltip`.
    pub(crate) fn with_tooltip(&mut self, tooltip: &str, draw: impl FnOnce(&mut Drawing)) {
        let tooltip = escaped(tooltip);
        self.put(format_args!("<g class=\"told\"><title>{tooltip}</title>"));
        draw(self);
        self.put(format_args!("</g>"));
    }

    /// What `draw` draws, as far as it lies within `frame`.
    pub(crate) fn within(&mut self, frame: &Frame, draw: impl FnOnce(&mut Drawing)) {
        let Frame { left, top, .. } = frame;
        let (width, height) = (frame.width(), frame.height());
        self.put(format_args!(
            "<svg x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             viewBox=\"{left:.1} {top:.1} {width:.1} {height:.1}\" overflow=\"hidden\">"
        ));
        draw(self);
        self.put(format_args!("</svg>"));
    }

    /// The whole file, with `title` and `description` for screen readers.
    pub(crate) fn finish(self, title: &str, description: &str) -> String {
        let (width, height) = self.size;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" \
             font-size=\"13\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             {}</svg>\n",
            self.body
        )
    }

    fn put(&mut self, element: fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("memory takes it");
    }
}

/// Points as SVG writes them.
struct Path<'a>(&'a [(f64, f64)]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (x, y)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{x:.1},{y:.1}")?;
        }
        Ok(())
    }
}
