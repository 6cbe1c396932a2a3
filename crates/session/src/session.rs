//! [`Session`]: a party with its sockets.

use crate::party::{Party, Path};
use crate::port::{Buffer, Port, Refusal};
use crate::settings::Settings;
use crate::stats::{Counters, Refused, Stats};
use crate::traffic::{Sink, Source};
use exm_datagram::{HopPlan, Key, PortRange};
use exm_os::Clock;
use exm_units::{Bytes, Instant, Span};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the system's buffers had no room for is tried again after so long...
const RETRY: Span = Span::from_millis(1);
/// ... and, after so long, no more: it counts as lost on the way.
const RETRIED: Span = Span::from_millis(100);
/// No more datagrams are sent before something else has its turn.
const MOST_SENDS: usize = 256;

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No port could be had.
    #[error("cannot listen on UDP port {ports}{of}: {source}")]
    Listen {
        /// Which were tried.
        ports: PortRange,
        /// Of which address, where one was given.
        of: String,
        /// What the system said.
        source: io::Error,
    },
    /// No socket could be had.
    #[error("cannot open a UDP socket: {0}")]
    Socket(io::Error),
    /// There is nobody to connect to.
    #[error("the server has no address")]
    NoAddress,
}

/// One end of a session: it carries datagrams, and keeps them within the forecast.
///
/// It does nothing by itself. Whoever has it waits until its file (it is one that can be polled, see
/// [`AsFd`]) can be read or the time is [`Session::next_wake`], and then calls [`Session::service`]:
/// that reads what has come, hands it to a [`Sink`], and sends what a [`Source`] has, as much as the
/// window allows. Something new in a source that was empty is a reason to call it as well.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use exm_datagram::Key;
/// use exm_os::{Clock, Waiter};
/// use exm_session::{Mailbox, Session, Settings, WhenFull};
/// use exm_units::{Bytes, Span};
/// use std::os::fd::AsFd;
///
/// let clock = Clock::start();
/// let waiter = Waiter::new(clock, Span::ZERO);
/// let key = Key::from_env("EXM_KEY")?;
/// let server = "192.0.2.1:60001".parse()?;
/// let mut session = Session::connect(clock, key, Settings::default(), vec![server])?;
/// let mut traffic = Mailbox::new(Bytes::new(100_000), WhenFull::Refuse);
/// traffic.queue.try_send(b"hello".to_vec())?;
/// loop {
///     session.service(&mut traffic);
///     for datagram in traffic.delivered.drain(..) {
///         println!("{}", String::from_utf8_lossy(&datagram));
///     }
///     waiter.wait([session.as_fd()], session.next_wake())?;
/// }
/// # }
/// ```
pub struct Session {
    clock: Clock,
    settings: Settings,
    party: Party,
    /// Oldest first; the last one sends. Never empty.
    ports: VecDeque<Port>,
    /// Readable where one of them is.
    ready: OwnedFd,
    /// A client's.
    hops: Option<HopPlan>,
    /// By which device alone it sends and receives, where it was told.
    device: Option<String>,
    /// The mark of what it sends, where it has one.
    mark: Option<u32>,
    buffer: Buffer,
    /// What the system had no room for, and when it was put together.
    unsent: Option<(Instant, Path)>,
    /// More could be sent at once.
    more: bool,
    next_try: Instant,
    refused: Refused,
}

impl Session {
    /// A server that waits for the client that has `key`, at the first free one of `ports`, of
    /// `address` or of any that this machine has.
    ///
    /// It answers nobody but who has the key. Of several clients that have it, the one that came last
    /// is served.
    ///
    /// # Errors
    /// No port is free, or the system has no sockets.
    pub fn listen(
        clock: Clock,
        key: Key,
        settings: Settings,
        address: Option<IpAddr>,
        ports: PortRange,
    ) -> Result<Session, SessionError> {
        let port = Port::within(address, ports).map_err(|source| {
            let of = address.map_or(String::new(), |address| format!(" of {address}"));
            SessionError::Listen { ports, of, source }
        })?;
        Session::new(clock, settings, Party::server(key, settings), port, None)
    }

    /// A client of the server that has `key` and is at one of `servers`: the first that answers.
    ///
    /// Nothing has been sent yet, and an unreachable server is no error: it may come within reach.
    ///
    /// # Errors
    /// There is no address, or the system has no sockets.
    pub fn connect(
        clock: Clock,
        key: Key,
        settings: Settings,
        servers: Vec<SocketAddr>,
    ) -> Result<Session, SessionError> {
        if servers.is_empty() {
            return Err(SessionError::NoAddress);
        }
        let now = clock.now();
        let port = Port::anywhere().map_err(SessionError::Socket)?;
        let party = Party::client(now, key, settings, servers);
        Session::new(clock, settings, party, port, Some(HopPlan::new(now)))
    }

    fn new(
        clock: Clock,
        settings: Settings,
        party: Party,
        port: Port,
        hops: Option<HopPlan>,
    ) -> Result<Session, SessionError> {
        let ready = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        let ready = ready.map_err(SessionError::Socket)?;
        let mut session = Session {
            clock,
            settings,
            party,
            ports: VecDeque::new(),
            ready,
            hops,
            device: None,
            mark: None,
            buffer: Buffer::new(),
            unsent: None,
            more: false,
            next_try: Instant::ZERO,
            refused: Refused::default(),
        };
        session.add(port).map_err(SessionError::Socket)?;
        Ok(session)
    }

    fn add(&mut self, port: Port) -> io::Result<()> {
        epoll::add(&self.ready, &port, EventData::new_u64(0), EventFlags::IN)?;
        self.ports.push_back(port);
        Ok(())
    }

    /// How it works.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock that all its times are of.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The address from which it sends, as far as it is bound.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.newest_port().address()
    }

    /// From now on it sends and receives by `device` alone, such as `eth0`, whatever the machine's
    /// routes say; by any where there is none. A tunnel needs that, whose routes lead into itself.
    ///
    /// # Errors
    /// There is no such device, or this process may not choose.
    pub fn use_device(&mut self, device: Option<&str>) -> io::Result<()> {
        self.ports.iter().try_for_each(|port| port.use_device(device))?;
        self.device = device.map(str::to_owned);
        Ok(())
    }

    /// From now on what it sends has this mark (`SO_MARK`), by which routing rules and firewalls of the
    /// machine can tell it from other packets.
    ///
    /// # Errors
    /// This process may not: it takes `CAP_NET_ADMIN`.
    pub fn set_mark(&mut self, mark: u32) -> io::Result<()> {
        self.ports.iter().try_for_each(|port| port.set_mark(mark))?;
        self.mark = Some(mark);
        Ok(())
    }

    /// Another socket of the client's.
    fn open(&self) -> io::Result<Port> {
        let port = Port::anywhere()?;
        if let Some(device) = &self.device {
            port.use_device(Some(device))?;
        }
        if let Some(mark) = self.mark {
            port.set_mark(mark)?;
        }
        Ok(port)
    }

    /// Reads what has come and hands it to `traffic`, and sends what `traffic` has, as much as may be
    /// sent. Never waits.
    pub fn service<T: Source + Sink>(&mut self, traffic: &mut T) {
        let now = self.clock.now();
        self.receive(now, traffic);
        self.hop(now);
        self.transmit(self.clock.now(), traffic);
    }

    fn receive(&mut self, now: Instant, traffic: &mut impl Sink) {
        let Session { ports, party, buffer, refused, .. } = self;
        for port in ports {
            let read = port.receive(buffer, |path, datagram| {
                if let Some(payload) = party.receive(now, path, datagram) {
                    traffic.deliver(now, payload);
                }
            });
            if let Err(refusal) = read {
                refusal.count(refused);
            }
        }
    }

    /// Opens another socket where it is time for one, and closes old ones.
    fn hop(&mut self, now: Instant) {
        let Some(plan) = &mut self.hops else { return };
        if let Some(at) = self.party.heard_at() {
            plan.heard(at);
        }
        let mut closing = plan.expire(now);
        if now >= plan.due() {
            closing += plan.hopped(now);
            // Where no socket can be had, the old one does.
            let opened = self.open().and_then(|port| self.add(port));
            match opened {
                Ok(()) => self.party.hopped(),
                Err(_) => closing = closing.min(self.ports.len() - 1),
            }
        }
        self.ports.drain(..closing.min(self.ports.len() - 1));
    }

    fn transmit(&mut self, now: Instant, traffic: &mut impl Source) {
        self.more = false;
        if let Some((since, path)) = self.unsent
            && !self.send(now, since, path)
        {
            return;
        }
        for _ in 0..MOST_SENDS {
            let Some(path) = self.party.transmit(now, traffic) else { return };
            if !self.send(now, now, path) {
                return;
            }
        }
        self.more = true;
    }

    /// Sends what the party has put together at `since`. False where the system has no room for it:
    /// it is kept.
    fn send(&mut self, now: Instant, since: Instant, path: Path) -> bool {
        self.unsent = None;
        let Err(refusal) = self.newest_port().send(path, self.party.datagram()) else {
            return true;
        };
        refusal.count(&mut self.refused);
        if refusal != Refusal::Full {
            return true;
        }
        self.next_try = now.saturating_add(RETRY);
        if now.saturating_since(since) < RETRIED {
            self.unsent = Some((since, path));
        }
        false
    }

    fn newest_port(&self) -> &Port {
        self.ports.back().unwrap_or_else(|| unreachable!("the last one is never closed"))
    }

    /// When [`Session::service`] is to be called, unless there is reason before.
    pub fn next_wake(&self) -> Instant {
        let now = self.clock.now();
        if self.more {
            return now;
        }
        if self.unsent.is_some() {
            return self.next_try;
        }
        let hops = self.hops.as_ref().map_or(Instant::MAX, |plan| plan.due().min(plan.expiry()));
        // After a refusal not at once again.
        self.party.next_wake(now).min(hops).max(self.next_try)
    }

    /// How many bytes may be sent now, by the peer's forecast.
    pub fn window(&self) -> Bytes {
        self.party.window()
    }

    /// How many bytes will be delivered over the life of the peer's forecast, all but certainly: what
    /// is queued beyond that will be late (thesis, section 2.3.6).
    pub fn deliverable(&self) -> Bytes {
        self.party.deliverable()
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        Counters { refused: self.refused, ..self.party.counters() }
    }

    /// The round-trip time measured last, to the millisecond.
    pub fn rtt(&self) -> Option<Span> {
        self.party.rtt()
    }

    /// What it is doing, and what it has done.
    pub fn stats(&self) -> Stats {
        let counters = self.counters();
        Stats { counters, ..self.party.stats(self.clock.now()) }
    }
}

impl AsFd for Session {
    /// A file that can be read where a datagram has come. It is for waiting only, and to be asked for
    /// each time: it is not the same always.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // Nearly always there is one socket, which is less to wait for than a file about it.
        if self.ports.len() == 1 { self.newest_port().as_fd() } else { self.ready.as_fd() }
    }
}

#[cfg(test)]
mod tests;
