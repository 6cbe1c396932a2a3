//! [`SharedServer`]: the end that forwards the traffic of many clients.

use crate::clients::{Clients, ClientsError, Lease};
use crate::device::{Device, End};
use crate::error::TunnelError;
use crate::network::Network;
use crate::pipe::{Carrier, Counters, ROOM};
use crate::server::{ServerPlan, forwarding, refuse_taken};
use crate::wire::{DecodeError, EndReason, Message, VERSION, displaced};
use crate::{FlowQueues, Ledger};
use exm_os::{Forwarding, Waiter};
use exm_packet::Packet;
use exm_session::{Listener, LoopControl, PeerId, PeerTraffic, State, Stats};
use exm_units::{Bytes, Instant, Span};
use ipnet::IpNet;
use std::collections::{BTreeMap, VecDeque};
use std::fs::Metadata;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often the file of clients is looked at, and changes of the sessions are noticed.
const CHECK_INTERVAL: Span = Span::from_millis(500);
/// The most packets of the device that are read in one round.
const MAX_READS: usize = 256;
/// The most bytes that wait for all clients together, each with an equal part, whatever they forecast: a client
/// with a key could forecast anything.
const MAX_WAITING: u64 = 256 << 20;
/// The most notices that wait to be shown; further ones are dropped.
const MAX_NOTICES: usize = 1000;

/// The end that forwards the packets of many clients with this machine's source address, and replies back, through
/// one TUN device. The clients are those of a file, [`Clients`], whose changes take effect within a second.
///
/// Each client has queues of its own, an MTU of its own, and addresses of its own: packets with others are
/// dropped, and so are packets to other clients. A client whose key is used by another one that connects later, or
/// was revoked, is told so.
///
/// All that it sets up is removed when this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct SharedServer {
    device: Device,
    network: Network,
    /// For IPv4 and, if this machine has it, IPv6.
    _forwarding: Vec<Forwarding>,
    uplinks: Vec<String>,
    /// The largest datagram of the sessions.
    largest: u16,
    members: BTreeMap<PeerId, Member>,
    owners: BTreeMap<IpAddr, PeerId>,
    file: PathBuf,
    /// The version of the file that was read last.
    version: Option<Version>,
    check_at: Instant,
    notices: VecDeque<String>,
    buffer: Vec<u8>,
    /// Packets of the machine that are for no client.
    unowned: u64,
}

/// What changes when a file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    inode: u64,
    modified: (i64, i64),
    size: u64,
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Version { inode: metadata.ino(), modified, size: metadata.size() }
    }
}

/// A client of a [`SharedServer`].
#[derive(Debug)]
pub struct Member {
    lease: Lease,
    carrier: Carrier,
    /// The largest packets that the client carries.
    mtu: u16,
    /// The message to send to it.
    message: Option<Vec<u8>>,
    /// What was last noticed of its session.
    seen: (State, Option<SocketAddr>, u64),
}

impl Member {
    fn new(lease: Lease, largest: u16) -> Member {
        let carrier = Carrier::new(usize::from(largest));
        let seen = (State::Waiting, None, 0);
        Member { lease, carrier, mtu: largest, message: None, seen }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.lease.name
    }

    /// The addresses of its tunnel's two ends.
    pub fn network(&self) -> Network {
        self.lease.network
    }

    /// The packets that wait for it.
    pub fn queues(&self) -> &FlowQueues {
        &self.carrier.queues
    }

    /// The packets received from it, by flow.
    pub fn ledger(&self) -> &Ledger {
        &self.carrier.ledger
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.carrier.counters
    }

    /// The size of the largest packets to it, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// What has changed in its session, in words, if anything.
    fn news(&mut self, stats: &Stats) -> Vec<String> {
        let name = &self.lease.name;
        let peer = stats.peer.map_or("an address to be confirmed".to_owned(), |p| p.to_string());
        let seen = (stats.state, stats.peer, stats.counters.displaced);
        let before = std::mem::replace(&mut self.seen, seen);
        let mut news = Vec::new();
        if before.2 != seen.2 {
            let by = stats.peer.map_or(String::new(), |peer| format!(", at {peer}"));
            news.push(format!(
                "two clients use the key of {name}: the one that connected last{by}, is served, and the other was \
                 told so"
            ));
        }
        match (before.0, seen.0) {
            (State::Established, State::Established) if before.1 != seen.1 => {
                news.push(format!("{name} has moved to {peer}"));
            }
            (before, State::Established) if before != State::Established => {
                news.push(format!("{name} is connected from {peer}"));
            }
            (State::Established, State::Silent) => {
                news.push(format!("nothing received from {name} at {peer} for 10 s"));
            }
            _ => {}
        }
        news
    }
}

impl SharedServer {
    /// A server over `listener`, which has no clients yet, for the clients of `file`. The network of `plan` is not
    /// used: the file has one.
    ///
    /// # Errors
    /// The file cannot be read, this process lacks the privileges, or the system lacks a feature.
    pub fn new(
        listener: &mut Listener,
        plan: &ServerPlan,
        file: &Path,
    ) -> Result<SharedServer, TunnelError> {
        let version = file.metadata().ok().map(|metadata| Version::of(&metadata));
        let clients = Clients::load(file)?;
        let network = refuse_taken(clients.network())?;
        let largest = u16::try_from(listener.settings().max_payload()).unwrap_or(u16::MAX);
        let mut device = Device::new(&plan.device, largest)?;
        device.set_addresses(&network.addresses(End::Server))?;
        let forwarding = forwarding(device.tun().name(), network, plan)?;
        let uplinks = forwarding.iter().filter_map(Forwarding::uplink).map(str::to_owned);
        listener.set_farewell(displaced);
        let mut server = SharedServer {
            device,
            network,
            uplinks: uplinks.collect(),
            _forwarding: forwarding,
            largest,
            members: BTreeMap::new(),
            owners: BTreeMap::new(),
            file: file.to_owned(),
            version,
            check_at: Instant::ZERO,
            notices: VecDeque::new(),
            buffer: vec![0; ROOM],
            unowned: 0,
        };
        server.apply(listener, &clients)?;
        Ok(server)
    }

    /// The name of its device.
    pub fn device_name(&self) -> &str {
        self.device.tun().name()
    }

    /// The network of all clients' addresses.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The size of the largest packets, in bytes. Clients may have smaller ones.
    pub fn mtu(&self) -> u16 {
        self.device.mtu()
    }

    /// The devices of this machine's default routes, of IPv4 and IPv6, as far as there are any.
    pub fn uplinks(&self) -> impl Iterator<Item = &str> {
        self.uplinks.iter().map(String::as_str)
    }

    /// Its clients.
    pub fn members(&self) -> impl Iterator<Item = (PeerId, &Member)> {
        self.members.iter().map(|(&id, member)| (id, member))
    }

    /// Packets of this machine that were for no client.
    pub fn unowned(&self) -> u64 {
        self.unowned
    }

    /// What the user should know and has not been returned before: clients that connect, move, are displaced,
    /// admitted or revoked, and a file that cannot be read. In sentences without a full stop.
    pub fn take_notices(&mut self) -> impl Iterator<Item = String> {
        std::mem::take(&mut self.notices).into_iter()
    }

    fn notice(&mut self, notice: String) {
        if self.notices.len() < MAX_NOTICES {
            self.notices.push_back(notice);
        }
    }

    /// Does the work beside the sessions: reads packets of the machine and changes of the file.
    ///
    /// # Errors
    /// The device is gone.
    pub fn work(&mut self, listener: &mut Listener) -> Result<(), TunnelError> {
        let now = listener.clock().now();
        if now >= self.check_at {
            self.check_at = now + CHECK_INTERVAL;
            self.reload(listener)?;
            self.observe(listener);
        }
        for _ in 0..MAX_READS {
            let read = self.device.tun().read(&mut self.buffer).map_err(TunnelError::Gone)?;
            let Some(length) = read else { break };
            self.forward(listener, now, length);
        }
        Ok(())
    }

    /// When there is work even if neither file is readable by then.
    pub fn next_wake(&self) -> Instant {
        self.check_at
    }

    /// Reads the file again if it has changed. Otherwise, and if it cannot be read, all stays as it is.
    fn reload(&mut self, listener: &mut Listener) -> Result<(), TunnelError> {
        // Before the contents: if they change meanwhile, they are read again next time.
        let version = self.file.metadata().ok().map(|metadata| Version::of(&metadata));
        if version == self.version {
            return Ok(());
        }
        self.version = version;
        let loaded = Clients::load(&self.file).and_then(|clients| {
            let same = clients.network() == self.network;
            same.then_some(clients).ok_or(ClientsError::OtherNetwork(self.network.ipv4()))
        });
        match loaded {
            Ok(clients) => self.apply(listener, &clients),
            Err(error) => {
                self.notice(format!("the clients stay as they were: {error}"));
                Ok(())
            }
        }
    }

    /// Makes the clients those of `clients`. Sessions of the others are unaffected.
    fn apply(&mut self, listener: &mut Listener, clients: &Clients) -> Result<(), TunnelError> {
        let is_start = self.check_at == Instant::ZERO;
        let leases = clients.leases();
        let gone = self.members.iter().filter(|(_, member)| !leases.contains(&member.lease));
        let gone: Vec<PeerId> = gone.map(|(&id, _)| id).collect();
        for id in gone {
            listener.remove(id, &Message::Ended(EndReason::Revoked).encode());
            self.owners.retain(|_, owner| *owner != id);
            if let Some(member) = self.members.remove(&id) {
                self.notice(format!("{} is revoked", member.name()));
            }
        }
        for lease in leases {
            if self.members.values().any(|member| member.lease == *lease) {
                continue;
            }
            let id = listener.add(lease.key.clone());
            for own in lease.network.addresses(End::Client) {
                self.owners.insert(own.addr(), id);
            }
            if !is_start {
                self.notice(format!("{} is admitted", lease.name));
            }
            self.members.insert(id, Member::new(lease.clone(), self.largest));
        }
        self.set_addresses()
    }

    /// Sets the addresses of the device: this machine's for all clients, and for each one.
    fn set_addresses(&mut self) -> Result<(), TunnelError> {
        let mut addresses = self.network.addresses(End::Server).to_vec();
        let own = addresses.clone();
        for member in self.members.values() {
            let of_member = member.network().addresses(End::Server).map(|own| own.addr());
            // As hosts: the network's route leads to the device already.
            let of_member = of_member.into_iter().map(IpNet::from);
            addresses.extend(of_member.filter(|ip| own.iter().all(|own| own.addr() != ip.addr())));
        }
        self.device.set_addresses(&addresses)
    }

    /// Notices changes of the sessions, and adapts the queues to their forecasts.
    fn observe(&mut self, listener: &Listener) {
        let bound = self.bound();
        let mut news = Vec::new();
        for (&id, member) in &mut self.members {
            let Some(stats) = listener.stats(id) else { continue };
            member.carrier.queues.set_bound(stats.deliverable.min(bound));
            news.extend(member.news(&stats));
        }
        news.into_iter().for_each(|notice| self.notice(notice));
    }

    /// The most that waits for one client.
    fn bound(&self) -> Bytes {
        Bytes::new(MAX_WAITING / self.members.len().max(1) as u64)
    }

    /// Queues the first `length` bytes of the buffer for the client to whom they are addressed.
    fn forward(&mut self, listener: &mut Listener, now: Instant, length: usize) {
        let (bound, bytes) = (self.bound(), &mut self.buffer[..length]);
        let owner = Packet::parse(bytes).ok().and_then(|packet| {
            let id = *self.owners.get(&packet.flow.to.0)?;
            Some((id, packet))
        });
        let Some((id, packet)) = owner else {
            self.unowned += 1;
            return;
        };
        let Some(member) = self.members.get_mut(&id) else { return };
        member.carrier.queues.set_bound(listener.deliverable(id).min(bound));
        let is_v4 = packet.flow.to.0.is_ipv4();
        let own = member.lease.network.addresses(End::Server).map(|own| own.addr());
        let from = own.into_iter().find(|own| own.is_ipv4() == is_v4);
        if let Some(error) = member.carrier.send(now, (&packet, bytes), member.mtu, from) {
            // If it is lost, the next packet causes another one.
            let _ = self.device.tun().write(&[IoSlice::new(&error)]);
        }
        listener.wake(id);
    }

    /// Whether the client with `lease` may send `packet`: with its own addresses, and not to other clients.
    fn accepts(network: Network, lease: Network, packet: &Packet) -> bool {
        let (from, to) = (packet.flow.from.0, packet.flow.to.0);
        let [own, servers] = [End::Client, End::Server].map(|end| lease.addresses(end));
        let is = |addresses: [IpNet; 2], ip| addresses.iter().any(|address| address.addr() == ip);
        is(own, from) && (is(servers, to) || !network.contains(to))
    }
}

impl PeerTraffic for SharedServer {
    fn waiting(&mut self, peer: PeerId, _now: Instant) -> Option<usize> {
        let member = self.members.get_mut(&peer)?;
        match &member.message {
            Some(message) => Some(message.len()),
            None => member.carrier.queues.next_length(),
        }
    }

    fn pull(&mut self, peer: PeerId, now: Instant, payload: &mut Vec<u8>) {
        let Some(member) = self.members.get_mut(&peer) else { return };
        match member.message.take() {
            Some(message) => payload.extend_from_slice(&message),
            None => member.carrier.queues.pull(now, payload),
        }
    }

    fn deliver(&mut self, peer: PeerId, now: Instant, payload: &[u8]) {
        let (network, largest) = (self.network, self.largest);
        let Some(member) = self.members.get_mut(&peer) else { return };
        if let Ok(packet) = Packet::parse(payload) {
            match SharedServer::accepts(network, member.lease.network, &packet) {
                true => member.carrier.write(now, (&packet, payload), self.device.tun()),
                false => member.carrier.counters.foreign += 1,
            }
            return;
        }
        match Message::decode(payload) {
            Ok(Message::Hello { mtu }) => {
                member.mtu = mtu.min(largest);
                let (mtu, network) = (member.mtu, member.lease.network);
                member.message = Some(Message::Welcome { mtu, network }.encode());
            }
            // The client reports this server's version to its user.
            Err(DecodeError::Version(_)) => member.message = Some(vec![2, VERSION]),
            _ => member.carrier.counters.malformed += 1,
        }
    }
}

impl AsFd for SharedServer {
    /// A file that is readable when the machine sends a packet.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.tun().as_fd()
    }
}

/// Runs `server` over `listener` until `monitor` returns [`LoopControl::Stop`]: as
/// [`drive`](exm_session::drive) for one session.
///
/// # Errors
/// The server cannot continue, or waiting for files failed.
pub fn drive_shared(
    listener: &mut Listener,
    server: &mut SharedServer,
    alarm: BorrowedFd<'_>,
    mut monitor: impl FnMut(&Listener, &mut SharedServer, bool) -> LoopControl,
) -> io::Result<()> {
    let waiter = Waiter::new(listener.clock(), Span::ZERO);
    let mut alarmed = true;
    loop {
        server.work(listener)?;
        listener.service(server);
        let LoopControl::WakeAt(again) = monitor(listener, server, alarmed) else { return Ok(()) };
        let wake = listener.next_wake().min(server.next_wake()).min(again);
        alarmed = waiter.wait([alarm, listener.as_fd(), server.as_fd()], wake)?[0];
    }
}
