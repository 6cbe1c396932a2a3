//! [`Client`]: the end whose traffic is carried.

use crate::device::{Device, End};
use crate::error::TunnelError;
use crate::exit::Exit;
use crate::names::Names;
use crate::network::{Cidr, Network};
use crate::pipe::Pipe;
use crate::wire::{Message, NoMessage, VERSION};
use exm_os::Netlink;
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
    /// Whom the machine asks for names meanwhile; where there is none, whom it asks already.
    pub names: Vec<IpAddr>,
    /// The file that says whom to ask.
    pub resolv_conf: PathBuf,
}

impl Default for ClientPlan {
    /// All traffic, and names as before.
    fn default() -> ClientPlan {
        ClientPlan {
            device: "exm%d".to_owned(),
            routes: ClientPlan::everything(),
            names: Vec::new(),
            resolv_conf: Names::file(),
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
/// ends, however it ends.
#[derive(Debug)]
pub struct Client {
    plan: ClientPlan,
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
    _names: Option<Names>,
}

impl Client {
    /// A client over `session`, to which nobody has answered yet.
    pub fn new(session: &Session, plan: ClientPlan) -> Client {
        let largest = u16::try_from(session.settings().max_payload()).unwrap_or(u16::MAX);
        Client {
            plan,
            largest,
            joined: None,
            welcome: None,
            hello: None,
            asking: true,
            asked_at: None,
            session: 0,
            look_at: Instant::ZERO,
            failed: None,
        }
    }

    /// What carries packets, once there is something to carry them to.
    pub fn pipe(&self) -> Option<&Pipe> {
        self.joined.as_ref().map(|joined| &joined.pipe)
    }

    /// The addresses of both ends, once the server has told them.
    pub fn network(&self) -> Option<Network> {
        self.joined.as_ref().map(|joined| joined.network)
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
            return joined.change(mtu, network);
        }
        let used = Netlink::open()?.all_addresses()?;
        if let Some(used) = used.iter().find(|address| network.contains(address.ip)) {
            return Err(TunnelError::Conflict { network, used: used.ip });
        }
        let mut device = Device::new(&self.plan.device, mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        let exit = Exit::new(self.plan.routes.clone());
        let pipe = Pipe::new(device, usize::from(self.largest));
        let mut joined = Joined { pipe, network, exit, _names: None };
        if let Some(peer) = session.stats().peer {
            joined.keep_out(session, peer.ip())?;
        }
        for route in &self.plan.routes {
            joined.pipe.device().add_route(*route)?;
        }
        let device = joined.pipe.device_name();
        joined._names = Names::ask(&self.plan.names, device, &self.plan.resolv_conf)?;
        self.joined = Some(joined);
        Ok(())
    }
}

impl Joined {
    /// Keeps the session's own packets out of the tunnel.
    fn keep_out(&mut self, session: &mut Session, server: IpAddr) -> Result<(), TunnelError> {
        let device = self.pipe.device();
        self.exit.keep(session, server, device.netlink(), device.index())
    }

    /// The server says something new.
    fn change(&mut self, mtu: u16, network: Network) -> Result<(), TunnelError> {
        let device = self.pipe.device_mut();
        device.set_mtu(mtu)?;
        device.set_addresses(network.addresses(End::Client))?;
        self.network = network;
        Ok(())
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
        }
        Ok(())
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.joined.as_ref().map(|joined| joined.pipe.as_fd())
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
            if let Some(joined) = &mut self.joined {
                joined.pipe.write(now, &packet, payload);
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
