//! `exm tunnel`: all traffic of a machine over a Sprout session.

mod bench;
mod connect;
mod flows;
mod run;
mod serve;
mod summary;
mod unblock;
mod view;

use crate::commands::commands;
use crate::shell::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
A host with a good connection serves; a machine on a cellular or other variable-rate link connects. All
that the latter sends and receives goes through an encrypted Sprout session between the two. Each flow
has a queue of its own; the flow that has had fewer turns goes first, and no queue holds more than the
link will soon deliver: a call stays smooth beside a download. Both must be run as root. Everything
that they set up, devices, routes, rules and resolvers, is taken down again when they end, however they
end; only the kill switch of --kill-switch stays when the client is killed.

A server serves one client at a time, the one that came last of those that have its key; for several
clients run several, each with a key and a port of its own.

Examples:
  exm tunnel serve --new-key --key-file key
  exm tunnel connect example.org --key-file key
  exm tunnel connect example.org:60002 --key-file key --route 10.0.0.0/8 --dns 10.0.0.53
  exm tunnel bench --down lte --up lte";

/// A call beside a download loses more by a link left idle than by waiting now and then a little longer:
/// tunnels are less cautious than what else goes by Sprout. `docs/sprout.md` has the figures.
const RISK: &str = "25%";

/// Carry all of a machine's traffic over a link of unknown rate, by Sprout, each flow by itself
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = "COMMAND")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

commands! {
    /// The commands on tunnels.
    Command {
        Serve(serve),
        Connect(connect),
        Bench(bench),
        Unblock(unblock),
    }
}

impl Args {
    /// Takes the rights that it needs, which takes a process that has no threads yet.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        match &mut self.command {
            Command::Bench(args) => args.prepare(),
            Command::Serve(_) | Command::Connect(_) | Command::Unblock(_) => Ok(()),
        }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.command.run()
    }
}
