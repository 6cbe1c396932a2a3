//! Both ends with their sockets.

use crate::client::Client;
use crate::server::Server;
use crate::wire::Path;
use exm_datagram::PortRange;
use exm_os::{Clock, Waiter};
use exm_units::{Instant, Span};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::str::FromStr;

/// How much the system may hold for us, either way: less will do where that is not allowed.
const BUFFER: usize = 4 << 20;
/// The longest datagram that is read whole; a longer one is nobody's.
const LONGEST: usize = 16_384;
/// How many datagrams are read of a socket, and how many are sent, before the other has its turn: what
/// waits unread is told late.
const MOST_READS: usize = 64;
const MOST_SENDS: usize = 64;

/// Which of this machine's ways out a path takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The one that the system chooses.
    Any,
    /// Over this network device.
    Device(String),
    /// From this address of this machine.
    Address(IpAddr),
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is neither a device such as wwan0 nor an address")]
pub struct WayError(String);

/// What the system did not let us do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A socket cannot be had.
    #[error("cannot have a UDP socket for {what}: {source}")]
    Open {
        /// What it was for: "the device wwan0".
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The address of the way out and that of the server are of two kinds.
    #[error("{way} cannot reach {server}: one is of IPv4, the other of IPv6")]
    Family {
        /// The way.
        way: String,
        /// The server.
        server: SocketAddr,
    },
    /// Nothing can be waited for.
    #[error("cannot wait for datagrams: {0}")]
    Wait(io::Error),
}

impl FromStr for Way {
    type Err = WayError;

    fn from_str(text: &str) -> Result<Way, WayError> {
        if let Ok(address) = text.parse() {
            return Ok(Way::Address(address));
        }
        // The kernel's rule for names, less what nobody means.
        let sound = |c: char| c.is_ascii_graphic() && !"/:*".contains(c);
        let is_name = (1..16).contains(&text.len()) && text.chars().all(sound);
        if is_name { Ok(Way::Device(text.to_owned())) } else { Err(WayError(text.to_owned())) }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Any => f.write_str("any device"),
            Way::Device(name) => write!(f, "the device {name}"),
            Way::Address(address) => write!(f, "the address {address}"),
        }
    }
}

impl Way {
    /// A socket whose datagrams go this way to `server`.
    fn socket(&self, server: SocketAddr) -> Result<UdpSocket, NetError> {
        let unspecified: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let address = match self {
            Way::Address(address) => *address,
            _ => unspecified,
        };
        if address.is_ipv4() != server.is_ipv4() {
            return Err(NetError::Family { way: self.to_string(), server });
        }
        let device = match self {
            Way::Device(name) => Some(name.as_str()),
            _ => None,
        };
        open(SocketAddr::new(address, 0), device)
            .map_err(|source| NetError::Open { what: self.to_string(), source })
    }
}

fn open(address: SocketAddr, device: Option<&str>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(device) = device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    if address.is_ipv6() && device.is_none() {
        socket.set_only_v6(false)?;
    }
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// What the system did not send. Each is a packet lost, like any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The way out was full.
    pub full: u64,
    /// They were larger than the way out carries.
    pub too_large: u64,
    /// There was no way out, or another reason.
    pub other: u64,
}

/// Sends `datagram`.
fn send(socket: &UdpSocket, to: SocketAddr, datagram: &[u8], refused: &mut Refused) {
    let Err(error) = socket.send_to(datagram, to) else { return };
    let counter = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => &mut refused.full,
        // Linux's EMSGSIZE has no kind of its own.
        _ if error.raw_os_error() == Some(EMSGSIZE) => &mut refused.too_large,
        _ if error.raw_os_error() == Some(ENOBUFS) => &mut refused.full,
        _ => &mut refused.other,
    };
    *counter += 1;
}

/// "Message too long" and "no buffer space available", on every Linux but MIPS and SPARC, where
/// they count as other reasons.
const EMSGSIZE: i32 = 90;
const ENOBUFS: i32 = 105;

/// Reads what has come, and tells `take` of each datagram.
fn receive(socket: &UdpSocket, buffer: &mut [u8], mut take: impl FnMut(SocketAddr, &mut [u8])) {
    for _ in 0..MOST_READS {
        match socket.recv_from(buffer) {
            Ok((length, from)) => take(from, &mut buffer[..length]),
            // The news of a datagram that was not delivered takes the place of one.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// The sockets of a [`Client`], one for each path.
#[derive(Debug)]
pub struct ClientPorts {
    clock: Clock,
    waiter: Waiter,
    server: SocketAddr,
    data: UdpSocket,
    control: UdpSocket,
    buffer: Vec<u8>,
    out: Vec<u8>,
    refused: Refused,
}

impl ClientPorts {
    /// Two ways to `server`. Times are by `clock`.
    ///
    /// # Errors
    /// There is no such way, or this process may not take it.
    pub fn open(
        clock: Clock,
        server: SocketAddr,
        data: &Way,
        control: &Way,
    ) -> Result<ClientPorts, NetError> {
        Ok(ClientPorts {
            clock,
            waiter: Waiter::new(clock, Span::ZERO),
            server,
            data: data.socket(server)?,
            control: control.socket(server)?,
            buffer: vec![0; LONGEST],
            out: Vec::new(),
            refused: Refused::default(),
        })
    }

    /// Sends what `client` has to, waits until something comes, `alarm` can be read, it is to be
    /// woken or `until`, and gives it what came.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn turn(
        &mut self,
        client: &mut Client,
        alarm: BorrowedFd<'_>,
        until: Instant,
    ) -> Result<(), NetError> {
        let mut sent = 0;
        while sent < MOST_SENDS
            && let Some(path) = client.transmit(self.clock.now(), &mut self.out)
        {
            let socket = if path == Path::Data { &self.data } else { &self.control };
            send(socket, self.server, &self.out, &mut self.refused);
            sent += 1;
        }
        let wake = if sent < MOST_SENDS { client.next_wake().min(until) } else { Instant::ZERO };
        let files = [self.data.as_fd(), self.control.as_fd(), alarm];
        let [data, control, _] = self.waiter.wait(files, wake).map_err(NetError::Wait)?;
        let clock = self.clock;
        for (path, socket, has_come) in
            [(Path::Control, &self.control, control), (Path::Data, &self.data, data)]
        {
            if has_come {
                receive(socket, &mut self.buffer, |_, datagram| {
                    client.receive(clock.now(), path, datagram);
                });
            }
        }
        Ok(())
    }

    /// What the system did not send.
    pub fn refused(&self) -> Refused {
        self.refused
    }
}

/// The socket of a [`Server`].
#[derive(Debug)]
pub struct ServerPort {
    clock: Clock,
    waiter: Waiter,
    socket: UdpSocket,
    buffer: Vec<u8>,
    out: Vec<u8>,
    refused: Refused,
}

impl ServerPort {
    /// At the first free one of `ports`, of `address`, or of all that this machine has. Times are by
    /// `clock`.
    ///
    /// # Errors
    /// None is free, or this process may not have it.
    pub fn open(
        clock: Clock,
        address: Option<IpAddr>,
        ports: PortRange,
    ) -> Result<ServerPort, NetError> {
        let opened = ports.first_free(address, |at| open(at, None));
        let socket = opened.map_err(|source| {
            let what =
                address.map_or(format!("port {ports}"), |at| format!("port {ports} of {at}"));
            NetError::Open { what, source }
        })?;
        Ok(ServerPort::new(clock, socket))
    }

    fn new(clock: Clock, socket: UdpSocket) -> ServerPort {
        ServerPort {
            clock,
            waiter: Waiter::new(clock, Span::ZERO),
            socket,
            buffer: vec![0; LONGEST],
            out: Vec::new(),
            refused: Refused::default(),
        }
    }

    /// Where it is.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// As [`ClientPorts::turn`].
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn turn(
        &mut self,
        server: &mut Server,
        alarm: BorrowedFd<'_>,
        until: Instant,
    ) -> Result<(), NetError> {
        let mut sent = 0;
        while sent < MOST_SENDS
            && let Some(to) = server.transmit(self.clock.now(), &mut self.out)
        {
            send(&self.socket, to, &self.out, &mut self.refused);
            sent += 1;
        }
        let wake = match sent {
            MOST_SENDS => Instant::ZERO,
            _ => server.next_wake(self.clock.now()).min(until),
        };
        let files = [self.socket.as_fd(), alarm];
        let [has_come, _] = self.waiter.wait(files, wake).map_err(NetError::Wait)?;
        if has_come {
            let clock = self.clock;
            receive(&self.socket, &mut self.buffer, |from, datagram| {
                server.receive(clock.now(), from, datagram);
            });
        }
        Ok(())
    }

    /// What the system did not send.
    pub fn refused(&self) -> Refused {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Event;
    use crate::wire::Settings;
    use exm_datagram::Key;
    use std::os::unix::net::UnixStream;

    #[test]
    fn ways_are_read_as_written() {
        assert_eq!("wwan0".parse(), Ok(Way::Device("wwan0".to_owned())));
        assert_eq!("192.0.2.1".parse(), Ok(Way::Address(Ipv4Addr::new(192, 0, 2, 1).into())));
        for bad in ["", "a/b", "two words", "a-name-of-16-char", "br:0"] {
            assert!(bad.parse::<Way>().is_err(), "{bad}");
        }
        let no_such = Way::Device("exm-none".to_owned());
        let error = no_such.socket(([127, 0, 0, 1], 9).into()).expect_err("no such device");
        assert!(error.to_string().starts_with("cannot have a UDP socket for the device exm-none:"));
        let v6 = Way::Address(Ipv6Addr::LOCALHOST.into());
        let error = v6.socket(([127, 0, 0, 1], 9).into()).expect_err("two kinds").to_string();
        assert_eq!(
            error,
            "the address ::1 cannot reach 127.0.0.1:9: one is of IPv4, the other of IPv6"
        );
    }

    /// Both ends over the loopback device: packets arrive both ways, and all is told.
    #[test]
    fn both_ends_meet() {
        let clock = Clock::start();
        let key = Key::generate().expect("randomness");
        let mut port =
            ServerPort::open(clock, Some(Ipv4Addr::LOCALHOST.into()), PortRange::single(0))
                .expect("a free port");
        let place = port.address().expect("an address");
        let mut server = Server::new(key.clone());
        let mut client = Client::new(clock.now(), &key, Settings::default()).expect("randomness");
        let mut ports = ClientPorts::open(clock, place, &Way::Any, &Way::Any).expect("two sockets");
        let (_ours, alarm) = UnixStream::pair().expect("a pair");
        let (mut up, mut down) = (0u64, 0);
        // As many turns as it takes, whatever else the machine does.
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
