//! `exm score`: scores tables on held-out networks.

mod contenders;
mod report;

pub(crate) use report::{Report, reach, signed};

use crate::complete;
use crate::options;
use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use crate::shipped;
use crate::threads::Threads;
use exm_design::DesignRanges;
use exm_design::Model;
use exm_design::score::{self, Contender, HeldOut, ScoreError, Scores};
use exm_sim::network::Host;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most specimens, which limits the memory for results.
const MAX_SPECIMENS: i64 = 1_000_000;

const EXAMPLES: &str = "\
All contenders run on the same networks with the same traffic, which no search uses. The number after ± \
is half the width of the 95 % confidence interval.

relative: the score with throughput relative to the link rate and RTT relative to the propagation RTT, so \
that networks can be compared. With alpha = beta = 1, 0 is the whole share without any queueing delay, and \
a point is twice the throughput.
gap: how much more an omniscient sender would score, which gets its share of the link at once and \
never queues; 0 is the best possible.
score: the model's objective in its own units, packets/ms and 100 ms unless the model selects others.
share: throughput over the equal share of the link. RTT ratio: mean RTT over propagation RTT.
difference: from the first contender, paired by network.

Rule tables and aimd run on the bare host by default, as in the search; other human-designed controllers \
need --host tcp, which runs all contenders over TCP. exm help scores explains the details.

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
    /// How many networks to draw; for a grid, rounded up so that each is drawn equally often, at least twice
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=MAX_SPECIMENS))]
    specimens: u32,
    /// The random seed of the networks and their traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The host of all senders: tcp, or bare, where only rule tables and aimd can run [default: the
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
