//! The library's pictures, as SVG.

use exmachina::measure::figure::{
    Curve, Run, Scheme, Series, SeriesPanel, Spread, Styles, ThroughputDelay,
};
use pyo3::prelude::*;

/// A scheme or flow, and the delay, ms, and throughput of each of its runs.
type Runs = (String, Vec<(Option<f64>, f64)>);
/// A quantity with its unit, and a name and points of each line.
type Quantity = (String, Vec<(String, Vec<(f64, f64)>)>);

/// Throughput against queueing delay.
#[pyfunction]
pub(crate) fn throughput_delay_svg(title: String, y_axis: String, schemes: Vec<Runs>) -> String {
    let mut styles = Styles::new();
    let several = schemes.iter().any(|(_, runs)| runs.len() > 1);
    let schemes = schemes.into_iter().map(|(name, runs)| Scheme {
        style: styles.of(&name),
        name,
        frontiers: Vec::new(),
        curve: None,
        runs: runs.into_iter().map(|(delay_ms, throughput)| Run { delay_ms, throughput }).collect(),
        dots: Vec::new(),
    });
    let figure = ThroughputDelay {
        cloud: Vec::new(),
        description: format!("{title}: throughput against queueing delay"),
        title,
        subtitle: String::new(),
        y_axis,
        delay: "queueing delay".to_owned(),
        spread: if several { Spread::Quartiles } else { Spread::None },
        original: None,
        schemes: schemes.collect(),
    };
    figure.svg()
}

/// Quantities over time, one panel below the other.
#[pyfunction]
pub(crate) fn series_svg(title: String, panels: Vec<Quantity>) -> String {
    let mut styles = Styles::new();
    let panels = panels.into_iter().map(|(y_axis, lines)| {
        let lines =
            lines.into_iter().map(|(name, points)| Curve { style: styles.of(&name), name, points });
        SeriesPanel::new(y_axis, lines.collect())
    });
    let figure = Series {
        panels: panels.collect(),
        description: format!("{title}: series over time"),
        title,
        subtitle: String::new(),
        events: Vec::new(),
    };
    figure.svg()
}
