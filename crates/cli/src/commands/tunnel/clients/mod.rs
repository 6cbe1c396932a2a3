//! `exm tunnel clients`: the clients of a server that has many.

mod add;
mod list;
mod revoke;

use crate::commands::subcommands;
use std::path::PathBuf;

/// The file's name where none is given.
const FILE: &str = "clients.toml";

const EXAMPLES: &str = "\
The clients are in a file, which \"exm tunnel serve --clients FILE\" reads, and reads again within a second
when it changes: an added client is admitted, and a revoked one is cut off at once. The file holds the
keys of all clients, so only its owner may read it. Each client has addresses of its own, which it keeps.

Examples:
  exm tunnel clients add alice --key-file alice.key
  exm tunnel clients add bob
  exm tunnel clients list
  exm tunnel clients revoke alice";

subcommands! {
    /// Add, list and revoke the clients of a server
    {
        Add(add),
        List(list),
        Revoke(revoke),
    }
}

/// The file of clients.
#[derive(Debug, clap::Args)]
struct FileFlags {
    /// The file of clients
    #[arg(long, value_name = "FILE", default_value = FILE)]
    clients: PathBuf,
}
