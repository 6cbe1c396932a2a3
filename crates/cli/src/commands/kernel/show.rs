//! `exm kernel show`: the connections that tables control.

use crate::layout;
use crate::shell::{Failure, Printing};
use exm_kernel::{Algorithm, Connection, connections};
use exm_store::Columns;
use exm_units::Rate;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
The signals are averages in ms, and the ratio of the latest RTT to the least. The rule is the number of
the one in force, as exm table show --tree numbers them. The window is less than the table's while lost packets
are retransmitted.

Examples:
  exm kernel show
  exm kernel show remy1 --json
  watch -n 0.5 exm kernel show remy1";

/// Show the connections that tables in the kernel control: window, pace, signals and rule
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name of the congestion control [default: all that are loaded]
    name: Option<String>,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct Shown {
    connections: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    local: String,
    remote: String,
    window: u32,
    table_window: u32,
    /// Nothing if packets are not spaced.
    pace_bps: Option<u64>,
    rule: u32,
    acks: u64,
    recovering: bool,
    signals: BTreeMap<String, f64>,
}

impl From<Connection> for Entry {
    fn from(from: Connection) -> Entry {
        Entry {
            name: from.algorithm,
            local: from.local.to_string(),
            remote: from.remote.to_string(),
            window: from.window,
            table_window: from.table_window,
            pace_bps: from.pace_bps,
            rule: from.rule,
            acks: from.acks,
            recovering: from.recovering,
            signals: from
                .signals
                .iter()
                .map(|(signal, value)| (signal.to_string(), *value))
                .collect(),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.connections.is_empty() {
            return writeln!(f, "no connection of this network namespace uses a table");
        }
        for entry in &self.connections {
            let state = if entry.recovering { ", retransmits lost packets" } else { "" };
            let pace = entry
                .pace_bps
                .map_or_else(|| "unpaced".to_owned(), |bps| Rate::from_bps(bps).to_string());
            writeln!(f, "{} {} -> {}{state}", entry.name, entry.local, entry.remote)?;
            let mut columns = Columns::new(2);
            columns.line([
                "  window".to_owned(),
                format!("{} of {} packets", entry.window, entry.table_window),
            ]);
            columns.line(["  pace".to_owned(), pace]);
            columns
                .line(["  rule".to_owned(), format!("{} after {} ACKs", entry.rule, entry.acks)]);
            for (signal, value) in &entry.signals {
                columns.line([format!("  {signal}"), format!("{value:.3}")]);
            }
            f.write_str(&layout::table(&columns))?;
        }
        Ok(())
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        // An unknown name is an error, not an empty list.
        let wanted = self.name.as_deref().map(Algorithm::named).transpose()?;
        let is_wanted = |one: &Connection| {
            wanted.as_ref().is_none_or(|algorithm| algorithm.name() == one.algorithm)
        };
        let found = connections()?.into_iter().filter(is_wanted).map(Entry::from).collect();
        self.printing.print(&Shown { connections: found })?;
        Ok(ExitCode::SUCCESS)
    }
}
