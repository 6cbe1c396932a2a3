//! `exm tunnel connect`: the end whose traffic is carried.

use super::RISK;
use super::run::{TunnelFlags, run};
use crate::sessions::{KeyFlags, SproutFlags, servers};
use crate::shell::{Failure, Printing};
use exm_os::Clock;
use exm_session::Session;
use exm_tunnel::{Cidr, Client, ClientPlan};
use std::net::IpAddr;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Networks that this machine is in itself are reached as before. It may move from one network to another
meanwhile: connections go on. Nothing is changed here before the server has answered.

Examples:
  EXM_KEY=... exm tunnel connect example.org
  exm tunnel connect example.org:60002 --key-file key --dns 9.9.9.9
  exm tunnel connect 192.0.2.1 --key-file key --route 10.0.0.0/8 --route 2001:db8::/32";

/// Carry this machine's traffic to a server that has the key, and on from there
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("risk", |arg| arg.default_value(RISK)))]
pub(crate) struct Args {
    /// Where the server listens [default port: 60001]
    #[arg(value_name = "HOST[:PORT]")]
    server: String,
    /// Carry what goes to these addresses, and nothing else; may be given several times
    #[arg(long = "route", value_name = "ADDRESS/BITS")]
    routes: Vec<Cidr>,
    /// Ask this resolver for names meanwhile; may be given several times
    #[arg(long = "dns", value_name = "ADDRESS")]
    names: Vec<IpAddr>,
    #[command(flatten)]
    tunnel: TunnelFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    sprout: SproutFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.tunnel.check_rights()?;
        let key = self.key.key()?;
        let servers = servers(&self.server)?;
        let session = Session::connect(Clock::start(), key, self.sprout.settings()?, servers)?;
        let mut plan = ClientPlan {
            device: self.tunnel.device.clone(),
            names: self.names,
            ..ClientPlan::default()
        };
        if !self.routes.is_empty() {
            plan.routes = self.routes;
        }
        let client = Client::new(&session, plan);
        let display = self.tunnel.display("tunnel connect", self.printing).awaiting(&self.server);
        run(session, client, display, &self.tunnel, self.printing)
    }
}
