//! `exm sprout listen`: the end that is at a known address.

use super::flags::{KeyFlags, SproutFlags, addresses, input};
use super::run::{Display, DisplayFlags, run};
use crate::shell::{Failure, note};
use exm_datagram::{Key, PortRange};
use exm_os::Clock;
use exm_session::bench::BenchServer;
use exm_session::{Forward, Lines, Session};
use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Of several clients that have the key, the one that came last is served. Without --to and --bench,
lines of the standard input are sent as datagrams, and those that come are printed as lines.

Examples:
  exm sprout listen --new-key
  exm sprout listen --key-file key --port 60001:60010 --to 127.0.0.1:51820
  exm sprout listen --key-file key --bench";

/// Wait for a client that has the key, and carry datagrams
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The address to listen at [default: all that this machine has]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// The UDP port to listen on, or a range of which the first free one is taken
    #[arg(long, value_name = "PORT", default_value_t = PortRange::SERVERS)]
    port: PortRange,
    /// Send the UDP datagrams of the client's programs to this address, and its answers back
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Take part in the measurements of "exm sprout bench"
    #[arg(long, conflicts_with = "to")]
    bench: bool,
    #[command(flatten)]
    display: DisplayFlags,
    /// Make a key, and print it: the client needs it
    #[arg(long, group = "key", help_heading = "Key")]
    new_key: bool,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    sprout: SproutFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let key = if self.new_key { Key::generate()? } else { self.key.key()? };
        let text = self.new_key.then(|| key.to_text());
        let settings = self.sprout.settings()?;
        let target =
            self.to.as_deref().map(|to| addresses(to).map(|found| found[0])).transpose()?;
        let session = Session::listen(Clock::start(), key, settings, self.bind, self.port)?;
        let address = session.local_address()?;
        if !self.display.quiet {
            note(&format!("listening on UDP port {}", address.port()));
        }
        if let Some(text) = text {
            // Not by a note: it is read by programs, too.
            let _ = writeln!(std::io::stderr(), "key: {}", text.as_str());
        }
        if self.bench {
            let errand = BenchServer::new(&session);
            return run(session, errand, Display::new("listen", self.display, true));
        }
        match target {
            Some(target) => {
                let errand = Forward::to_target(target)?;
                run(session, errand, Display::new("listen", self.display, true))
            }
            None => {
                let errand = Lines::new(input()?, std::io::stdout(), false);
                run(session, errand, Display::new("listen", self.display, false))
            }
        }
    }
}
