//! [`Listener`]: the end that receives.

use crate::wire::{Consent, HANDSHAKE, LOOK, Line, Receipt, Request, is_impatience};
use exm_datagram::{Key, Role, Session};
use exm_endpoint::{Reply, Responder};
use exm_os::Clock;
use exm_units::{Instant, Span};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// How long a client may take to prove that it has the key.
const PROOF: Span = Span::from_secs(5);
/// How much longer than its time a turn may take, until what is under way has arrived.
const GRACE: Span = Span::from_secs(60);

/// What a listener takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest turn.
    pub turn: Span,
    /// The most bytes of one.
    pub bytes: u64,
    /// The most connections at a time; others are closed at once.
    pub connections: usize,
}

/// Turns of five minutes and 40 GB (1 Gbit/s), 16 connections.
impl Default for Limits {
    fn default() -> Limits {
        Limits { turn: Span::from_secs(300), bytes: 40_000_000_000, connections: 16 }
    }
}

/// There is no listening at an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {source}")]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// What the kernel says: that the address is not this machine's, or in use.
    pub source: io::Error,
}

/// What a listener tells its user of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client with the key begins a turn.
    Began(SocketAddr),
    /// Its turn is over, and so many bytes arrived.
    Ended(SocketAddr, u64),
    /// Somebody without the key, or who broke off.
    Refused(SocketAddr),
}

/// The end that receives. It discards what it gets, from clients that have its key.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    key: Key,
    limits: Limits,
    clock: Clock,
    open: AtomicUsize,
}

impl Listener {
    /// Listens at `address`, of which the port may be 0: any.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(address: SocketAddr, key: Key, limits: Limits) -> Result<Listener, ListenError> {
        let listening = TcpListener::bind(address)
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        let socket = listening.map_err(|source| ListenError { address, source })?;
        Ok(Listener { socket, key, limits, clock: Clock::start(), open: AtomicUsize::new(0) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves clients, each in a thread, until `stop` is set, and passes what happens to `tell`.
    ///
    /// # Errors
    /// The socket fails. Connections that fail are only told of.
    pub fn run(&self, stop: &AtomicBool, tell: &(dyn Fn(Event) + Sync)) -> io::Result<()> {
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                match self.socket.accept() {
                    Ok((stream, from)) => {
                        if self.open.fetch_add(1, Ordering::Relaxed) < self.limits.connections {
                            scope.spawn(move || {
                                self.serve(&stream, from, stop, tell);
                                self.open.fetch_sub(1, Ordering::Relaxed);
                            });
                        } else {
                            self.open.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                    Err(error) if is_impatience(&error) => thread::sleep(LOOK / 10),
                    // Of the connection, which is gone, or for want of files: others may come.
                    Err(error) if is_passing(&error) => thread::sleep(LOOK),
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    fn serve(
        &self,
        stream: &TcpStream,
        from: SocketAddr,
        stop: &AtomicBool,
        tell: &(dyn Fn(Event) + Sync),
    ) {
        let line = Line { stream, clock: self.clock, stop };
        let begun = stream.set_nonblocking(false).and_then(|()| self.begin(&line, from));
        let Ok((mut session, request)) = begun else { return tell(Event::Refused(from)) };
        tell(Event::Began(from));
        let deadline = self.clock.now() + request.duration + GRACE;
        let bytes = drain(&line, request.bytes, deadline);
        // If it does not arrive, the client says so.
        let _ = line.send(&mut session, &Receipt { bytes });
        tell(Event::Ended(from, bytes));
    }

    /// The session with a client that has the key, and asks for no more than the limits.
    fn begin(&self, line: &Line<'_>, from: SocketAddr) -> io::Result<(Session, Request)> {
        let deadline = self.clock.now() + PROOF;
        line.stream.set_write_timeout(Some(LOOK * 10))?;
        let mut initiation = vec![0; HANDSHAKE.length()];
        line.read(&mut initiation, deadline)?;
        // Its own for each connection: an initiation that is replayed is of use to nobody.
        let mut responder = Responder::new(HANDSHAKE, self.key.clone());
        let now = self.clock.now();
        let Ok(Some(Reply::Response(response))) = responder.reply(now, from, &initiation) else {
            return Err(ErrorKind::PermissionDenied.into());
        };
        let mut stream = line.stream;
        stream.write_all(&response)?;
        let keys = responder.accept(now, |keys| keys.first().cloned());
        let (key, _) = keys.ok_or(ErrorKind::PermissionDenied)?;
        let mut session = Session::new(&key, Role::Server);
        let request: Request = line.receive(&mut session, deadline)?;
        let consent = Consent { duration: self.limits.turn, bytes: self.limits.bytes };
        line.send(&mut session, &consent)?;
        if consent.covers(&request) {
            Ok((session, request))
        } else {
            Err(ErrorKind::QuotaExceeded.into())
        }
    }
}

/// Takes what arrives, at most `limit` bytes, until the client has sent all. Returns how much it was.
fn drain(line: &Line<'_>, limit: u64, deadline: Instant) -> u64 {
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    while bytes <= limit {
        match line.read_some(&mut buffer, deadline) {
            Ok(0) | Err(_) => break,
            Ok(size) => bytes += size as u64,
        }
    }
    bytes
}

/// Whether another call may succeed.
fn is_passing(error: &io::Error) -> bool {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::OutOfMemory)
        || matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}
