//! `exm cellsim`: an emulated link for real programs, in real time.

mod bridge;
mod inside;
mod link;
mod logs;
mod meters;
mod output;
mod program;
mod reading;
mod screen;

use crate::shell::{self, Failure};
use exm_emulator::{Emulated, Report, Setup};
use exm_os::{Identity, Rights};
use exm_units::Span;
pub(crate) use link::LinkFlags;
use logs::LogFlags;
use meters::Show;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Packets travel for the propagation delay, arrive at the queue, where some may be lost, and leave as
the trace or the rate allows. An opportunity of a trace carries 1500 bytes; it is lost if the queue is
empty. Options that take one value for both directions also take two, UP,DOWN.

COMMAND runs in a network namespace whose only connection is the link. As root, the outside end of
the link is this machine, at the address in EXM_PEER, and packets of COMMAND to other hosts are
forwarded with this machine's address. Without root both ends are in namespaces of the user, and
pasta or slirp4netns, if installed, connects the outside end to the Internet; the machine is then at
EXM_HOST. A --peer runs at the outside end. All of this is removed when the program ends, even if it is
killed. Without a COMMAND it runs the shell in SHELL, or /bin/sh, with a prompt that begins with [cellsim].

Examples:
  exm cellsim --up 10Mbps --down 50Mbps -- curl -o /dev/null https://example.org/file
  exm cellsim --up lte.up --down lte.down --queue codel --log run.csv
  exm cellsim --up 5Mbps --down 5Mbps --outside namespace --peer 'iperf3 -s' -- sh -c \\
      'sleep 1; iperf3 -c $EXM_PEER'
  exm cellsim --up lte --down lte --bridge eth1 eth2

Exit codes: COMMAND's, 0 where --duration ended it, 1 failed, 2 usage error.";

/// Run a program inside an emulated link: traces, delay, queues, loss
///
/// With --bridge, the link connects two network devices instead, for the machines behind them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The program to run inside the link, and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    link: LinkFlags,
    /// Put the link between two network devices; up is from the first to the second
    #[arg(long, num_args = 2, value_names = ["DEVICE", "DEVICE"], help_heading = "Ends")]
    #[arg(conflicts_with_all = ["command", "outside", "peer"])]
    bridge: Option<Vec<String>>,
    /// The network of the link's outside end [default: host as root, namespace otherwise]
    #[arg(long, alias = "world", value_enum, value_name = "NETWORK", help_heading = "Ends")]
    outside: Option<Outside>,
    /// Run this shell command at the outside end while COMMAND runs
    #[arg(long, value_name = "COMMAND", help_heading = "Ends")]
    peer: Option<String>,
    /// End after this long with exit code 0, even if COMMAND still runs
    #[arg(long, value_name = "DURATION", help_heading = "Ends")]
    duration: Option<Span>,
    /// The privileges by which this process creates networks, once acquired.
    #[arg(skip)]
    rights: Option<Rights>,
    #[command(flatten)]
    logs: LogFlags,
    #[command(flatten)]
    show: Show,
}

/// The report of a link, with its random seed.
#[derive(Serialize)]
struct Seeded {
    seed: u64,
    #[serde(flatten)]
    report: Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Outside {
    /// This machine's own network
    Host,
    /// A network of its own
    Namespace,
}

impl Args {
    /// Acquires the privileges, before the process has threads.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        if self.bridge.is_none() {
            self.rights = Some(Rights::acquire()?);
        }
        Ok(())
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if self.command.is_empty() && self.bridge.is_none() && self.show.meters {
            let problem =
                "--meters takes the terminal that a shell needs: give a COMMAND, or --plain";
            return Err(Failure::usage(problem));
        }
        let (setup, described) = self.link.setup()?;
        self.logs.check(&self.link)?;
        match &self.bridge {
            Some(devices) => bridge::run(&self, devices, &setup, described),
            None => program::run(&self, &setup, described),
        }
    }

    /// The network of the outside end.
    fn outside(&self) -> Result<exm_emulator::OutsideNetwork, Failure> {
        let is_root = self.rights == Some(Rights::Root);
        match self.outside {
            Some(Outside::Host) if !is_root => {
                let problem = "only root can change this machine's own network: run it as root, or \
                               leave this out";
                Err(Failure::invalid_value("host", "--outside", problem))
            }
            Some(Outside::Host) => Ok(exm_emulator::OutsideNetwork::Host),
            None if is_root && self.peer.is_none() => Ok(exm_emulator::OutsideNetwork::Host),
            _ => Ok(exm_emulator::OutsideNetwork::Namespace),
        }
    }

    /// The identity of COMMAND, if not that of this process.
    fn identity(&self) -> Option<Identity> {
        match self.rights {
            Some(Rights::OwnNamespace(identity)) => Some(identity),
            _ => None,
        }
    }

    /// Prints the report.
    fn report(&self, setup: &Setup, emulated: &Emulated, missed: [u64; 2]) -> Result<(), Failure> {
        let report = Report::new(setup, emulated, missed);
        if self.show.json {
            let seeded = Seeded { seed: setup.seed, report };
            return shell::print_json(&shell::json(&seeded, None)?);
        }
        if !self.show.quiet {
            // To standard error, beside the output of COMMAND.
            shell::tell(&report.to_string());
        }
        Ok(())
    }
}
