//! `exm table diff`: in what two tables differ.

use crate::complete;
use crate::shell::{Failure, Printing};
use crate::tables;
use std::path::PathBuf;
use std::process::ExitCode;

/// What diff(1) ends with where it cannot compare.
const TROUBLE: u8 = 2;

const EXAMPLES: &str = "\
Exit codes, as diff's: 0 where both tables act alike on every memory, however they cut it into
rules; 1 where they do not; 2 where they cannot be compared.

Examples:
  exm table diff before.json after.json
  exm table diff RemyCC.dna RemyCC.json > /dev/null && echo the same";

/// Print in what two tables differ, as files and in what they do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The one table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    first: PathBuf,
    /// The other
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
