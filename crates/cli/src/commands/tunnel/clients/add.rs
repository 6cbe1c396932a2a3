//! `exm tunnel clients add`: a new client.

use super::FileFlags;
use crate::commands::tunnel::serve::network;
use crate::shell::{Failure, note, print, quoted};
use exm_tunnel::{Clients, ClientsError, Lease, Network};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The key is written to a new file, to be moved to the client, or printed with the command that the client
runs. The file of clients is made if there is none, with addresses for 256 clients and an IPv6 subnet for
each; with more, or in a smaller network, four addresses of 10.77.0.0/24 suffice for one client, but
clients of versions before this command then have no IPv6.

Examples:
  exm tunnel clients add alice --key-file alice.key
  exm tunnel clients add bob --clients /etc/exm/clients.toml --network 10.77.0.0/16";

/// Add a client, with a new key and addresses of its own
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name of the client: letters, digits, '.', '_' and '-'
    #[arg(value_name = "NAME")]
    name: String,
    /// The new file to write the client's key to [default: the key is printed]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The network of all clients' addresses, if the file is new, a /24 or larger
    /// [default: a /16 within 100.96.0.0/11]
    #[arg(long, value_name = "ADDRESS/BITS", value_parser = network)]
    network: Option<Network>,
    #[command(flatten)]
    file: FileFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let file = &self.file.clients;
        let mut written = None;
        let added = Clients::change(file, |before| {
            let mut clients = self.begin(before)?;
            let lease = clients.add(&self.name)?.clone();
            if let Some(key_file) = &self.key_file {
                lease.key.to_new_file(key_file)?;
                written = Some(key_file);
            }
            Ok((clients, lease))
        });
        let lease = added.map_err(|error| {
            if let Some(key_file) = written {
                // The key of no client.
                let _ = std::fs::remove_file(key_file);
            }
            failure(error)
        })?;
        self.tell(file, &lease)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The clients before this one.
    fn begin(&self, before: Option<Clients>) -> Result<Clients, ClientsError> {
        match (before, self.network) {
            (Some(clients), Some(network)) if network != clients.network() => {
                Err(ClientsError::OtherNetwork(clients.network().ipv4()))
            }
            (Some(clients), _) => Ok(clients),
            (None, Some(network)) => Clients::new(network),
            (None, None) => {
                let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
                Clients::new(Network::for_clients(host.trim()))
            }
        }
    }

    /// Tells the user what the client needs.
    fn tell(&self, file: &Path, lease: &Lease) -> Result<(), Failure> {
        let Lease { name, network, key } = lease;
        let (four, six) = (network.client(), network.client6());
        note(&format!("{name} has the addresses {four} and {six}, in {}", file.display()));
        match &self.key_file {
            Some(key_file) => {
                let key_file = quoted(&key_file.display().to_string());
                note(&format!("move {key_file} to the client, which runs this:"));
                print(&format!("exm tunnel connect HOST --key-file {key_file}\n"))
            }
            None => {
                note("the client runs this, with this machine's name or address as HOST:");
                let key = key.to_text();
                print(&format!("EXM_KEY={} exm tunnel connect HOST\n", key.as_str()))
            }
        }
    }
}

/// The failure to add a client, with a remedy.
fn failure(error: ClientsError) -> Failure {
    match error {
        ClientsError::Key(error) => {
            Failure::from(error).with_tip("give the name of a new file by --key-file")
        }
        error => Failure::new(error.to_string()),
    }
}
