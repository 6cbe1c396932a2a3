//! Tables in integers, as a kernel and C code take them.

use crate::options::short_name;
use crate::shell::{Failure, warn};
use crate::{complete, tables};
use exm_design::{Conditions, model_of};
use exm_remy::fixed::FixedTable;
use exm_table::{TableFile, Verdict};
use std::path::{Path, PathBuf};

/// The largest window of a table whose file does not say what it was designed for, in packets: 120 ms at 1 Gbit/s.
const WINDOW_OF_UNKNOWN: u32 = 10_000;

/// The table, and the largest window that it may reach.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// The table: a file, or the name of a shipped one
    #[arg(add = complete::tables())]
    pub(crate) table: PathBuf,
    /// The largest window [default: five bandwidth-delay products of the fastest and longest network that the
    /// table was designed for, or 10000 if its file does not say which]
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_window: Option<u32>,
}

/// A table in integers, its name for people, and what its file says of it.
pub(crate) struct Fitted {
    pub(crate) table: FixedTable,
    pub(crate) label: String,
    pub(crate) file: TableFile,
}

impl TableArgs {
    /// Reads the table, and warns if it is one for experiments only.
    pub(crate) fn read(&self) -> Result<Fitted, Failure> {
        fitted(&self.table, |file| self.max_window.unwrap_or_else(|| largest_window(file)))
    }
}

/// Reads the table `path`, and warns if it is one for experiments only.
pub(crate) fn fitted(
    path: &Path,
    max_window: impl FnOnce(&TableFile) -> u32,
) -> Result<Fitted, Failure> {
    let file = tables::load(path)?;
    let label = short_name(&path.to_string_lossy());
    if !file.robustness().is_some_and(|known| known.verdict == Verdict::Holds) {
        warn(&format!(
            "{label} was not found to hold on networks around its model: where it was not designed for, it may \
             fill queues or starve (exm table check, exm table harden)"
        ));
    }
    let table = FixedTable::new(&file.table, max_window(&file))
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(Fitted { table, label, file })
}

/// The largest window that the networks of the design take.
pub(crate) fn largest_window(file: &TableFile) -> u32 {
    model_of(file).map_or(WINDOW_OF_UNKNOWN, |model| Conditions::of_model(&model).largest_window())
}
