//! The throughput-delay plot of the papers (SIGCOMM 2013, figures 4-9): up is more throughput,
//! right is less queueing delay, and the upper right corner is best.

use crate::stats::quantile;
use crate::svg::{Anchor, Drawing};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 500.0;
/// The frame of the plot: left, right, top and bottom.
const FRAME: [f64; 4] = [80.0, 730.0, 70.0, 430.0];
/// The colours of Okabe and Ito, which the colour-blind tell apart too, the darkest first.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#e69f00"];
/// Queueing delays below this, in ms, are drawn there: a logarithmic axis has no zero.
const LEAST_MS: f64 = 0.01;
/// About how wide a letter is.
const LETTER: f64 = 7.2;
const GREY: &str = "stroke=\"#ccc\" stroke-width=\"1\"";

/// What one scheme got on each of many networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// What stands beside its point.
    pub name: String,
    /// Its mean queueing delay on each, ms.
    pub queueing_ms: Vec<f64>,
    /// Its throughput on each, over its equal share of the link.
    pub share: Vec<f64>,
}

/// The lower quartile, median and upper quartile.
#[derive(Clone, Copy, Debug)]
struct Spread {
    low: f64,
    middle: f64,
    high: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Spread> {
        Some(Spread {
            low: quantile(values, 0.25)?,
            middle: quantile(values, 0.5)?,
            high: quantile(values, 0.75)?,
        })
    }
}

/// A scheme as it is drawn.
struct Mark<'a> {
    name: &'a str,
    delay: Spread,
    share: Spread,
}

/// Where delays and throughputs lie in the drawing.
struct Axes {
    delays: (f64, f64),
    shares: (f64, f64),
}

/// The throughput-delay plot of `schemes`: a point at the median over networks of each, with bars
/// from the lower to the upper quartile. Schemes to which nothing was ever delivered are left out.
pub fn throughput_delay(title: &str, subtitle: &str, schemes: &[Scheme]) -> String {
    let marks: Vec<Mark<'_>> = schemes.iter().filter_map(mark).collect();
    let axes = Axes::around(&marks);
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    drawing.text((FRAME[0], 28.0), Anchor::Start, "font-size=\"17\" font-weight=\"bold\"", title);
    drawing.text((FRAME[0], 50.0), Anchor::Start, "fill=\"#444\"", subtitle);
    axes.draw(&mut drawing);
    draw_better(&mut drawing, &axes, &marks);
    let mut labels = Labels::new(&axes, &marks);
    for (index, mark) in marks.iter().enumerate() {
        draw_mark(&mut drawing, &axes, mark, index);
    }
    for (index, mark) in marks.iter().enumerate() {
        let (at, anchor) = labels.place(axes.point(mark), mark.name);
        let style = format!("font-weight=\"bold\" fill=\"{}\"", COLOURS[index % COLOURS.len()]);
        drawing.text(at, anchor, &style, mark.name);
    }
    drawing.finish(title, &description(&marks))
}

fn mark(scheme: &Scheme) -> Option<Mark<'_>> {
    let delays: Vec<f64> = scheme.queueing_ms.iter().map(|ms| ms.max(LEAST_MS)).collect();
    let (delay, share) = (Spread::of(&delays)?, Spread::of(&scheme.share)?);
    Some(Mark { name: &scheme.name, delay, share })
}

fn description(marks: &[Mark<'_>]) -> String {
    let mut text = String::from("Medians over networks.");
    for Mark { name, delay, share } in marks {
        let (share, delay) = (share.middle, delay.middle);
        write!(text, " {name}: {share:.2} of the equal share, {delay:.1} ms of queueing delay.")
            .expect("memory takes it");
    }
    text
}

impl Axes {
    /// Axes that hold all of `marks`.
    fn around(marks: &[Mark<'_>]) -> Axes {
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let low = least(&mut marks.iter().map(|mark| mark.delay.low)).min(1e5);
        let high = most(&mut marks.iter().map(|mark| mark.delay.high)).max(low);
        let bottom = least(&mut marks.iter().map(|mark| mark.share.low)).min(0.9);
        let top = most(&mut marks.iter().map(|mark| mark.share.high)).max(0.9);
        Axes {
            delays: (low / 1.6, high * 1.6),
            shares: (
                ((bottom - 0.05) * 10.0).floor().max(0.0) / 10.0,
                ((top + 0.05) * 10.0).ceil() / 10.0,
            ),
        }
    }

    fn x(&self, delay_ms: f64) -> f64 {
        let (low, high) = (libm::log(self.delays.0), libm::log(self.delays.1));
        FRAME[0] + (FRAME[1] - FRAME[0]) * (high - libm::log(delay_ms)) / (high - low)
    }

    fn y(&self, share: f64) -> f64 {
        let (low, high) = self.shares;
        FRAME[3] - (FRAME[3] - FRAME[2]) * (share - low) / (high - low)
    }

    fn point(&self, mark: &Mark<'_>) -> (f64, f64) {
        (self.x(mark.delay.middle), self.y(mark.share.middle))
    }

    fn draw(&self, drawing: &mut Drawing) {
        let [left, right, top, bottom] = FRAME;
        for tick in delay_ticks(self.delays) {
            let x = self.x(tick);
            drawing.line(&[(x, top), (x, bottom)], GREY);
            drawing.text((x, bottom + 20.0), Anchor::Middle, "", &format!("{tick}"));
        }
        let tenths = |share: f64| (share * 10.0).round() as u32;
        for tenth in tenths(self.shares.0)..=tenths(self.shares.1) {
            let y = self.y(f64::from(tenth) / 10.0);
            let style = if tenth == 10 { "stroke=\"#666\" stroke-width=\"1\"" } else { GREY };
            drawing.line(&[(left, y), (right, y)], style);
            let label = format!("{:.1}", f64::from(tenth) / 10.0);
            drawing.text((left - 10.0, y + 4.5), Anchor::End, "", &label);
        }
        let frame = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        drawing.line(&frame, "stroke=\"#666\" stroke-width=\"1\"");
        let middle = (left + right) / 2.0;
        let label = "queueing delay, ms (logarithmic, less to the right)";
        drawing.text((middle, bottom + 46.0), Anchor::Middle, "", label);
        let middle = (top + bottom) / 2.0;
        drawing.upward_text((left - 46.0, middle), "throughput / equal share of the link");
    }
}

/// Round numbers between two delays: powers of ten, with twice and five times them where there is
/// room.
fn delay_ticks((low, high): (f64, f64)) -> Vec<f64> {
    let powers = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let factors: &[f64] = if high / low > 1e4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let ticks = powers.iter().flat_map(|power| factors.iter().map(move |factor| power * factor));
    ticks.filter(|tick| (low..=high).contains(tick)).collect()
}

/// The bars and the point of a scheme: each has a shape and dashes of its own besides its colour.
fn draw_mark(drawing: &mut Drawing, axes: &Axes, mark: &Mark<'_>, index: usize) {
    let colour = COLOURS[index % COLOURS.len()];
    let dashes = ["none", "7 3", "2 3", "10 3 2 3"][index % 4];
    let bar = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
    let (x, y) = axes.point(mark);
    drawing.line(&[(axes.x(mark.delay.high), y), (axes.x(mark.delay.low), y)], &bar);
    drawing.line(&[(x, axes.y(mark.share.low)), (x, axes.y(mark.share.high))], &bar);
    let point = format!("fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"1.5\"");
    let r = 7.5;
    let corners = match index % 4 {
        0 => return drawing.circle((x, y), r, &point),
        1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
        2 => vec![(x, y - 1.2 * r), (x + 1.1 * r, y + r), (x - 1.1 * r, y + r)],
        _ => vec![(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)],
    };
    drawing.shape(&corners, &point);
}

/// An arrow to where schemes are better, in the corner with the most room.
fn draw_better(drawing: &mut Drawing, axes: &Axes, marks: &[Mark<'_>]) {
    let [left, right, top, bottom] = FRAME;
    let corners = [
        (left + 70.0, bottom - 60.0),
        (right - 70.0, bottom - 60.0),
        (left + 70.0, top + 60.0),
        (right - 70.0, top + 60.0),
    ];
    let room = |&(x, y): &(f64, f64)| {
        let gaps = marks.iter().map(|mark| {
            let (mark_x, mark_y) = axes.point(mark);
            (x - mark_x).abs().max((y - mark_y).abs())
        });
        gaps.fold(f64::INFINITY, f64::min)
    };
    let best = corners.iter().rev().max_by(|a, b| room(a).total_cmp(&room(b)));
    let &(x, y) = best.expect("a frame has corners");
    let (tail, tip) = ((x - 28.0, y + 20.0), (x + 28.0, y - 20.0));
    drawing.line(&[tail, (tip.0 - 8.0, tip.1 + 5.7)], "stroke=\"#888\" stroke-width=\"4\"");
    let head = [tip, (tip.0 - 17.0, tip.1 + 2.5), (tip.0 - 8.0, tip.1 + 14.5)];
    drawing.shape(&head, "fill=\"#888\"");
    drawing.text(
        (x + 12.0, y + 24.0),
        Anchor::Middle,
        "fill=\"#666\" font-style=\"italic\"",
        "better",
    );
}

/// Finds places for the names of points, so that none covers another or a point.
struct Labels {
    /// What is taken: left, right, top, bottom.
    taken: Vec<[f64; 4]>,
}

impl Labels {
    fn new(axes: &Axes, marks: &[Mark<'_>]) -> Labels {
        let boxes = marks.iter().map(|mark| {
            let (x, y) = axes.point(mark);
            [x - 9.0, x + 9.0, y - 9.0, y + 9.0]
        });
        Labels { taken: boxes.collect() }
    }

    /// A place for `name` near `point`: above or below it, to either side.
    fn place(&mut self, (x, y): (f64, f64), name: &str) -> ((f64, f64), Anchor) {
        let length = name.chars().count() as f64 * LETTER;
        let mut places = Vec::new();
        for distance in [0.0, 18.0, 36.0] {
            for dy in [-12.0 - distance, 22.0 + distance] {
                places.push((x + 12.0, y + dy, Anchor::Start));
                places.push((x - 12.0, y + dy, Anchor::End));
            }
        }
        let cover = |&(x, y, anchor): &(f64, f64, Anchor)| {
            let left = if anchor == Anchor::End { x - length } else { x };
            [left, left + length, y - 12.0, y + 4.0]
        };
        let free = |place: &&(f64, f64, Anchor)| {
            let [left, right, top, bottom] = cover(place);
            let inside = left > FRAME[0] && right < FRAME[1] && top > FRAME[2] && bottom < FRAME[3];
            inside
                && self.taken.iter().all(|taken| {
                    right < taken[0] || left > taken[1] || bottom < taken[2] || top > taken[3]
                })
        };
        let &place = places.iter().find(free).unwrap_or(&places[0]);
        self.taken.push(cover(&place));
        ((place.0, place.1), place.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemes() -> Vec<Scheme> {
        let scheme = |name: &str, queueing_ms: [f64; 3], share: [f64; 3]| Scheme {
            name: name.to_owned(),
            queueing_ms: queueing_ms.to_vec(),
            share: share.to_vec(),
        };
        vec![
            scheme("RemyCC, 16 rules", [1.0, 3.0, 9.0], [0.7, 0.8, 0.9]),
            scheme("AIMD <plain>", [60.0, 100.0, 300.0], [0.8, 0.9, 0.95]),
        ]
    }

    fn attribute(line: &str, name: &str) -> f64 {
        let start = line.find(&format!("{name}=\"")).expect("it is there") + name.len() + 2;
        line[start..].split('"').next().and_then(|text| text.parse().ok()).expect("a number")
    }

    #[test]
    fn a_figure_names_what_it_shows() {
        let figure = throughput_delay("Title & more", "on 3 networks", &schemes());
        for label in [
            "Title &amp; more",
            "on 3 networks",
            ">RemyCC, 16 rules</text>",
            ">AIMD &lt;plain&gt;</text>",
            "queueing delay, ms",
            "throughput / equal share",
            ">better</text>",
            "<desc>Medians over networks. RemyCC, 16 rules: 0.80 of the equal share, 3.0 ms",
        ] {
            assert!(figure.contains(label), "{label} is missing from {figure}");
        }
        assert_eq!(figure, throughput_delay("Title & more", "on 3 networks", &schemes()));
        assert!(!figure.contains("NaN") && !figure.contains("inf\""));
    }

    #[test]
    fn less_delay_is_to_the_right_and_more_throughput_up() {
        let figure = throughput_delay("", "", &schemes());
        let circle = figure.lines().find(|line| line.starts_with("<circle")).unwrap();
        let square = figure.lines().find(|line| line.contains("d55e00\" stroke=\"#fff\"")).unwrap();
        let corner = &square[square.find("points=\"").unwrap() + 8..];
        let (x, y) = corner.split_once(' ').unwrap().0.split_once(',').unwrap();
        let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
        assert!(attribute(circle, "cx") > x && attribute(circle, "cy") > y, "{circle} {square}");
    }

    #[test]
    fn extremes_are_drawn_too() {
        let scheme = |ms: f64, share: f64| Scheme {
            name: format!("{ms} {share}"),
            queueing_ms: vec![ms],
            share: vec![share],
        };
        let nothing = Scheme { queueing_ms: vec![], ..scheme(1.0, 1.0) };
        for schemes in [vec![], vec![nothing], vec![scheme(0.0, 0.0), scheme(1e6, 5.0)]] {
            let figure = throughput_delay("", "", &schemes);
            assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
        }
        let same = vec![scheme(1.0, 0.5); 3];
        let figure = throughput_delay("", "", &same);
        let label = |line: &&str| line.contains(">1 0.5</text>");
        let places: Vec<&str> = figure.lines().filter(label).collect();
        assert_eq!(places.len(), 3);
        assert!(places[0] != places[1] && places[1] != places[2], "{places:?}");
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(delay_ticks((0.6, 30.0)), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(delay_ticks((0.005, 2e3)), [0.01, 0.1, 1.0, 10.0, 100.0, 1e3]);
    }
}
