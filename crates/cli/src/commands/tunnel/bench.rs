//! `exm tunnel bench`: a call beside a download, with and without a tunnel.

use super::RISK;
use crate::commands::cellsim::LinkFlags;
use crate::commands::duration;
use crate::interrupt;
use crate::layout;
use crate::progress::Progress;
use crate::sessions::SproutFlags;
use crate::shell::{Failure, Printing};
use exm_bench::tunnel::{BenchError, BenchPlan, Call, Measured, Transport, measure};
use exm_measure::{MedianInterval, median};
use exm_os::Rights;
use exm_store::Columns;
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The benchmark emulates a link between two network namespaces, in real time. A download over the kernel's
TCP shares it with a two-way call, a datagram of 1200 bytes every 20 ms from either end (480 kbps), first
without and then with a tunnel (section 2.4.7 of Winstein's thesis). Delay is the 95th percentile over
time of the end-to-end delay: the age of the call's most recently sent packet that has arrived.
With --runs the values are medians, with 95 % intervals (below six runs: the least and the greatest value).

Examples:
  exm tunnel bench --down lte --up lte
  exm tunnel bench --down lte.down --up lte.up --warm-up 20s --duration 60s --json
  exm tunnel bench --down lte --up lte --runs 5";

/// Measure a call beside a download with and without a tunnel, on an emulated link
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("warm_up", |arg| arg.default_value("60s")),
    mut_arg("risk", |arg| arg.default_value(RISK)),
)]
pub(crate) struct Args {
    /// The duration of each measurement, with and without the tunnel
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "60s", value_parser = duration)]
    duration: Span,
    /// How many times to measure both; each run has a seed of its own, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    runs: u64,
    /// The congestion control of the kernel's TCP
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    #[command(flatten)]
    link: LinkFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    sprout: SproutFlags,
}

impl Args {
    /// Acquires the privileges, which requires a process without threads.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        Rights::acquire()?;
        Ok(())
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (link, described) = self.link.setup()?;
        let (warm_up, settings) = (link.warm_up, self.sprout.settings()?);
        let (congestion, duration) = (self.congestion.clone(), self.duration);
        let mut plan = BenchPlan { link, settings, congestion, duration };
        let seeds = plan.link.seed..plan.link.seed.saturating_add(self.runs);
        let progress = Progress::new(2 * self.runs * millis(warm_up + duration));
        interrupt::heed();
        let runs: Result<Vec<Run>, BenchError> = seeds
            .map(|seed| {
                plan.link.seed = seed;
                let [direct, tunnel] =
                    [Transport::Direct, Transport::Tunnel].map(|way| column(&plan, way, &progress));
                Ok(Run { seed, direct: direct?, tunnel: tunnel? })
            })
            .collect();
        progress.finish();
        interrupt::heed_no_more();
        match runs {
            Err(BenchError::Stopped) => Ok(ExitCode::from(130)),
            runs => {
                self.printing.print(&Report::new(&plan, described, runs?))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

/// One measurement, which `progress` counts in milliseconds.
fn column(plan: &BenchPlan, way: Transport, progress: &Progress) -> Result<Column, BenchError> {
    let whole = millis(plan.link.warm_up + plan.duration);
    let mut done = 0;
    let measured = measure(plan, way, |at| {
        let now = millis(at).min(whole);
        progress.advance(now - done);
        done = now;
        !interrupt::asked()
    })?;
    progress.advance(whole - done);
    Ok(Column::of(&measured))
}

#[derive(Serialize)]
struct Report {
    seed: u64,
    link_up: String,
    link_down: String,
    congestion: String,
    warm_up_seconds: f64,
    seconds: f64,
    direct: Column,
    tunnel: Column,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    seed: u64,
    direct: Column,
    tunnel: Column,
}

#[derive(Serialize)]
struct Column {
    download_kbps: f64,
    call_up: CallPart,
    call_down: CallPart,
}

#[derive(Clone, Copy, Serialize)]
struct CallPart {
    sent_kbps: f64,
    received_kbps: f64,
    delay_median_ms: Option<f64>,
    delay_95_ms: Option<f64>,
}

impl CallPart {
    fn of(call: &Call) -> CallPart {
        CallPart {
            sent_kbps: call.sent.as_bps() as f64 / 1e3,
            received_kbps: call.received.as_bps() as f64 / 1e3,
            delay_median_ms: call.delay_50.map(Span::as_millis_f64),
            delay_95_ms: call.delay_95.map(Span::as_millis_f64),
        }
    }

    fn median(parts: &[CallPart]) -> CallPart {
        let middle = |of: &dyn Fn(&CallPart) -> Option<f64>| {
            median(&parts.iter().filter_map(of).collect::<Vec<f64>>())
        };
        CallPart {
            sent_kbps: middle(&|part| Some(part.sent_kbps)).unwrap_or(0.0),
            received_kbps: middle(&|part| Some(part.received_kbps)).unwrap_or(0.0),
            delay_median_ms: middle(&|part| part.delay_median_ms),
            delay_95_ms: middle(&|part| part.delay_95_ms),
        }
    }
}

impl Column {
    fn of(measured: &Measured) -> Column {
        Column {
            download_kbps: measured.download.as_bps() as f64 / 1e3,
            call_up: CallPart::of(&measured.up),
            call_down: CallPart::of(&measured.down),
        }
    }

    /// Of one column of several runs.
    fn median(runs: &[Run], of: fn(&Run) -> &Column) -> Column {
        let call = |part: fn(&Column) -> CallPart| {
            CallPart::median(&runs.iter().map(|run| part(of(run))).collect::<Vec<CallPart>>())
        };
        let downloads: Vec<f64> = runs.iter().map(|run| of(run).download_kbps).collect();
        Column {
            download_kbps: median(&downloads).unwrap_or(0.0),
            call_up: call(|column| column.call_up),
            call_down: call(|column| column.call_down),
        }
    }
}

impl Report {
    fn new(plan: &BenchPlan, [up, down]: [String; 2], runs: Vec<Run>) -> Report {
        Report {
            seed: runs.first().map_or(plan.link.seed, |run| run.seed),
            link_up: up,
            link_down: down,
            congestion: plan.congestion.clone(),
            warm_up_seconds: plan.link.warm_up.as_secs_f64(),
            seconds: plan.duration.as_secs_f64(),
            direct: Column::median(&runs, |run| &run.direct),
            tunnel: Column::median(&runs, |run| &run.tunnel),
            runs,
        }
    }
}

/// The median of what several runs have, with its interval if they are several.
fn cell(values: &[f64], unit: &str) -> String {
    match MedianInterval::of(values) {
        None => "-".to_owned(),
        Some(of) if values.len() == 1 => format!("{:.0} {unit}", of.median),
        Some(of) => format!("{:.0} {unit} ({:.0}..{:.0})", of.median, of.low, of.high),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(1);
        columns.line(["", "direct", "by tunnel", "change"].map(str::to_owned));
        let mut line = |name: &str, unit: &str, of: &dyn Fn(&Column) -> Option<f64>| {
            let values: [Vec<f64>; 2] = [
                self.runs.iter().filter_map(|run| of(&run.direct)).collect(),
                self.runs.iter().filter_map(|run| of(&run.tunnel)).collect(),
            ];
            let change = match [of(&self.direct), of(&self.tunnel)] {
                [Some(direct), Some(tunnel)] if direct > 0.0 => {
                    format!("{:+.1} %", 100.0 * (tunnel / direct - 1.0))
                }
                _ => "-".to_owned(),
            };
            let [direct, tunnel] = values.map(|values| cell(&values, unit));
            columns.line([name.to_owned(), direct, tunnel, change]);
        };
        line("download", "kbps", &|column| Some(column.download_kbps));
        for (way, part) in [("down", 0), ("up", 1)] {
            let of = |column: &Column| [column.call_down, column.call_up][part];
            let name = |what: &str| format!("call {way}, {what}");
            line(&name("rate"), "kbps", &|column| Some(of(column).received_kbps));
            line(&name("95 % delay"), "ms", &|column| of(column).delay_95_ms);
            line(&name("median delay"), "ms", &|column| of(column).delay_median_ms);
        }
        write!(f, "{}", layout::table(&columns))?;
        writeln!(f, "\nThe call sends {:.0} kbps each way.", self.tunnel.call_down.sent_kbps)
    }
}
