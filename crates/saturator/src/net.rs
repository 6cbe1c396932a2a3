//! Both ends with their sockets.

use crate::client::Client;
use crate::server::Server;
use crate::wire;
use exm_endpoint::{Buffer, OpenError, Path, PortRange, SocketErrors, SocketOptions, UdpPort};
use exm_os::{Clock, Waiter};
use exm_units::{Instant, Span};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

pub use exm_endpoint::{Interface, ParseInterfaceError};

/// The socket buffers, either way.
const BUFFER: usize = 4 << 20;
/// The most datagrams sent before the sockets are read again: what waits unread is acknowledged late.
const MAX_SENDS: usize = 64;

/// An error of the network side of a saturator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// No socket can be opened at an interface.
    #[error(transparent)]
    Interface(#[from] OpenError),
    /// The server's socket cannot be opened.
    #[error("cannot open a UDP socket at {place}: {source}")]
    Listen {
        /// The ports and, if given, the address.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// Waiting for datagrams failed.
    #[error("cannot wait for datagrams: {0}")]
    Wait(io::Error),
}

fn options() -> SocketOptions {
    SocketOptions {
        receive_buffer: Some(BUFFER),
        send_buffer: Some(BUFFER),
        ..SocketOptions::default()
    }
}

/// Sends `datagram`. One that is not sent counts as lost, like any other.
fn send(port: &UdpPort, remote: SocketAddr, datagram: &[u8], errors: &mut SocketErrors) {
    if let Err(error) = port.send(Path { remote, local: None }, datagram, None) {
        errors.count(error);
    }
}

/// Reads the datagrams that have arrived, each with the time when it did: not when this thread reads it. Errors, which report
/// earlier datagrams that were not delivered, are ignored.
fn receive(
    port: &UdpPort,
    clock: Clock,
    known: &mut Instant,
    buffer: &mut Buffer,
    mut take: impl FnMut(Instant, SocketAddr, &mut [u8]),
) {
    let _ = port.receive(buffer, |arrival, datagram| {
        *known = arrival.at(clock.now(), *known);
        take(*known, arrival.path.remote, datagram);
    });
}

/// The sockets of a [`Client`], one for each path.
#[derive(Debug)]
pub struct ClientPorts {
    clock: Clock,
    waiter: Waiter,
    /// The latest time that the client knows.
    known: Instant,
    server: SocketAddr,
    data: UdpPort,
    control: UdpPort,
    buffer: Buffer,
    out: Vec<u8>,
    errors: SocketErrors,
}

impl ClientPorts {
    /// Opens sockets to `server` at two interfaces. Times are of `clock`.
    ///
    /// # Errors
    /// There is no such interface, or this process lacks the privileges.
    pub fn open(
        clock: Clock,
        server: SocketAddr,
        data: &Interface,
        control: &Interface,
    ) -> Result<ClientPorts, NetError> {
        Ok(ClientPorts {
            clock,
            waiter: Waiter::new(clock, Span::ZERO),
            known: Instant::ZERO,
            server,
            data: data.open(server, &options())?,
            control: control.open(server, &options())?,
            buffer: Buffer::new(),
            out: Vec::new(),
            errors: SocketErrors::default(),
        })
    }

    /// The bytes of IP and UDP headers of each datagram.
    pub fn headers(&self) -> u16 {
        if self.server.ip().to_canonical().is_ipv4() { 28 } else { 48 }
    }

    fn tick(&mut self) -> Instant {
        self.known = self.clock.now();
        self.known
    }

    /// Sends what `client` has to send; waits until a datagram arrives, `alarm` is readable, or it is the time
    /// `until` or the client's wake-up time; and passes received datagrams to the client.
    ///
    /// # Errors
    /// Waiting failed.
    pub fn turn(
        &mut self,
        client: &mut Client,
        alarm: BorrowedFd<'_>,
        until: Instant,
    ) -> Result<(), NetError> {
        let mut sent = 0;
        while sent < MAX_SENDS
            && let Some(path) = client.transmit(self.tick(), &mut self.out)
        {
            let socket = if path == wire::Path::Data { &self.data } else { &self.control };
            send(socket, self.server, &self.out, &mut self.errors);
            sent += 1;
        }
        let wake = if sent < MAX_SENDS { client.next_wake().min(until) } else { Instant::ZERO };
        let files = [self.data.as_fd(), self.control.as_fd(), alarm];
        let [data, control, _] = self.waiter.wait(files, wake).map_err(NetError::Wait)?;
        let clock = self.clock;
        for (path, socket, has_come) in
            [(wire::Path::Control, &self.control, control), (wire::Path::Data, &self.data, data)]
        {
            if has_come {
                receive(socket, clock, &mut self.known, &mut self.buffer, |at, _, datagram| {
                    client.receive(at, path, datagram);
                });
            }
        }
        Ok(())
    }

    /// How often sending failed, by cause. Each time a datagram is lost.
    pub fn errors(&self) -> SocketErrors {
        self.errors
    }
}

/// The socket of a [`Server`].
#[derive(Debug)]
pub struct ServerPort {
    clock: Clock,
    waiter: Waiter,
    /// The latest time that the server knows.
    known: Instant,
    socket: UdpPort,
    buffer: Buffer,
    out: Vec<u8>,
    errors: SocketErrors,
}

impl ServerPort {
    /// Opens the socket at the first free one of `ports`, at `address` or at all addresses of this machine. Times
    /// are of `clock`.
    ///
    /// # Errors
    /// No port is free, or this process lacks the privileges.
    pub fn open(
        clock: Clock,
        address: Option<IpAddr>,
        ports: PortRange,
    ) -> Result<ServerPort, NetError> {
        let opened = UdpPort::bind_first(address, ports, &options());
        let socket = opened.map_err(|source| {
            let place =
                address.map_or(format!("port {ports}"), |at| format!("port {ports} of {at}"));
            NetError::Listen { place, source }
        })?;
        Ok(ServerPort::new(clock, socket))
    }

    fn new(clock: Clock, socket: UdpPort) -> ServerPort {
        ServerPort {
            clock,
            waiter: Waiter::new(clock, Span::ZERO),
            known: Instant::ZERO,
            socket,
            buffer: Buffer::new(),
            out: Vec::new(),
            errors: SocketErrors::default(),
        }
    }

    /// Its local address.
    ///
    /// # Errors
    /// The system call failed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    fn tick(&mut self) -> Instant {
        self.known = self.clock.now();
        self.known
    }

    /// Like [`ClientPorts::turn`].
    ///
    /// # Errors
    /// Waiting failed.
    pub fn turn(
        &mut self,
        server: &mut Server,
        alarm: BorrowedFd<'_>,
        until: Instant,
    ) -> Result<(), NetError> {
        let mut sent = 0;
        while sent < MAX_SENDS
            && let Some(to) = server.transmit(self.tick(), &mut self.out)
        {
            send(&self.socket, to, &self.out, &mut self.errors);
            sent += 1;
        }
        let wake = match sent {
            MAX_SENDS => Instant::ZERO,
            _ => server.next_wake(self.clock.now()).min(until),
        };
        let files = [self.socket.as_fd(), alarm];
        let [has_come, _] = self.waiter.wait(files, wake).map_err(NetError::Wait)?;
        if has_come {
            let (clock, known) = (self.clock, &mut self.known);
            receive(&self.socket, clock, known, &mut self.buffer, |at, from, datagram| {
                server.receive(at, from, datagram);
            });
        }
        Ok(())
    }

    /// How often sending failed, by cause. Each time a datagram is lost.
    pub fn errors(&self) -> SocketErrors {
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Event;
    use crate::wire::Settings;
    use exm_datagram::Key;
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixStream;

    /// Both ends over the loopback device: packets arrive both ways, and all arrivals are reported.
    #[test]
    fn both_ends_exchange_data() {
        let clock = Clock::start();
        let key = Key::generate().expect("randomness");
        let mut port =
            ServerPort::open(clock, Some(Ipv4Addr::LOCALHOST.into()), PortRange::single(0))
                .expect("a free port");
        let place = port.address().expect("an address");
        let mut server = Server::new(key.clone());
        let mut client = Client::new(clock.now(), &key, Settings::default()).expect("randomness");
        let mut ports =
            ClientPorts::open(clock, place, &Interface::Any, &Interface::Any).expect("two sockets");
        let (_ours, alarm) = UnixStream::pair().expect("a pair");
        let (mut up, mut down) = (0u64, 0);
        // As many turns as necessary on a busy machine.
        while !client.is_done(clock.now()) {
            let soon = clock.now() + Span::from_micros(100);
            ports.turn(&mut client, alarm.as_fd(), soon).expect("it can wait");
            port.turn(&mut server, alarm.as_fd(), soon).expect("it can wait");
            while let Some(event) = client.event() {
                match event {
                    Event::Up(arrival, _) => up = up.max(arrival.number + 1),
                    Event::Down(arrival, _) => down = down.max(arrival.number + 1),
                }
            }
            if up > 1000 && down > 1000 {
                client.end(clock.now());
            }
        }
        assert!(client.is_connected() && up > 1000 && down > 1000, "{up} {down}");
        assert_eq!(client.given_up(), 0);
    }
}
