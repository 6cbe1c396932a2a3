//! `exm table stats`: a table in a few numbers.

use crate::complete;
use crate::shell::{Failure, Printing};
use crate::tables;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm table stats RemyCC.dna
  exm table stats --json RemyCC.json";

/// Summarise a table: its rules, their bounds and their actions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    table: PathBuf,
    #[command(flatten)]
    printing: Printing,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let file = tables::load(&self.table)?;
        self.printing.print(&exm_table::stats(&file.table))?;
        Ok(ExitCode::SUCCESS)
    }
}
