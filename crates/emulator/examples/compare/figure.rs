//! The figure of the comparison: windows over time, a panel for each transfer.

use crate::peers::{Comparison, Record};
use exm_units::{Instant, Span};
use std::fmt::Write;

/// The size of a panel's plot area and its margins.
const FIELD: [f64; 2] = [430.0, 120.0];
const MARGIN: [f64; 2] = [48.0, 46.0];
/// How many panels stand above each other.
const ROWS: usize = 3;
/// The step between the points drawn.
const STEP: Span = Span::from_millis(50);
/// The styles of the kernel's line and ours, which also differ in shade and dashes.
const STYLES: [&str; 2] =
    ["stroke=\"#333333\"", "stroke=\"#d55e00\" stroke-dasharray=\"5 3\" stroke-width=\"1.4\""];

/// Draws them, as SVG.
pub(crate) fn draw(comparisons: &[Comparison]) -> String {
    let columns = comparisons.len().div_ceil(ROWS) as f64;
    let width = columns * (FIELD[0] + MARGIN[0]) + 16.0;
    let height = ROWS as f64 * (FIELD[1] + MARGIN[1]) + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Congestion windows over time: the kernel's and ours</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, comparison) in comparisons.iter().enumerate() {
        let (column, line) = ((number / ROWS) as f64, (number % ROWS) as f64);
        let x = MARGIN[0] + column * (FIELD[0] + MARGIN[0]);
        let y = 24.0 + line * (FIELD[1] + MARGIN[1]);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        panel(&mut svg, comparison);
        svg += "</g>\n";
    }
    let y = height - 22.0;
    for (place, (style, whose)) in STYLES.iter().zip(["kernel", "simulated"]).enumerate() {
        let x = MARGIN[0] + 120.0 * place as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}h28\" {style} fill=\"none\"/><text x=\"{}\" y=\"{}\">{whose}</text>",
            x + 34.0,
            y + 4.0
        );
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, comparison: &Comparison) {
    let records = [&comparison.kernel.record, &comparison.simulated];
    let seconds = comparison.scenario.duration.as_secs_f64();
    let points = records.map(|record| sample(record, comparison.scenario.duration));
    let peak = points.iter().flatten().map(|point| point.1).fold(1.0, f64::max);
    let top = (peak / 20.0).ceil() * 20.0;
    let [wide, high] = FIELD;
    let _ = writeln!(
        svg,
        "<text y=\"-6\" font-weight=\"bold\">{}, {}</text>\
         <path d=\"M0 0V{high}H{wide}\" stroke=\"#888888\" fill=\"none\"/>",
        comparison.control, comparison.scenario.name
    );
    for cwnd in [0.0, top / 2.0, top] {
        let y = high * (1.0 - cwnd / top);
        let _ =
            writeln!(svg, "<text x=\"-5\" y=\"{:.1}\" text-anchor=\"end\">{cwnd}</text>", y + 4.0);
    }
    for second in (0..=seconds as u32).step_by(4) {
        let x = wide * f64::from(second) / seconds;
        let y = high + 14.0;
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{second} s</text>");
    }
    for (points, style) in points.iter().zip(STYLES) {
        let at = |&(second, cwnd): &(f64, f64)| {
            format!("{:.1} {:.1}", wide * second / seconds, high * (1.0 - cwnd / top))
        };
        let path: Vec<String> = points.iter().map(at).collect();
        let _ = writeln!(svg, "<path d=\"M{}\" {style} fill=\"none\"/>", path.join("L"));
    }
}

/// The windows of a record at each step, by the second.
fn sample(record: &Record, duration: Span) -> Vec<(f64, f64)> {
    let steps = duration.as_nanos() / STEP.as_nanos();
    let times = (0..steps).map(|step| STEP * step);
    let seen = times.filter_map(|time| Some((time, record.flows[0].window(Instant::ZERO + time)?)));
    seen.map(|(time, cwnd)| (time.as_secs_f64(), cwnd as f64)).collect()
}
