//! `exm experiment`: the papers' figures and tables, and the user's own, from a file.

mod cross;
mod design;
pub(crate) mod list;
mod recorded;
mod rewrite;
mod run;
mod show;
mod work;

pub(crate) use show::Shown;
pub(crate) use work::Work;

use crate::commands::subcommands;
use crate::shell::Failure;

const EXAMPLES: &str = "\
An experiment runs several schemes, each a controller and optionally a queue discipline, repeatedly on
one network, and draws the results. Give the path of its file, or the name of one shipped with the
program.

Examples:
  exm experiment list
  exm experiment run thesis-3-4
  exm experiment show results/thesis-3-4
  exm experiment design thesis-4-1 --out again
  exm experiment cross thesis-4-1";

subcommands! {
    /// Run the papers' experiments, or your own, and show their results
    {
        Cross(cross),
        Design(design),
        List(list),
        Run(run),
        Show(show),
    }
}

impl Args {
    /// Prepares the command before the process has threads.
    #[cfg(target_os = "linux")]
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        match &mut self.command {
            Command::Run(args) => args.prepare(),
            _ => Ok(()),
        }
    }
}
