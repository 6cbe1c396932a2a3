//! `exm tunnel serve`: the end that forwards traffic.

use super::run::{TunnelFlags, check_rights, run};
use super::{RISK, ip_network};
use crate::sessions::{ServerFlags, SproutFlags};
use crate::shell::{Failure, Printing, note};
use exm_os::Clock;
use exm_session::Session;
use exm_tunnel::{IpNet, Network, Server, ServerPlan};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The client's packets are forwarded with this machine's address (masquerading), through the device of
the default route, and to the networks of --allow. Only replies are returned: no host can open a
connection to the client. A firewall on this machine must admit the UDP port, and forward packets from
the tunnel's device.

Examples:
  exm tunnel serve --new-key --key-file key
  exm tunnel serve --key-file key --port 60002 --allow 10.5.0.0/16
  exm tunnel serve --key-file key --network 10.77.0.0/24 --private";

/// Carry the traffic of a client with the key to the Internet, and the replies back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("risk", |arg| arg.default_value(RISK)))]
pub(crate) struct Args {
    /// The tunnel's own addresses: the first for this end, the second for the client
    /// [default: unused ones within 100.96.0.0/11]
    #[arg(long, value_name = "ADDRESS/BITS", value_parser = network)]
    network: Option<Network>,
    /// Let the client reach only this machine
    #[arg(long, conflicts_with = "allowed")]
    private: bool,
    /// Also forward to these addresses, through any device; may be given several times
    #[arg(long = "allow", value_name = "ADDRESS/BITS", value_parser = ip_network)]
    allowed: Vec<IpNet>,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    tunnel: TunnelFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    sprout: SproutFlags,
}

/// Parses the network of both ends.
fn network(text: &str) -> Result<Network, String> {
    ip_network(text).ok().and_then(Network::new).ok_or_else(|| {
        "give an IPv4 network with a prefix of 8 to 30 bits, such as 10.77.0.0/24".to_owned()
    })
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        check_rights()?;
        let key = self.server.key()?;
        let settings = self.sprout.settings()?;
        let ServerFlags { bind, port, .. } = self.server;
        let session = Session::listen(Clock::start(), key.clone(), settings, bind, port)
            .map_err(|error| ServerFlags::refused(&error))?;
        let (device, is_private) = (self.tunnel.device.clone(), self.private);
        let plan = ServerPlan { device, network: self.network, is_private, allowed: self.allowed };
        let server = Server::new(&session, &plan)?;
        self.server.announce(session.local_address()?.port(), &key, self.tunnel.display.quiet)?;
        if !is_private && server.uplinks().next().is_none() {
            note("this machine has no default route: the client reaches no other machines");
        }
        let display = self.tunnel.display("tunnel serve", self.printing);
        run(session, server, display, &self.tunnel, self.printing)
    }
}
