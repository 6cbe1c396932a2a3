//! `exm completions`: what shells need to complete the command line.

use crate::cli::Cli;
use crate::shell::{self, Failure};
use clap_complete::Shell;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm completions bash > ~/.local/share/bash-completion/completions/exm
  exm completions zsh > ~/.zfunc/_exm
  exm completions fish > ~/.config/fish/completions/exm.fish";

/// Print the completions of this command line for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell they are for
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::definition(), "exm", &mut script);
        shell::write_out(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
