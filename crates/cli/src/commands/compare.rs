//! `exm compare`: compares schemes on the network of a scenario or of flags.

use crate::commands::experiment::{Shown, Work};
use crate::complete;
use crate::experiments;
use crate::live::LiveFlags;
use crate::network::{Document, NetworkFlags};
use crate::options::{self, short_name};
use crate::ranges;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use exm_design::DesignRanges;
use exm_experiment::{Experiment, MAX_RUNS, Options, PLACEHOLDER, Plan, PlanError};
use exm_grammar::FileError;
use exm_link::{QueueKind, Service};
use exm_sim::builtin::split_queue;
use exm_sim::controllers::AnyController;
use exm_sim::network::Network;
use std::path::PathBuf;
use std::process::ExitCode;
use toml::{Table, Value};

/// The default number of runs.
const RUNS: u64 = 16;

const EXAMPLES: &str = "\
All senders of a run use the same scheme, and all schemes get the same traffic. In a scenario with several
kinds of flows, those with controller = \"scheme\" do. As in the papers, the picture shows throughput against
queueing delay. Live runs (--live) take place in real time, in this machine's kernel over an emulated link;
schemes that it does not have are left out. The same command continues an interrupted comparison, and reuses finished runs.

Examples:
  exm compare --cc cubic,vegas,cc.json --link 15Mbps --rtt 150ms --senders 8 \\
      --on 'exp 100 kB' --off 'exp 0.5 s'
  exm compare office.toml --cc cubic,bbr --set link.rate=10Mbps
  exm compare dumbbell --cc cubic,vegas --sweep link.rate=5Mbps,10Mbps,20Mbps -o rates
  exm compare --cc cubic,cubic/sfq-codel,bbr --link 50Mbps --rtt 40ms --buffer '1 BDP' -o mine
  exm compare --cc general-delta1,cubic --trace lte-like --rtt 50ms --runs 32
  exm compare --cc coexist,cubic-linux,bbr1 --link 15Mbps --rtt 100ms --live --runs 3 \\
      --duration 30s
  exm compare --cc sprout,cubic/codel,bbr --trace lte --back 'lte, seed 2' --rtt 40ms --runs 1 \\
      --buffer unlimited --warm-up 60s --duration 300s";

/// Compare congestion controllers on a network and draw throughput against queueing delay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The schemes to compare: names such as cubic, files of tables, or names of shipped tables
    ///
    /// A slash may be followed by the scheme's queue discipline and its parameters:
    /// cubic/sfq-codel, 'cubic/codel target=10ms,interval=50ms' A controller's parameters follow its
    /// name: 'cubic beta=0.8,c=0.2', 'cubic beta=0.8/codel target=1ms'.
    #[arg(long, value_name = "CC,...", value_delimiter = ',', required = true)]
    #[arg(add = complete::schemes())]
    cc: Vec<String>,
    /// The scheme that all others are compared with
    #[arg(long, value_name = "CC", add = complete::schemes())]
    reference: Option<String>,
    /// The number of runs of each scheme
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_RUNS))]
    runs: u64,
    /// The folder of the results
    #[arg(short, long, value_name = "FOLDER", default_value = "results/compare")]
    out: PathBuf,
    /// Repeat all runs, and replace the results of another comparison
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    live: LiveFlags,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    network: NetworkFlags,
}

impl Args {
    /// Acquires the privileges for live runs, which requires a process without threads.
    #[cfg(target_os = "linux")]
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        self.live.prepare()
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let mut document = self.network.document(1)?;
        document.await_schemes()?;
        let plan = self.plan(&document)?;
        let work = Work {
            plan: &plan,
            folder: &self.out,
            command: self.command(&document),
            fresh: self.force,
            live: self.live.backend(),
        };
        let results = work.carry_out()?;
        let setup = self.network.setup(&document, [self.runs, RUNS]);
        let shown = Shown::new(&results, &self.out).with_setup(setup);
        self.printing.print_warned(&shown, &results.warnings)?;
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self, document: &Document) -> Result<Plan, Failure> {
        // Problems of the network are found before any scheme's are.
        let mut ranges = DesignRanges::default();
        let (_, network) = document.network(&mut |name, path| match name {
            PLACEHOLDER => AnyController::named("cubic").ok_or_else(String::new),
            other => ranges::controller(&mut ranges, other, path),
        })?;
        let mut table = document.edited()?;
        table.insert("experiment".to_owned(), Value::Table(self.experiment(document, &network)));
        let text = table.to_string();
        let failure = |error: &FileError| self.failure(&text, error);
        let experiment = Experiment::parse(&text, "compare.toml", document.dir())
            .map_err(|error| failure(&error))?;
        let options =
            Options { runs: Some(self.runs), seed: self.network.seed(), ..Options::default() };
        let planned = experiments::plan(experiment, &options);
        planned.and_then(|plan| self.live.plan(plan)).map_err(|error| match error {
            PlanError::Experiment(error) => failure(&error),
            other => Failure::from(other),
        })
    }

    /// The table `[experiment]`.
    fn experiment(&self, document: &Document, network: &Network) -> Table {
        let mut table = Table::new();
        if let Some(flow) = network.flows().iter().find(|flow| !flow.back.is_empty()) {
            let links = flow.path.iter().map(|&link| &network.links()[link].service);
            let of_trace = links.into_iter().any(|link| matches!(link, Service::Trace(_)));
            let columns = if of_trace { TRACE_COLUMNS } else { RATE_COLUMNS };
            let delay = if of_trace { "self_inflicted" } else { "delay_95" };
            table.insert("x".to_owned(), delay.into());
            table.insert("y".to_owned(), "goodput".into());
            table.insert("columns".to_owned(), columns.to_vec().into());
        }
        if let Some(sweep) = self.network.sweep_table(document) {
            table.insert("figure".to_owned(), "sweep".into());
            table.insert("sweep".to_owned(), sweep.into());
        }
        if let Some(reference) = &self.reference {
            table.insert("reference".to_owned(), shown_name(reference).into());
        }
        let scheme = |cc: &String| {
            let (controller, queue) = split_queue(cc);
            let mut scheme = Table::new();
            scheme.insert("name".to_owned(), shown_name(cc).into());
            scheme.insert("controller".to_owned(), document.path(controller).into());
            if let Some(queue) = queue {
                scheme.insert("queue".to_owned(), queue.into());
            }
            Value::Table(scheme)
        };
        let schemes: Vec<Value> = options::controllers(&self.cc).iter().map(scheme).collect();
        table.insert("scheme".to_owned(), schemes.into());
        table
    }

    /// Reports `error` in the experiment's `text`, of which each line is a key that an option sets.
    fn failure(&self, text: &str, error: &FileError) -> Failure {
        let line = error.line().and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
        let Some((key, value)) = line.split_once(" = ") else {
            return Failure::usage(error.problem());
        };
        let value: Result<Table, _> = format!("value = {value}").parse();
        let value = value.as_ref().ok().and_then(|table| table["value"].as_str());
        match (key, value, self.network.sweep_text()) {
            ("values" | "key", _, Some(sweep)) => {
                Failure::invalid_value(&sweep, "--sweep", error.problem())
            }
            ("reference", Some(value), _) => {
                Failure::invalid_value(value, "--reference", error.problem())
            }
            (_, Some(value), _) => Failure::invalid_value(value, "--cc", error.problem()),
            _ => Failure::usage(error.problem()),
        }
    }

    /// The command that reproduces the results, without options that do not affect them.
    fn command(&self, document: &Document) -> String {
        let mut command = self.network.command("exm compare", document);
        let mut option = |name: &str, value: &str| {
            command += &format!(" {name} {}", shell::quoted(value));
        };
        option("--cc", &self.cc.join(","));
        if let Some(reference) = &self.reference {
            option("--reference", reference);
        }
        option("--runs", &self.runs.to_string());
        if let Some(live) = self.live.word() {
            command += &format!(" {live}");
        }
        command
    }
}

/// The columns where ACKs cross links, which are of measurements at the receiver.
const RATE_COLUMNS: [&str; 6] =
    ["goodput", "delay_95", "queued_95", "queued_within", "loss", "jain"];
/// The same if the link follows a trace.
const TRACE_COLUMNS: [&str; 6] =
    ["goodput", "capacity_used", "delay_95", "self_inflicted", "queued_within", "loss"];

fn shown_name(cc: &str) -> String {
    match split_queue(cc) {
        (controller, Some(queue)) => {
            let queue =
                queue.parse().map_or_else(|_| queue.to_owned(), |q: QueueKind| q.to_string());
            format!("{}/{queue}", short_name(controller))
        }
        (controller, None) => short_name(controller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_may_stand_after_a_slash() {
        assert_eq!(split_queue("cubic/sfq-codel"), ("cubic", Some("sfq-codel")));
        assert_eq!(split_queue("a/b.json/codel"), ("a/b.json", Some("codel")));
        assert_eq!(split_queue("a/b.json"), ("a/b.json", None));
        assert_eq!(shown_name("a/b.json/codel"), "b/codel");
        assert_eq!(shown_name("cubic/codel target=1 ms"), "cubic/codel target=1ms");
        assert_eq!(shown_name("cubic beta=0.8/codel"), "cubic beta=0.8/codel");
    }
}
