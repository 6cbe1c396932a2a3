//! `exm experiment list`: the experiments shipped with the program.

use crate::experiments;
use crate::layout;
use crate::shell::{Failure, Printing};
use exm_experiment::{Options, Plan, total_work};
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
'runs' is the total number of runs, 'packets' the number of packets, in millions, that all links could
carry in them; a core simulates about three million per second. 'files' are external tables and traces,
which are used if present.

Examples:
  exm experiment list
  exm experiment list --json";

/// Print the experiments shipped with the program
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    printing: Printing,
}

/// The shipped experiments.
#[derive(Serialize)]
pub(crate) struct List {
    experiments: Vec<Entry>,
}

#[derive(Serialize)]
pub(crate) struct Entry {
    name: &'static str,
    title: Option<String>,
    source: Option<String>,
    schemes: usize,
    /// Of all schemes together.
    runs: u64,
    simulated_s: f64,
    /// The number of packets that the links could carry in all runs.
    most_packets: u64,
    files: Vec<String>,
}

impl Entry {
    fn new(name: &'static str) -> Result<Entry, Failure> {
        let experiment = experiments::load(name)?;
        let files = experiment.files();
        let plan: Plan = experiments::plan(experiment, &Options::default())?;
        let runs = plan.runs * plan.cases.len() as u64;
        Ok(Entry {
            name,
            title: plan.experiment.title.clone(),
            source: plan.experiment.source.clone(),
            schemes: plan.experiment.schemes.len(),
            runs,
            simulated_s: runs as f64 * plan.duration.as_secs_f64(),
            most_packets: 1000 * total_work(&plan),
            files,
        })
    }
}

impl List {
    pub(crate) fn shipped() -> Result<List, Failure> {
        let entries = experiments::shipped_names().into_iter().map(Entry::new);
        Ok(List { experiments: entries.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(2);
        columns.line(["name", "title", "runs", "packets", "files"].map(str::to_owned));
        for entry in &self.experiments {
            columns.line([
                entry.name.to_owned(),
                entry.title.clone().unwrap_or_default(),
                entry.runs.to_string(),
                format!("{} M", entry.most_packets / 1_000_000),
                entry.files.len().to_string(),
            ]);
        }
        write!(f, "{}", layout::table(&columns))
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.printing.print(&List::shipped()?)?;
        Ok(ExitCode::SUCCESS)
    }
}
