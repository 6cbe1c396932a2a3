//! [`Service`]: runs a program for a client.

use super::{NetError, seed};
use crate::channels::{Event, Reason};
use crate::{Extensions, Input, Server};
use exm_datagram::Key;
use exm_endpoint::{Path, PortRange, SocketOptions, Sockets};
use exm_os::{Clock, Pty, Signals, TerminalSize, Waiter};
use exm_terminal::Size;
use exm_units::{Instant, Span};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::process::Command;

/// How long a service waits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the first datagram of a client: a minute in mosh.
    pub first: Span,
    /// For the next, if there is a limit.
    pub next: Option<Span>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { first: Span::from_secs(60), next: None }
    }
}

/// The most output that is read before the client is served.
const MOST_READ: usize = 1 << 16;
/// Keys that the program does not read are dropped beyond this.
const MOST_WAITING: usize = 1 << 22;
/// The receive buffer in bytes.
const RECEIVE_BUFFER: usize = 1 << 18;

/// Runs a program in a terminal that a client shows.
pub struct Service {
    clock: Clock,
    key: Key,
    sockets: Sockets,
    grants: Extensions,
}

impl Service {
    /// Opens the first free one of `ports`, at `address` or at all addresses, for the client that has `key`.
    ///
    /// # Errors
    /// No port is free, or the address is not this machine's.
    pub fn open(key: Key, address: Option<IpAddr>, ports: PortRange) -> Result<Service, NetError> {
        let buffer = Some(RECEIVE_BUFFER);
        let options = SocketOptions { receive_buffer: buffer, ..SocketOptions::default() };
        let sockets = Sockets::listen(address, ports, options).map_err(|source| {
            let place = address.map_or(format!("{ports}"), |at| format!("{ports} of {at}"));
            NetError::Listen { place, source }
        })?;
        Ok(Service { clock: Clock::start(), key, sockets, grants: Extensions::HISTORY })
    }

    /// The same service, which grants `extensions` to a client that asks for them. Without this, it is the history only.
    #[must_use]
    pub fn granting(mut self, extensions: Extensions) -> Service {
        self.grants = extensions;
        self
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system call failed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.sockets.local_address()
    }

    /// Runs `command` once a client has connected, until it ends, the client leaves, or a signal comes.
    ///
    /// # Errors
    /// The program cannot be run, or waiting failed.
    pub fn run(self, command: Command, limits: Limits, signals: &Signals) -> Result<(), NetError> {
        let Service { clock, key, sockets, grants } = self;
        let now = clock.now();
        let mut session = Running {
            clock,
            sockets,
            server: Server::new(now, &key, seed()?).granting(grants),
            command: Some(command),
            pty: None,
            size: TerminalSize { columns: 80, rows: 24 },
            waiting: Vec::new(),
            path: None,
            known: now,
            is_ending: false,
        };
        let waiter = Waiter::new(clock, Span::ZERO);
        loop {
            session.receive()?;
            session.refuse_channels();
            session.exchange();
            if signals.take().is_some() || session.server.client_is_leaving() {
                session.end();
            }
            session.transmit();
            let (now, give_up) = (clock.now(), session.gives_up_at(limits));
            if session.server.is_over(now) || now >= give_up {
                return Ok(());
            }
            session.wait(&waiter, signals, give_up)?;
        }
    }
}

/// A service with its client.
struct Running {
    clock: Clock,
    sockets: Sockets,
    server: Server,
    /// The program, before it is started.
    command: Option<Command>,
    /// Its terminal, until it ends.
    pty: Option<Pty>,
    size: TerminalSize,
    /// What the program has yet to read.
    waiting: Vec<u8>,
    /// How the client's last datagram came.
    path: Option<Path>,
    /// The latest time that the server knows.
    known: Instant,
    is_ending: bool,
}

fn terminal_size(size: Size) -> TerminalSize {
    let number = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
    TerminalSize { columns: number(size.columns()), rows: number(size.rows()) }
}

impl Running {
    /// When it gives up, unless the client is heard of.
    fn gives_up_at(&self, limits: Limits) -> Instant {
        match (self.server.last_received_at(), limits.next) {
            (None, _) => Instant::ZERO.saturating_add(limits.first),
            (Some(at), Some(next)) => at.saturating_add(next),
            (Some(_), None) => Instant::MAX,
        }
    }

    /// Reads the client's datagrams, and what its user did; starts the program with the first of them.
    fn receive(&mut self) -> Result<(), NetError> {
        let Running { clock, sockets, server, path, known, .. } = self;
        sockets.receive(|arrival, datagram| {
            *known = arrival.at(clock.now(), *known);
            if server.receive(*known, arrival.path.remote, datagram).is_ok() {
                *path = Some(arrival.path);
            }
        });
        self.known = self.clock.now();
        for input in self.server.take_input() {
            match input {
                Input::Keys(keys) => self.waiting.extend(keys),
                Input::Resize(size) => {
                    self.size = terminal_size(size);
                    if let Some(pty) = &self.pty {
                        // The program may have ended.
                        let _ = pty.resize(self.size);
                    }
                }
            }
        }
        if self.server.last_received_at().is_some()
            && let Some(command) = self.command.take()
        {
            let program = command.get_program().to_string_lossy().into_owned();
            let spawned = Pty::spawn(command, self.size);
            self.pty = Some(spawned.map_err(|source| NetError::Program { program, source })?);
        }
        Ok(())
    }

    /// Refuses channels that nobody here serves.
    fn refuse_channels(&mut self) {
        let channels = self.server.channels();
        while let Some(event) = channels.next_event() {
            if let Event::Opened(id, _) = event {
                channels.refuse(id, Reason::Unsupported);
            }
        }
    }

    /// Reads the program's output, and writes what it has yet to read.
    fn exchange(&mut self) {
        let Some(pty) = &self.pty else { return };
        let mut buffer = [0; 1 << 14];
        let (mut read, mut has_ended) = (0, false);
        while read < MOST_READ && !has_ended {
            match pty.read(&mut buffer) {
                Ok(Some(count)) if count > 0 => {
                    self.server.output(&buffer[..count]);
                    read += count;
                }
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => has_ended = true,
            }
        }
        self.waiting.extend(self.server.take_answers());
        self.waiting.truncate(MOST_WAITING);
        let written = pty.write(&self.waiting).unwrap_or(self.waiting.len());
        self.waiting.drain(..written);
        if has_ended {
            self.end();
        }
    }

    /// Ends the session: the client is notified, and the program is hung up.
    fn end(&mut self) {
        if !self.is_ending {
            self.is_ending = true;
            self.server.shutdown(self.clock.now());
        }
        self.pty = None;
    }

    fn transmit(&mut self) {
        let now = self.clock.now();
        self.known = now;
        while let Some((to, datagram)) = self.server.transmit(now) {
            // From the address to which the client sends.
            let path = self.path.filter(|path| path.remote == to);
            let path = path.unwrap_or(Path { remote: to, local: None });
            // What is not sent is lost, like any other.
            let _ = self.sockets.send(path, &datagram, None);
        }
    }

    fn wait(&mut self, waiter: &Waiter, signals: &Signals, until: Instant) -> Result<(), NetError> {
        let wake = self.server.next_wake(self.clock.now()).min(until);
        let files = [self.sockets.as_fd(), signals.as_fd()];
        let waited = match &self.pty {
            Some(pty) => waiter.wait([files[0], files[1], pty.as_fd()], wake).map(drop),
            None => waiter.wait(files, wake).map(drop),
        };
        waited.map_err(NetError::Wait)
    }
}
