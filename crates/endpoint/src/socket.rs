//! [`UdpPort`]: a non-blocking UDP socket.

use crate::Ecn;
use crate::ports::PortRange;
use exm_units::{Instant, Span};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How many buffers one system call fills, each perhaps with several datagrams that the kernel coalesced.
const BATCH: usize = if BATCH_SIZE < 8 { BATCH_SIZE } else { 8 };
/// The most bytes that the kernel coalesces.
const MAX_COALESCED: usize = 65_536;
/// The most system calls in one [`UdpPort::receive`].
const MAX_READS: usize = 16;

/// The addresses of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The address of the peer.
    pub remote: SocketAddr,
    /// The local address, if known: a reply is sent from the address to which the datagram was sent.
    pub local: Option<IpAddr>,
}

/// How a datagram arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its path.
    pub path: Path,
    /// Its ECN codepoint.
    pub ecn: Option<Ecn>,
    /// How long it has waited in the socket, by the kernel's timestamp: a process that is not run when a datagram
    /// arrives reads it late. Zero if the kernel has no timestamp. A step of the system's clock adds to it.
    pub waited: Span,
}

impl Arrival {
    /// When it arrived, where it is read at `now`; but not before `known`, the last time that its reader knows of.
    pub fn at(&self, now: Instant, known: Instant) -> Instant {
        let at = now.as_nanos().saturating_sub(self.waited.as_nanos());
        Instant::from_nanos(at).max(known).min(now)
    }
}

/// How a socket is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// The receive buffer in bytes, as far as the system allows; the system's default if `None`.
    pub receive_buffer: Option<usize>,
    /// The same of the send buffer.
    pub send_buffer: Option<usize>,
    /// The network device to which it is bound (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// The mark of sent packets (`SO_MARK`), by which routing rules and firewalls recognise them.
    pub mark: Option<u32>,
}

/// A non-blocking UDP socket. It sends packets that routers may not fragment.
#[derive(Debug)]
pub struct UdpPort {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Whether it is an IPv6 socket, to which IPv4 addresses are mapped.
    is_v6: bool,
}

impl UdpPort {
    /// Opens a socket at `address`.
    ///
    /// # Errors
    /// The port is in use, there is no such address or device, or this process lacks the privileges.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<UdpPort> {
        let is_v6 = address.is_ipv6();
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if is_v6 {
            socket.set_only_v6(false)?;
        }
        // The system limits the sizes for unprivileged processes; smaller buffers work too.
        if let Some(bytes) = options.receive_buffer {
            let _ = socket.set_recv_buffer_size(bytes);
        }
        if let Some(bytes) = options.send_buffer {
            let _ = socket.set_send_buffer_size(bytes);
        }
        if let Some(device) = &options.device {
            socket.bind_device(Some(device.as_bytes()))?;
        }
        if let Some(mark) = options.mark {
            socket.set_mark(mark)?;
        }
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        Ok(UdpPort { socket, state, is_v6 })
    }

    /// Opens a socket at the first free one of `ports`, at `address` or, if `None`, at all addresses of this
    /// machine, IPv6 and IPv4.
    ///
    /// # Errors
    /// As [`UdpPort::bind`].
    pub fn bind_first(
        address: Option<IpAddr>,
        ports: PortRange,
        options: &SocketOptions,
    ) -> io::Result<UdpPort> {
        ports.first_free(address, |at| UdpPort::bind(at, options))
    }

    /// Binds it to `device`, or to none (`SO_BINDTODEVICE`).
    ///
    /// # Errors
    /// There is no such device, or this process lacks the privileges.
    pub fn bind_device(&self, device: Option<&str>) -> io::Result<()> {
        SockRef::from(&self.socket).bind_device(device.map(str::as_bytes))
    }

    /// Sets the mark of sent packets (`SO_MARK`).
    ///
    /// # Errors
    /// This process lacks `CAP_NET_ADMIN`.
    pub fn set_mark(&self, mark: u32) -> io::Result<()> {
        SockRef::from(&self.socket).set_mark(mark)
    }

    /// Its local address.
    ///
    /// # Errors
    /// The system call failed.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr().map(canonical)
    }

    /// The most segments that [`UdpPort::send_segments`] sends at once: 1 without GSO.
    pub fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends `datagram`, with the ECN codepoint `ecn` if given.
    ///
    /// # Errors
    /// The datagram was not sent, for the given cause.
    pub fn send(&self, path: Path, datagram: &[u8], ecn: Option<Ecn>) -> Result<(), SocketError> {
        self.transmit(path, datagram, None, ecn)
    }

    /// Sends `contents` as datagrams of `size` bytes each, the last of them perhaps shorter, in one system
    /// call (GSO).
    ///
    /// # Errors
    /// None was sent, for the given cause; more than [`UdpPort::max_segments`] are an error.
    pub fn send_segments(
        &self,
        path: Path,
        contents: &[u8],
        size: usize,
        ecn: Option<Ecn>,
    ) -> Result<(), SocketError> {
        self.transmit(path, contents, Some(size), ecn)
    }

    fn transmit(
        &self,
        path: Path,
        contents: &[u8],
        segment_size: Option<usize>,
        ecn: Option<Ecn>,
    ) -> Result<(), SocketError> {
        let destination = match path.remote {
            SocketAddr::V4(v4) if self.is_v6 => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            remote => remote,
        };
        let transmit = Transmit { destination, ecn, contents, segment_size, src_ip: path.local };
        self.state.try_send((&self.socket).into(), &transmit).map_err(|error| (&error).into())
    }

    /// Reads the datagrams that have arrived, and passes each to `take`.
    /// Returns after a bounded number of system calls, so there may be more.
    ///
    /// # Errors
    /// Reading failed, for instance because an ICMP error arrived; the socket remains usable.
    pub fn receive(
        &self,
        buffer: &mut Buffer,
        mut take: impl FnMut(Arrival, &mut [u8]),
    ) -> Result<(), SocketError> {
        for _ in 0..MAX_READS {
            let parts = buffer.parts();
            let mut slices = parts.each_mut().map(|part| IoSliceMut::new(part));
            let mut metas = [RecvMeta::default(); BATCH];
            let count = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err((&error).into()),
            };
            let now = realtime();
            for (meta, buffer) in metas.iter().zip(parts.iter_mut()).take(count) {
                let path = Path { remote: canonical(meta.addr), local: meta.dst_ip };
                let waited = meta.timestamp.map_or(Duration::ZERO, |at| now.saturating_sub(at));
                let waited = Span::from_nanos(waited.as_nanos().try_into().unwrap_or(u64::MAX));
                let arrival = Arrival { path, ecn: meta.ecn, waited };
                for datagram in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
                    take(arrival, datagram);
                }
            }
            // The queue is empty.
            if count < BATCH {
                break;
            }
        }
        Ok(())
    }
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The time of the kernel's timestamps, since 1970.
fn realtime() -> Duration {
    clock_gettime(ClockId::Realtime).try_into().unwrap_or(Duration::ZERO)
}

/// `address` as IPv4 if it is an IPv4-mapped IPv6 address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The memory into which datagrams are read.
#[derive(Debug)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// Allocates it. The system provides its pages once something is read into them.
    pub fn new() -> Buffer {
        // Not a vector of arrays, which would be written to.
        Buffer(vec![0; MAX_COALESCED * BATCH])
    }

    /// Its parts, each for what one system call reads from one host.
    fn parts(&mut self) -> &mut [[u8; MAX_COALESCED]; BATCH] {
        let (parts, _) = self.0.as_chunks_mut();
        parts.try_into().unwrap_or_else(|_| unreachable!("the lengths are equal"))
    }
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer::new()
    }
}

/// The cause of a failure to send or receive. The socket remains usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// No buffer space (EAGAIN, ENOBUFS, ENOMEM): worth retrying.
    #[error("no buffer space")]
    Full,
    /// No route (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, ENODEV, EADDRNOTAVAIL).
    #[error("no route")]
    Unreachable,
    /// No process listens there (ECONNREFUSED).
    #[error("connection refused")]
    Refused,
    /// The packet is larger than the path MTU (EMSGSIZE).
    #[error("packet too large")]
    TooLarge,
    /// Any other error, such as a firewall's (EPERM).
    #[error("socket error")]
    Other,
}

impl From<&io::Error> for SocketError {
    fn from(error: &io::Error) -> SocketError {
        match Errno::from_io_error(error) {
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => SocketError::Full,
            Some(
                Errno::NETUNREACH
                | Errno::HOSTUNREACH
                | Errno::NETDOWN
                | Errno::HOSTDOWN
                | Errno::NODEV
                | Errno::ADDRNOTAVAIL,
            ) => SocketError::Unreachable,
            Some(Errno::CONNREFUSED) => SocketError::Refused,
            Some(Errno::MSGSIZE) => SocketError::TooLarge,
            _ => SocketError::Other,
        }
    }
}

/// How often sending or receiving failed, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketErrors {
    /// [`SocketError::Full`].
    pub full: u64,
    /// [`SocketError::Unreachable`].
    pub unreachable: u64,
    /// [`SocketError::Refused`].
    pub refused: u64,
    /// [`SocketError::TooLarge`].
    pub too_large: u64,
    /// [`SocketError::Other`].
    pub other: u64,
}

impl SocketErrors {
    /// Counts `error`.
    pub fn count(&mut self, error: SocketError) {
        let counter = match error {
            SocketError::Full => &mut self.full,
            SocketError::Unreachable => &mut self.unreachable,
            SocketError::Refused => &mut self.refused,
            SocketError::TooLarge => &mut self.too_large,
            SocketError::Other => &mut self.other,
        };
        *counter += 1;
    }

    /// The sum of all.
    pub fn total(&self) -> u64 {
        self.full + self.unreachable + self.refused + self.too_large + self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Instant as SystemTime;

    fn port() -> UdpPort {
        let options = SocketOptions { receive_buffer: Some(1 << 20), ..SocketOptions::default() };
        let local = Some(Ipv4Addr::LOCALHOST.into());
        UdpPort::bind_first(local, PortRange::single(0), &options).expect("a free port")
    }

    /// Reads `count` datagrams; panics after ten seconds.
    fn read(port: &UdpPort, count: usize) -> Vec<(Path, Option<Ecn>, Vec<u8>)> {
        let (mut buffer, mut datagrams) = (Buffer::new(), Vec::new());
        #[expect(clippy::disallowed_methods, reason = "the test ends if nothing arrives")]
        let end = SystemTime::now() + Duration::from_secs(10);
        while datagrams.len() < count {
            #[expect(clippy::disallowed_methods, reason = "as above")]
            let now = SystemTime::now();
            assert!(now < end, "{} of {count} arrived", datagrams.len());
            let read = port.receive(&mut buffer, |arrival, bytes| {
                datagrams.push((arrival.path, arrival.ecn, bytes.to_vec()));
            });
            read.expect("it can be read");
        }
        datagrams
    }

    #[test]
    fn datagrams_arrive_with_their_path_and_codepoint() {
        let (one, other) = (port(), port());
        let to = Path { remote: other.address().unwrap(), local: None };
        for (ecn, byte) in [(None, 1), (Some(Ecn::Ect0), 2), (Some(Ecn::Ce), 3)] {
            one.send(to, &[byte; 9], ecn).unwrap();
            let (path, received_ecn, bytes) = read(&other, 1).remove(0);
            assert_eq!((path.remote, received_ecn), (one.address().unwrap(), ecn));
            assert_eq!(path.local, Some(Ipv4Addr::LOCALHOST.into()));
            assert_eq!(bytes, [byte; 9]);
            other.send(path, &bytes, None).unwrap();
            assert_eq!(read(&one, 1).remove(0).2, bytes);
        }
    }

    #[test]
    fn segments_arrive_as_datagrams() {
        let (one, other) = (port(), port());
        let to = Path { remote: other.address().unwrap(), local: None };
        let contents: Vec<u8> = (0..250).collect();
        match one.max_segments() {
            1 => contents.chunks(100).for_each(|part| one.send(to, part, None).unwrap()),
            _ => one.send_segments(to, &contents, 100, None).unwrap(),
        }
        let datagrams = read(&other, 3);
        let lengths: Vec<usize> = datagrams.iter().map(|(.., bytes)| bytes.len()).collect();
        assert_eq!(lengths, [100, 100, 50]);
        let whole: Vec<u8> = datagrams.into_iter().flat_map(|(.., bytes)| bytes).collect();
        assert_eq!(whole, contents);
    }

    /// A datagram that is read late has waited.
    #[test]
    fn late_reading_is_reported() {
        let (one, other) = (port(), port());
        let to = Path { remote: other.address().unwrap(), local: None };
        let mut waited = Span::ZERO;
        // The kernel turns its timestamps on some time after the first socket asks for them.
        for _ in 0..20 {
            one.send(to, &[1], None).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            let read = other.receive(&mut Buffer::new(), |arrival, _| waited = arrival.waited);
            read.expect("it can be read");
            if waited >= Span::from_millis(45) {
                break;
            }
        }
        assert!((Span::from_millis(45)..Span::from_secs(30)).contains(&waited), "{waited}");
        let path = Path { remote: one.address().unwrap(), local: None };
        let arrival = Arrival { path, ecn: None, waited: Span::from_millis(3) };
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        for (now, known, expected) in [(9, 2, 6), (9, 7, 7), (2, 0, 0), (2, 5, 2)] {
            assert_eq!(arrival.at(at(now), at(known)), at(expected), "{now} {known}");
        }
    }

    #[test]
    fn errors_are_classified_and_counted() {
        let one = port();
        let to = Path { remote: port().address().unwrap(), local: None };
        assert_eq!(one.send(to, &[0; 65_508], None), Err(SocketError::TooLarge));
        let mut errors = SocketErrors::default();
        for errno in
            [Errno::NOBUFS, Errno::NETDOWN, Errno::CONNREFUSED, Errno::MSGSIZE, Errno::PERM]
        {
            errors.count(SocketError::from(&io::Error::from(errno)));
        }
        let expected = SocketErrors { full: 1, unreachable: 1, refused: 1, too_large: 1, other: 1 };
        assert_eq!((errors, errors.total()), (expected, 5));
    }
}
