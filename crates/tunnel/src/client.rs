//! [`Client`]: the end whose traffic is carried.

use crate::device::{Device, End};
use crate::dns::DnsOverride;
use crate::error::TunnelError;
use crate::exit::Exit;
use crate::network::{Cidr, Network};
use crate::pipe::Pipe;
use crate::unreachable::Unreachable;
use crate::wire::{Message, NoMessage, VERSION};
use exm_os::{AnyOf, KillSwitch, Netlink};
use exm_packet::Packet;
use exm_session::{Errand, Session, Sink, Source, State};
use exm_units::{Instant, Span};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

/// A server that has not answered is asked again after so long.
const AGAIN: Span = Span::from_millis(200);
/// A server that is in session and does not answer for so long is no tunnel.
const PATIENCE: Span = Span::from_secs(10);
/// How often it is looked whether the machine has moved to another network, or the server was started
/// again.
const LOOKING: Span = Span::from_secs(1);

/// What a client is to do.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// What the device is called; `%d` in it becomes the first number that is free.
    pub device: String,
    /// Where packets go that are carried.
    pub routes: Vec<Cidr>,
    /// The resolvers that the machine asks meanwhile; where there are none, its own.
    pub dns: Vec<IpAddr>,
    /// Where programs find the resolvers.
    pub resolv_conf: PathBuf,
    /// Whether what goes to the routes' addresses is blocked wherever it does not go by the tunnel:
    /// from the start, and even after the process is killed. See [`Client::lift_kill_switch`].
    pub kill_switch: bool,
}

impl Default for ClientPlan {
    /// All traffic, the machine's own resolvers, and no kill switch.
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
    /// Routes for all traffic, in halves: they go before the machine's own route for all that has no
    /// other, and leave it as it is.
    pub fn everything() -> Vec<Cidr> {
        let high = Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0);
        let ips: [IpAddr; 4] = [
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(128, 0, 0, 0).into(),
            Ipv6Addr::UNSPECIFIED.into(),
            high.into(),
        ];
        ips.into_iter().filter_map(|ip| Cidr::new(ip, 1)).collect()
    }
}

/// The end whose traffic is carried. Once a server has answered, it makes a network device and sends
/// into it what [`ClientPlan::routes`] say; all of it is gone when this is dropped or the process
/// ends, however it ends, but for a kill switch.
#[derive(Debug)]
pub struct Client {
    plan: ClientPlan,
    kill_switch: Option<KillSwitch>,
    /// The largest datagram of the session.
    largest: u16,
    joined: Option<Joined>,
    /// What the server has said, and nothing has been done about.
    welcome: Option<(u16, Network)>,
    /// What is to be said to the server.
    hello: Option<Vec<u8>>,
    /// Whether the server is yet to answer, and since when there has been a session to do it by.
    asking: bool,
    asked_at: Option<Instant>,
    /// The number of the session in which it was asked last.
    session: u64,
    look_at: Instant,
    failed: Option<TunnelError>,
}

/// What there is once a server has answered.
#[derive(Debug)]
struct Joined {
    pipe: Pipe,
    network: Network,
    exit: Exit,
    dns: Option<DnsOverride>,
    unreachable: Option<Unreachable>,
    /// Readable where one of the devices is.
    ready: AnyOf,
}

impl Client {
    /// A client over `session`, to which nobody has answered yet. Where a kill switch was left by
    /// another process, it is taken over, whatever the plan says.
    ///
    /// # Errors
    /// There is to be a kill switch, and there can be none.
    pub fn new(session: &mut Session, plan: ClientPlan) -> Result<Client, TunnelError> {
        let largest = u16::try_from(session.settings().max_payload()).unwrap_or(u16::MAX);
        let mut kill_switch = None;
        if plan.kill_switch || KillSwitch::is_engaged() {
            session.set_mark(KillSwitch::MARK).map_err(TunnelError::KillSwitch)?;
            let networks = plan.routes.iter().map(|&route| route.into()).collect();
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
            look_at: Instant::ZERO,
            failed: None,
        })
    }

    /// What carries packets, once there is something to carry them to.
    pub fn pipe(&self) -> Option<&Pipe> {
        self.joined.as_ref().map(|joined| &joined.pipe)
    }

    /// The addresses of both ends, once the server has told them.
    pub fn network(&self) -> Option<Network> {
        self.joined.as_ref().map(|joined| joined.network)
    }

    /// Whether traffic past the tunnel is blocked by a kill switch.
    pub fn has_kill_switch(&self) -> bool {
        self.kill_switch.is_some()
    }

    /// Lifts the kill switch, if there is one: without this, it stays when the process ends.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn lift_kill_switch(&mut self) -> io::Result<()> {
        self.kill_switch.take().map_or(Ok(()), KillSwitch::lift)
    }

    /// Whether the plan's IPv6 routes are unreachable, as the tunnel's packets are smaller than IPv6
    /// requires (RFC 8200, section 5).
    pub fn is_v6_unreachable(&self) -> bool {
        let joined = self.joined.as_ref();
        joined.is_some_and(|joined| joined.unreachable.is_some() && !joined.pipe.has_six())
    }

    /// Looks after what may have changed since the last time.
    fn look(&mut self, session: &mut Session, now: Instant) -> Result<(), TunnelError> {
        let stats = session.stats();
        // A new session may be with a server that was started again, and knows nothing.
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
        self.look_at = now + if self.asking { AGAIN } else { LOOKING };
        Ok(())
    }

    /// Does what the server says.
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
        if let Some(used) = used.iter().find(|address| network.contains(address.ip)) {
            return Err(TunnelError::Conflict { network, used: used.ip });
        }
        let mut device = Device::new(&self.plan.device, mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        let unreachable = Unreachable::new(&self.plan.routes)?;
        let exit = Exit::new(self.plan.routes.clone());
        let pipe = Pipe::new(device, usize::from(self.largest));
        let files: Vec<_> = [Some(pipe.as_fd()), unreachable.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
            .collect();
        let ready = AnyOf::new(&files).map_err(TunnelError::Gone)?;
        let mut joined = Joined { pipe, network, exit, dns: None, unreachable, ready };
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
        self.exit.keep(session, server, device.netlink(), &own)
    }

    /// The server says something new; `routes` are the plan's.
    fn change(&mut self, mtu: u16, network: Network, routes: &[Cidr]) -> Result<(), TunnelError> {
        let device = self.pipe.device_mut();
        let has_v6_again = device.set_mtu(mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        self.network = network;
        if has_v6_again {
            for route in routes.iter().filter(|route| route.ip().is_ipv6()) {
                self.pipe.device().add_route(*route)?;
            }
        }
        Ok(())
    }

    /// Whether the server may send `packet`: from where the routes lead, or the server itself, to this
    /// end of the tunnel.
    fn accepts(&self, packet: &Packet, routes: &[Cidr]) -> bool {
        let (from, to) = (packet.flow.from.0, packet.flow.to.0);
        let is_to_us = self.network.addresses(End::Client).iter().any(|own| own.ip == to);
        let is_routed = || routes.iter().any(|route| route.contains(from));
        is_to_us && (self.network.contains(from) || is_routed())
    }
}

impl Errand for Client {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        let now = session.clock().now();
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        if let Some((mtu, network)) = self.welcome.take() {
            self.join(session, mtu, network)?;
        }
        if now >= self.look_at {
            self.look(session, now)?;
        }
        if let Some(joined) = &mut self.joined {
            joined.pipe.read(now, session.deliverable())?;
            if let Some(unreachable) = &mut joined.unreachable {
                unreachable.answer(joined.network.server6())?;
            }
        }
        Ok(())
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.joined.as_ref().map(|joined| joined.ready.as_fd())
    }

    fn next_wake(&self) -> Instant {
        let at_once = self.welcome.is_some() || self.failed.is_some();
        if at_once { Instant::ZERO } else { self.look_at }
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
            Err(NoMessage::Version(theirs)) if self.joined.is_none() => {
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
