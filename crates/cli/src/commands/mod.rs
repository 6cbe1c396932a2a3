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

#[cfg(target_os = "linux")]
use crate::cli::signed;
use std::ffi::OsString;

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

/// `words` without the program's name, as the arguments `A` of the command `name`.
#[cfg(target_os = "linux")]
fn parse<A: clap::Args>(name: &'static str, words: &[OsString]) -> Option<Box<A>> {
    let definition = A::augment_args(clap::Command::new(name));
    let matches = signed(definition).try_get_matches_from(words).ok()?;
    A::from_arg_matches(&matches).ok().map(Box::new)
}

impl Command {
    /// The command of `words`, the first of which is the program's name, if it is an end of a session of the mobile shell: such a process stays, and the
    /// definitions of all commands would be a tenth of its memory. None if the words are wrong or ask for help, too: the whole definition answers then.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_session(words: &[OsString]) -> Option<Command> {
        let words = words.get(1..)?;
        match words.first()?.to_str()? {
            "mosh" => Some(Command::Mosh(parse("mosh", words)?)),
            "mosh-client" => Some(Command::MoshClient(parse("mosh-client", words)?)),
            "mosh-server" => Some(Command::MoshServer(parse("mosh-server", words)?)),
            _ => None,
        }
    }

    /// There is no mobile shell.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_session(_words: &[OsString]) -> Option<Command> {
        None
    }

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
