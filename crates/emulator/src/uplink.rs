//! [`Uplink`]: connects the outside end of a link to the machine's network and to the Internet.

use crate::relay::Relay;
use crate::{Ends, OutsideNetwork};
use exm_os::{
    Confined, DefaultRoute, Egress, Forwarding, ForwardingError, Masquerade, Netlink, Running,
    is_installed, nameservers,
};
use ipnet::IpNet;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The prefix length of the network of the link.
const PREFIX: u8 = 24;
/// How often a program that connects the namespace is checked for success, and at which interval.
const ATTEMPTS: u32 = 150;
const INTERVAL: Duration = Duration::from_millis(20);

/// How the outside end of a link reaches the machine and the Internet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InternetAccess {
    /// It is in the machine's own network, which forwards and masquerades its packets.
    Machine,
    /// Through a user-mode network stack, a program of this name.
    Program(&'static str),
    /// It reaches neither, for the given reason.
    Unavailable(String),
}

/// The connection of the outside end of a link to the machine's network. It is removed when this is dropped or
/// the process ends.
#[derive(Debug)]
pub struct Uplink {
    /// How the outside end reaches the Internet.
    pub reach: InternetAccess,
    /// The address at which programs inside reach services of this machine, if they do.
    pub machine: Option<Ipv4Addr>,
    /// The `/etc/resolv.conf` for programs inside, if not the machine's.
    pub resolv_conf: Option<String>,
    _masquerade: Option<Masquerade>,
    _forwarding: Option<Forwarding>,
    _program: Option<Running>,
    _relay: Option<Relay>,
}

impl Uplink {
    /// Connects `ends`, whose outside end is in `network`, as far as possible. To be called by a thread that
    /// lives as long as the connection.
    ///
    /// # Errors
    /// The machine's own network is meant, and cannot be connected.
    pub fn connect(ends: &Ends, network: OutsideNetwork) -> Result<Uplink, ForwardingError> {
        let mut uplink = Uplink {
            reach: InternetAccess::Machine,
            machine: Some(ends.outside.ip),
            resolv_conf: None,
            _masquerade: None,
            _forwarding: None,
            _program: None,
            _relay: None,
        };
        match network {
            OutsideNetwork::Host => uplink.join_machine(ends)?,
            OutsideNetwork::Namespace => uplink.run_program(ends),
        }
        uplink.set_up_dns(ends);
        Ok(uplink)
    }

    /// Forwards and masquerades packets from inside.
    fn join_machine(&mut self, ends: &Ends) -> Result<(), ForwardingError> {
        let forwarding = Forwarding::new(&ends.outside.device, network(ends), &Egress::Anywhere)?;
        if forwarding.uplink().is_none() {
            self.reach =
                InternetAccess::Unavailable("this machine has no default route".to_owned());
        }
        self._forwarding = Some(forwarding);
        Ok(())
    }

    /// Runs a user-mode network stack, which needs no privileges.
    fn run_program(&mut self, ends: &Ends) {
        self.machine = None;
        let mut failures = Vec::new();
        for (name, arguments) in PROGRAMS.iter().filter(|(name, _)| is_installed(name)) {
            match run_network_stack(ends, name, arguments) {
                Ok((program, masquerade, gateway)) => {
                    self.reach = InternetAccess::Program(name);
                    self.machine = gateway;
                    self._program = Some(program);
                    self._masquerade = Some(masquerade);
                    return;
                }
                Err(error) => failures.push(format!("{name} failed: {error}")),
            }
        }
        let missing =
            "this needs pasta (package passt) or slirp4netns, neither of which is installed";
        self.reach = InternetAccess::Unavailable(match failures.is_empty() {
            true => missing.to_owned(),
            false => failures.join("; "),
        });
    }

    /// Relays DNS queries if the machine's resolver cannot be reached from inside.
    fn set_up_dns(&mut self, ends: &Ends) {
        let resolvers = nameservers(Path::new("/etc/resolv.conf"));
        let reachable = |ip: &IpAddr| ip.is_ipv4() && !ip.is_loopback();
        let address = ends.outside.ip;
        let at_outside_end = format!("nameserver {address}\n");
        if matches!(self.reach, InternetAccess::Unavailable(_)) && self.machine.is_none() {
            // Nothing listens there, so queries fail at once instead of timing out.
            self.resolv_conf = Some(at_outside_end);
            return;
        }
        if resolvers.iter().any(reachable) {
            return;
        }
        let Some(&resolver) = resolvers.first() else { return };
        let resolver = SocketAddr::new(resolver, 53);
        // Everything but DNS works without it.
        if let Ok(relay) = Relay::new(&ends.outside.namespace, address, resolver) {
            self._relay = Some(relay);
            self.resolv_conf = Some(at_outside_end);
        }
    }
}

/// The user-mode network stacks, and their arguments. The namespace is their standard input, since they may not
/// open files of this process.
const PROGRAMS: [(&str, &[&str]); 2] = [
    (
        "pasta",
        &[
            "--foreground",
            "--quiet",
            "--runas",
            "0:0",
            "--config-net",
            "--mtu",
            "1500",
            "--netns-only",
            "--netns",
            "/proc/self/fd/0",
        ],
    ),
    ("slirp4netns", &["--configure", "--mtu=1500", "--netns-type=path", "/proc/self/fd/0", "tap0"]),
];

/// Runs a user-mode network stack in the outside namespace; returns it, the masquerading of packets from inside,
/// and the address of the machine.
fn run_network_stack(
    ends: &Ends,
    name: &str,
    arguments: &[&str],
) -> io::Result<(Running, Masquerade, Option<Ipv4Addr>)> {
    let namespace = File::from(ends.outside.namespace.as_fd().try_clone_to_owned()?);
    let mut command = Command::new(name);
    command.args(arguments).stdin(namespace).stdout(Stdio::null()).stderr(Stdio::null());
    let confined = Confined { network: None, resolv_conf: None, identity: None };
    let mut running = confined.run(command)?;
    for _ in 0..ATTEMPTS {
        thread::sleep(INTERVAL);
        if let Some(status) = running.ended()? {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        let find = || DefaultRoute::find(&Netlink::open()?, true);
        if let Some(route) = ends.outside.namespace.run(find).map_err(io::Error::other)? {
            let gateway = route.gateway.and_then(|gateway| match gateway {
                IpAddr::V4(gateway) => Some(gateway),
                IpAddr::V6(_) => None,
            });
            let name = format!("exm-{}", ends.outside.device);
            let masquerade =
                ends.outside.namespace.run(|| Masquerade::new(&name, network(ends)))?;
            return Ok((running, masquerade, gateway));
        }
    }
    Err(io::Error::other("it set up no default route within 3 s"))
}

/// The IPv4 network of the link.
fn network(ends: &Ends) -> IpNet {
    IpNet::new_assert(ends.outside.ip.into(), PREFIX)
}
