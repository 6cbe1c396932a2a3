//! `exm simulate`: senders on a network, in simulated time.

mod flags;
mod record;
mod results;
mod text;

use crate::complete;
use crate::options::{DEFAULT_DURATION, DEFAULT_SEED, INITIAL_WINDOW, Setup};
use crate::progress::Progress;
use crate::queues;
use crate::ranges::DesignRanges;
use crate::shell::{self, Failure, Printing};
use crate::shipped;
use crate::threads::Threads;
use exm_sim::network::{MAX_TIME, Network, Transport};
use exm_sim::scenario::Scenario;
use exm_units::Span;
use flags::NetworkFlags;
use rayon::prelude::*;
use record::{Recording, SeriesFlags};
use results::{Results, Run};
use std::path::PathBuf;
use std::process::ExitCode;

/// The most runs, which limits the memory for results.
const MAX_RUNS: u64 = 100_000;

const NO_SCENARIO: &str = "give the path of a scenario, the name of a shipped one, or describe a network by --link, --rtt and \
     --cc";

const EXAMPLES: &str = "\
Throughput is the data delivered divided by the time a sender was on; share is throughput over the
equal share of the link, so 1 is the whole share. tp is the mean share, del the mean RTT over the
propagation RTT, as the original Remy prints them. Loss includes random losses and drops. For flows whose
ACKs cross links, throughput and end-to-end delay at the receiver after the warm-up are shown as well.

Examples:
  exm simulate dumbbell
  exm simulate cellular
  exm simulate --link 15Mbps --rtt 150ms --senders 8 --cc RemyCC.dna,aimd \\
      --buffer '1000 packets' --on 'exp 100 kB' --off 'exp 0.5 s' --runs 16
  exm simulate mixed --series out --every 10ms --format csv";

/// Simulate senders on a network and print their results
///
/// The network is described in a file or, if it is a single link, by options. The same network and
/// seed always give the same results.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The network and its senders: a file, or the name of a shipped scenario
    #[arg(value_name = "SCENARIO", conflicts_with = "NetworkFlags", add = complete::scenarios())]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    network: NetworkFlags,
    /// The time to simulate [default: the scenario's, or 100 s]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Simulation")]
    duration: Option<Span>,
    /// The random seed [default: the scenario's, or 1]
    #[arg(long, value_name = "N", help_heading = "Simulation")]
    seed: Option<u64>,
    /// Run this many simulations with consecutive seeds, and print means with 95 % intervals
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_RUNS))]
    runs: u64,
    #[command(flatten)]
    series: SeriesFlags,
    #[command(flatten)]
    printing: Printing,
}

/// Parses a duration that can be simulated.
pub(crate) fn duration(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span.is_zero() || span > MAX_TIME => {
            Err(format!("give a duration between 1 ns and {MAX_TIME}"))
        }
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let mut ranges = DesignRanges::default();
        let (scenario, network) = self.described(&mut ranges)?;
        let seeds = self.seeds(scenario.seed)?;
        let recording = self.series.recording(scenario.series)?;
        if let Some(recording) = &recording {
            recording.prepare(&seeds)?;
        } else if scenario.series.is_some() {
            shell::note("the scenario requests series: give --series FOLDER to record them");
        }
        let runs = simulate(&scenario, &network, &seeds, recording.as_ref())?;
        let setup = self.scenario.is_none().then(|| self.setup(&network, seeds[0]));
        let results = Results::new(&scenario, &network, runs, setup);
        let networks = [(&scenario, &network)];
        let warnings = [ranges.warnings(networks), queues::warnings(networks)].concat();
        self.printing.print_warned(&results, &warnings)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The scenario and its network, from the file or from the options.
    fn described(&self, ranges: &mut DesignRanges) -> Result<(Scenario, Network), Failure> {
        let Some(file) = &self.scenario else {
            return self.network.described(self.duration, ranges);
        };
        let mut scenario = shipped::scenario(file).map_err(|failure| {
            if file.exists() { failure } else { failure.with_tip(NO_SCENARIO) }
        })?;
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        let network = scenario.network(&mut |name, path| ranges.controller(name, path))?;
        Ok((scenario, network))
    }

    /// The options, including defaults.
    fn setup(&self, network: &Network, seed: u64) -> Setup {
        let mut setup = self.network.setup();
        let mut transports = network.flows().iter().map(|flow| &flow.transport);
        if let Some(Transport::Tcp { settings, .. }) = transports.next() {
            setup.usually("initial-window", settings.initial_window.get(), INITIAL_WINDOW);
            setup.usually("persistent", settings.persistent, false);
        }
        setup.usually("duration", network.duration(), DEFAULT_DURATION);
        setup.usually("runs", self.runs, 1);
        setup.usually("seed", seed, DEFAULT_SEED);
        setup
    }

    fn seeds(&self, of_scenario: u64) -> Result<Vec<u64>, Failure> {
        let first = self.seed.unwrap_or(of_scenario);
        let last = first.checked_add(self.runs - 1).ok_or_else(|| {
            let problem = "the seeds of the runs would exceed 64 bits: give a smaller one";
            Failure::invalid_value(&first.to_string(), "--seed", problem)
        })?;
        Ok((first..=last).collect())
    }
}

/// Simulates `network` once for each seed, on all threads.
fn simulate(
    scenario: &Scenario,
    network: &Network,
    seeds: &[u64],
    recording: Option<&Recording>,
) -> Result<Vec<Run>, Failure> {
    let progress = Progress::new(seeds.len() as u64 * record::STEPS);
    let runs = seeds.par_iter().map(|&seed| {
        let report = record::run(network, seed, recording, &progress)?;
        Ok(Run::new(scenario, network, &report))
    });
    let runs: Result<Vec<Run>, Failure> = runs.collect();
    progress.finish();
    runs
}
