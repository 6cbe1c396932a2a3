//! The periods of orbits over the rates of the links.

use super::name_of;
use exm_measure::figure::{Band, BandPoint, Scale, Style, Sweep};
use exm_ratatouille::{Orbit, Quantiles, SurveyedLink};
use std::path::Path;

/// Which of the orbits of a link is meant.
type OrbitOf = fn(&SurveyedLink) -> Orbit;

/// In how many ranges of rates, with as many links each, the median is drawn.
const RANGES: usize = 40;
/// How many links are shown each by a dot.
const DOTS: usize = 500;
/// Ends of axes that are so many times apart are on a logarithmic one.
const WIDE: f64 = 4.0;
/// Dots above are left out: a few long periods would press all others together.
const LONGEST: f64 = 12.0;

/// The picture of the cycles of `links`.
pub(super) fn svg(table: &Path, links: &[SurveyedLink]) -> String {
    let name = name_of(table);
    let rates = || links.iter().map(|of| of.link.rate().as_mbps());
    let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let orbits: [(&str, OrbitOf); 3] = [
        ("one flow, predicted", |of| of.predicted),
        ("one flow, simulated", |of| of.simulated),
        ("first of two flows", |of| of.shared),
    ];
    let line = |(number, (name, orbit)): (usize, &(&str, OrbitOf))| {
        let cycle = |of: &SurveyedLink| Some((of.link.rate().as_mbps(), orbit(of).cycle()?));
        // Dots of what agrees would hide each other.
        let dots = links.iter().filter(|_| number != 1).take(DOTS).filter_map(cycle);
        let mut cycles: Vec<(f64, f64)> = links.iter().filter_map(cycle).collect();
        cycles.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let ranges = cycles.chunks(cycles.len().div_ceil(RANGES).max(1));
        Band {
            name: (*name).to_owned(),
            style: Style::nth(number),
            points: ranges.filter_map(point).collect(),
            dots: dots.filter(|(_, period)| *period <= LONGEST).collect(),
        }
    };
    let figure = Sweep {
        title: format!("Orbits of {name}"),
        subtitle: format!(
            "{} links; medians of cycles at similar rates, and the range from the tenth to the ninetieth percentile",
            links.len()
        ),
        description: format!(
            "The period of the packets in flight of {name} over the rate of the link, predicted and simulated."
        ),
        x_axis: "link rate, Mbps".to_owned(),
        x_scale: if high > WIDE * low { Scale::Log } else { Scale::Linear },
        y_axis: "period of cycles, RTTs".to_owned(),
        y_scale: Scale::Linear,
        areas: Vec::new(),
        lines: orbits.iter().enumerate().map(line).collect(),
        ranges: Vec::new(),
    };
    figure.svg()
}

/// The median of cycles with similar rates, and the range from the tenth percentile to the ninetieth.
fn point(cycles: &[(f64, f64)]) -> Option<BandPoint> {
    let (rates, periods): (Vec<f64>, Vec<f64>) = cycles.iter().copied().unzip();
    let Quantiles { low, median, high } = Quantiles::of(&periods)?;
    Some(BandPoint { x: exm_measure::median(&rates)?, y: median, low, high })
}
