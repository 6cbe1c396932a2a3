//! How schemes are told apart: by colour, and by shape, dashes or hatching as well.

use crate::svg::{Drawing, Frame};
use std::borrow::Cow;

/// Colours, and beside each the darker one that text in it is written in. First those of Okabe and Ito,
/// which the colour-blind tell apart too, without the yellow that white paper swallows; then others that
/// differ from them and from one another, mostly of Paul Tol's schemes.
const COLOURS: [(&str, &str); 16] = [
    ("#0072b2", "#0072b2"),
    ("#d55e00", "#b04d00"),
    ("#009e73", "#007a59"),
    ("#000000", "#000000"),
    ("#cc79a7", "#a3447a"),
    ("#e69f00", "#8f6200"),
    ("#56b4e9", "#1a75aa"),
    ("#882255", "#882255"),
    ("#999933", "#6b6b1f"),
    ("#5e3cd0", "#4a2bb0"),
    ("#7a4a2a", "#7a4a2a"),
    ("#1f5c1f", "#1f5c1f"),
    ("#ff3355", "#c4102f"),
    ("#44cccc", "#0f7a7a"),
    ("#b04ad8", "#8a2bb0"),
    ("#8fd03f", "#4f7a14"),
];
/// The angle between the hues of further colours: no number of turns brings one back.
const GOLDEN_ANGLE: f64 = 137.508;
const DASHES: [&str; 5] = ["none", "8 3", "2 3", "10 3 2 3", "5 2 1 2 1 2"];
const HATCHES: usize = 6;
/// How far a marker reaches from its middle.
pub(super) const MARKER: f64 = 5.5;

/// How a scheme looks: the same in every figure of a report, if one [`Styles`] hands them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style(usize);

impl Style {
    /// Grey, without markers: of what is no scheme, such as what a link offered.
    pub const BACKGROUND: Style = Style(usize::MAX);

    /// The style of this number. All differ in colour, the first eight in shape.
    pub const fn nth(number: usize) -> Style {
        Style(number)
    }

    pub(super) fn colour(self) -> Cow<'static, str> {
        self.of_number("#999", |(colour, _)| colour)
    }

    /// The colour of text.
    pub(super) fn ink(self) -> Cow<'static, str> {
        self.of_number("#555", |(_, ink)| ink)
    }

    fn of_number(
        self,
        background: &'static str,
        of: fn((&'static str, &'static str)) -> &'static str,
    ) -> Cow<'static, str> {
        if self == Style::BACKGROUND {
            return background.into();
        }
        COLOURS.get(self.0).map_or_else(
            || {
                let hue = self.0 as f64 * GOLDEN_ANGLE % 360.0;
                format!("hsl({hue:.2}, 60%, 35%)").into()
            },
            |&both| of(both).into(),
        )
    }

    /// The attributes of a line.
    pub(super) fn stroke(self, width: f64) -> String {
        let (colour, dashes) = (self.colour(), DASHES[self.0 % DASHES.len()]);
        let dashes = match dashes {
            _ if self == Style::BACKGROUND => String::new(),
            "none" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        format!("stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}")
    }

    /// The attributes of an area behind a line.
    pub(super) fn area(self, opacity: f64) -> String {
        format!("fill=\"{}\" fill-opacity=\"{opacity}\"", self.colour())
    }

    /// A dot without outline, for one of many values.
    pub(super) fn dot(self, drawing: &mut Drawing, at: (f64, f64)) {
        drawing.circle(at, 2.0, &self.area(0.55));
    }

    /// A marker of `size` times the usual size.
    pub(super) fn marker(self, drawing: &mut Drawing, (x, y): (f64, f64), size: f64) {
        if self == Style::BACKGROUND {
            return;
        }
        let r = MARKER * size;
        let fill = format!("fill=\"{}\" stroke=\"#fff\" stroke-width=\"1\"", self.colour());
        let at = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect()
        };
        let shape =
            |drawing: &mut Drawing, points: &[(f64, f64)]| drawing.shape(&at(points), &fill);
        match self.0 % 8 {
            0 => drawing.circle((x, y), r, &fill),
            1 => shape(drawing, &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => shape(drawing, &[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
            3 => shape(drawing, &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            4 => shape(drawing, &[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
            5 => shape(drawing, &cross(0.38, 1.2)),
            6 => {
                let turn = std::f64::consts::FRAC_1_SQRT_2;
                let turned = cross(0.38, 1.25).map(|(x, y)| ((x - y) * turn, (x + y) * turn));
                shape(drawing, &turned);
            }
            _ => {
                let ring =
                    format!("fill=\"#fff\" stroke=\"{}\" stroke-width=\"2.2\"", self.colour());
                drawing.circle((x, y), r - 0.8, &ring);
            }
        }
    }

    /// A bar that fills `frame`, hatched.
    pub(super) fn bar(self, drawing: &mut Drawing, frame: &Frame) {
        let colour = self.colour();
        let hatch = self.0 % HATCHES;
        // The solid ones are as dark as their colour, the hatched ones light behind their lines.
        let opacity = if hatch == 0 { 0.9 } else { 0.18 };
        let edge = format!("stroke=\"{colour}\" stroke-width=\"1.2\"");
        drawing.shape(&frame.corners(), &format!("{} {edge}", self.area(opacity)));
        if matches!(hatch, 0 | 5) || frame.height() < 0.5 {
            return;
        }
        let strokes = hatching(hatch, frame);
        let lines = format!("stroke=\"{colour}\" stroke-width=\"1.6\"");
        drawing.within(frame, |drawing| drawing.strokes(&strokes, &lines));
    }
}

/// The lines of a hatched bar, some of them beyond its edges.
fn hatching(hatch: usize, frame: &Frame) -> Vec<[(f64, f64); 2]> {
    let Frame { left, right, top, bottom } = *frame;
    let (width, height) = (frame.width(), frame.height());
    let steps = |length: f64| (0..=(length / 6.0) as usize).map(|step| step as f64 * 6.0);
    let falling = |step: f64| [(left + step, bottom), (left + step - height, top)];
    let rising = |step: f64| [(left + step - height, bottom), (left + step, top)];
    let level = |step: f64| [(left, bottom - step), (right, bottom - step)];
    match hatch {
        1 => steps(width + height).map(falling).collect(),
        2 => steps(width + height).map(rising).collect(),
        3 => steps(height).map(level).collect(),
        4 => steps(width + height).flat_map(|step| [falling(step), rising(step)]).collect(),
        _ => Vec::new(),
    }
}

/// The corners of a cross with arms of this half width and length.
fn cross(half: f64, arm: f64) -> [(f64, f64); 12] {
    [
        (-half, -arm),
        (half, -arm),
        (half, -half),
        (arm, -half),
        (arm, half),
        (half, half),
        (half, arm),
        (-half, arm),
        (-half, half),
        (-arm, half),
        (-arm, -half),
        (-half, -half),
    ]
}

/// Hands out styles by name, in the order in which names are first asked for.
///
/// ```
/// use exm_measure::figure::{Style, Styles};
/// let mut styles = Styles::new();
/// assert_eq!(styles.of("cubic"), Style::nth(0));
/// assert_eq!(styles.of("vegas"), Style::nth(1));
/// assert_eq!(styles.of("cubic"), Style::nth(0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    names: Vec<String>,
}

impl Styles {
    /// None handed out yet.
    pub fn new() -> Styles {
        Styles::default()
    }

    /// The style of `name`.
    pub fn of(&mut self, name: &str) -> Style {
        let known = self.names.iter().position(|known| known == name);
        Style(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_styles_have_one_colour() {
        let styles = || (0..500).map(Style::nth).chain([Style::BACKGROUND]);
        let colours: BTreeSet<String> = styles().map(|style| style.colour().into_owned()).collect();
        let inks: BTreeSet<String> = styles().map(|style| style.ink().into_owned()).collect();
        assert_eq!((colours.len(), inks.len()), (501, 501));
    }
}
