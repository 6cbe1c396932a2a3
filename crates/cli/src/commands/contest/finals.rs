//! `exm contest final`: the final on the hidden pair.

use super::submit::cells;
use super::{Dir, failure};
use crate::shell::{Failure, Printing};
use crate::threads::Threads;
use exm_contest::finals::Final;
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The pair must have the hashes in the rules. The final runs the last submission of each participant, or the \
one that was submitted with --final. The rank correlation of the participants' powers before and in the \
final (Spearman's) measures overfitting: 1 if the order stayed the same.

Examples:
  exm contest final --pair final.down final.up --contest course";

/// Hold the final of a contest on the hidden pair of traces
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The hidden pair: the trace of the data, then that of the ACKs
    #[arg(long, value_names = ["DOWN", "UP"], num_args = 2, required = true)]
    pair: Vec<PathBuf>,
    #[command(flatten)]
    dir: Dir,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    printing: Printing,
}

/// The final for print.
#[derive(Serialize)]
#[serde(transparent)]
struct Shown(Final);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::with_words(1..2);
        let heading =
            ["rank", "", "Mbps", "95 % delay, ms", "self-inflicted, ms", "power", "before"];
        columns.line(heading.map(str::to_owned));
        for row in &self.0.rows {
            let name = super::row_name(&row.name, row.baseline);
            let start = [row.rank.to_string(), name].into_iter();
            columns.line(start.chain(cells(&row.score)).chain([row.rank_before.to_string()]));
        }
        write!(
            f,
            "{columns}\nBaselines are in parentheses; before is the rank on the training pair.\n"
        )?;
        match self.0.rank_correlation {
            Some(correlation) => {
                writeln!(f, "Rank correlation of the participants: {correlation:.3}")
            }
            None => writeln!(f, "Too few participants for a rank correlation."),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.threads.start()?;
        let contest = self.dir.open()?;
        let pair = contest.final_pair(&self.pair[0], &self.pair[1]).map_err(failure)?;
        let result = contest.hold_final(&pair).map_err(failure)?;
        self.printing.print(&Shown(result))?;
        Ok(ExitCode::SUCCESS)
    }
}
