//! The commands. To add one, write its file, with `Args` and their `run`, and its lines here.

mod compare;
mod completions;
mod demo;
mod design;
mod experiment;
mod man;
mod report;
mod score;
mod simulate;
mod table;

pub(crate) use simulate::{controller, duration};

/// A list of commands, each the arguments of its module, which are run.
macro_rules! commands {
    ($(#[$doc:meta])* $name:ident { $($variant:ident($module:ident),)* }) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name {
            $($variant(Box<$module::Args>),)*
        }

        impl $name {
            /// Does what was asked for; the code is what the program ends with.
            pub(crate) fn run(self) -> Result<std::process::ExitCode, $crate::shell::Failure> {
                match self { $($name::$variant(args) => args.run(),)* }
            }
        }
    };
}
use commands;

commands! {
    /// All commands.
    Command {
        Demo(demo),
        Design(design),
        Score(score),
        Simulate(simulate),
        Experiment(experiment),
        Compare(compare),
        Report(report),
        Table(table),
        Completions(completions),
        Man(man),
    }
}
