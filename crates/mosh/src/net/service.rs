//! [`Service`]: runs a program for a client.

use super::agent::AgentSocket;
use super::control::{Attachment, Control, Request, Session, answer};
use super::server_channels::ServerChannels;
use super::{NetError, SMALL_PAYLOAD, seed};
use crate::{Extensions, Input, Server};
use exm_datagram::Key;
use exm_endpoint::{Path, PortRange, SocketError, SocketOptions, Sockets};
use exm_os::{Clock, LoginRecord, Pty, SignalWatch, Signals, TerminalSize, Waiter};
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
    /// How long a client must have been silent for SIGUSR1 to end its session. None: it always does.
    pub signalled: Option<Span>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { first: Span::from_secs(60), next: None, signalled: None }
    }
}

/// The most output that is read before the client is served.
const MOST_READ: usize = 1 << 16;
/// Keys that the program does not read are dropped beyond this.
const MOST_WAITING: usize = 1 << 22;
/// The receive buffer in bytes.
const RECEIVE_BUFFER: usize = 1 << 18;
/// How soon a program that did not read all is tried again.
const RETRY: Span = Span::from_millis(5);
/// The variable with the socket of an SSH agent.
const AGENT: &str = "SSH_AUTH_SOCK";
/// A client that is silent for longer is shown as disconnected.
const DISCONNECTED: Span = Span::from_secs(30);

/// Runs a program in a terminal that a client shows.
pub struct Service {
    clock: Clock,
    key: Key,
    sockets: Sockets,
    greeting: Vec<u8>,
    control: Option<Control>,
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
        Ok(Service {
            clock: Clock::start(),
            key,
            sockets,
            greeting: Vec::new(),
            control: None,
            grants: Extensions::HARMLESS,
        })
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

    /// Shows `text` before the program's output.
    #[must_use]
    pub fn greet(self, text: Vec<u8>) -> Service {
        Service { greeting: text, ..self }
    }

    /// Lets other processes of this user take the session over by `control`.
    #[must_use]
    pub fn reachable(self, control: Option<Control>) -> Service {
        Service { control, ..self }
    }

    /// Runs `command` once a client has connected, until it ends, the client leaves, or a signal comes.
    ///
    /// # Errors
    /// The program cannot be run, or waiting failed.
    pub fn run(
        self,
        mut command: Command,
        limits: Limits,
        signals: &Signals,
    ) -> Result<(), NetError> {
        let agent = if self.grants.agent {
            let agent = AgentSocket::listen().map_err(NetError::Agent)?;
            command.env(AGENT, agent.path());
            Some(agent)
        } else {
            None
        };
        self.serve(Some(command), agent, limits, signals)
    }

    /// Runs no program, but serves the channels of a client until it leaves, or a signal comes.
    ///
    /// # Errors
    /// Waiting failed.
    pub fn run_channels(self, limits: Limits, signals: &Signals) -> Result<(), NetError> {
        self.serve(None, None, limits, signals)
    }

    fn serve(
        self,
        command: Option<Command>,
        agent: Option<AgentSocket>,
        limits: Limits,
        signals: &Signals,
    ) -> Result<(), NetError> {
        let Service { clock, key, sockets, greeting, control, grants } = self;
        let now = clock.now();
        let mut server = Server::new(now, &key, seed()?).granting(grants);
        server.output(&greeting);
        let clean_ups = SignalWatch::user_signal().map_err(NetError::Wait)?;
        let mut session = Running {
            clock,
            sockets,
            server,
            channels: ServerChannels::new(agent).map_err(NetError::Wait)?,
            program: command.as_ref().map(program_of).unwrap_or_default(),
            control,
            before: None,
            taken_over: now,
            command,
            pty: None,
            record: LoginRecord::find(),
            recorded: None,
            size: TerminalSize { columns: 80, rows: 24 },
            waiting: Vec::new(),
            path: None,
            known: now,
            is_ending: false,
        };
        let waiter = Waiter::new(clock, Span::ZERO);
        let mut ready = Ready::ALL;
        loop {
            if ready.control {
                session.answer_requests()?;
            }
            session.receive(ready.sockets)?;
            session.channels.serve(session.server.channels());
            session.exchange(ready.terminal);
            let is_unwanted =
                ready.clean_ups && clean_ups.take() && session.is_silent(limits.signalled);
            let is_ended = ready.signals && signals.take().is_some();
            if is_unwanted || is_ended || session.server.client_is_leaving() {
                session.end();
            }
            session.write_record();
            session.transmit();
            let (now, give_up) = (clock.now(), session.gives_up_at(limits));
            if session.server.is_over(now) || now >= give_up {
                return Ok(());
            }
            ready = session.wait(&waiter, (signals, &clean_ups), give_up)?;
        }
    }
}

/// What can be read without waiting. Under a flood of output, each look at what cannot costs as much as its emulation.
#[derive(Clone, Copy)]
struct Ready {
    sockets: bool,
    signals: bool,
    clean_ups: bool,
    control: bool,
    terminal: bool,
}

impl Ready {
    const ALL: Ready =
        Ready { sockets: true, signals: true, clean_ups: true, control: true, terminal: true };
}

/// A service with its client.
struct Running {
    clock: Clock,
    sockets: Sockets,
    server: Server,
    /// The end of the session with a client that another one has replaced.
    before: Option<Server>,
    /// When that was.
    taken_over: Instant,
    control: Option<Control>,
    channels: ServerChannels,
    /// The program's name; empty without one.
    program: String,
    /// The program, before it is started.
    command: Option<Command>,
    /// Its terminal, until it ends.
    pty: Option<Pty>,
    /// Who shows it, for other users of this machine.
    record: Option<LoginRecord>,
    /// What it says of where the client is, once it says something.
    recorded: Option<Option<IpAddr>>,
    size: TerminalSize,
    /// What the program has yet to read.
    waiting: Vec<u8>,
    /// How the client's last datagram came.
    path: Option<Path>,
    /// The latest time that the server knows.
    known: Instant,
    is_ending: bool,
}

fn program_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn terminal_size(size: Size) -> TerminalSize {
    let number = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
    TerminalSize { columns: number(size.columns()), rows: number(size.rows()) }
}

impl Running {
    /// When it gives up, unless the client is heard of. One that takes over a program that runs already may take its time.
    fn gives_up_at(&self, limits: Limits) -> Instant {
        match (self.server.last_received_at(), limits.next) {
            (None, next) if self.pty.is_some() => {
                next.map_or(Instant::MAX, |next| self.taken_over.saturating_add(next))
            }
            (None, _) => Instant::ZERO.saturating_add(limits.first),
            (Some(at), Some(next)) => at.saturating_add(next),
            (Some(_), None) => Instant::MAX,
        }
    }

    /// Whether the client has been silent for as long as it takes.
    fn is_silent(&self, limit: Option<Span>) -> bool {
        let last = self.server.last_received_at().unwrap_or(Instant::ZERO);
        limit.is_none_or(|limit| self.clock.now().saturating_since(last) >= limit)
    }

    /// Says where the client is, if it is connected.
    fn write_record(&mut self) {
        let is_connected = !self.is_silent(Some(DISCONNECTED));
        let client = self.server.client().filter(|_| is_connected).map(|client| client.ip());
        let (Some(record), Some(pty)) = (&mut self.record, &self.pty) else { return };
        if self.recorded == Some(client) {
            return;
        }
        self.recorded = Some(client);
        let session = format!("mosh [{}]", std::process::id());
        match client {
            Some(client) => record.say(pty, &format!("{client} via {session}")),
            None => record.say(pty, &session),
        }
    }

    /// When the record has to be changed.
    fn next_record(&self) -> Instant {
        let connected = self.server.last_received_at().filter(|_| self.record.is_some());
        let disconnects = connected.map(|at| at.saturating_add(DISCONNECTED));
        disconnects.filter(|at| *at > self.clock.now()).unwrap_or(Instant::MAX)
    }

    /// Reads the client's datagrams, and what its user did; starts the program with the first of them.
    fn receive(&mut self, are_ready: bool) -> Result<(), NetError> {
        let Running { clock, sockets, server, before, path, known, .. } = self;
        if are_ready {
            sockets.receive(|arrival, datagram| {
                *known = arrival.at(clock.now(), *known);
                // What fails is left as it was.
                if server.receive(*known, arrival.path.remote, datagram).is_ok() {
                    *path = Some(arrival.path);
                } else if let Some(before) = before {
                    let _ = before.receive(*known, arrival.path.remote, datagram);
                }
            });
        }
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
            let program = program_of(&command);
            let spawned = Pty::spawn(command, self.size);
            self.pty = Some(spawned.map_err(|source| NetError::Program { program, source })?);
        }
        Ok(())
    }

    /// Reads the program's output, and writes what it has yet to read.
    fn exchange(&mut self, is_ready: bool) {
        let Some(pty) = &self.pty else { return };
        let mut buffer = [0; 1 << 14];
        let (mut read, mut has_ended) = (0, false);
        while is_ready && read < MOST_READ && !has_ended {
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
        if !self.waiting.is_empty() {
            let written = pty.write(&self.waiting).unwrap_or(self.waiting.len());
            self.waiting.drain(..written);
        }
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
        if let Some(pty) = self.pty.take()
            && let Some(record) = &mut self.record
        {
            record.remove(&pty);
        }
    }

    fn transmit(&mut self) {
        let now = self.clock.now();
        self.known = now;
        for server in self.before.iter_mut().chain([&mut self.server]) {
            while let Some((to, datagram)) = server.transmit(now) {
                // From the address to which the client sends.
                let path = self.path.filter(|path| path.remote == to);
                let path = path.unwrap_or(Path { remote: to, local: None });
                // What is not sent is lost, like any other.
                if self.sockets.send(path, &datagram, None) == Err(SocketError::TooLarge) {
                    server.set_payload_limit(SMALL_PAYLOAD);
                }
            }
        }
        self.before = self.before.take().filter(|before| !before.is_over(now));
    }

    /// Answers other processes of this user.
    fn answer_requests(&mut self) -> Result<(), NetError> {
        while let Some((request, stream)) = self.control.as_ref().and_then(Control::request) {
            match request {
                Request::Describe => answer(&stream, &self.describe()),
                Request::Attach => {
                    let key =
                        Key::generate().map_err(|error| NetError::Wait(io::Error::other(error)))?;
                    let (now, text) = (self.clock.now(), key.to_text().as_str().to_owned());
                    self.taken_over = now;
                    self.before = Some(self.server.replace_client(now, &key, seed()?));
                    self.channels.reset().map_err(NetError::Wait)?;
                    let port = self.sockets.local_address().map_err(NetError::Wait)?.port();
                    answer(&stream, &Attachment { port, key: text });
                }
            }
        }
        Ok(())
    }

    fn describe(&self) -> Session {
        let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
        let now = self.clock.now();
        let heard = self.server.last_received_at();
        Session {
            id: std::process::id(),
            program: self.program.clone(),
            age: seconds(now.saturating_since(Instant::ZERO)),
            client: self.server.client().map(|client| client.ip()),
            silence: heard.map(|heard| seconds(now.saturating_since(heard))),
        }
    }

    fn wait(
        &mut self,
        waiter: &Waiter,
        (signals, clean_ups): (&Signals, &SignalWatch),
        until: Instant,
    ) -> Result<Ready, NetError> {
        let now = self.clock.now();
        let servers = self.before.iter_mut().chain([&mut self.server]);
        let wake = servers.map(|server| server.next_wake(now)).min().unwrap_or(until);
        let wake = wake.min(until).min(self.next_record());
        // The program has yet to read.
        let is_full = !self.waiting.is_empty() && self.pty.is_some();
        let wake = if is_full { wake.min(now.saturating_add(RETRY)) } else { wake };
        let wake = if self.channels.is_busy() { now } else { wake };
        self.channels.arm(self.server.channels());
        let control = self.control.as_ref().map(AsFd::as_fd);
        let terminal = self.pty.as_ref().map(AsFd::as_fd);
        let (sockets, signals) = (self.sockets.as_fd(), signals.as_fd());
        // What is not there is waited for in vain.
        let files = [
            sockets,
            signals,
            clean_ups.as_fd(),
            control.unwrap_or(signals),
            terminal.unwrap_or(signals),
            self.channels.as_fd(),
        ];
        let [sockets, signals, clean_ups, control, terminal, _] =
            waiter.wait(files, wake).map_err(NetError::Wait)?;
        Ok(Ready { sockets, signals, clean_ups, control, terminal })
    }
}
