//! `exm tunnel serve`: the end that forwards traffic.

use super::qlog::QlogFlags;
use super::run::{TunnelFlags, check_rights, run};
use super::shared::run_shared;
use super::{RISK, ip_network};
use crate::sessions::{ServerFlags, SproutFlags, warn_of_readers};
use crate::shell::{Failure, Printing, note};
use exm_os::Clock;
use exm_qlog::Vantage;
use exm_session::{Listener, Session};
use exm_tunnel::{IpNet, Network, Server, ServerPlan, SharedServer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
The client's packets are forwarded with this machine's address (masquerading), through the device of
the default route, and to the networks of --allow. Only replies are returned: no host can open a
connection to the client. A firewall on this machine must admit the UDP port, and forward packets from
the tunnel's device.

With --clients one process serves many clients at one UDP port, and needs no other key. No client reaches
another, or sends with another's address. \"exm tunnel clients\" adds and revokes clients meanwhile.

Examples:
  exm tunnel serve --new-key --key-file key
  exm tunnel serve --clients clients.toml
  exm tunnel serve --key-file key --port 60002 --allow 10.5.0.0/16
  exm tunnel serve --key-file key --network 10.77.0.0/24 --private";

const NO_ROUTE: &str = "this machine has no default route: clients reach no other machines";

/// Carry the traffic of clients with a key to the Internet, and the replies back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("risk", |arg| arg.default_value(RISK)))]
pub(crate) struct Args {
    /// Serve all clients of this file, which "exm tunnel clients" makes, and follow its changes
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["network", "new_key", "key_file", "key_env", "key_stdin", "qlog"],
    )]
    clients: Option<PathBuf>,
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
    qlog: QlogFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    sprout: SproutFlags,
}

/// Parses the network of both ends.
pub(super) fn network(text: &str) -> Result<Network, String> {
    ip_network(text).ok().and_then(Network::new).ok_or_else(|| {
        "give an IPv4 network with a prefix of 8 to 30 bits, such as 10.77.0.0/24".to_owned()
    })
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        check_rights()?;
        if let Some(file) = &self.clients {
            return self.serve_many(file);
        }
        self.qlog.check()?;
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
            note(NO_ROUTE);
        }
        let display = self.tunnel.display("tunnel serve", self.printing);
        let log = (&self.qlog, Vantage::Server);
        run((session, server), display, log, &self.tunnel, self.printing)
    }

    /// Serves the clients of `file`.
    fn serve_many(&self, file: &Path) -> Result<ExitCode, Failure> {
        let settings = self.sprout.settings()?;
        let ServerFlags { bind, port, .. } = self.server;
        warn_of_readers(file);
        let mut listener = Listener::bind(Clock::start(), settings, bind, port)
            .map_err(|error| ServerFlags::refused(&error))?;
        let (device, is_private) = (self.tunnel.device.clone(), self.private);
        let plan = ServerPlan { device, network: None, is_private, allowed: self.allowed.clone() };
        let server = SharedServer::new(&mut listener, &plan, file)?;
        if !self.tunnel.display.quiet {
            note(&format!("listening on UDP port {}", listener.local_address()?.port()));
            note(&format!(
                "the tunnel is up: device {}, network {}, {} clients",
                server.device_name(),
                server.network().ipv4(),
                server.members().count(),
            ));
        }
        if !is_private && server.uplinks().next().is_none() {
            note(NO_ROUTE);
        }
        run_shared(listener, server, &self.tunnel, self.printing)
    }
}
