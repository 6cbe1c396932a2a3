//! [`Server`]: the end that forwards the client's traffic.

use crate::device::{Device, End};
use crate::error::TunnelError;
use crate::network::Network;
use crate::pipe::Pipe;
use crate::wire::{DecodeError, Message, VERSION, displaced};
use exm_os::{Egress, Forwarding, Netlink};
use exm_packet::Packet;
use exm_session::{Application, Session, Sink, Source};
use exm_units::Instant;
use ipnet::IpNet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// The name of the TUN device; `%d` in it becomes the first free number.
    pub device: String,
    /// The addresses of both ends; by default some that are unused on this machine.
    pub network: Option<Network>,
    /// Whether the client reaches only this machine.
    pub is_private: bool,
    /// Networks that the client reaches besides those behind this machine's uplink, unless it is private.
    pub allowed: Vec<IpNet>,
}

impl Default for ServerPlan {
    /// Unused addresses, and forwarding to the uplink.
    fn default() -> ServerPlan {
        let device = "exm%d".to_owned();
        ServerPlan { device, network: None, is_private: false, allowed: Vec::new() }
    }
}

/// The end that forwards the client's packets with this machine's source address, and replies back. It serves
/// one client, the one with the key that connected last; a client that this displaces is told so. For several
/// clients there is [`SharedServer`](crate::SharedServer).
///
/// It creates a TUN device, and has the machine forward packets from that to its uplink, and replies back
/// ([`Forwarding`]). All of it is removed when this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Server {
    pipe: Pipe,
    network: Network,
    /// For IPv4 and, if this machine has it, IPv6.
    forwarding: Vec<Forwarding>,
    /// The largest datagram of the session.
    largest: u16,
    /// The message to send to the client.
    welcome: Option<Vec<u8>>,
    failed: Option<TunnelError>,
}

impl Server {
    /// A server over `session`, to which no client has connected yet.
    ///
    /// # Errors
    /// This process lacks the privileges, or the system lacks a feature.
    pub fn new(session: &Session, plan: &ServerPlan) -> Result<Server, TunnelError> {
        let largest = u16::try_from(session.settings().max_payload()).unwrap_or(u16::MAX);
        let network = free_network(session, plan.network)?;
        let mut device = Device::new(&plan.device, largest)?;
        device.set_addresses(&network.addresses(End::Server))?;
        let pipe = Pipe::new(device, usize::from(largest));
        let forwarding = forwarding(pipe.device_name(), network, plan)?;
        Ok(Server { pipe, network, forwarding, largest, welcome: None, failed: None })
    }

    /// The pipe between device and session.
    pub fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// The addresses of both ends.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The devices of this machine's default routes, of IPv4 and IPv6, as far as there are any.
    pub fn uplinks(&self) -> impl Iterator<Item = &str> {
        self.forwarding.iter().filter_map(Forwarding::uplink)
    }

    /// Prepares for a client whose MTU is `mtu` bytes.
    fn welcome(&mut self, mtu: u16) -> Result<(), TunnelError> {
        let mtu = mtu.min(self.largest);
        let device = self.pipe.device_mut();
        if device.set_mtu(mtu)? {
            self.forwarding.iter().try_for_each(Forwarding::renew).map_err(TunnelError::Renewal)?;
        }
        device.set_addresses(&self.network.addresses(End::Server))?;
        self.welcome = Some(Message::Welcome { mtu, network: self.network }.encode());
        Ok(())
    }
}

/// Forwards packets of IPv4 and, if this machine has it, IPv6 from `network` behind `device`, as far as `plan`
/// allows.
pub(crate) fn forwarding(
    device: &str,
    network: Network,
    plan: &ServerPlan,
) -> Result<Vec<Forwarding>, TunnelError> {
    let egress =
        if plan.is_private { Egress::Nowhere } else { Egress::Uplink(plan.allowed.clone()) };
    let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
    let networks = [Some(network.ipv4()), has_v6.then(|| network.ipv6())];
    let networks = networks.into_iter().flatten();
    let forwarding = networks.map(|network| Forwarding::new(device, network, &egress));
    Ok(forwarding.collect::<Result<_, _>>()?)
}

/// Refuses `network` if this machine has an address in it.
pub(crate) fn refuse_taken(network: Network) -> Result<Network, TunnelError> {
    let used = Netlink::open()?.all_addresses()?;
    match used.iter().map(IpNet::addr).find(|ip| network.contains(*ip)) {
        Some(used) => Err(TunnelError::Taken { network, used }),
        None => Ok(network),
    }
}

/// The network `wanted`, or an unused one, which usually is the same each time.
fn free_network(session: &Session, wanted: Option<Network>) -> Result<Network, TunnelError> {
    if let Some(network) = wanted {
        return refuse_taken(network);
    }
    let used: Vec<IpAddr> = Netlink::open()?.all_addresses()?.iter().map(IpNet::addr).collect();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let port = session.local_address().map_or(0, |address| address.port());
    Network::choose(&format!("{}:{port}", host.trim()), &used).ok_or(TunnelError::NoNetwork)
}

impl Application for Server {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        session.set_farewell(displaced);
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
            // The client must not spoof source addresses.
            if from == four.addr() || from == six.addr() {
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
            // The client reports this server's version to its user.
            Err(DecodeError::Version(_)) => self.welcome = Some(vec![2, VERSION]),
            _ => self.pipe.count_malformed(),
        }
    }
}
