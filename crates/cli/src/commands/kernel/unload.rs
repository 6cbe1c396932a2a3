//! `exm kernel unload`: takes a table out of the kernel.

use crate::shell::{Failure, Printing};
use exm_kernel::{Algorithm, connections};
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm kernel unload remy1
  exm kernel unload --all";

/// Take a table out of the kernel
///
/// No connection can choose it from then on. Those that use it keep it until they end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name of the congestion control
    #[arg(required_unless_present = "all")]
    name: Option<String>,
    /// All tables that are loaded
    #[arg(long, conflicts_with = "name")]
    all: bool,
    #[command(flatten)]
    printing: Printing,
}

/// What was unloaded.
#[derive(Serialize)]
struct Unloaded {
    name: String,
    /// Connections of this network namespace that keep it.
    connections: usize,
}

#[derive(Serialize)]
struct All {
    unloaded: Vec<Unloaded>,
}

impl fmt::Display for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.unloaded.is_empty() {
            writeln!(f, "no table is loaded")?;
        }
        for Unloaded { name, connections } in &self.unloaded {
            match connections {
                0 => writeln!(f, "{name} is unloaded")?,
                1 => writeln!(f, "{name} is unloaded; 1 connection keeps it until it ends")?,
                count => {
                    writeln!(f, "{name} is unloaded; {count} connections keep it until they end")?;
                }
            }
        }
        Ok(())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let algorithms = match &self.name {
            Some(name) => vec![Algorithm::named(name)?],
            None => Algorithm::all()?,
        };
        let users = connections()?;
        let mut unloaded = Vec::new();
        for algorithm in algorithms {
            let name = algorithm.name().to_owned();
            let connections = users.iter().filter(|user| user.algorithm == name).count();
            algorithm.unload()?;
            unloaded.push(Unloaded { name, connections });
        }
        self.printing.print(&All { unloaded })?;
        Ok(ExitCode::SUCCESS)
    }
}
