//! `exm tunnel serve`: the end with the good connection.

use super::RISK;
use super::run::{TunnelFlags, run};
use crate::sessions::{ServerFlags, SproutFlags};
use crate::shell::{Failure, Printing, note};
use exm_os::Clock;
use exm_session::Session;
use exm_tunnel::{Cidr, Network, Server, ServerPlan};
use std::process::ExitCode;

const EXAMPLES: &str = "\
What the client sends goes on from here as this machine's own (masquerading). A firewall of this
machine's must let its UDP port in, and let packets from the tunnel's device through.

Examples:
  exm tunnel serve --new-key --key-file key
  exm tunnel serve --key-file key --port 60002
  exm tunnel serve --key-file key --network 10.77.0.0/24 --private";

/// Carry the traffic of a client that has the key to the world, and the answers back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("risk", |arg| arg.default_value(RISK)))]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerFlags,
    /// The tunnel's own addresses, of which this end has the first and the client the second
    /// [default: some within 100.96.0.0/11 that are free here]
    #[arg(long, value_name = "ADDRESS/BITS", value_parser = network)]
    network: Option<Network>,
    /// Let the client reach this machine alone, and nothing beyond
    #[arg(long)]
    private: bool,
    #[command(flatten)]
    tunnel: TunnelFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    sprout: SproutFlags,
}

/// Addresses for the two ends.
fn network(text: &str) -> Result<Network, String> {
    let cidr: Option<Cidr> = text.parse().ok();
    cidr.and_then(Network::new).ok_or_else(|| {
        "give IPv4 addresses of 8 to 30 common bits, such as 10.77.0.0/24".to_owned()
    })
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.tunnel.check_rights()?;
        let key = self.server.key()?;
        let settings = self.sprout.settings()?;
        let ServerFlags { bind, port, .. } = self.server;
        let session = Session::listen(Clock::start(), key.clone(), settings, bind, port)
            .map_err(|error| ServerFlags::refused(&error))?;
        let (device, is_private) = (self.tunnel.device.clone(), self.private);
        let plan = ServerPlan { device, network: self.network, is_private };
        let server = Server::new(&session, &plan)?;
        self.server.tell(session.local_address()?.port(), &key, self.tunnel.display.quiet)?;
        if !self.private && !server.world().has_four() {
            note("this machine has no way to the world: the client reaches it alone");
        }
        let display = self.tunnel.display("tunnel serve", self.printing);
        run(session, server, display, &self.tunnel, self.printing)
    }
}
