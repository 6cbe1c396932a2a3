//! The command line as a whole.

use crate::commands::Command;
use crate::shell::Failure;
use clap::Parser;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm simulate --link 15Mbps --rtt 150ms --senders 8 --cc aimd
  exm table show RemyCC.dna
  exm completions bash > exm.bash

Exit codes: 0 done, 1 failed, 2 asked for wrongly, 130 interrupted.";

/// Transport protocols computed from stated assumptions and objectives
#[derive(Debug, Parser)]
#[command(name = "exm", version, propagate_version = true, after_help = EXAMPLES)]
#[command(max_term_width = 100, subcommand_value_name = "COMMAND")]
pub(crate) struct Cli {
    /// Work on at most so many threads at once; one a core, unless given
    ///
    /// Results are the same on any number of threads.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Does what must be done before the process has threads.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        self.command.prepare()
    }

    /// Does what was asked for.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(threads) = self.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
            pool.build_global().map_err(|error| {
                Failure::new(format!("cannot start {threads} threads: {error}"))
            })?;
        }
        self.command.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("\n  exm "), "{} has no example", command.get_name());
            command.get_subcommands().filter(|c| c.get_name() != "help").for_each(check);
        }
        let mut cli = Cli::command();
        cli.build();
        check(&cli);
    }
}
