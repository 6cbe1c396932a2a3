//! [`Client`]: the end whose traffic the tunnel carries.

use crate::device::{Device, End};
use crate::dns::DnsOverride;
use crate::error::TunnelError;
use crate::network::Network;
use crate::pipe::Pipe;
use crate::underlay_route::UnderlayRoute;
use crate::unreachable::Unreachable;
use crate::wire::{DecodeError, Message, VERSION};
use exm_os::{AnyOf, KillSwitch, Netlink};
use exm_packet::Packet;
use exm_session::{Application, Session, Sink, Source, State};
use exm_units::{Instant, Span};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

/// The interval at which a hello is repeated until the server answers.
const HELLO_INTERVAL: Span = Span::from_millis(200);
/// A server with which there is a session but that does not respond for this long is not a tunnel.
const PATIENCE: Span = Span::from_secs(10);
/// How often the client checks whether the machine has moved to another network or the server was restarted.
const CHECK_INTERVAL: Span = Span::from_secs(1);

/// The configuration of a client.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// The name of the TUN device; `%d` in it becomes the first free number.
    pub device: String,
    /// The destinations whose packets are carried.
    pub routes: Vec<IpNet>,
    /// The resolvers that the machine uses meanwhile; if empty, its own.
    pub dns: Vec<IpAddr>,
    /// The file in which programs find the resolvers.
    pub resolv_conf: PathBuf,
    /// Whether packets to these destinations are blocked unless they go through the tunnel, from the start
    /// and even after the process is killed. See [`Client::lift_kill_switch`].
    pub kill_switch: bool,
}

impl Default for ClientPlan {
    /// All traffic, the machine's own resolvers, no kill switch.
    fn default() -> ClientPlan {
        ClientPlan {
            device: "exm%d".to_owned(),
            routes: ClientPlan::everything(),
            dns: Vec::new(),
            resolv_conf: DnsOverride::file(),
            kill_switch: false,
        }
    }
}

impl ClientPlan {
    /// Routes for all traffic, as two halves of each IP version: they take precedence over the machine's
    /// default route, which they leave unchanged.
    pub fn everything() -> Vec<IpNet> {
        let high = Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0);
        vec![
            Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 1).into(),
            Ipv4Net::new_assert(Ipv4Addr::new(128, 0, 0, 0), 1).into(),
            Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 1).into(),
            Ipv6Net::new_assert(high, 1).into(),
        ]
    }
}

/// The end whose traffic the tunnel carries. Once a server has responded, it creates a TUN device and the
/// routes of [`ClientPlan::routes`]. All of it is removed when this is dropped or the process ends, however it
/// ends, except a kill switch.
#[derive(Debug)]
pub struct Client {
    plan: ClientPlan,
    kill_switch: Option<KillSwitch>,
    /// The largest datagram of the session.
    largest: u16,
    joined: Option<Joined>,
    /// The server's response that has not been processed yet.
    welcome: Option<(u16, Network)>,
    /// The message to send to the server.
    hello: Option<Vec<u8>>,
    /// Whether a response of the server is missing, and since when there has been a session.
    asking: bool,
    asked_at: Option<Instant>,
    /// The number of the session in which the last hello was sent.
    session: u64,
    check_at: Instant,
    failed: Option<TunnelError>,
}

/// What exists once a server has responded.
#[derive(Debug)]
struct Joined {
    pipe: Pipe,
    network: Network,
    underlay: UnderlayRoute,
    dns: Option<DnsOverride>,
    unreachable: Option<Unreachable>,
    /// Readable if any of the devices is.
    ready: AnyOf,
}

impl Client {
    /// A client over `session`, whose server has not responded yet. It takes over a kill switch that another
    /// process has left, regardless of the plan.
    ///
    /// # Errors
    /// The kill switch cannot be engaged.
    pub fn new(session: &mut Session, plan: ClientPlan) -> Result<Client, TunnelError> {
        let largest = u16::try_from(session.settings().max_payload()).unwrap_or(u16::MAX);
        let mut kill_switch = None;
        if plan.kill_switch || KillSwitch::is_engaged() {
            session.set_mark(KillSwitch::MARK).map_err(TunnelError::KillSwitch)?;
            let networks = plan.routes.clone();
            let engaged = KillSwitch::engage(networks).map_err(TunnelError::KillSwitch)?;
            kill_switch = Some(engaged.ok_or(TunnelError::KillSwitchHeld)?);
        }
        Ok(Client {
            plan,
            kill_switch,
            largest,
            joined: None,
            welcome: None,
            hello: None,
            asking: true,
            asked_at: None,
            session: 0,
            check_at: Instant::ZERO,
            failed: None,
        })
    }

    /// The pipe between device and session, once the server has responded.
    pub fn pipe(&self) -> Option<&Pipe> {
        self.joined.as_ref().map(|joined| &joined.pipe)
    }

    /// The addresses of both ends, once the server has sent them.
    pub fn network(&self) -> Option<Network> {
        self.joined.as_ref().map(|joined| joined.network)
    }

    /// Whether a kill switch blocks traffic past the tunnel.
    pub fn has_kill_switch(&self) -> bool {
        self.kill_switch.is_some()
    }

    /// Lifts the kill switch, if there is one; otherwise it outlives the process.
    ///
    /// # Errors
    /// It has been removed already.
    pub fn lift_kill_switch(&mut self) -> io::Result<()> {
        self.kill_switch.take().map_or(Ok(()), KillSwitch::lift)
    }

    /// Whether the plan's IPv6 routes are unreachable because the tunnel's MTU is smaller than IPv6 requires
    /// (RFC 8200, section 5).
    pub fn is_v6_unreachable(&self) -> bool {
        let joined = self.joined.as_ref();
        joined.is_some_and(|joined| joined.unreachable.is_some() && !joined.pipe.has_ipv6())
    }

    /// Reacts to changes of the session, the network and the resolvers.
    fn check(&mut self, session: &mut Session, now: Instant) -> Result<(), TunnelError> {
        let stats = session.stats();
        // A new session may be with a restarted server, which does not know this client.
        if stats.counters.sessions != self.session {
            (self.session, self.asking, self.asked_at) = (stats.counters.sessions, true, None);
        }
        if let (Some(joined), Some(peer)) = (&mut self.joined, stats.peer) {
            joined.keep_out(session, peer.ip())?;
        }
        if let Some(dns) = self.joined.as_ref().and_then(|joined| joined.dns.as_ref()) {
            dns.renew();
        }
        if self.asking && stats.state == State::Established {
            let since = *self.asked_at.get_or_insert(now);
            if now.saturating_since(since) > PATIENCE && self.joined.is_none() {
                return Err(TunnelError::NoTunnel);
            }
            self.hello = Some(Message::Hello { mtu: self.largest }.encode());
        }
        self.check_at = now + if self.asking { HELLO_INTERVAL } else { CHECK_INTERVAL };
        Ok(())
    }

    /// Processes the server's response.
    fn join(
        &mut self,
        session: &mut Session,
        mtu: u16,
        network: Network,
    ) -> Result<(), TunnelError> {
        self.asking = false;
        let mtu = mtu.min(self.largest);
        if let Some(joined) = &mut self.joined {
            return joined.change(mtu, network, &self.plan.routes);
        }
        let used = Netlink::open()?.all_addresses()?;
        if let Some(used) = used.iter().find(|address| network.contains(address.addr())) {
            return Err(TunnelError::Conflict { network, used: used.addr() });
        }
        let mut device = Device::new(&self.plan.device, mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        let unreachable = Unreachable::new(&self.plan.routes)?;
        let underlay = UnderlayRoute::new(self.plan.routes.clone());
        let pipe = Pipe::new(device, usize::from(self.largest));
        let files: Vec<_> = [Some(pipe.as_fd()), unreachable.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
            .collect();
        let ready = AnyOf::new(&files).map_err(TunnelError::Gone)?;
        let mut joined = Joined { pipe, network, underlay, dns: None, unreachable, ready };
        if let Some(peer) = session.stats().peer {
            joined.keep_out(session, peer.ip())?;
        }
        if let Some(kill_switch) = &self.kill_switch {
            let allowed = kill_switch.allow(joined.pipe.device_name());
            allowed.map_err(TunnelError::KillSwitch)?;
        }
        for route in &self.plan.routes {
            joined.pipe.device().add_route(*route)?;
        }
        let device = joined.pipe.device_name();
        joined.dns = DnsOverride::new(&self.plan.dns, device, &self.plan.resolv_conf)?;
        self.joined = Some(joined);
        Ok(())
    }
}

impl Joined {
    /// Keeps the session's own packets out of the tunnel.
    fn keep_out(&mut self, session: &mut Session, server: IpAddr) -> Result<(), TunnelError> {
        let device = self.pipe.device();
        let mut own = vec![device.index()];
        own.extend(self.unreachable.as_ref().map(Unreachable::index));
        self.underlay.update(session, server, device.netlink(), &own)
    }

    /// Applies a further response of the server; `routes` are the plan's.
    fn change(&mut self, mtu: u16, network: Network, routes: &[IpNet]) -> Result<(), TunnelError> {
        let device = self.pipe.device_mut();
        let has_v6_again = device.set_mtu(mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        self.network = network;
        if has_v6_again {
            for route in routes.iter().filter(|route| route.addr().is_ipv6()) {
                self.pipe.device().add_route(*route)?;
            }
        }
        Ok(())
    }

    /// Whether the server may send `packet`: its destination must be this end of the tunnel, and its source the
    /// server itself or an address that the routes cover.
    fn accepts(&self, packet: &Packet, routes: &[IpNet]) -> bool {
        let (from, to) = (packet.flow.from.0, packet.flow.to.0);
        let is_to_us = self.network.addresses(End::Client).iter().any(|own| own.addr() == to);
        let is_routed = || routes.iter().any(|route| route.contains(&from));
        is_to_us && (self.network.contains(from) || is_routed())
    }
}

impl Application for Client {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        let now = session.clock().now();
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        if let Some((mtu, network)) = self.welcome.take() {
            self.join(session, mtu, network)?;
        }
        if now >= self.check_at {
            self.check(session, now)?;
        }
        if let Some(joined) = &mut self.joined {
            joined.pipe.read(now, session.deliverable())?;
            if let Some(unreachable) = &mut joined.unreachable {
                unreachable.reject(joined.network.server6())?;
            }
        }
        Ok(())
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.joined.as_ref().map(|joined| joined.ready.as_fd())
    }

    fn next_wake(&self) -> Instant {
        let at_once = self.welcome.is_some() || self.failed.is_some();
        if at_once { Instant::ZERO } else { self.check_at }
    }
}

impl Source for Client {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        match (&self.hello, &mut self.joined) {
            (Some(hello), _) => Some(hello.len()),
            (None, Some(joined)) => joined.pipe.queues_mut().next_length(),
            (None, None) => None,
        }
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        match (self.hello.take(), &mut self.joined) {
            (Some(hello), _) => payload.extend_from_slice(&hello),
            (None, Some(joined)) => joined.pipe.queues_mut().pull(now, payload),
            (None, None) => {}
        }
    }
}

impl Sink for Client {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        if let Ok(packet) = Packet::parse(payload) {
            match &mut self.joined {
                Some(joined) if joined.accepts(&packet, &self.plan.routes) => {
                    joined.pipe.write(now, &packet, payload);
                }
                Some(joined) => joined.pipe.count_foreign(),
                None => {}
            }
            return;
        }
        match Message::decode(payload) {
            Ok(Message::Welcome { mtu, network }) => self.welcome = Some((mtu, network)),
            Err(DecodeError::Version(theirs)) if self.joined.is_none() => {
                self.failed = Some(TunnelError::Version { theirs, ours: VERSION });
            }
            _ => {
                if let Some(joined) = &mut self.joined {
                    joined.pipe.count_malformed();
                }
            }
        }
    }
}
