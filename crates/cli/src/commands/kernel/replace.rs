//! `exm kernel replace`: another table under a name that is in use.

use crate::fixed::{Fitted, TableArgs};
use crate::shell::{Failure, Printing};
use exm_kernel::Algorithm;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm kernel replace remy1 better.json";

/// Put another table in force under a name that is loaded
///
/// Connections that use it follow the other table from their next ACK on; what they remember stays.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name of the congestion control
    name: String,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    printing: Printing,
}

/// The table before, and the one in force.
#[derive(Serialize)]
struct Replaced {
    name: String,
    before: String,
    table: String,
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} instead of {}", self.name, self.table, self.before)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let Fitted { table, label, .. } = self.table.read()?;
        let algorithm = Algorithm::named(&self.name)?;
        let before = algorithm.table()?.label;
        algorithm.replace(&table, &label)?;
        self.printing.print(&Replaced { name: self.name, before, table: label })?;
        Ok(ExitCode::SUCCESS)
    }
}
