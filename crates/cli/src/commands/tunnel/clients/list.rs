//! `exm tunnel clients list`: the clients.

use super::FileFlags;
use crate::layout;
use crate::shell::{Failure, Printing};
use exm_store::Columns;
use exm_tunnel::Clients;
use serde::Serialize;
use std::fmt;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Keys are not shown.

Examples:
  exm tunnel clients list
  exm tunnel clients list --clients /etc/exm/clients.toml --json";

/// List the clients and their addresses
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileFlags,
    #[command(flatten)]
    printing: Printing,
}

#[derive(Serialize)]
struct List {
    network: String,
    /// How many clients the network has room for.
    room: u32,
    clients: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    address: String,
    address6: String,
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(3);
        columns.line(["client", "address", "IPv6 address"].map(str::to_owned));
        for Entry { name, address, address6 } in &self.clients {
            columns.line([name, address, address6].map(String::clone));
        }
        write!(f, "{}", layout::table(&columns))?;
        writeln!(f, "{} of {} in {}", self.clients.len(), self.room, self.network)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let clients = Clients::load(&self.file.clients);
        let clients = clients.map_err(|error| Failure::new(error.to_string()))?;
        let entries = clients.leases().iter().map(|lease| Entry {
            name: lease.name.clone(),
            address: lease.network.client().to_string(),
            address6: lease.network.client6().to_string(),
        });
        let (entries, network) = (entries.collect(), clients.network());
        let (room, network) = (network.leases(), network.ipv4().to_string());
        self.printing.print(&List { network, room, clients: entries })?;
        Ok(ExitCode::SUCCESS)
    }
}
