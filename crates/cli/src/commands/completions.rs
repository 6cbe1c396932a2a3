//! `exm completions`: scripts for shell completion.

use crate::complete;
use crate::shell::{self, Failure};
use clap_complete::Shell;
use clap_complete::env::Shells;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm completions bash > ~/.local/share/bash-completion/completions/exm
  exm completions zsh > ~/.zfunc/_exm
  exm completions fish > ~/.config/fish/completions/exm.fish";

/// Print the completions of this command line for a shell
///
/// The script completes options, and names of tables, controllers, queues, traces and experiments. It calls
/// exm, which must be in PATH and of the version that printed the script.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let shells = Shells::builtins();
        let name = self.shell.to_string();
        let shell = shells.completer(&name).ok_or_else(|| {
            Failure::usage(format!("there are no completions for the shell {name}"))
        })?;
        let mut script = Vec::new();
        shell.write_registration(complete::VARIABLE, "exm", "exm", "exm", &mut script)?;
        shell::write_out(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
