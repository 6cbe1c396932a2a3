//! `exm tunnel connect`: the end whose traffic is carried.

use super::qlog::QlogFlags;
use super::run::{TunnelFlags, check_rights, run};
use super::{RISK, ip_network};
use crate::sessions::{KeyFlags, SproutFlags, servers};
use crate::shell::{Failure, Printing, note};
use exm_os::Clock;
use exm_qlog::Vantage;
use exm_session::Session;
use exm_tunnel::{Client, ClientPlan, IpNet};
use std::net::IpAddr;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Directly connected networks are reached as before. The machine may move from one network to another:
connections continue. Nothing is changed on it before the server has responded, unless there is a
kill switch.

IPv6 needs --mtu 1428 or more at both ends; otherwise it is unreachable. Traffic can bypass the
tunnel if a DHCP server sets a more specific route, or if an administrator takes the device down. Both
are detected within a second and reported, and the device and its routes are restored; a more specific
route stays. When this command ends, its routes are removed, and traffic bypasses the tunnel again.
--kill-switch prevents all of that: from the start on, other traffic to the carried addresses is blocked,
on local networks too, even after this command fails or is killed. What an earlier client blocked
stays blocked as well. Ctrl-C, SIGTERM and \"exm tunnel unblock\" lift it. While it blocks, give the server's address instead of its name.

Examples:
  EXM_KEY=... exm tunnel connect example.org
  exm tunnel connect example.org:60002 --key-file key --dns 9.9.9.9
  exm tunnel connect 192.0.2.1 --key-file key --kill-switch --dns 9.9.9.9
  exm tunnel connect 192.0.2.1 --key-file key --route 10.0.0.0/8 --route 2001:db8::/32";

/// Carry this machine's traffic to a server with the key, which forwards it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("risk", |arg| arg.default_value(RISK)))]
pub(crate) struct Args {
    /// The server's address [default port: 60001]
    #[arg(value_name = "HOST[:PORT]")]
    server: String,
    /// Carry only packets to these addresses; may be given several times
    #[arg(long = "route", value_name = "ADDRESS/BITS", value_parser = ip_network)]
    routes: Vec<IpNet>,
    /// Use this DNS resolver while connected; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    dns: Vec<IpAddr>,
    /// Block traffic outside the tunnel, even after this command is killed
    #[arg(long)]
    kill_switch: bool,
    #[command(flatten)]
    tunnel: TunnelFlags,
    #[command(flatten)]
    qlog: QlogFlags,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    sprout: SproutFlags,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        check_rights()?;
        self.qlog.check()?;
        let key = self.key.key()?;
        let servers = servers(&self.server)?;
        let mut session = Session::connect(Clock::start(), key, self.sprout.settings()?, servers)?;
        let mut plan = ClientPlan {
            device: self.tunnel.device.clone(),
            dns: self.dns,
            kill_switch: self.kill_switch,
            ..ClientPlan::default()
        };
        if !self.routes.is_empty() {
            plan.routes = self.routes;
        }
        let client = Client::new(&mut session, plan)?;
        if client.has_kill_switch() && !self.kill_switch {
            note("the kill switch of an earlier tunnel is engaged: this tunnel keeps it");
        }
        let display = self.tunnel.display("tunnel connect", self.printing).awaiting(&self.server);
        let log = (&self.qlog, Vantage::Client);
        run((session, client), display, log, &self.tunnel, self.printing)
    }
}
