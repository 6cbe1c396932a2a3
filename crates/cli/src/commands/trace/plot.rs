//! `exm trace plot`: draws traces.

use super::{check_window, load};
use crate::outputs::{check_only_output, write_output};
use crate::pictures::Format;
use crate::shell::Failure;
use exm_measure::figure::{Curve, Density, Series, SeriesPanel, Style};
use exm_trace::{InterArrivals, Statistics, Trace};
use exm_units::{Instant, Span};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm trace plot lte.trace -o capacity.svg
  exm trace plot down.trace up.trace --window 500ms -o both.png
  exm trace plot lte.trace --kind interarrivals -o figure-2-4.svg";

/// Draw the capacity of traces over time, or the times between their opportunities
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The traces
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The file of the figure: .svg, .png or .pdf; - for standard output, as SVG
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    /// What to draw
    #[arg(long, value_enum, default_value_t = Kind::Capacity)]
    kind: Kind,
    /// The averaging interval of capacity
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    window: Span,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// The capacity over time
    Capacity,
    /// The distribution of the times between opportunities, with its power law: figure 2-4
    Interarrivals,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let format = Format::of(&self.output, "--out")?;
        let files: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        check_only_output(&self.output, &files, self.force)?;
        let traces = load(&self.files)?;
        let svg = match self.kind {
            Kind::Capacity => self.capacity(&traces)?,
            Kind::Interarrivals => inter_arrivals(&traces),
        };
        write_output(&self.output, &format.encode(svg)?)?;
        Ok(ExitCode::SUCCESS)
    }

    fn capacity(&self, traces: &[(String, Trace)]) -> Result<String, Failure> {
        let mut panels = Vec::new();
        for (index, (name, trace)) in traces.iter().enumerate() {
            check_window(self.window, trace)?;
            let end = Instant::ZERO + trace.period();
            let step = self.window.as_secs_f64();
            let rates = trace.rates(Instant::ZERO, end, self.window);
            let point = |(index, rate): (u32, exm_units::Rate)| {
                ((f64::from(index) + 0.5) * step, rate.as_mbps())
            };
            let points = (0..).zip(rates).map(point).collect();
            let line = Curve { name: name.clone(), style: Style::nth(index), points };
            let y_axis = "capacity, Mbps".to_owned();
            panels.push(SeriesPanel::new(y_axis, vec![line]));
        }
        let descriptions = traces.iter().map(|(name, trace)| {
            format!("{name}: {:.2} Mbps on average.", trace.mean_rate().as_mbps())
        });
        let figure = Series {
            title: "What the link could deliver".to_owned(),
            subtitle: format!("means over {}", self.window),
            description: descriptions.collect::<Vec<_>>().join(" "),
            panels,
            events: Vec::new(),
        };
        Ok(figure.svg())
    }
}

fn inter_arrivals(traces: &[(String, Trace)]) -> String {
    let mut lines = Vec::new();
    let mut descriptions = Vec::new();
    for (index, (name, trace)) in traces.iter().enumerate() {
        let all = Statistics::of(trace, Span::MAX).inter_arrivals;
        let line = |name: &str, number: usize, points| {
            lines.push(Curve { name: name.to_owned(), style: Style::nth(number), points });
        };
        descriptions.push(draw(name, index * 2, &all, line));
    }
    let figure = Density {
        title: "Times between opportunities".to_owned(),
        subtitle: "beyond 20 ms with the most likely power law".to_owned(),
        description: descriptions.join(" "),
        x_axis: "time to the next opportunity, ms (logarithmic)".to_owned(),
        y_axis: "share of all, per ms (logarithmic)".to_owned(),
        lines,
    };
    figure.svg()
}

/// The lines of one trace, and their description in words.
fn draw(
    name: &str,
    number: usize,
    all: &InterArrivals,
    mut line: impl FnMut(&str, usize, Vec<(f64, f64)>),
) -> String {
    let per_ms = |density: f64| density / 1000.0;
    let filled = all.bins.iter().filter(|bin| bin.count > 0 && !bin.from.is_zero());
    let point = |bin: &exm_trace::InterArrivalBin| {
        (bin.middle().as_millis_f64(), per_ms(bin.density(all.count)))
    };
    line(name, number, filled.map(point).collect());
    let near = format!("{name}: {:.2} % within 20 ms", all.near * 100.0);
    let Some(tail) = all.tail else { return format!("{near}.") };
    let last = all.bins.last().map_or(tail.above, |bin| bin.to).max(tail.above);
    let ends = [tail.above, last]
        .map(|time| (time.as_millis_f64(), per_ms(tail.density(time, all.count))));
    let law = format!("t^-{:.2}", tail.exponent);
    line(&format!("{name}: {law}"), number + 1, ends.to_vec());
    format!("{near}; the density beyond falls as {law}.")
}
