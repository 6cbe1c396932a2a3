//! Every figure, against the files of `tests/golden`. With `UPDATE=1` they are written anew, and
//! with `PICTURES=FOLDER` each is drawn there as PNG, to be looked at.

use exm_measure::figure::*;
use exm_random::{Purpose, Stream};
use std::path::Path;

/// Compares `svg` with the golden file of this name, and checks what holds for every figure.
fn check(name: &str, svg: &str) {
    assert!(has_numbers_only(svg), "{name} has numbers that are none");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name} is not whole");
    assert!(!svg.contains(" id="), "two figures in a page may share no id");
    draw(name, svg);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.svg"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, svg).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        svg == golden,
        "{name} is not as in {}: look at the difference, and set UPDATE=1 if it is as it should be",
        path.display()
    );
}

/// Whether no number in `svg` is none.
fn has_numbers_only(svg: &str) -> bool {
    !svg.split(|c: char| !c.is_alphanumeric()).any(|word| ["NaN", "inf"].contains(&word))
}

#[cfg(feature = "png")]
fn draw(name: &str, svg: &str) {
    if let Some(folder) = std::env::var_os("PICTURES") {
        let png = exm_measure::png(svg, 2.0).expect("a picture");
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), png).expect("a folder");
    }
}

#[cfg(not(feature = "png"))]
fn draw(_: &str, _: &str) {}

fn scheme(index: usize, name: &str, mbps: f64, ms: f64) -> Scheme {
    let mut stream = Stream::new(1, Purpose::Traffic, index);
    let run = |stream: &mut Stream| {
        let (a, b) = (stream.normal(), stream.normal());
        Run {
            delay_ms: Some((ms * (1.0 + 0.25 * a)).max(0.05)),
            throughput: mbps * (1.0 + 0.07 * a + 0.06 * b),
        }
    };
    Scheme {
        dots: Vec::new(),
        name: name.to_owned(),
        style: Style::nth(index),
        frontiers: vec!["efficient frontier".to_owned()],
        curve: None,
        runs: (0..128).map(|_| run(&mut stream)).collect(),
    }
}

#[test]
fn throughput_and_delay() {
    let schemes = [
        ("RemyCC δ = 0.1", 1.85, 12.0),
        ("RemyCC δ = 1", 1.6, 5.0),
        ("RemyCC δ = 10", 1.2, 2.1),
        ("NewReno", 1.14, 13.2),
        ("Cubic", 1.13, 13.0),
        ("Vegas", 1.11, 8.5),
        ("Compound", 1.16, 14.1),
        ("Cubic over sfqCoDel", 1.3, 9.5),
        ("XCP", 1.25, 6.2),
    ];
    let figure = ThroughputDelay {
        cloud: Vec::new(),
        title: "Dumbbell, 15 Mbps, 150 ms, 8 senders".to_owned(),
        subtitle: "Medians and one-sigma ellipses of 128 runs of 100 s".to_owned(),
        description: "Throughput and queueing delay of nine schemes.".to_owned(),
        y_axis: "throughput, Mbps".to_owned(),
        delay: "queueing delay".to_owned(),
        spread: Spread::Ellipse(1.0),
        original: None,
        schemes: schemes
            .into_iter()
            .enumerate()
            .map(|(index, (name, mbps, ms))| scheme(index, name, mbps, ms))
            .collect(),
    };
    check("throughput-delay", &figure.svg());
    check(
        "throughput-delay-quartiles",
        &ThroughputDelay { spread: Spread::Quartiles, ..figure }.svg(),
    );
}

/// The points of the lines in `svg` that are told to be `name`.
fn lines_of(svg: &str, name: &str) -> Vec<Vec<(f64, f64)>> {
    let title = format!("<title>{name}</title>");
    let told = svg.split(&title).skip(1);
    let lines = told.filter_map(|rest| rest.split("points=\"").nth(1)?.split('"').next());
    let point = |pair: &str| {
        let (x, y) = pair.split_once(',').expect("x and y");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    lines.map(|line| line.split(' ').map(point).collect()).collect()
}

#[test]
fn no_frontier_joins_two_families() {
    let of = |index: usize, name: &str, at: (f64, f64), frontiers: &[&str]| Scheme {
        dots: Vec::new(),
        frontiers: frontiers.iter().map(|name| format!("frontier with {name}")).collect(),
        runs: vec![Run { delay_ms: Some(at.1), throughput: at.0 }],
        ..scheme(index, name, 1.0, 1.0)
    };
    let both = &["ours", "theirs"];
    let figure = ThroughputDelay {
        cloud: Vec::new(),
        title: "Two families of tables and what people designed".to_owned(),
        subtitle: "15 Mbps, 150 ms".to_owned(),
        description: "Two frontiers.".to_owned(),
        y_axis: "throughput, Mbps".to_owned(),
        delay: "queueing delay".to_owned(),
        spread: Spread::None,
        original: Some([[8.0, 32.0], [1.0, 3.0]]),
        schemes: vec![
            of(0, "ours, fast", (2.8, 22.0), &["ours"]),
            of(1, "ours, slow", (1.4, 1.3), &["ours"]),
            of(2, "theirs, fast", (1.9, 5.0), &["theirs"]),
            of(3, "theirs, slow", (1.3, 0.2), &["theirs"]),
            of(4, "Vegas", (1.6, 3.0), both),
            of(5, "Cubic", (1.5, 12.0), both),
        ],
    };
    let svg = figure.svg();
    check("frontiers", &svg);
    let (ours, theirs) =
        (lines_of(&svg, "frontier with ours"), lines_of(&svg, "frontier with theirs"));
    // From the least delay: Vegas, which no table of either beats, is on both; Cubic on neither.
    assert_eq!((ours.len(), ours[0].len(), theirs.len(), theirs[0].len()), (1, 3, 1, 3));
    assert_eq!(ours[0][1], theirs[0][1], "Vegas");
    assert!(ours[0].iter().filter(|point| theirs[0].contains(point)).count() == 1);
    assert!(svg.contains("the paper's axes</text>"), "{svg}");
}

#[test]
fn ellipses_are_whole_and_around_their_points() {
    // A spread as wide as its middle: a Gaussian of it reaches below zero on a linear axis.
    let mut wide = scheme(0, "wide", 1.0, 10.0);
    for (index, run) in wide.runs.iter_mut().enumerate() {
        run.delay_ms = Some(10.0 * libm::exp2(index as f64 % 9.0 - 4.0));
    }
    let figure = |spread| ThroughputDelay {
        cloud: Vec::new(),
        title: "Wide".to_owned(),
        subtitle: String::new(),
        description: String::new(),
        y_axis: "throughput, Mbps".to_owned(),
        delay: "queueing delay".to_owned(),
        spread,
        original: None,
        schemes: vec![wide.clone()],
    };
    let ends = |spread| {
        let svg = figure(spread).svg();
        let outline = svg.split("<polygon points=\"").find(|part| part.contains("fill-opacity"));
        let outline = outline.and_then(|part| part.split('"').next()).expect("an ellipse");
        let xs = outline.split(' ').filter_map(|pair| pair.split_once(',')?.0.parse::<f64>().ok());
        let xs: Vec<f64> = xs.collect();
        let circle = svg.split("<circle cx=\"").nth(1).and_then(|rest| rest.split('"').next());
        let centre: f64 = circle.expect("a point").parse().expect("a number");
        let (low, high) = xs.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
        (centre - low, high - centre)
    };
    for spread in [Spread::Ellipse(1.0), Spread::Ellipse(0.5)] {
        let (left, right) = ends(spread);
        assert!((left - right).abs() < 0.3 && left > 50.0, "{left} and {right}");
    }
}

#[test]
fn a_curve() {
    let one = |index: usize, name: &str, mbps: f64, ms: f64| Scheme {
        dots: Vec::new(),
        runs: vec![Run { delay_ms: Some(ms), throughput: mbps }],
        frontiers: Vec::new(),
        ..scheme(index, name, mbps, ms)
    };
    let of_curve = |name: &str, mbps: f64, ms: f64| Scheme {
        dots: Vec::new(),
        curve: Some("Sprout".to_owned()),
        frontiers: Vec::new(),
        ..one(0, name, mbps, ms)
    };
    let figure = ThroughputDelay {
        cloud: Vec::new(),
        title: "What certainty costs".to_owned(),
        subtitle: "a cellular uplink".to_owned(),
        description: "Less certainty is more throughput and more delay.".to_owned(),
        y_axis: "throughput at the receiver, Mbps".to_owned(),
        delay: "self-inflicted delay".to_owned(),
        spread: Spread::None,
        original: None,
        schemes: vec![
            of_curve("95 %", 0.31, 120.0),
            of_curve("75 %", 0.42, 260.0),
            of_curve("50 %", 0.50, 420.0),
            one(1, "Sprout-EWMA", 0.55, 610.0),
            one(2, "Cubic", 0.66, 25_000.0),
        ],
    };
    check("curve", &figure.svg());
}

#[test]
fn rate_and_delay() {
    let line = |style: Style, name: &str, of: &dyn Fn(f64) -> f64| Curve {
        name: name.to_owned(),
        style,
        points: (0..=600).map(|step| f64::from(step) / 10.0).map(|time| (time, of(time))).collect(),
    };
    let offered = |time: f64| 6.0 + 3.0 * libm::sin(time / 4.0) + libm::sin(time * 1.7);
    let panel = |y_axis: &str, y_scale, backdrop, lines| SeriesPanel {
        y_scale,
        backdrop: Some(backdrop),
        ..SeriesPanel::new(y_axis, lines)
    };
    let figure = Series {
        title: "A flow that fills the queue, and one that does not".to_owned(),
        subtitle: "a cellular downlink".to_owned(),
        description: "Sprout follows the link's rate from below.".to_owned(),
        panels: vec![
            panel(
                "throughput, Mbps",
                Scale::Linear,
                line(Style::BACKGROUND, "capacity", &offered),
                vec![
                    line(Style::nth(0), "Sprout", &|time| 0.8 * offered(time - 0.2)),
                    line(Style::nth(1), "Cubic", &|time| offered(time).min(7.5)),
                ],
            ),
            panel(
                "end-to-end delay, ms",
                Scale::Log,
                line(Style::BACKGROUND, "omniscient", &|_| 21.0),
                vec![
                    line(Style::nth(0), "Sprout", &|time| 60.0 + 30.0 * libm::sin(time)),
                    line(Style::nth(1), "Cubic", &|time| 400.0 + 90.0 * time),
                ],
            ),
        ],
        events: Vec::new(),
    };
    check("rate-and-delay", &figure.svg());
}

#[test]
fn a_sequence() {
    let flow = |index: usize, name: &str, rate: &dyn Fn(f64) -> f64| {
        let mut sum = 0.0;
        let points = (0..=600).map(|step| {
            let time = f64::from(step) / 20.0;
            sum += rate(time) / 20.0;
            (time, sum)
        });
        Curve { name: name.to_owned(), style: Style::nth(index), points: points.collect() }
    };
    let figure = Sequence {
        title: "A RemyCC yields to another flow, and takes the link back".to_owned(),
        subtitle: "15 Mbps, 150 ms; the second flow is on from 10 s to 20 s".to_owned(),
        description: "The first flow's line bends at 10 s and straightens at 20 s.".to_owned(),
        y_axis: "delivered, MB".to_owned(),
        lines: vec![
            flow(0, "RemyCC 1", &|t| if (10.0..20.0).contains(&t) { 0.9 } else { 1.8 }),
            flow(1, "RemyCC 2", &|t| if (10.0..20.0).contains(&t) { 0.85 } else { 0.0 }),
            flow(2, "Cubic", &|t| 1.15 + 0.3 * libm::sin(t * 0.8)),
        ],
        events: vec![
            Event { time: 10.0, label: "RemyCC 2 starts".to_owned() },
            Event { time: 20.0, label: "RemyCC 2 stops".to_owned() },
        ],
    };
    check("sequence", &figure.svg());
}

#[test]
fn a_sweep() {
    let line = |index: usize, name: &str, middle: f64, fall: f64| {
        let point = |step: i32| {
            let x = 4.7 * libm::pow(10.0, f64::from(step) / 20.0);
            let away = libm::log10(x / 15.0);
            let y = middle - fall * away * away;
            BandPoint { x, y, low: y - 0.06 - 0.1 * away.abs(), high: y + 0.06 + 0.1 * away.abs() }
        };
        Band {
            name: name.to_owned(),
            style: Style::nth(index),
            points: (0..=20).map(point).collect(),
            dots: (-1..=1).map(|luck| (15.0, middle + 0.05 * f64::from(luck))).collect(),
        }
    };
    let figure = Sweep {
        title: "What knowing the link's rate beforehand is worth".to_owned(),
        subtitle: "150 ms, 2 senders; bands are 95 % intervals".to_owned(),
        description: "The 1x RemyCC does best at 15 Mbps and falls off to both sides.".to_owned(),
        x_axis: "link rate, Mbps".to_owned(),
        x_scale: Scale::Log,
        y_axis: "log2(normalised throughput) - log2(RTT ratio)".to_owned(),
        y_scale: Scale::Linear,
        areas: Vec::new(),
        lines: vec![
            line(0, "RemyCC 1x", -0.3, 9.0),
            line(1, "RemyCC 10x", -0.6, 0.8),
            line(2, "Cubic over sfqCoDel", -1.2, 0.6),
            line(3, "Cubic", -1.25, 0.7),
        ],
        ranges: vec![
            DesignRange { name: "10x: 4.7-47 Mbps".to_owned(), low: 4.7, high: 47.0 },
            DesignRange { name: "1x: 15 Mbps".to_owned(), low: 15.0, high: 15.0 },
        ],
    };
    check("sweep", &figure.svg());
}

#[test]
fn bars() {
    let shares = [
        ("Cubic over sfqCoDel", [0.40, 0.27, 0.19, 0.14]),
        ("RemyCC δ = 0.1", [0.30, 0.26, 0.23, 0.21]),
        ("RemyCC δ = 1", [0.29, 0.25, 0.24, 0.22]),
        ("RemyCC δ = 10", [0.28, 0.25, 0.24, 0.23]),
        ("NewReno", [0.47, 0.25, 0.16, 0.12]),
    ];
    let group = |(index, rtt): (usize, u32)| BarGroup {
        name: format!("{rtt} ms"),
        bars: shares
            .iter()
            .map(|(_, values)| {
                let value = values[index];
                Some(Bar { value, low: value - 0.02, high: value + 0.02 })
            })
            .collect(),
    };
    let figure = Bars {
        title: "Shares of the link by RTT".to_owned(),
        subtitle: "10 Mbps, 4 senders; means with their standard errors".to_owned(),
        description: "With RemyCCs the share depends less on the RTT.".to_owned(),
        x_axis: "RTT of the flow".to_owned(),
        y_axis: "share of the link".to_owned(),
        schemes: shares
            .iter()
            .enumerate()
            .map(|(index, (name, _))| BarScheme {
                name: (*name).to_owned(),
                style: Style::nth(index),
            })
            .collect(),
        groups: [50, 100, 150, 200].into_iter().enumerate().map(group).collect(),
        reference: Some(Reference { value: 0.25, name: "equal share".to_owned() }),
    };
    check("bars", &figure.svg());
}

#[test]
fn series() {
    let saw = |index: usize, name: &str, period: f64, height: f64| Curve {
        name: name.to_owned(),
        style: Style::nth(index),
        points: (0..=800)
            .map(|step| {
                let time = f64::from(step) / 8.0;
                (time, height * (0.5 + 0.5 * (time / period).fract()))
            })
            .collect(),
    };
    let figure = Series {
        title: "One long flow through a deep buffer".to_owned(),
        subtitle: "15 Mbps, 150 ms, 1000 packets".to_owned(),
        description: "Queue and window saw in step.".to_owned(),
        panels: vec![
            SeriesPanel {
                ticks: vec![33.0, 66.0, 66.001, 67.0, 99.0],
                ..SeriesPanel::new("queue, packets", vec![saw(0, "bottleneck", 33.0, 1000.0)])
            },
            SeriesPanel::new(
                "congestion window, packets",
                vec![saw(1, "NewReno 1", 33.0, 2377.0), saw(2, "Cubic", 21.0, 1255.0)],
            ),
        ],
        events: vec![Event { time: 60.0, label: "Cubic's path changes".to_owned() }],
    };
    check("series", &figure.svg());
}

#[test]
fn distributions() {
    let sample = |index: usize, name: &str, scale: f64| {
        let mut stream = Stream::new(2, Purpose::Traffic, index);
        let values = (0..400).map(|_| scale * libm::exp(1.2 * stream.normal())).collect();
        Sample { name: name.to_owned(), style: Style::nth(index), values }
    };
    let figure = Distribution {
        title: "How long flows take".to_owned(),
        subtitle: "400 flows of 100 kB on average".to_owned(),
        description: "RemyCC's flows are done first.".to_owned(),
        x_axis: "flow completion time, ms".to_owned(),
        x_scale: Scale::Log,
        is_tail: false,
        samples: vec![
            sample(0, "RemyCC", 300.0),
            sample(1, "Cubic", 500.0),
            sample(2, "NewReno", 540.0),
        ],
    };
    check("distribution", &figure.svg());
    check("tail", &Distribution { is_tail: true, ..figure }.svg());
}

#[test]
fn a_density() {
    let law = |ms: f64| 1.2e-3 * libm::pow(ms / 20.0, -3.27);
    let mut stream = Stream::new(3, Purpose::Traffic, 0);
    let point = |step: i32| {
        let ms = 0.5 * libm::pow(1.2, f64::from(step));
        let near = 0.4 * libm::exp(-ms / 2.4);
        (ms, (near + law(ms).min(1.2e-3)) * libm::exp(0.2 * stream.normal()))
    };
    let mut points: Vec<(f64, f64)> = (0..48).map(point).collect();
    points.extend([(0.0, 1.0), (5000.0, 0.0)]);
    let line = |index: usize, name: &str, points| Curve {
        name: name.to_owned(),
        style: Style::nth(index),
        points,
    };
    let figure = Density {
        title: "Times between opportunities".to_owned(),
        subtitle: "a saturated cellular downlink".to_owned(),
        description: "Beyond 20 ms the density falls as a power of the time.".to_owned(),
        x_axis: "time between opportunities, ms".to_owned(),
        y_axis: "share of all, per ms".to_owned(),
        lines: vec![
            line(0, "measured", points),
            line(1, "t^-3.27", vec![(20.0, law(20.0)), (3000.0, law(3000.0))]),
        ],
    };
    check("density", &figure.svg());
}

#[test]
fn figures_of_nothing_and_of_extremes_are_drawn_too() {
    let text = String::new;
    let td = |schemes: Vec<Scheme>, spread| ThroughputDelay {
        cloud: Vec::new(),
        title: text(),
        subtitle: text(),
        description: text(),
        y_axis: text(),
        delay: text(),
        spread,
        original: None,
        schemes,
    };
    let extreme = |ms, throughput| Scheme {
        dots: Vec::new(),
        runs: vec![Run { delay_ms: ms, throughput }],
        ..scheme(0, "AIMD <plain> & \"quoted\"", 1.0, 1.0)
    };
    let lists = [
        vec![],
        vec![extreme(None, 0.0)],
        vec![extreme(Some(0.0), 0.0), extreme(Some(1e6), 5e4)],
        vec![extreme(Some(1.0), 0.5); 3],
    ];
    let line = |points: Vec<(f64, f64)>| Curve { name: text(), style: Style::nth(5), points };
    let lines = [vec![], vec![line(vec![])], vec![line(vec![(1.0, f64::NAN), (2.0, 0.0)])]];
    let mut figures: Vec<String> = Vec::new();
    for list in lists {
        figures.push(td(list.clone(), Spread::Ellipse(1.0)).svg());
        figures.push(td(list.clone(), Spread::None).svg());
        figures.push(td(list, Spread::Quartiles).svg());
    }
    for lines in lines {
        let backdrop = lines.first().cloned();
        let panel = SeriesPanel {
            y_scale: Scale::Log,
            backdrop,
            ..SeriesPanel::new(text(), lines.clone())
        };
        let (title, subtitle, description) = (text(), text(), text());
        let series = Series { title, subtitle, description, panels: vec![panel], events: vec![] };
        figures.push(series.svg());
        let (title, subtitle, description) = (text(), text(), text());
        let density = Density {
            title,
            subtitle,
            description,
            x_axis: text(),
            y_axis: text(),
            lines: lines.clone(),
        };
        figures.push(density.svg());
        let (title, subtitle, description) = (text(), text(), text());
        let y_axis = text();
        figures
            .push(Sequence { title, subtitle, description, y_axis, lines, events: vec![] }.svg());
    }
    for figure in figures {
        assert!(has_numbers_only(&figure), "{figure}");
        assert!(!figure.contains("<plain>") && !figure.contains("\"quoted\""), "{figure}");
        #[cfg(feature = "png")]
        exm_measure::png(&figure, 1.0).expect("a picture");
    }
}
