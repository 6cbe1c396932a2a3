//! Drawing in SVG: shapes with coordinates to a tenth of a pixel, text as text.

use std::fmt::Write;

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

impl Drawing {
    /// An empty white drawing of this width and height.
    pub(crate) fn new(width: f64, height: f64) -> Drawing {
        let body = format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n");
        Drawing { body, size: (width, height) }
    }

    /// A line through `points`, with further attributes.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.put(format_args!("<polyline points=\"{points}\" fill=\"none\" {attributes}/>"));
    }

    /// A closed shape through `points`.
    pub(crate) fn shape(&mut self, points: &[(f64, f64)], attributes: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.put(format_args!("<polygon points=\"{points}\" {attributes}/>"));
    }

    /// A circle.
    pub(crate) fn circle(&mut self, (x, y): (f64, f64), radius: f64, attributes: &str) {
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {attributes}/>"
        ));
    }

    /// A text.
    pub(crate) fn text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        attributes: &str,
        text: &str,
    ) {
        let anchor = anchor.name();
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{text}</text>"
        ));
    }

    /// A text that is read from below upwards, its middle at a point.
    pub(crate) fn upward_text(&mut self, (x, y): (f64, f64), text: &str) {
        let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.text((x, y), Anchor::Middle, &turn, text);
    }

    /// The whole file; readers that cannot see are told `title` and `description`.
    pub(crate) fn finish(self, title: &str, description: &str) -> String {
        let (width, height) = self.size;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\" \
             font-size=\"13\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             {}</svg>\n",
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("memory takes it");
    }
}

/// `text` with what means something to SVG written as text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
