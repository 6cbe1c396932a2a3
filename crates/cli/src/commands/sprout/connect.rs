//! `exm sprout connect`: the roaming end of a session.

use super::run::run;
use crate::sessions::{Charts, Display, DisplayFlags, KeyFlags, SproutFlags, input, servers};
use crate::shell::{Failure, note};
use exm_os::Clock;
use exm_session::{Forward, Lines, Session};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Without --forward, each line of the standard input is sent as a datagram, and received datagrams are
printed as lines; the session ends at the end of the input.

Examples:
  EXM_KEY=... exm sprout connect example.org:60001
  exm sprout connect example.org:60001 --key-file key --forward 5000";

/// Connect to a server with the key, and carry datagrams
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The server's address [default port: 60001]
    #[arg(value_name = "HOST[:PORT]")]
    server: String,
    /// Carry the UDP datagrams that programs send to this port of 127.0.0.1, or to this address, to
    /// the server's --to, and the replies back
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = local)]
    forward: Option<SocketAddr>,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    sprout: SproutFlags,
    #[command(flatten)]
    display: DisplayFlags,
}

/// Parses a port of this machine, or an address with a port.
fn local(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let problem = "give a port such as 5000, or an address with one such as 192.0.2.1:5000";
    port.or_else(|_| text.parse()).map_err(|_| problem.to_owned())
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let key = self.key.key()?;
        let servers = servers(&self.server)?;
        let session = Session::connect(Clock::start(), key, self.sprout.settings()?, servers)?;
        let display = |free| {
            Display::new("sprout connect", self.display, free, Charts).awaiting(&self.server)
        };
        match self.forward {
            Some(address) => {
                let application = Forward::from_port(address).map_err(|error| {
                    Failure::new(format!("cannot use the UDP address {address}: {error}"))
                })?;
                if let Some(address) = application.address()? {
                    note(&format!("carrying datagrams sent to the UDP address {address}"));
                }
                run(session, application, display(true))
            }
            None => {
                let application = Lines::new(input()?, std::io::stdout(), true);
                run(session, application, display(false))
            }
        }
    }
}
