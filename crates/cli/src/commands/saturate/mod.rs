//! `exm saturate`: traces of real links.

mod direction;
mod record;
mod serve;

use crate::commands::commands;
use crate::shell::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A link's trace is recorded by keeping it full, both ways at once: then all that arrives is all that
it could deliver. The acknowledgements take another, unloaded way, so that a full queue delays none
of them. The server stands where its own connection is never the slowest part. Beware: a recording
uses all that the link can carry, and all the data volume that comes with it.

A key is read from a file, from the environment or from the standard input, never from the command
line, where all users of the machine could see it.

Examples:
  exm saturate serve --new-key --key-file key
  exm saturate record example.org:60001 --key-file key --device wwan0 --control eth0 -o walk";

/// Record what a real link can deliver, as a trace
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = "COMMAND")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

commands! {
    /// The commands of recordings.
    Command {
        Serve(serve),
        Record(record),
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.command.run()
    }
}
