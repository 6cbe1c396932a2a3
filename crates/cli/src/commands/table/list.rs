//! `exm table list`: the tables shipped with the program.

use crate::shell::{Failure, Printing};
use crate::tables;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm table list
  exm table list --json";

/// Print the names of the tables shipped with the program
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Names(Vec<&'static str>);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| writeln!(f, "{name}"))
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.printing.print(&Names(tables::shipped_names()))?;
        Ok(ExitCode::SUCCESS)
    }
}
