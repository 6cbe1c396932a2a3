//! `exm sprout serve`: the end of a session at a fixed address.

use super::run::run;
use crate::sessions::{Charts, Display, DisplayFlags, ServerFlags, SproutFlags, addresses, input};
use crate::shell::Failure;
use exm_bench::session::BenchServer;
use exm_os::Clock;
use exm_session::{Forward, Lines, Session};
use std::process::ExitCode;

const EXAMPLES: &str = "\
If several clients have the key, the one that connected last is served. Without --to and --bench,
each line of the standard input is sent as a datagram, and received datagrams are printed as lines.

Examples:
  exm sprout serve --new-key --key-file key
  exm sprout serve --key-file key --port 60001:60010 --to 127.0.0.1:51820
  exm sprout serve --key-file key --bench";

/// Wait for a client with the key, and carry datagrams
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, alias = "listen")]
pub(crate) struct Args {
    /// Send the UDP datagrams of the client's programs to this address, and its replies back
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Take part in the measurements of "exm sprout bench"
    #[arg(long, conflicts_with = "to")]
    bench: bool,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    sprout: SproutFlags,
    #[command(flatten)]
    display: DisplayFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let key = self.server.key()?;
        let settings = self.sprout.settings()?;
        let target =
            self.to.as_deref().map(|to| addresses(to).map(|found| found[0])).transpose()?;
        let ServerFlags { bind, port, .. } = self.server;
        let session = Session::listen(Clock::start(), key.clone(), settings, bind, port)
            .map_err(|error| ServerFlags::refused(&error))?;
        self.server.announce(session.local_address()?.port(), &key, self.display.quiet)?;
        let display = |free| Display::new("sprout serve", self.display, free, Charts);
        if self.bench {
            let application = BenchServer::new(&session);
            return run(session, application, display(true));
        }
        match target {
            Some(target) => {
                let application = Forward::to_target(target)?;
                run(session, application, display(true))
            }
            None => {
                let application = Lines::new(input()?, std::io::stdout(), false);
                run(session, application, display(false))
            }
        }
    }
}
