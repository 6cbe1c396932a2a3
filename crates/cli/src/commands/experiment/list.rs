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

/// What the runs of each shipped experiment amount to: its name, all runs, seconds of each, and packets in millions. To make the plans
/// of all takes many seconds, since their traces are generated; a test below keeps this up to date.
const WORKLOADS: &str = include_str!("workloads.txt");

/// A line of [`WORKLOADS`].
#[derive(Debug, PartialEq)]
struct Workload {
    runs: u64,
    seconds: f64,
    packets: u64,
}

impl Workload {
    /// That of the experiment `name`.
    fn known(name: &str) -> Option<Workload> {
        let line = WORKLOADS
            .lines()
            .map(str::split_whitespace)
            .find_map(|mut words| (words.next() == Some(name)).then_some(words));
        let mut words = line?;
        let mut next = || words.next();
        Some(Workload {
            runs: next()?.parse().ok()?,
            seconds: next()?.parse().ok()?,
            packets: next()?.parse().ok()?,
        })
    }

    /// That of its plan.
    fn planned(experiment: exm_experiment::Experiment) -> Result<Workload, Failure> {
        let plan: Plan = experiments::plan(experiment, &Options::default())?;
        Ok(Workload {
            runs: plan.runs * plan.cases.len() as u64,
            seconds: plan.duration.as_secs_f64(),
            packets: 1000 * total_work(&plan),
        })
    }
}

impl Entry {
    fn new(name: &'static str) -> Result<Entry, Failure> {
        let experiment = experiments::load(name)?;
        let files = experiment.files();
        let (title, source) = (experiment.title.clone(), experiment.source.clone());
        let schemes = experiment.schemes.len();
        let work = match Workload::known(name) {
            Some(work) => work,
            None => Workload::planned(experiment)?,
        };
        Ok(Entry {
            name,
            title,
            source,
            schemes,
            runs: work.runs,
            simulated_s: work.runs as f64 * work.seconds,
            most_packets: work.packets,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn the_known_work_is_that_of_the_plans() {
        let (mut expected, mut is_known) = (String::new(), true);
        for name in experiments::shipped_names() {
            let experiment = experiments::load(name).expect("it is shipped");
            let work = Workload::planned(experiment).expect("it is shipped");
            is_known &= Workload::known(name).is_some_and(|known| known == work);
            let Workload { runs, seconds, packets } = work;
            writeln!(expected, "{name} {runs} {seconds} {packets}").expect("it is a string");
        }
        assert!(is_known, "write this into workloads.txt:\n{expected}");
    }
}
