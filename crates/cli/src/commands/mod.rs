//! The commands. To add one, write its file with `Args` and their `run`, and add its lines here.

#[cfg(target_os = "linux")]
mod cellsim;
mod compare;
mod completions;
mod contest;
mod controller;
mod demo;
mod design;
mod experiment;
mod falsify;
mod help;
mod init;
#[cfg(target_os = "linux")]
mod kernel;
mod list;
mod man;
#[cfg(target_os = "linux")]
mod mosh;
mod ratatouille;
mod report;
#[cfg(target_os = "linux")]
mod saturate;
mod score;
mod simulate;
#[cfg(target_os = "linux")]
mod sprout;
mod table;
mod trace;
#[cfg(target_os = "linux")]
mod tunnel;

#[cfg(target_os = "linux")]
use mosh::{client as mosh_client, server as mosh_server};
pub(crate) use simulate::duration;

/// Defines the commands, each with the arguments of its module.
macro_rules! commands {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$attribute:meta])* $variant:ident($module:ident),)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name {
            $($(#[$attribute])* $variant(Box<$module::Args>),)*
        }

        impl $name {
            /// Runs the command and returns the exit code.
            pub(crate) fn run(self) -> Result<std::process::ExitCode, $crate::shell::Failure> {
                match self { $($(#[$attribute])* $name::$variant(args) => args.run(),)* }
            }
        }
    };
}
use commands;

/// Defines the `Args` of a command that only has subcommands, with the documentation and attributes given; its
/// module has their `EXAMPLES`.
macro_rules! subcommands {
    (
        $(#[$doc:meta])*
        { $($variant:ident($module:ident),)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, clap::Args)]
        #[command(after_help = EXAMPLES, subcommand_value_name = "COMMAND")]
        pub(crate) struct Args {
            #[command(subcommand)]
            command: Command,
        }

        $crate::commands::commands! {
            /// The subcommands.
            Command { $($variant($module),)* }
        }

        impl Args {
            pub(crate) fn run(self) -> Result<std::process::ExitCode, $crate::shell::Failure> {
                self.command.run()
            }
        }
    };
}
use subcommands;

commands! {
    /// All commands.
    Command {
        Demo(demo),
        Init(init),
        Design(design),
        Score(score),
        Falsify(falsify),
        Simulate(simulate),
        Ratatouille(ratatouille),
        Experiment(experiment),
        Compare(compare),
        Contest(contest),
        Report(report),
        List(list),
        Controller(controller),
        #[cfg(target_os = "linux")]
        Cellsim(cellsim),
        #[cfg(target_os = "linux")]
        Sprout(sprout),
        #[cfg(target_os = "linux")]
        Tunnel(tunnel),
        #[cfg(target_os = "linux")]
        Mosh(mosh),
        #[cfg(target_os = "linux")]
        MoshClient(mosh_client),
        #[cfg(target_os = "linux")]
        MoshServer(mosh_server),
        #[cfg(target_os = "linux")]
        Saturate(saturate),
        #[cfg(target_os = "linux")]
        Kernel(kernel),
        Table(table),
        Trace(trace),
        Completions(completions),
        Man(man),
        Help(help),
    }
}

impl Command {
    /// Prepares the command before the process has threads.
    pub(crate) fn prepare(&mut self) -> Result<(), crate::shell::Failure> {
        match self {
            #[cfg(target_os = "linux")]
            Command::Cellsim(args) => args.prepare(),
            #[cfg(target_os = "linux")]
            Command::Compare(args) => args.prepare(),
            #[cfg(target_os = "linux")]
            Command::Experiment(args) => args.prepare(),
            #[cfg(target_os = "linux")]
            Command::Tunnel(args) => args.prepare(),
            _ => Ok(()),
        }
    }
}
