//! `exm tunnel serve`: the end with the good connection.

use super::run::{Display, TunnelFlags, run};
use crate::commands::sprout::{KeyFlags, SproutFlags};
use crate::shell::{Failure, Printing, note};
use exm_datagram::{Key, PortRange};
use exm_os::Clock;
use exm_session::Session;
use exm_tunnel::{Cidr, Network, Server, ServerPlan};
use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

const EXAMPLES: &str = "\
What the client sends goes on from here as this machine's own (masquerading). A firewall of this
machine's must let its UDP port in, and let packets from the tunnel's device through.

Examples:
  exm tunnel serve --new-key
  exm tunnel serve --key-file key --port 60002
  exm tunnel serve --key-file key --network 10.77.0.0/24 --private";

/// Carry the traffic of a client that has the key to the world, and the answers back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The address to listen at [default: all that this machine has]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// The UDP port to listen on, or a range of which the first free one is taken
    #[arg(long, value_name = "PORT", default_value_t = PortRange::SERVERS)]
    port: PortRange,
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
    /// Make a key, and print it: the client needs it
    #[arg(long, group = "key", help_heading = "Key")]
    new_key: bool,
    #[command(flatten)]
    key: KeyFlags,
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
        let key = if self.new_key { Key::generate()? } else { self.key.key()? };
        let text = self.new_key.then(|| key.to_text());
        let settings = self.sprout.settings()?;
        let session = Session::listen(Clock::start(), key, settings, self.bind, self.port)?;
        let (device, is_private) = (self.tunnel.device.clone(), self.private);
        let plan = ServerPlan { device, network: self.network, is_private };
        let server = Server::new(&session, &plan)?;
        note(&format!("listening on UDP port {}", session.local_address()?.port()));
        if let Some(text) = text {
            // Not by a note: it is read by programs, too.
            let _ = writeln!(std::io::stderr(), "key: {}", text.as_str());
        }
        if !self.private && !server.world().has_four() {
            note("this machine has no way to the world: the client reaches it alone");
        }
        run(session, server, Display::new("serve", &self.tunnel, self.printing))
    }
}
