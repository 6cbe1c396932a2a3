//! `exm score`: how good tables are on networks that no search ever met.

mod contenders;
mod report;

pub(crate) use report::{Report, reach, signed};

use crate::progress::Progress;
use crate::shell::{Failure, Printing};
use exm_design::Model;
use exm_design::score::{self, Contender, Scores};
use std::path::PathBuf;
use std::process::ExitCode;

/// The most specimens: above it memory would fill with results.
const MAX_SPECIMENS: i64 = 1_000_000;

const EXAMPLES: &str = "\
All meet the same specimens with the same traffic, drawn where no search draws. After the sign of
plus or minus stands half the 95 % confidence interval; 'difference' is to the first, specimen by
specimen. 'relative' is the score in units of each network's own rate and propagation delay. 'left'
is what an omniscient sender, with its share of the link from its first moment and no queue, would
score more. 'share' is throughput over the equal share, 'RTT' the mean over the propagation RTT.

Examples:
  exm score cc.json --model models/general-delta1.toml
  exm score cc.json RemyCC.dna aimd --model models/general16.toml --specimens 4000 --seed 7";

/// Score congestion controllers on networks held out from every search, side by side
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to score: tables' files, names of shipped tables, or aimd
    #[arg(value_name = "CC", required = true)]
    contenders: Vec<String>,
    /// The model of networks, and the objective
    #[arg(long, value_name = "MODEL.toml")]
    model: PathBuf,
    /// How many networks to draw; of a grid, each as often, and twice at least
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=MAX_SPECIMENS))]
    specimens: u32,
    /// What the networks and all chance in them are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let model = Model::load(&self.model)?;
        let contenders = contenders::load(&self.contenders)?;
        let scores = held_out(&model, self.seed, self.specimens as usize, &contenders)?;
        self.printing.print(&Report::new(&model, &scores))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Scores `contenders` on held-out specimens, with a bar where that takes long.
pub(crate) fn held_out(
    model: &Model,
    seed: u64,
    specimens: usize,
    contenders: &[Contender],
) -> Result<Scores, Failure> {
    let count = score::held_out_count(model, specimens);
    let progress = Progress::new((count * contenders.len()) as u64);
    let scores = score::held_out(model, seed, count, contenders, &|| progress.advance(1));
    progress.finish();
    Ok(scores?)
}
