//! `exm experiment run`: from a file to tables and figures.

use super::show::Shown;
use super::work::Work;
use crate::codes;
use crate::commands::duration;
use crate::complete;
use crate::experiments;
use crate::layout;
use crate::live::LiveFlags;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use cpu_time::ProcessTime;
use exm_experiment::{MAX_RUNS, Options, PlanError, given_figures, pairs};
use exm_store::Columns;
use exm_units::Span;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The number of runs with --quick.
const QUICK: u64 = 4;

const EXAMPLES: &str = "\
The folder of results holds results.csv (each flow of each run), links.csv, the same as Parquet,
results.json (the numbers of the tables), pictures as SVG, PNG and PDF, each with
its numbers as CSV and a narrow form for phones, experiment.toml (the experiment's file), and
runs.jsonl, the stored runs. To continue an interrupted experiment, give the same command again. The same experiment and seed
give the same bytes, on any number of threads and however often it was interrupted. With several
experiments, the CPU time of each is shown at the end.

Live runs take place in real time, one after the other unless --at-once is given. They need root, or
a system where users may create network namespaces. Schemes
that neither Sprout nor this kernel can run are left out. Over links with outages,
single runs differ widely: make several. Their medians are compared with the median and the middle
80 % of at least 24 simulated runs, which draw the start and the delays of the hosts at random.

Examples:
  exm experiment run thesis-3-4 --quick
  exm experiment run thesis-3-7 --trace Verizon-LTE-short.down
  exm experiment run thesis-2-9 --traces my/traces
  exm experiment run thesis-2-1 --live --duration 180s
  exm experiment run thesis-2-9 --live --duration 180s --only Sprout --runs 5 --at-once 4
  exm experiment run my.toml --runs 16 --only 'Cubic,Vegas' --out results/mine";

/// Run experiments, and write tables and figures of their results
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiments: files, or names of shipped ones
    #[arg(value_name = "EXPERIMENT", required_unless_present = "all", add = complete::experiments())]
    names: Vec<String>,
    /// Run all shipped experiments
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// The number of runs of each scheme [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_RUNS))]
    runs: Option<u64>,
    /// Run each scheme only four times
    #[arg(long, conflicts_with = "runs")]
    quick: bool,
    /// The random seed [default: the experiment's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The time to simulate [default: the experiment's]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    duration: Option<Span>,
    /// Run only these schemes
    #[arg(long, value_name = "SCHEME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// A file of delivery opportunities to use instead of the experiment's traces
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Recorded traces to use instead of the experiment's links, each in both directions: a folder of files
    /// NAME.down and NAME.up, or two files
    #[arg(long, value_name = "FOLDER|DOWN,UP", conflicts_with = "trace")]
    traces: Option<String>,
    #[command(flatten)]
    live: LiveFlags,
    /// The folder of the results [default: results/EXPERIMENT]
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Repeat all runs, including finished ones
    #[arg(long, alias = "fresh")]
    force: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// The CPU time, summed over threads, of each experiment.
#[derive(Default)]
struct Spent(Vec<(String, Duration)>);

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let mut columns = Columns::new(1);
        columns.line(["experiment", "processor time"].map(str::to_owned));
        for (name, time) in &self.0 {
            columns.line([name.clone(), seconds(*time)]);
        }
        columns.line(["all".to_owned(), seconds(self.0.iter().map(|one| one.1).sum())]);
        write!(f, "{}", layout::table(&columns))
    }
}

impl Args {
    /// Acquires the privileges for live runs, which requires a process without threads.
    #[cfg(target_os = "linux")]
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        self.live.prepare()
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let shipped = || experiments::shipped_names().into_iter().map(str::to_owned).collect();
        let names: Vec<String> = if self.all { shipped() } else { self.names.clone() };
        if let (Some(out), true) = (&self.out, names.len() > 1) {
            let problem = "one folder cannot hold several experiments: give one, or leave it out";
            return Err(Failure::invalid_value(&out.display().to_string(), "--out", problem));
        }
        let mut spent = Spent::default();
        for name in &names {
            let start = ProcessTime::now();
            self.run_one(name)?;
            spent.0.push((name.clone(), start.elapsed()));
        }
        // Not among the results, because it differs each time.
        if names.len() > 1 {
            shell::tell(&spent.to_string());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn run_one(&self, name: &str) -> Result<(), Failure> {
        let experiment = experiments::load(name)?;
        let options = self.options(experiment.runs)?;
        let folder = self.out.clone().unwrap_or_else(|| self.usual_folder(&experiment.name));
        let planned = experiments::plan(experiment, &options);
        let planned = planned.and_then(|plan| self.live.plan(plan));
        let plan = planned.map_err(|error| match &error {
            PlanError::NoSuchScheme { name, suggestion } => {
                let problem = format!("there is no such scheme: {suggestion}");
                Failure::invalid_value(name, "--only", &problem)
            }
            PlanError::TooShort { duration, .. } => {
                Failure::invalid_value(&duration.to_string(), "--duration", &error.to_string())
            }
            PlanError::NoTrace | PlanError::NoWays => Failure::usage(error.to_string()),
            _ => Failure::from(error),
        })?;
        let work = Work {
            plan: &plan,
            folder: &folder,
            command: self.command(name),
            fresh: self.force,
            live: self.live.backend(),
        };
        let results = work.carry_out()?;
        self.printing.print_warned(&Shown::new(&results, &folder), &results.warnings)
    }

    /// The folder for the results of the experiment `name`: results on other traces, and live ones,
    /// have folders of their own.
    fn usual_folder(&self, name: &str) -> PathBuf {
        let of_traces = self.traces.as_ref().and_then(|traces| {
            let first = traces.split(',').next().unwrap_or_default();
            Path::new(first).canonicalize().ok()?.file_stem()?.to_str().map(str::to_owned)
        });
        let mut name = of_traces.map_or(name.to_owned(), |traces| format!("{name}-{traces}"));
        if self.live.word().is_some() {
            name += "-live";
        }
        PathBuf::from("results").join(name)
    }

    fn options(&self, runs: u64) -> Result<Options, Failure> {
        let trace = self.trace.as_ref().map(|trace| {
            trace.canonicalize().map_err(|error| {
                let problem = format!("cannot read the trace {}: {error}", trace.display());
                Failure::new(problem).with_code(codes::of_input(&error))
            })
        });
        Ok(Options {
            runs: self.runs.or(self.quick.then_some(QUICK.min(runs))),
            seed: self.seed,
            duration: self.duration,
            only: self.only.clone(),
            trace: trace.transpose()?,
            traces: self.traces.as_deref().map(pairs).transpose()?.unwrap_or_default(),
            given: self.traces.as_deref().map(given_figures).transpose()?.unwrap_or_default(),
        })
    }

    /// The command that reproduces the results, without options that do not affect them.
    fn command(&self, name: &str) -> String {
        let mut words = vec!["exm".to_owned(), "experiment".to_owned(), "run".to_owned()];
        words.push(shell::quoted(name));
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("{name} {}", shell::quoted(&value))));
        };
        option("--runs", self.runs.map(|runs| runs.to_string()));
        option("--seed", self.seed.map(|seed| seed.to_string()));
        option("--duration", self.duration.map(|duration| duration.to_string()));
        option("--only", (!self.only.is_empty()).then(|| self.only.join(",")));
        option("--trace", self.trace.as_ref().map(|trace| trace.display().to_string()));
        option("--traces", self.traces.clone());
        if self.quick {
            words.push("--quick".to_owned());
        }
        words.extend(self.live.word().map(str::to_owned));
        words.join(" ")
    }
}
