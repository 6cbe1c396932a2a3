//! [`Client`]: the end whose traffic the tunnel carries.

use crate::bypass::{Bypass, bypasses};
use crate::device::{Device, End};
use crate::dns::DnsOverride;
use crate::error::TunnelError;
use crate::network::Network;
use crate::pipe::Pipe;
use crate::underlay_route::UnderlayRoute;
use crate::unreachable::Unreachable;
use crate::wire::{DecodeError, EndReason, Message, VERSION};
use exm_os::{AddressGuard, AnyOf, KillSwitch, Netlink};
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
/// The most notices that are kept.
const MAX_NOTICES: usize = 1000;

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
    notices: Vec<String>,
}

/// What exists once a server has responded.
#[derive(Debug)]
struct Joined {
    pipe: Pipe,
    network: Network,
    underlay: UnderlayRoute,
    dns: Option<DnsOverride>,
    unreachable: Option<Unreachable>,
    /// How often the addresses have been set, and what keeps neighbours from sending to them.
    generation: u64,
    _guard: AddressGuard,
    /// The routes past the tunnel that were noticed.
    bypasses: Vec<Bypass>,
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
            notices: Vec::new(),
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

    /// What the user should know about the machine's network since the start, in sentences without a full stop:
    /// a kill switch that others removed, traffic that leaves past the tunnel.
    pub fn notices(&self) -> &[String] {
        &self.notices
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
        self.guard_routes()?;
        if let Some(dns) = self.joined.as_mut().and_then(|joined| joined.dns.as_mut()) {
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

    /// Restores the kill switch and the routes if others have removed them, and looks for routes past the tunnel.
    fn guard_routes(&mut self) -> Result<(), TunnelError> {
        let mut notices = Vec::new();
        if let Some(kill_switch) = &self.kill_switch
            && kill_switch.renew().map_err(TunnelError::KillSwitch)?
        {
            notices.push(
                "another program removed rules of the kill switch: they are restored; traffic may have left \
                 outside the tunnel for a second"
                    .to_owned(),
            );
        }
        if let Some(joined) = &mut self.joined {
            let is_blocked = self.kill_switch.is_some();
            joined.watch(&self.plan.routes, is_blocked, &mut notices)?;
        }
        notices.truncate(MAX_NOTICES - self.notices.len());
        self.notices.append(&mut notices);
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
        refuse_conflict(&Netlink::open()?, network, &[])?;
        let mut device = Device::new(&self.plan.device, mtu)?;
        device.set_addresses(&network.addresses(End::Client))?;
        let guard = guard(&device, network, 0)?;
        let unreachable = Unreachable::new(&self.plan.routes)?;
        let underlay = UnderlayRoute::new(self.plan.routes.clone());
        let pipe = Pipe::new(device, usize::from(self.largest));
        let files: Vec<_> = [Some(pipe.as_fd()), unreachable.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
            .collect();
        let ready = AnyOf::new(&files).map_err(TunnelError::Gone)?;
        let mut joined = Joined {
            pipe,
            network,
            underlay,
            dns: None,
            unreachable,
            generation: 0,
            _guard: guard,
            bypasses: Vec::new(),
            ready,
        };
        if let Some(peer) = session.stats().peer {
            joined.keep_out(session, peer.ip())?;
        }
        if let Some(kill_switch) = &mut self.kill_switch {
            let allowed = kill_switch.allow(joined.pipe.device_name());
            allowed.map_err(TunnelError::KillSwitch)?;
        }
        joined.add_routes(&self.plan.routes)?;
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
        if network != self.network {
            let device = self.pipe.device();
            let own = device.netlink().addresses(device.index())?;
            refuse_conflict(device.netlink(), network, &own)?;
            self.generation += 1;
            self._guard = guard(device, network, self.generation)?;
        }
        let device = self.pipe.device_mut();
        device.set_mtu(mtu)?;
        device.set_addresses(&network.addresses(End::Client))?;
        self.network = network;
        self.add_routes(routes)
    }

    /// Adds those of the plan's routes that are missing, and one to each address of the server.
    fn add_routes(&self, routes: &[IpNet]) -> Result<(), TunnelError> {
        let server = [self.network.server().into(), self.network.server6().into()];
        let server = server.map(|ip: IpAddr| IpNet::from(ip));
        self.pipe.device().add_missing_routes(server.iter().chain(routes).copied())
    }

    /// Restores the device and its routes if others have taken them down, and adds a notice of that, and of each
    /// route past the tunnel, to `notices`. With a kill switch, `is_blocked`, nothing leaves by these.
    fn watch(
        &mut self,
        routes: &[IpNet],
        is_blocked: bool,
        notices: &mut Vec<String>,
    ) -> Result<(), TunnelError> {
        let device = self.pipe.device_mut();
        if device.revive()? {
            device.set_addresses(&self.network.addresses(End::Client))?;
            notices.push(
                "another program took the tunnel's device down: it is up again; without a kill switch, \
                 traffic left outside the tunnel"
                    .to_owned(),
            );
        }
        self.add_routes(routes)?;
        let device = self.pipe.device();
        let mut own = vec![device.index()];
        own.extend(self.unreachable.as_ref().map(Unreachable::index));
        let found = bypasses(device.netlink(), routes, &own)?;
        for Bypass { destination, device } in
            found.iter().filter(|bypass| !self.bypasses.contains(bypass))
        {
            notices.push(match is_blocked {
                true => format!(
                    "a route leads to {destination} through {device}, past the tunnel: the kill switch blocks it"
                ),
                false => format!(
                    "traffic to {destination} leaves outside the tunnel, by a more specific route through \
                     {device}: --kill-switch blocks it, and --route {destination} carries it"
                ),
            });
        }
        self.bypasses = found;
        Ok(())
    }

    /// Whether the server may send `packet`: its destination must be this end of the tunnel, and its source the
    /// server itself or an address that the routes cover.
    fn accepts(&self, packet: &Packet, routes: &[IpNet]) -> bool {
        let (from, to) = (packet.flow.from.0, packet.flow.to.0);
        let is_to_us = self.network.addresses(End::Client).iter().any(|own| own.addr() == to);
        let is_routed = || routes.iter().any(|route| route.contains(&from));
        let is_server = from == self.network.server() || from == self.network.server6();
        is_to_us && (is_server || is_routed())
    }
}

/// Keeps packets to the client's addresses in `network` out that do not come through `device`.
fn guard(device: &Device, network: Network, generation: u64) -> Result<AddressGuard, TunnelError> {
    let addresses = network.addresses(End::Client).map(|address| address.addr());
    AddressGuard::new(device.tun().name(), &addresses, generation).map_err(TunnelError::Guard)
}

/// Refuses the addresses of `network` if one of them is in a network of this machine, `own` excepted, or if this
/// machine has an address in `network`.
fn refuse_conflict(netlink: &Netlink, network: Network, own: &[IpNet]) -> Result<(), TunnelError> {
    let hosts = [network.server().into(), network.client().into()];
    let hosts6 = [network.server6().into(), network.client6().into()];
    let hosts: [IpAddr; 4] = [hosts[0], hosts[1], hosts6[0], hosts6[1]];
    let used = netlink.all_addresses()?;
    let conflict = used.iter().find(|used| {
        !own.contains(used)
            && (network.contains(used.addr()) || hosts.iter().any(|host| used.contains(host)))
    });
    conflict.map_or(Ok(()), |&used| Err(TunnelError::Conflict { network, used }))
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
            Ok(Message::Ended(EndReason::Displaced(by))) => {
                self.failed = Some(TunnelError::Displaced { by });
            }
            Ok(Message::Ended(EndReason::Revoked)) => self.failed = Some(TunnelError::Revoked),
            _ => {
                if let Some(joined) = &mut self.joined {
                    joined.pipe.count_malformed();
                }
            }
        }
    }
}
