//! Figures in their narrow form, and their numbers as CSV.

use exm_measure::figure::*;

const NAMES: [&str; 5] =
    ["RemyCC with a rather long name", "Cubic", "Vegas", "Compound", "NewReno"];
const Y_AXIS: &str = "throughput, Mbps";

fn title() -> String {
    "A long title ".repeat(5)
}

fn subtitle() -> String {
    "64 runs of 100 s, seed 1, medians and ellipses".to_owned()
}

fn lines() -> Vec<Curve> {
    let line = |(index, name): (usize, &&str)| {
        let point = |x: i32| (f64::from(x) + 1.0, f64::from(x * x) + index as f64 + 1.0);
        Curve {
            name: (*name).to_owned(),
            style: Style::nth(index),
            points: (0..50).map(point).collect(),
        }
    };
    NAMES.iter().enumerate().map(line).collect()
}

fn throughput_delay() -> ThroughputDelay {
    let run = |index: i32, run: i32| Run {
        delay_ms: Some(f64::from(9 + index * 3 + run % 5)),
        throughput: 1.0 + 0.3 * f64::from(index) + 0.02 * f64::from(run % 7),
    };
    let scheme = |line: Curve, index: i32| Scheme {
        name: line.name,
        style: line.style,
        frontiers: vec!["efficient frontier".to_owned()],
        curve: None,
        runs: (0..32).map(|number| run(index, number)).collect(),
        dots: vec![run(index, 0)],
    };
    ThroughputDelay {
        cloud: Vec::new(),
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        y_axis: Y_AXIS.to_owned(),
        delay: "self-inflicted delay".to_owned(),
        spread: Spread::Ellipse(1.0),
        original: Some([[1.0, 20.0], [0.5, 3.0]]),
        schemes: lines().into_iter().zip(0..).map(|(line, index)| scheme(line, index)).collect(),
    }
}

fn sweep() -> Sweep {
    let point = |&(x, y): &(f64, f64)| BandPoint { x, y, low: y - 1.0, high: y + 1.0 };
    let band = |line: Curve| Band {
        name: line.name,
        style: line.style,
        points: line.points.iter().map(point).collect(),
        dots: line.points.clone(),
    };
    Sweep {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        x_axis: "rate of the link, Mbps".to_owned(),
        x_scale: Scale::Log,
        y_axis: Y_AXIS.to_owned(),
        y_scale: Scale::Linear,
        lines: lines().into_iter().map(band).collect(),
        areas: vec![[0, 1]],
        ranges: vec![DesignRange {
            name: "RemyCC: design range".to_owned(),
            low: 40.0,
            high: 50.0,
        }],
    }
}

fn sequence() -> Sequence {
    Sequence {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        y_axis: Y_AXIS.to_owned(),
        lines: lines(),
        events: vec![Event { time: 40.0, label: "a competitor starts".to_owned() }],
    }
}

fn series() -> Series {
    Series {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        panels: vec![SeriesPanel::new("queue, packets", lines())],
        events: vec![],
    }
}

fn density() -> Density {
    Density {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        x_axis: "time, ms".to_owned(),
        y_axis: Y_AXIS.to_owned(),
        lines: lines(),
    }
}

fn distribution() -> Distribution {
    let sample = |line: Curve| Sample {
        name: line.name,
        style: line.style,
        values: line.points.iter().map(|point| point.1).collect(),
    };
    Distribution {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        x_axis: "time, ms".to_owned(),
        x_scale: Scale::Log,
        is_tail: false,
        samples: lines().into_iter().map(sample).collect(),
    }
}

fn bars() -> Bars {
    let scheme = |line: Curve| BarScheme { name: line.name, style: line.style };
    Bars {
        title: title(),
        subtitle: subtitle(),
        description: String::new(),
        x_axis: "flows".to_owned(),
        y_axis: Y_AXIS.to_owned(),
        schemes: lines().into_iter().map(scheme).collect(),
        groups: vec![BarGroup {
            name: "RTT 50 ms".to_owned(),
            bars: vec![Some(Bar { value: 1.0, low: 0.5, high: 1.5 }); NAMES.len()],
        }],
        reference: Some(Reference { value: 1.0, name: "equal share".to_owned() }),
    }
}

/// A figure of each kind, with long names.
fn plots() -> Vec<Box<dyn Plot>> {
    vec![
        Box::new(throughput_delay()),
        Box::new(sweep()),
        Box::new(sequence()),
        Box::new(series()),
        Box::new(density()),
        Box::new(distribution()),
        Box::new(bars()),
    ]
}

/// The letters of a page that is 400 pixels wide, of which margins take 32: a figure of 360 is not shrunk.
#[test]
fn narrow_figures_have_letters_of_the_same_size() {
    for plot in plots() {
        let (wide, narrow) = (plot.drawn(Form::Wide), plot.drawn(Form::Narrow));
        assert!(
            wide.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\""),
            "{wide}"
        );
        assert!(
            narrow.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"360\""),
            "{narrow}"
        );
        let sizes = narrow.split("font-size=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let sizes: Vec<f64> = sizes.map(|size| size.parse().expect("a number")).collect();
        assert!(sizes.iter().all(|&size| size >= 11.0), "{sizes:?}");
        for part in narrow.split("<text x=\"").skip(1) {
            let x: f64 = part.split('"').next().and_then(|x| x.parse().ok()).expect("a place");
            assert!((0.0..=360.0).contains(&x), "{part}");
        }
        assert!(narrow.contains(">RemyCC with a rather long name</text>"), "{narrow}");
    }
}

#[test]
fn the_numbers_of_a_figure_are_rows() {
    for plot in plots() {
        let csv = plot.csv();
        let commas = |line: &str| {
            line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>()
        };
        let mut lines = csv.lines().map(commas);
        let headings = lines.next().expect("headings");
        assert!(headings > 0 && lines.clone().count() > 0, "{csv}");
        assert!(lines.all(|count| count == headings), "{csv}");
    }
    let series = series().csv();
    assert!(series.starts_with("quantity,line,\"time, s\",value\n"), "{series}");
    assert!(series.contains("\"queue, packets\",Cubic,1,2\n"), "{series}");
}
