//! `exm man`: the manual pages.

use crate::cli::Cli;
use crate::shell::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm man ~/.local/share/man/man1
  man exm-table-diff";

/// Write the manual pages of all commands into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder; it is created if necessary
    folder: PathBuf,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Cli::definition(), &self.folder))
            .map_err(|error| {
                let folder = self.folder.display();
                Failure::new(format!("cannot write the manual pages into {folder}: {error}"))
            })?;
        Ok(ExitCode::SUCCESS)
    }
}
