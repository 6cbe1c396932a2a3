//! `exm trace convert`: traces in other formats.

use super::check_window;
use crate::outputs::{check_only_output, is_stdout, write_output};
use crate::shell::{Failure, Printing};
use exm_trace::{Origin, Trace};
use exm_units::Span;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
A table is a text whose first line names its columns: time_s, time_ms, time_us or time_ns, and, for a
table of rates, rate_bps, rate_kbps or rate_mbps; each rate applies until the next time. In a
table of times every line is a delivery opportunity, in a capture every packet; exm trace import counts the
bytes of captured packets instead.

Examples:
  exm trace convert capture.pcap walk.trace
  exm trace convert rates.csv link.trace --to fine
  exm trace convert link.trace rates.csv --to rates --window 100ms
  exm trace convert log.csv link.trace --from-first";

/// Convert traces from and to tables, and from packet captures
///
/// The extension of the input sets its format: .csv a table, .pcap or .pcapng a capture, anything else a trace.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to read: a trace, a table (.csv) or a capture (.pcap)
    input: PathBuf,
    /// The file to write; - for standard output
    output: PathBuf,
    /// The output format [default: times for .csv, else mahimahi]
    #[arg(long, value_enum)]
    to: Option<Format>,
    /// The averaging interval of rates
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    window: Span,
    /// Subtract the first time of a table from all, for times of day
    #[arg(long)]
    from_first: bool,
    /// Overwrite an existing output
    #[arg(long, short)]
    force: bool,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A trace in whole milliseconds, rounded up
    Mahimahi,
    /// A trace whose times are exact to the nanosecond
    Fine,
    /// A table of times
    Times,
    /// A table of rates
    Rates,
}

/// The written file.
#[derive(Serialize)]
struct Written<'a> {
    input: &'a Path,
    output: &'a Path,
    opportunities: usize,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} opportunities", self.output.display(), self.opportunities)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (input, output) = (self.input.as_path(), self.output.as_path());
        check_only_output(output, &[input], self.force)?;
        let trace = self.read()?;
        let is_table = output.extension().is_some_and(|end| end == "csv");
        let usual = if is_table { Format::Times } else { Format::Mahimahi };
        let text = match self.to.unwrap_or(usual) {
            Format::Mahimahi => trace.in_whole_millis().to_text(),
            Format::Fine => trace.to_text(),
            Format::Times => trace.to_csv(),
            Format::Rates => {
                check_window(self.window, &trace)?;
                trace.rates_to_csv(self.window)
            }
        };
        write_output(output, text.as_bytes())?;
        let opportunities = trace.times().len();
        if !is_stdout(output) {
            self.printing.print(&Written { input, output, opportunities })?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn read(&self) -> Result<Trace, Failure> {
        let input = self.input.as_path();
        let is_table = input.extension().is_some_and(|end| end == "csv");
        if self.from_first && !is_table {
            let problem = "--from-first is about the times of a table, and this is no .csv";
            return Err(Failure::invalid_value(&input.display().to_string(), "<INPUT>", problem));
        }
        let origin = if self.from_first { Origin::First } else { Origin::Zero };
        Ok(match input.extension().and_then(|end| end.to_str()) {
            Some("csv") => Trace::load_csv(input, origin)?,
            Some("pcap" | "pcapng") => Trace::load_pcap(input)?,
            _ => Trace::load(input)?,
        })
    }
}
