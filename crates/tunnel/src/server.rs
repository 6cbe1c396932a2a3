//! [`Server`]: the end with the good connection.

use crate::device::{Device, End};
use crate::error::TunnelError;
use crate::network::{Cidr, Network};
use crate::pipe::Pipe;
use crate::wire::{Message, NoMessage, VERSION};
use exm_os::{Egress, Forwarding, Netlink};
use exm_packet::Packet;
use exm_session::{Errand, Session, Sink, Source};
use exm_units::Instant;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// What a server is to do.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// What the device is called; `%d` in it becomes the first number that is free.
    pub device: String,
    /// The addresses of both ends; where none are given, some that are free on this machine.
    pub network: Option<Network>,
    /// Whether the client reaches this machine alone, and nothing beyond.
    pub is_private: bool,
    /// Networks that the client reaches besides those behind this machine's uplink, where it is not
    /// private.
    pub allowed: Vec<Cidr>,
}

impl Default for ServerPlan {
    /// Addresses of its choice, and what is behind the uplink.
    fn default() -> ServerPlan {
        let device = "exm%d".to_owned();
        ServerPlan { device, network: None, is_private: false, allowed: Vec::new() }
    }
}

/// The end with the good connection: what the client sends goes on from here as this machine's own,
/// and the answers back. It serves one client, the one that came last of those that have the key;
/// several clients take several servers, each with a key and a port of its own.
///
/// It makes a network device, and has the machine forward packets from that to its uplink, and replies
/// back ([`Forwarding`]); all of it is gone when this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Server {
    pipe: Pipe,
    network: Network,
    /// Of IPv4 and, where this machine has that, of IPv6.
    forwarding: Vec<Forwarding>,
    /// The largest datagram of the session.
    largest: u16,
    /// What is to be said to the client.
    welcome: Option<Vec<u8>>,
    failed: Option<TunnelError>,
}

impl Server {
    /// A server over `session`, which nobody has joined yet.
    ///
    /// # Errors
    /// This process may not, or the system has not what it takes.
    pub fn new(session: &Session, plan: &ServerPlan) -> Result<Server, TunnelError> {
        let largest = u16::try_from(session.settings().max_payload()).unwrap_or(u16::MAX);
        let network = free_network(session, plan.network)?;
        let mut device = Device::new(&plan.device, largest)?;
        device.set_addresses(network.addresses(End::Server))?;
        let pipe = Pipe::new(device, usize::from(largest));
        let egress = if plan.is_private {
            Egress::Nowhere
        } else {
            Egress::Uplink(plan.allowed.iter().map(|&cidr| cidr.into()).collect())
        };
        let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
        let networks = [Some(network.cidr()), has_v6.then(|| network.cidr6())];
        let forwarding = networks
            .into_iter()
            .flatten()
            .map(|network| Forwarding::new(pipe.device_name(), network.into(), &egress));
        let forwarding = forwarding.collect::<Result<_, _>>()?;
        Ok(Server { pipe, network, forwarding, largest, welcome: None, failed: None })
    }

    /// What carries packets.
    pub fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// The addresses of both ends.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The devices by which what the client sends leaves this machine for the world: that of IPv4 and
    /// that of IPv6, where there are any.
    pub fn uplinks(&self) -> impl Iterator<Item = &str> {
        self.forwarding.iter().filter_map(Forwarding::uplink)
    }

    /// A client has come that carries packets of up to `mtu` bytes.
    fn welcome(&mut self, mtu: u16) -> Result<(), TunnelError> {
        let mtu = mtu.min(self.largest);
        let device = self.pipe.device_mut();
        if device.set_mtu(mtu)? {
            self.forwarding.iter().try_for_each(Forwarding::renew).map_err(TunnelError::Renewal)?;
        }
        device.set_addresses(self.network.addresses(End::Server))?;
        self.welcome = Some(Message::Welcome { mtu, network: self.network }.encode());
        Ok(())
    }
}

/// The network that is `wanted`, or one that is free here; the same as last time, as a rule.
fn free_network(session: &Session, wanted: Option<Network>) -> Result<Network, TunnelError> {
    let used: Vec<IpAddr> =
        Netlink::open()?.all_addresses()?.iter().map(|address| address.ip).collect();
    if let Some(network) = wanted {
        return match used.into_iter().find(|ip| network.contains(*ip)) {
            Some(used) => Err(TunnelError::Taken { network, used }),
            None => Ok(network),
        };
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let port = session.local_address().map_or(0, |address| address.port());
    Network::choose(&format!("{}:{port}", host.trim()), &used).ok_or(TunnelError::NoNetwork)
}

impl Errand for Server {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        Ok(self.pipe.read(session.clock().now(), session.deliverable())?)
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pipe.as_fd())
    }

    fn next_wake(&self) -> Instant {
        if self.failed.is_some() { Instant::ZERO } else { Instant::MAX }
    }
}

impl Source for Server {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        match &self.welcome {
            Some(welcome) => Some(welcome.len()),
            None => self.pipe.queues_mut().next_length(),
        }
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        match self.welcome.take() {
            Some(welcome) => payload.extend_from_slice(&welcome),
            None => self.pipe.queues_mut().pull(now, payload),
        }
    }
}

impl Sink for Server {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        if let Ok(packet) = Packet::parse(payload) {
            let from = packet.flow.from.0;
            let [four, six] = self.network.addresses(End::Client);
            // Nobody sends in another's name.
            if from == four.ip || from == six.ip {
                self.pipe.write(now, &packet, payload);
            } else {
                self.pipe.count_foreign();
            }
            return;
        }
        match Message::decode(payload) {
            Ok(Message::Hello { mtu }) => {
                if let Err(error) = self.welcome(mtu) {
                    self.failed = Some(error);
                }
            }
            // It is told what is spoken here, and says so to its user.
            Err(NoMessage::Version(_)) => self.welcome = Some(vec![2, VERSION]),
            _ => self.pipe.count_malformed(),
        }
    }
}
