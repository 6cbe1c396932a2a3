//! `exm score`: scores tables on held-out networks.

mod contenders;
mod report;

pub(crate) use report::{Report, reach, signed};

use crate::complete;
use crate::options;
use crate::progress::Progress;
use crate::ranges::DesignRanges;
use crate::shell::{Failure, Printing};
use crate::shipped;
use crate::threads::Threads;
use exm_design::Model;
use exm_design::score::{self, Contender, HeldOut, ScoreError, Scores};
use exm_sim::network::Host;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most specimens, which limits the memory for results.
const MAX_SPECIMENS: i64 = 1_000_000;

const EXAMPLES: &str = "\
All contenders meet the same networks and the same traffic, drawn where no search draws. After ± \
stands half the 95 % confidence interval.

relative: the score where throughput counts in rates of the link and RTT in propagation RTTs, so \
that networks compare. With alpha = beta = 1, 0 is the whole share without any queueing delay, and \
a point is twice the throughput.
gap: how much more an omniscient sender would score, which has its share of the link from its \
first moment and no queue; 0 is the best possible.
score: the model's objective in its own units, packets/ms and 100 ms unless the model selects them.
share: throughput over the equal share of the link. RTT ratio: mean RTT over propagation RTT.
difference: to the first contender, network by network.

Rule tables and aimd run on the bare host by default, as the search had it; controllers designed \
by people need --host tcp, which runs all over TCP. exm help scores explains it all.

Examples:
  exm score cc.json --model general-delta1
  exm score general-delta1 cubic bbr --model general-delta1 --host tcp
  exm score cc.json RemyCC.dna aimd --model general16 --specimens 4000 --seed 7";

/// Score congestion controllers on networks held out from every search, side by side
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The contenders: files of tables, names of shipped tables, or of controllers such as aimd
    #[arg(value_name = "CC", required = true, add = complete::controllers())]
    contenders: Vec<String>,
    /// The model of networks and objective: a file, or the name of a shipped one
    #[arg(long, value_name = "MODEL", add = complete::models())]
    model: PathBuf,
    /// How many networks to draw; of a grid, each as often, and twice at least
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=MAX_SPECIMENS))]
    specimens: u32,
    /// The random seed of the networks and their traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What all senders run on: tcp, or bare, where only rule tables and aimd can run [default: as the
    /// model's, or bare]
    #[arg(long, value_name = "HOST", value_parser = options::host())]
    host: Option<Host>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let model = shipped::model(&self.model)?;
        let mut ranges = DesignRanges::default();
        let contenders = contenders::load(&self.contenders, &mut ranges)?;
        let on = HeldOut {
            seed: self.seed,
            specimens: self.specimens as usize,
            host: self.host.unwrap_or(model.design().host),
        };
        let scores = held_out(&model, &on, &contenders)?;
        self.printing.print_warned(&Report::new(&model, &scores), &ranges.warnings_on(&model))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Scores `contenders` on held-out specimens, with a progress bar if it takes long.
pub(crate) fn held_out(
    model: &Model,
    on: &HeldOut,
    contenders: &[Contender],
) -> Result<Scores, Failure> {
    let count = score::held_out_count(model, on.specimens);
    let progress = Progress::new((count * contenders.len()) as u64);
    let scores = score::held_out(model, on, contenders, &|| progress.advance(1));
    progress.finish();
    scores.map_err(|error| match error {
        ScoreError::Unsuited { .. } => {
            Failure::usage(error.to_string()).with_tip("score all contenders over TCP: --host tcp")
        }
        ScoreError::Tables { .. } | ScoreError::Network(_) => error.into(),
    })
}
