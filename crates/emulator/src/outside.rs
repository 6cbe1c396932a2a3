//! [`Outside`]: what connects the far end of a link to the machine's network and to the world.

use crate::relay::Relay;
use crate::{Ends, World};
use exm_os::{
    Address, Confined, Egress, Forwarding, ForwardingError, Masquerade, Netlink, Running,
};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Any address of the world: only how packets would go there is asked.
const SOMEWHERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// The bits of an end's network.
const PREFIX: u8 = 24;
/// How long a program may take to connect a network with the machine's: this many looks, so far
/// apart.
const LOOKS: u32 = 150;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How the far end of a link reaches the machine and the world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// It is in the machine's own network, and packets go on from there as the machine's.
    Machine,
    /// By a program that is in both networks, of this name.
    Program(&'static str),
    /// Not at all, and why.
    Nothing(String),
}

/// What connects the far end of a link to the machine's network. All of it is gone when this is
/// dropped or the process ends.
#[derive(Debug)]
pub struct Outside {
    /// How.
    pub reach: Reach,
    /// At which address programs inside find what listens on this machine, where they do.
    pub machine: Option<Ipv4Addr>,
    /// What programs inside are to read in `/etc/resolv.conf`, where it is not the machine's.
    pub resolv_conf: Option<String>,
    _masquerade: Option<Masquerade>,
    _forwarding: Option<Forwarding>,
    _program: Option<Running>,
    _relay: Option<Relay>,
}

impl Outside {
    /// Connects `ends`, whose far end is in `world`, as far as it can be. To be called by a thread
    /// that lives as long as the connection is to.
    ///
    /// # Errors
    /// The machine's own network is meant, and cannot be connected.
    pub fn connect(ends: &Ends, world: World) -> Result<Outside, ForwardingError> {
        let mut outside = Outside {
            reach: Reach::Machine,
            machine: Some(ends.world.ip),
            resolv_conf: None,
            _masquerade: None,
            _forwarding: None,
            _program: None,
            _relay: None,
        };
        match world {
            World::Here => outside.join_machine(ends)?,
            World::Namespace => outside.run_program(ends),
        }
        outside.find_names(ends);
        Ok(outside)
    }

    /// Packets from inside are forwarded, as the machine's own.
    fn join_machine(&mut self, ends: &Ends) -> Result<(), ForwardingError> {
        let forwarding = Forwarding::new(&ends.world.device, network(ends), &Egress::Anywhere)?;
        if forwarding.uplink().is_none() {
            self.reach = Reach::Nothing("this machine has no way to the world".to_owned());
        }
        self._forwarding = Some(forwarding);
        Ok(())
    }

    /// A program that users may run brings a network into another.
    fn run_program(&mut self, ends: &Ends) {
        self.machine = None;
        let mut failures = Vec::new();
        for (name, arguments) in PROGRAMS.iter().filter(|(name, _)| is_installed(name)) {
            match bring(ends, name, arguments) {
                Ok((program, masquerade, gateway)) => {
                    self.reach = Reach::Program(name);
                    self.machine = gateway;
                    self._program = Some(program);
                    self._masquerade = Some(masquerade);
                    return;
                }
                Err(error) => failures.push(format!("{name} failed: {error}")),
            }
        }
        let missing =
            "it takes pasta (the package passt) or slirp4netns, of which none is installed";
        self.reach = Reach::Nothing(match failures.is_empty() {
            true => missing.to_owned(),
            false => failures.join("; "),
        });
    }

    /// Where the machine's resolver cannot be reached from inside, its questions are passed on.
    fn find_names(&mut self, ends: &Ends) {
        let resolvers = resolvers();
        let reachable = |ip: &IpAddr| ip.is_ipv4() && !ip.is_loopback();
        let address = ends.world.ip;
        let at_far_end = format!("nameserver {address}\n");
        if matches!(self.reach, Reach::Nothing(_)) && self.machine.is_none() {
            // Where nobody answers, so that programs do not wait for names they cannot have.
            self.resolv_conf = Some(at_far_end);
            return;
        }
        if resolvers.iter().any(reachable) {
            return;
        }
        let Some(&resolver) = resolvers.first() else { return };
        let resolver = SocketAddr::new(resolver, 53);
        // Without it there are no names, and all else works.
        if let Ok(relay) = Relay::new(&ends.world.namespace, address, resolver) {
            self._relay = Some(relay);
            self.resolv_conf = Some(at_far_end);
        }
    }
}

/// The programs that bring a network into another, and what they are told: that other network is
/// their standard input, since they may not look into our own files.
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

/// Runs a program that brings the machine's network into that of the far end; returns it, what lets
/// packets from inside appear as the far end's own, and the address of the machine itself.
fn bring(
    ends: &Ends,
    name: &str,
    arguments: &[&str],
) -> io::Result<(Running, Masquerade, Option<Ipv4Addr>)> {
    let namespace = File::from(ends.world.namespace.as_fd().try_clone_to_owned()?);
    let mut command = Command::new(name);
    command.args(arguments).stdin(namespace).stdout(Stdio::null()).stderr(Stdio::null());
    let confined = Confined { network: None, resolv_conf: None, identity: None };
    let mut running = confined.run(command)?;
    for _ in 0..LOOKS {
        thread::sleep(BETWEEN_LOOKS);
        if let Some(status) = running.ended()? {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        if let Some((_, gateway)) = ends.world.namespace.run(|| io::Result::Ok(way_out()))? {
            let name = format!("exm-{}", ends.world.device);
            let masquerade = ends.world.namespace.run(|| Masquerade::new(&name, network(ends)))?;
            return Ok((running, masquerade, gateway));
        }
    }
    Err(io::Error::other("it brought no route to the world within 3 s"))
}

/// Whether there is a program called `name`.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The network of the ends.
fn network(ends: &Ends) -> Address {
    Address { ip: ends.world.ip.into(), prefix: PREFIX }
}

/// The device by which packets leave the network that this thread is in, and the router.
fn way_out() -> Option<(String, Option<Ipv4Addr>)> {
    let netlink = Netlink::open().ok()?;
    let path = netlink.path_to(SOMEWHERE.into()).ok()?;
    let gateway = match path.gateway {
        Some(IpAddr::V4(gateway)) => Some(gateway),
        _ => None,
    };
    Some((netlink.link(path.device).ok()?.name, gateway))
}

/// The machine's resolvers, in order.
fn resolvers() -> Vec<IpAddr> {
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let addresses = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok()).flatten()
    });
    addresses.collect()
}
