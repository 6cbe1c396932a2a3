//! `exm simulate`: senders on a network, in simulated time.

mod packets;
mod record;
mod results;
mod scene;
mod sweep;
mod text;

use crate::complete;
use crate::network::{Document, Edit, NetworkFlags};
use crate::options;
use crate::progress::Progress;
use crate::ranges;
use crate::shell::{self, Failure, Printing};
use crate::threads::Threads;
use exm_design::DesignRanges;
use exm_experiment::queues;
use exm_sim::network::{MAX_TIME, Network};
use exm_sim::scenario::Scenario;
use exm_units::Span;
use packets::PacketFlags;
use rayon::prelude::*;
use record::{Recording, SeriesFlags};
use results::{Results, Run};
use std::process::ExitCode;
use sweep::Sweep;

/// The most runs, which limits the memory for results.
const MAX_RUNS: u64 = 100_000;

const EXAMPLES: &str = "\
Throughput is the data delivered divided by the time a sender was on; share is throughput over the
equal share of the link, so 1 is the whole share. tp is the mean share, del the mean RTT over the
propagation RTT, as the original Remy prints them. Loss includes random losses and drops. For flows whose
ACKs cross links, throughput and end-to-end delay at the receiver after the warm-up are shown as well.

Examples:
  exm simulate dumbbell
  exm simulate cellular
  exm simulate dumbbell --cc cubic,bbr --link 20Mbps
  exm simulate mixed --set flow.web.rtt=80ms --sweep link.buffer='100 packets,1 BDP'
  exm simulate --link 15Mbps --rtt 150ms --senders 8 --cc RemyCC.dna,aimd \\
      --buffer '1000 packets' --on 'exp 100 kB' --off 'exp 0.5 s' --runs 16
  exm simulate mixed --series out --every 10ms --format csv
  exm simulate mixed --duration 10s --pcap mixed.pcapng
  exm simulate dumbbell --cc cubic --duration 10s --qlog cubic.sqlog
  exm simulate '#link=15Mbps&rtt=150ms&cc=cubic&cc=general-delta1&change=20s,rate,5Mbps'";

/// Simulate senders on a network and print their results
///
/// The network is described in a file, of which flags change values, or, if it is a single link, by flags
/// alone. The same network and seed always give the same results. A scene, which changes while it runs, is given by its
/// URL or by what stands after the # in it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    network: NetworkFlags,
    /// The senders' controller: a name such as cubic, a table's file, or the name of a shipped table
    ///
    /// Several, separated by commas, divide the senders into blocks that are as equal as
    /// possible: with 8 senders, "a,b,c" runs 1 to 3 with a, 4 to 6 with b, 7 and 8 with c.
    /// Parameters may follow a name: "cubic beta=0.8,c=0.2".
    #[arg(long, value_name = "CC,...", value_delimiter = ',', add = complete::controllers())]
    #[arg(required_unless_present = "scenario", help_heading = "Network")]
    cc: Vec<String>,
    /// Run this many simulations with consecutive seeds, and print means with 95 % intervals
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulation")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MAX_RUNS))]
    runs: u64,
    #[command(flatten)]
    series: SeriesFlags,
    #[command(flatten)]
    packets: PacketFlags,
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
        if let Some((url, alone)) = self.network.scene() {
            if !alone || !self.cc.is_empty() || self.runs != 1 || self.is_recorded() {
                let problem = "a scene is simulated as it is, without further flags";
                return Err(Failure::usage(problem).with_tip("change the keys after its # instead"));
            }
            return scene::run(url, &mut ranges, &self.printing);
        }
        let cc = options::controllers(&self.cc);
        let mut document = self.network.document(cc.len())?;
        if !cc.is_empty() {
            document.divide(&cc)?;
        }
        if let Some((key, values)) = self.network.sweep() {
            return self.sweep(key, &values, &document, &mut ranges);
        }
        let (results, warnings) = self.results(&document, &mut ranges)?;
        self.printing.print_warned(&results, &warnings)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Simulates the network with each of `values` of `key`.
    fn sweep(
        &self,
        key: &str,
        values: &[&str],
        document: &Document,
        ranges: &mut DesignRanges,
    ) -> Result<ExitCode, Failure> {
        if self.series.is_wanted() {
            let problem = "time series are of a single network: give --set instead";
            return Err(Failure::usage(format!("--sweep cannot be used with --series: {problem}")));
        }
        if let Some(option) = self.packets.wanted() {
            let what = if option == "--pcap" { "a capture" } else { "a log" };
            let problem = format!("{what} is of a single network: give --set instead");
            return Err(Failure::usage(format!("--sweep cannot be used with {option}: {problem}")));
        }
        let (mut points, mut warnings) = (Vec::new(), Vec::new());
        for value in values {
            let mut document = document.clone();
            let mut edit = Edit::assignment("--sweep", key, value);
            edit.hide();
            document.edit(edit);
            let (results, of_point) = self.results(&document, ranges)?;
            points.push(((*value).to_owned(), results));
            warnings
                .extend(of_point.into_iter().filter(|w| !warnings.contains(w)).collect::<Vec<_>>());
        }
        self.printing.print_warned(&Sweep::new(key, points), &warnings)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The results of `document`, and warnings.
    fn results(
        &self,
        document: &Document,
        ranges: &mut DesignRanges,
    ) -> Result<(Results, Vec<String>), Failure> {
        let (scenario, network) =
            document.network(&mut |name, path| ranges::controller(ranges, name, path))?;
        let seeds = self.seeds(self.network.seed().unwrap_or(scenario.seed))?;
        let recording = self.series.recording(scenario.series)?;
        if let Some(recording) = &recording {
            recording.prepare(&seeds)?;
        } else if scenario.series.is_some() {
            shell::note("the scenario requests series: give --series FOLDER to record them");
        }
        self.packets.check(&network, self.runs, self.series.force)?;
        let runs = self.simulate(&scenario, &network, &seeds, recording.as_ref())?;
        let is_changed = self.network.scenario.is_none() || document.is_edited();
        let setup = is_changed.then(|| self.network.setup(document, [self.runs, 1]));
        let results = Results::new(&scenario, &network, runs, setup);
        let networks = [(&scenario, &network)];
        let warnings = [ranges.warnings(networks), queues::warnings(networks)].concat();
        Ok((results, warnings))
    }

    /// Whether more than results is to be written.
    fn is_recorded(&self) -> bool {
        self.series.is_wanted() || self.packets.wanted().is_some()
    }

    /// Simulates `network` once for each seed, on all threads.
    fn simulate(
        &self,
        scenario: &Scenario,
        network: &Network,
        seeds: &[u64],
        recording: Option<&Recording>,
    ) -> Result<Vec<Run>, Failure> {
        let progress = Progress::new(seeds.len() as u64 * record::STEPS);
        let runs = seeds.par_iter().map(|&seed| {
            let report = record::run(network, seed, recording, &self.packets, &progress)?;
            Ok(Run::new(scenario, network, &report))
        });
        let runs: Result<Vec<Run>, Failure> = runs.collect();
        progress.finish();
        runs
    }

    fn seeds(&self, first: u64) -> Result<Vec<u64>, Failure> {
        let last = first.checked_add(self.runs - 1).ok_or_else(|| {
            let problem = "the seeds of the runs would exceed 64 bits: give a smaller one";
            Failure::invalid_value(&first.to_string(), "--seed", problem)
        })?;
        Ok((first..=last).collect())
    }
}
