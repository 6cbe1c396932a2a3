//! `exm table diff`: in what two tables differ.

use crate::complete;
use crate::shell::{Failure, Printing};
use crate::tables;
use std::path::PathBuf;
use std::process::ExitCode;

/// What diff(1) ends with where it cannot compare.
const TROUBLE: u8 = 2;

const EXAMPLES: &str = "\
Exit codes, as for diff: 0 if both tables have the same action for every memory, even with different
rules; 1 if not; 2 if they cannot be compared.

Examples:
  exm table diff before.json after.json
  exm table diff RemyCC.dna RemyCC.json > /dev/null && echo the same";

/// Print the differences of two tables, in their files and in their actions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The first table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    first: PathBuf,
    /// The second table
    #[arg(add = complete::tables())]
    second: PathBuf,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.compare().map_err(|failure| failure.with_code(TROUBLE))
    }

    fn compare(self) -> Result<ExitCode, Failure> {
        let (first, second) = (tables::load(&self.first)?, tables::load(&self.second)?);
        let diff = exm_table::diff(&first.table, &second.table);
        self.printing.print(&diff)?;
        Ok(if diff.acts_alike() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
