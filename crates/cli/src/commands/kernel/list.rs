//! `exm kernel list`: the tables in the kernel.

use crate::layout;
use crate::shell::{Failure, Printing};
use exm_kernel::{Algorithm, TableInfo, connections};
use exm_store::Columns;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm kernel list
  exm kernel list --json";

/// List the tables in the kernel
///
/// Connections are counted in this network namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct List {
    loaded: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    table: String,
    rules: usize,
    max_window: u32,
    pinned: bool,
    connections: usize,
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loaded.is_empty() {
            return writeln!(f, "no table is loaded: exm kernel load TABLE loads one");
        }
        let mut columns = Columns::new(6);
        let titles = ["name", "table", "rules", "largest window", "stays", "connections"];
        columns.line(titles.map(str::to_owned));
        for entry in &self.loaded {
            columns.line([
                entry.name.clone(),
                entry.table.clone(),
                entry.rules.to_string(),
                entry.max_window.to_string(),
                if entry.pinned { "pinned" } else { "while its command runs" }.to_owned(),
                entry.connections.to_string(),
            ]);
        }
        f.write_str(&layout::table(&columns))
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let users = connections()?;
        let mut loaded = Vec::new();
        for algorithm in Algorithm::all()? {
            let TableInfo { label, rules, max_window } = algorithm.table()?;
            loaded.push(Entry {
                name: algorithm.name().to_owned(),
                table: label,
                rules,
                max_window,
                pinned: algorithm.pinned().is_some(),
                connections: users.iter().filter(|user| user.algorithm == algorithm.name()).count(),
            });
        }
        self.printing.print(&List { loaded })?;
        Ok(ExitCode::SUCCESS)
    }
}
