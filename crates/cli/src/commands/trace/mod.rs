//! `exm trace`: delivery-opportunity traces as files.

mod convert;
mod generate;
mod import;
mod info;
mod plot;

use crate::commands::subcommands;
use crate::shell::Failure;
use exm_grammar::suggest;
use exm_sim::scenario::load_synthetic;
use exm_trace::{Synthetic, Trace};
use exm_units::Span;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
A trace is a text in mahimahi's format: each line is a time, in milliseconds, at which the link could
deliver 1500 bytes. Times may have up to six decimals, which make them exact to the nanosecond.

Examples:
  exm trace generate lte --duration 5min -o lte.trace
  exm trace info lte.trace
  exm trace plot lte.trace --kind interarrivals -o figure-2-4.svg
  exm trace convert rates.csv link.trace
  exm trace import capture.pcapng --from 192.0.2.7 -o walk.trace";

subcommands! {
    /// Generate synthetic traces of links; inspect, draw, convert and import traces
    {
        Generate(generate),
        Info(info),
        Plot(plot),
        Convert(convert),
        Import(import),
    }
}

/// The synthetic link called `name`, for `seed`, or that of the model in a file of this name.
fn synthetic(name: &str, seed: u64) -> Result<Synthetic, Failure> {
    if name.ends_with(".toml") {
        return Ok(load_synthetic(Path::new(name))?);
    }
    Synthetic::seeded(name, seed).ok_or_else(|| {
        let names: Vec<&str> = Synthetic::names().collect();
        let problem = format!("there is no link \"{name}\": {}", suggest(name, &names));
        Failure::usage(problem).with_tip("name a link, or the model of one in a .toml file")
    })
}

/// Each trace with its name: that of its file, or the whole path if two traces share it.
fn load(files: &[PathBuf]) -> Result<Vec<(String, Trace)>, Failure> {
    let name = |file: &PathBuf| {
        let same = files.iter().filter(|other| other.file_name() == file.file_name()).count();
        let short = file.file_name().filter(|_| same == 1).map(Path::new);
        short.unwrap_or(file).display().to_string()
    };
    files.iter().map(|file| Ok((name(file), Trace::load(file)?))).collect()
}

/// The most rates of a trace, which limits the memory for a narrow window on a long trace.
const MOST_RATES: u64 = 10_000_000;

/// Whether `trace` can be divided into windows of this length.
fn check_window(window: Span, trace: &Trace) -> Result<(), Failure> {
    let windows = trace.period().as_nanos().checked_div(window.as_nanos());
    if windows.is_some_and(|windows| (1..=MOST_RATES).contains(&windows)) {
        return Ok(());
    }
    let problem = format!(
        "the trace lasts {}: give a part of that, at least a {MOST_RATES}th",
        trace.period()
    );
    Err(Failure::invalid_value(&window.to_string(), "--window", &problem))
}
