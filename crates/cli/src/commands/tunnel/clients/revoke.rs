//! `exm tunnel clients revoke`: a client that is served no longer.

use super::FileFlags;
use crate::shell::{Failure, note};
use exm_tunnel::{Clients, ClientsError};
use std::process::ExitCode;

const EXAMPLES: &str = "\
A running server cuts the client off within a second, and the client ends with a message. Its addresses
are free for another client; its key is worth nothing.

Examples:
  exm tunnel clients revoke alice";

/// Revoke the key of a client
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name of the client
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    file: FileFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let file = &self.file.clients;
        Clients::change(file, |before| {
            let mut clients = before.ok_or_else(|| ClientsError::Missing(file.clone()))?;
            clients.revoke(&self.name)?;
            Ok((clients, ()))
        })
        .map_err(|error| Failure::new(error.to_string()))?;
        note(&format!("{} is revoked, in {}", self.name, file.display()));
        Ok(ExitCode::SUCCESS)
    }
}
