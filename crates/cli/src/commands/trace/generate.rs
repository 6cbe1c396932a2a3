//! `exm trace generate`: generates synthetic traces.

use super::synthetic;
use crate::complete;
use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::shell::{Failure, Printing, command_line};
use exm_trace::Synthetic;
use exm_units::{Rate, Span};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The same link, length and seed give the same trace on every machine. A trace repeats after its end.

Define a link of your own in a TOML file. It has one or more [[regime]], between which the link
switches, each with mean and max, and optionally volatility, pull, outage, dwell and weight; any
number of [[interruption]], each with every and lasts; slot, at whose multiples packets leave;
[frames], for Wi-Fi; and [block_errors], for retransmissions:

  slot = \"1 ms\"
  [[regime]]
  mean = \"6 Mbps\"
  max = \"12 Mbps\"
  pull = \"2 s\"                  # to the mean; never unless given, as in Sprout's model
  dwell = \"exp 20 s\"
  [[regime]]
  mean = \"1 Mbps\"
  max = \"3 Mbps\"
  volatility = 50               # opportunities a second, in a second; 200 unless given
  outage = \"3 s\"                # on average, once the rate is zero; 1 s unless given
  weight = 0.5                  # how often it comes next
  [[interruption]]
  every = \"exp 30 s\"
  lasts = \"pareto xm=0.3 alpha=1.2 cap=30 s\"

Examples:
  exm trace generate lte --duration 5min -o lte.trace
  exm trace generate 5g --duration 60s --fine --seed 7 -o 5g.trace
  exm trace generate drive.toml --duration 10min -o drive.trace";

/// Generate a synthetic trace of a link
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub(crate) struct Args {
    /// The link: a name from the list below, or the model of one in a .toml file
    #[arg(value_name = "LINK", add = complete::traces())]
    link: String,
    /// The length of the trace
    #[arg(long, alias = "for", value_name = "DURATION", default_value = "5min")]
    duration: Span,
    /// The random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file of the trace; - for standard output
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    /// Write times in nanoseconds instead of mahimahi's whole milliseconds
    #[arg(long)]
    fine: bool,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    printing: Printing,
}

/// The list of links, and examples.
fn help() -> String {
    let line = |(name, what): &(&str, &str)| format!("  {name:<11}{what}\n");
    let links: String = Synthetic::PRESETS.iter().map(line).collect();
    format!("Links:\n{links}\n{EXAMPLES}")
}

/// The written file.
#[derive(Serialize)]
struct Written<'a> {
    output: &'a Path,
    seed: u64,
    opportunities: usize,
    duration_s: f64,
    #[serde(rename = "mean_mbps", serialize_with = "mbps")]
    mean: Rate,
}

/// A rate in Mbps, for JSON.
fn mbps<S: serde::Serializer>(rate: &Rate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rate.as_mbps())
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { output, opportunities, duration_s, mean, .. } = self;
        let (output, mean) = (output.display(), mean.as_mbps());
        writeln!(f, "{output}: {opportunities} opportunities in {duration_s:.1} s, {mean:.2} Mbps")
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let output = self.output.as_path();
        check_only_output(output, &[Path::new(&self.link)], self.force)?;
        let trace = synthetic(&self.link, self.seed)?.generate(self.seed, self.duration)?;
        let text = if self.fine {
            // Mahimahi accepts neither comments nor decimals.
            format!("# {}\n{}", command_line(), trace.to_text())
        } else {
            trace.in_whole_millis().to_text()
        };
        write_output(output, text.as_bytes())?;
        let written = Written {
            output,
            seed: self.seed,
            opportunities: trace.times().len(),
            duration_s: trace.period().as_secs_f64(),
            mean: trace.mean_rate(),
        };
        if !is_stdout(output) {
            self.printing.print(&written)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
