//! [`Session`]: an [`Endpoint`] with its sockets.

use crate::endpoint::{Endpoint, Farewell};
use crate::recorder::Recorder;
use crate::settings::Settings;
use crate::stats::{Counters, Stats};
use crate::traffic::{Sink, Source};
use exm_datagram::Key;
use exm_endpoint::{Path, PortRange, SocketError, SocketOptions, Sockets};
use exm_os::Clock;
use exm_units::{Bytes, Instant, Span};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// The interval at which a datagram is retried for which the system had no buffer space...
pub(crate) const RETRY: Span = Span::from_millis(1);
/// ... and the time after which it is given up as lost.
pub(crate) const RETRIED: Span = Span::from_millis(100);
/// The receive buffer in bytes: a tenth of a second at 80 Mbit/s, in case the thread is late.
const RECEIVE_BUFFER: usize = 1 << 20;
/// The most datagrams sent in one call.
const MAX_SENDS: usize = 256;

/// An error on opening a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No port could be opened.
    #[error("cannot listen on UDP port {ports}{of}: {source}")]
    Listen {
        /// The ports that were tried.
        ports: PortRange,
        /// " of ADDRESS" if an address was given.
        of: String,
        /// The system's error.
        source: io::Error,
    },
    /// No socket could be opened.
    #[error("cannot open a UDP socket: {0}")]
    Socket(io::Error),
    /// The list of server addresses is empty.
    #[error("the server has no address")]
    NoAddress,
}

/// One end of a session: it carries datagrams and sends them only within the forecast.
///
/// It starts no threads. Its user polls its file (see [`AsFd`]) until that is readable or the time is
/// [`Session::next_wake`], and then calls [`Session::service`], which reads the datagrams that have
/// arrived, delivers them to a [`Sink`] and sends those of a [`Source`] as far as the window allows. It
/// must also be called when an empty source gets something to send.
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
    endpoint: Endpoint,
    sockets: Sockets,
    /// The latest time that the endpoint knows.
    known: Instant,
    /// The destination of a datagram that the system had no buffer space for, and when it was assembled.
    unsent: Option<(Instant, Path)>,
    /// Whether more can be sent at once.
    more: bool,
    next_attempt: Instant,
    recorder: Option<Box<dyn Recorder>>,
    /// Errors that sending reports instead of sending.
    #[cfg(test)]
    injected: Vec<rustix::io::Errno>,
    #[cfg(test)]
    injected_errors: exm_endpoint::SocketErrors,
}

impl Session {
    /// Opens a server for the client that has `key`. It listens at the first free one of `ports`, at
    /// `address` or at all addresses of this machine.
    ///
    /// It ignores anyone who does not have the key. Of several clients that have it, it serves the one that
    /// connected last.
    ///
    /// # Errors
    /// No port is free, or no socket can be opened.
    pub fn listen(
        clock: Clock,
        key: Key,
        settings: Settings,
        address: Option<IpAddr>,
        ports: PortRange,
    ) -> Result<Session, SessionError> {
        let sockets = bind(address, ports)?;
        Ok(Session::new(clock, settings, Endpoint::server(key, settings), sockets))
    }

    /// Opens a client of the server that has `key`. It tries the addresses `servers` in turn and uses the
    /// first that answers.
    ///
    /// Nothing is sent before the first call of [`Session::service`], and an unreachable server is not an
    /// error: it may become reachable.
    ///
    /// # Errors
    /// `servers` is empty, or no socket can be opened.
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
        let sockets = Sockets::connect(now, options()).map_err(SessionError::Socket)?;
        let endpoint = Endpoint::client(now, key, settings, servers);
        Ok(Session::new(clock, settings, endpoint, sockets))
    }

    fn new(clock: Clock, settings: Settings, endpoint: Endpoint, sockets: Sockets) -> Session {
        Session {
            clock,
            settings,
            endpoint,
            sockets,
            known: Instant::ZERO,
            unsent: None,
            more: false,
            next_attempt: Instant::ZERO,
            recorder: None,
            #[cfg(test)]
            injected: Vec::new(),
            #[cfg(test)]
            injected_errors: exm_endpoint::SocketErrors::default(),
        }
    }

    /// The settings of this end.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock of all its times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The local address of the socket that sends; unspecified fields are zero.
    ///
    /// # Errors
    /// The system call failed.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.sockets.local_address()
    }

    /// Binds its sockets to `device`, such as `eth0`, regardless of the machine's routes, or to no device
    /// (`SO_BINDTODEVICE`). A tunnel whose routes lead into itself needs this.
    ///
    /// # Errors
    /// There is no such device, or this process lacks the permission.
    pub fn bind_device(&mut self, device: Option<&str>) -> io::Result<()> {
        self.sockets.bind_device(device)
    }

    /// Sets the mark (`SO_MARK`) of packets it sends, by which routing rules and firewalls of this machine
    /// can recognise them.
    ///
    /// # Errors
    /// This process lacks `CAP_NET_ADMIN`.
    pub fn set_mark(&mut self, mark: u32) -> io::Result<()> {
        self.sockets.set_mark(mark)
    }

    /// Sets what a server tells a client that another one with its key has displaced, as an application
    /// datagram of the old session; by default nothing. A client that is not told soon begins a new session, and
    /// displaces the other one in turn.
    pub fn set_farewell(&mut self, farewell: Farewell) {
        self.endpoint.set_farewell(farewell);
    }

    /// Tells `recorder` each datagram from now on, or nobody.
    pub fn set_recorder(&mut self, recorder: Option<Box<dyn Recorder>>) {
        self.recorder = recorder;
    }

    /// Delivers received datagrams to `traffic`, and sends the datagrams of `traffic` as far as the window
    /// allows. Never blocks.
    pub fn service<T: Source + Sink>(&mut self, traffic: &mut T) {
        let now = self.clock.now();
        self.receive(traffic);
        self.hop(now);
        self.transmit(traffic);
    }

    fn receive(&mut self, traffic: &mut impl Sink) {
        let Session { clock, sockets, endpoint, known, recorder, .. } = self;
        sockets.receive(|arrival, datagram| {
            // When it arrived, however late this thread was woken; but time does not go back.
            let now = clock.now();
            *known = arrival.at(now, *known);
            let payload = endpoint.receive(*known, arrival.path, datagram);
            if let Some(recorder) = recorder
                && let Some(datagram) = endpoint.take_received()
            {
                recorder.received(*known, &datagram);
            }
            if let Some(payload) = payload {
                traffic.deliver(now, payload);
            }
        });
    }

    /// Opens another socket if a port hop is due, and closes expired ones.
    fn hop(&mut self, now: Instant) {
        if self.sockets.hop(now, self.endpoint.last_received_at()) {
            self.endpoint.hopped();
        }
    }

    fn transmit(&mut self, traffic: &mut impl Source) {
        self.more = false;
        // One time for all: packets of a train are sent at the same time.
        let now = self.clock.now();
        self.known = now;
        if let Some((since, path)) = self.unsent
            && !self.send(now, since, path)
        {
            return;
        }
        for _ in 0..MAX_SENDS {
            let Some(path) = self.endpoint.transmit(now, traffic) else { return };
            if let Some(recorder) = &mut self.recorder
                && let Some(datagram) = self.endpoint.take_sent()
            {
                recorder.sent(now, &datagram);
            }
            if !self.send(now, now, path) {
                return;
            }
        }
        self.more = true;
    }

    /// Sends the datagram that the endpoint assembled at `since`. Returns false if the system has no buffer
    /// space; the datagram is then kept.
    fn send(&mut self, now: Instant, since: Instant, path: Path) -> bool {
        self.unsent = None;
        if self.send_now(path) != Err(SocketError::Full) {
            return true;
        }
        self.next_attempt = now.saturating_add(RETRY);
        if now.saturating_since(since) < RETRIED {
            self.unsent = Some((since, path));
        }
        false
    }

    fn send_now(&mut self, path: Path) -> Result<(), SocketError> {
        #[cfg(test)]
        if let Some(errno) = self.injected.pop() {
            let error = SocketError::from(&std::io::Error::from(errno));
            self.injected_errors.count(error);
            return Err(error);
        }
        self.sockets.send(path, self.endpoint.datagram(), None)
    }

    /// When to call [`Session::service`] next, unless its file becomes readable before.
    pub fn next_wake(&self) -> Instant {
        let now = self.clock.now();
        if self.more {
            return now;
        }
        if self.unsent.is_some() {
            return self.next_attempt;
        }
        let hops = self.sockets.next_hop();
        // Not immediately after a failed send.
        self.endpoint.next_wake(now).min(hops).max(self.next_attempt)
    }

    /// The number of bytes that may be sent now by the peer's forecast.
    pub fn window(&self) -> Bytes {
        self.endpoint.window()
    }

    /// The number of bytes that the link will deliver by the peer's forecast, with the forecast's
    /// confidence; data queued beyond that will be late (thesis, section 2.3.6).
    pub fn deliverable(&self) -> Bytes {
        self.endpoint.deliverable()
    }

    /// The number of bytes that the link will deliver within `time` by the peer's latest forecast, with its confidence: what an
    /// application that decides how much to make, such as a video encoder, asks before it does. What is in flight already counts
    /// among them; [`Session::window`] is what may be added now.
    pub fn forecast(&self, time: Span) -> Bytes {
        self.endpoint.forecast(time)
    }

    /// The counters since the session was opened.
    pub fn counters(&self) -> Counters {
        Counters { socket_errors: self.sockets.errors(), ..self.endpoint.counters() }
    }

    /// The latest RTT sample, to the millisecond.
    pub fn rtt(&self) -> Option<Span> {
        self.endpoint.rtt()
    }

    /// The state and counters of the session.
    pub fn stats(&self) -> Stats {
        let counters = self.counters();
        Stats { counters, ..self.endpoint.stats(self.clock.now()) }
    }
}

impl AsFd for Session {
    /// A file that is readable when a datagram has arrived. It is for polling only and may change: ask for
    /// it before each poll.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sockets.as_fd()
    }
}

/// Binds the socket of a server.
pub(crate) fn bind(address: Option<IpAddr>, ports: PortRange) -> Result<Sockets, SessionError> {
    Sockets::listen(address, ports, options()).map_err(|source| {
        let of = address.map_or(String::new(), |address| format!(" of {address}"));
        SessionError::Listen { ports, of, source }
    })
}

fn options() -> SocketOptions {
    SocketOptions { receive_buffer: Some(RECEIVE_BUFFER), ..SocketOptions::default() }
}

#[cfg(test)]
mod tests;
