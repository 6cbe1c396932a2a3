//! `exm trace info`: summaries of traces.

use super::load;
use crate::layout;
use crate::shell::{Failure, Printing};
use exm_store::Columns;
use exm_trace::delay::omniscient;
use exm_trace::{MAX_TIME, Statistics, Trace};
use exm_units::{Instant, Span};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The omniscient delay is the 95 % end-to-end delay of a protocol that sends each packet so that it
meets a delivery opportunity without waiting: a lower bound for every protocol. It is measured over one
pass of the trace, or from --from to --until.

The tail is the maximum-likelihood exponent of a power law for the times between opportunities
beyond 20 ms; for a Verizon LTE downlink, Sprout's authors found 3.27. The seconds like Poisson's
are those whose counts per 20 ms vary as those of a Poisson process do in 95 % of seconds.

Examples:
  exm trace info lte.trace
  exm trace info --from 60s --until 180s down.trace up.trace
  exm trace info --json lte.trace";

/// Print summaries of traces: their capacity and their outages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The traces
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The one-way propagation delay that the omniscient delay includes
    #[arg(long, value_name = "DURATION", default_value = "20ms")]
    delay: Span,
    /// A longer time without an opportunity counts as an outage
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    outage: Span,
    /// The start of the measurement of capacity and omniscient delay; needs --until
    #[arg(long, value_name = "DURATION", requires = "until")]
    from: Option<Span>,
    /// The end of the measurement; the trace repeats after its end
    #[arg(long, value_name = "DURATION")]
    until: Option<Span>,
    #[command(flatten)]
    printing: Printing,
}

/// All traces.
#[derive(Serialize)]
struct Results {
    traces: Vec<Result>,
}

/// The summary of a trace.
#[derive(Serialize)]
struct Result {
    name: String,
    opportunities: usize,
    length_s: f64,
    capacity_mbps: f64,
    omniscient_delay_95_ms: Option<f64>,
    /// Rates of whole seconds: percentile and Mbps.
    rates_mbps: Vec<(f64, f64)>,
    within_20_ms: f64,
    tail_exponent: Option<f64>,
    tail_error: Option<f64>,
    tail_count: u64,
    longest_gap_s: f64,
    outages: u64,
    outage_share: f64,
    outage_threshold_s: f64,
    poisson_like: Option<f64>,
}

impl Args {
    pub(crate) fn run(self) -> std::result::Result<ExitCode, Failure> {
        let interval = self.interval()?;
        let result = |(name, trace): (String, Trace)| {
            let lap = trace.period();
            // Over the second lap: opportunities before the first lap do not count.
            let interval = interval.unwrap_or((Instant::ZERO + lap, Instant::ZERO + lap * 2));
            Result::new(name, &trace, &self, interval)
        };
        let results = load(&self.files)?.into_iter().map(result).collect();
        self.printing.print(&Results { traces: results })?;
        Ok(ExitCode::SUCCESS)
    }

    /// The requested interval.
    fn interval(&self) -> std::result::Result<Option<(Instant, Instant)>, Failure> {
        let Some(until) = self.until else { return Ok(None) };
        let from = self.from.unwrap_or(Span::ZERO);
        if until <= from || Instant::ZERO.saturating_add(until) > MAX_TIME {
            let problem = format!("give a time after {from}, at most 31 years");
            return Err(Failure::invalid_value(&until.to_string(), "--until", &problem));
        }
        Ok(Some((Instant::ZERO + from, Instant::ZERO + until)))
    }
}

impl Result {
    fn new(name: String, trace: &Trace, args: &Args, (from, until): (Instant, Instant)) -> Result {
        let all = Statistics::of(trace, args.outage);
        let best = omniscient(trace, args.delay, from, until);
        let percentile = |rates: &exm_trace::Rates| {
            [5.0, 25.0, 50.0, 75.0, 95.0].map(|p| (p, rates.percentile(p).as_mbps())).to_vec()
        };
        let tail = all.inter_arrivals.tail;
        Result {
            name,
            opportunities: all.opportunities,
            length_s: all.period.as_secs_f64(),
            capacity_mbps: best.throughput.as_mbps(),
            omniscient_delay_95_ms: best.delay_95.map(Span::as_millis_f64),
            rates_mbps: all.rates.as_ref().map(percentile).unwrap_or_default(),
            within_20_ms: all.inter_arrivals.near,
            tail_exponent: tail.map(|tail| tail.exponent),
            tail_error: tail.map(|tail| tail.error),
            tail_count: tail.map_or(0, |tail| tail.count),
            longest_gap_s: all.outages.longest.as_secs_f64(),
            outages: all.outages.count,
            outage_share: all.outages.share,
            outage_threshold_s: args.outage.as_secs_f64(),
            poisson_like: all.poisson_like,
        }
    }

    fn tail(&self) -> String {
        match (self.tail_exponent, self.tail_error) {
            (Some(exponent), Some(error)) => format!("t^-{exponent:.2} ±{error:.2}"),
            _ => "too few".to_owned(),
        }
    }
}

/// `value` in percent, or a dash.
fn percent(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.decimals$} %", value * 100.0))
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        let mut line = |name: &str, cell: &dyn Fn(&Result) -> String| {
            columns.line(std::iter::once(name.to_owned()).chain(self.traces.iter().map(cell)));
        };
        line("", &|one| one.name.clone());
        line("length", &|one| format!("{:.1} s", one.length_s));
        line("opportunities", &|one| one.opportunities.to_string());
        line("capacity", &|one| format!("{:.3} Mbps", one.capacity_mbps));
        line("omniscient 95 % delay", &|one| {
            one.omniscient_delay_95_ms.map_or("-".to_owned(), |delay| format!("{delay:.0} ms"))
        });
        for (index, percentile) in [5, 25, 50, 75, 95].into_iter().enumerate() {
            line(&format!("rate of a second, {percentile} %"), &|one| {
                one.rates_mbps
                    .get(index)
                    .map_or("-".to_owned(), |rate| format!("{:.2} Mbps", rate.1))
            });
        }
        line("next within 20 ms", &|one| percent(Some(one.within_20_ms), 2));
        line("tail beyond 20 ms", &Result::tail);
        line("longest without any", &|one| format!("{:.3} s", one.longest_gap_s));
        line("outages", &|one| format!("{} over {} s", one.outages, one.outage_threshold_s));
        line("time in outages", &|one| percent(Some(one.outage_share), 1));
        line("seconds like Poisson's", &|one| percent(one.poisson_like, 0));
        f.write_str(&layout::table(&columns))
    }
}
