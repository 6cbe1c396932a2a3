//! `exm table`: rule tables as files.

mod convert;
mod diff;
mod list;
mod plot;
mod show;
mod stats;

use crate::commands::commands;
use crate::shell::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A table is given by the path of its file, .json or .dna, or, where there is no such file, by the
name of one shipped with the program (see exm table list).

Examples:
  exm table show RemyCC.dna
  exm table diff before.json after.json
  exm table convert RemyCC.dna RemyCC.json";

/// Show, draw, compare and convert rule tables
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = "COMMAND")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

commands! {
    /// The commands on tables.
    Command {
        Show(show),
        Stats(stats),
        Plot(plot),
        Diff(diff),
        Convert(convert),
        List(list),
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.command.run()
    }
}
