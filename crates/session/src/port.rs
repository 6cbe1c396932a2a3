//! [`Port`]: a UDP socket.

use crate::party::Path;
use crate::stats::Refused;
use exm_datagram::PortRange;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// How much the system may hold for us to read: a tenth of a second at 80 Mbit/s, should we be
/// late.
const RECEIVE_BUFFER: usize = 1 << 20;
/// How many datagrams are read in one call, each perhaps of several that the system joined.
const BATCH: usize = if BATCH_SIZE < 8 { BATCH_SIZE } else { 8 };
/// What the system joins at most.
const JOINED: usize = 65_536;
/// How many calls are made before something else has its turn.
const MOST_READS: usize = 16;

/// A UDP socket that never waits. It sends no packet that routers would have to cut.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Whether it speaks IPv6, and IPv4 in its clothes.
    is_v6: bool,
    /// What the system says of the next datagrams, instead of sending them.
    #[cfg(test)]
    pub(crate) refusals: std::cell::RefCell<Vec<Errno>>,
}

impl Port {
    /// At any port, of any address of this machine, of IPv6 and IPv4 where it has both.
    pub(crate) fn anywhere() -> io::Result<Port> {
        PortRange::single(0).first_free(None, Port::at)
    }

    /// At the first free one of `ports`, of `address`, or of any.
    pub(crate) fn within(address: Option<IpAddr>, ports: PortRange) -> io::Result<Port> {
        ports.first_free(address, Port::at)
    }

    fn at(address: SocketAddr) -> io::Result<Port> {
        let is_v6 = address.is_ipv6();
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if is_v6 {
            socket.set_only_v6(false)?;
        }
        // Less will do where that is not allowed.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Port {
            socket,
            state,
            is_v6,
            #[cfg(test)]
            refusals: Vec::new().into(),
        })
    }

    /// Sends by `device` alone, and receives by it alone, or by any.
    pub(crate) fn use_device(&self, device: Option<&str>) -> io::Result<()> {
        SockRef::from(&self.socket).bind_device(device.map(str::as_bytes))
    }

    /// Gives what it sends this mark (`SO_MARK`).
    pub(crate) fn set_mark(&self, mark: u32) -> io::Result<()> {
        SockRef::from(&self.socket).set_mark(mark)
    }

    /// Where it is.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr().map(canonical)
    }

    /// Sends `datagram`.
    pub(crate) fn send(&self, path: Path, datagram: &[u8]) -> Result<(), Refusal> {
        #[cfg(test)]
        if let Some(errno) = self.refusals.borrow_mut().pop() {
            return Err(Refusal::of(&errno.into()));
        }
        let destination = match path.remote {
            SocketAddr::V4(v4) if self.is_v6 => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            remote => remote,
        };
        let (contents, src_ip) = (datagram, path.local);
        let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip };
        self.state.try_send((&self.socket).into(), &transmit).map_err(|error| Refusal::of(&error))
    }

    /// Reads what has come, and tells `take` of each datagram.
    pub(crate) fn receive(
        &self,
        buffer: &mut Buffer,
        mut take: impl FnMut(Path, &mut [u8]),
    ) -> Result<(), Refusal> {
        for _ in 0..MOST_READS {
            let mut slices = buffer.0.each_mut().map(|buffer| IoSliceMut::new(buffer));
            let mut metas = [RecvMeta::default(); BATCH];
            let count = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Refusal::of(&error)),
            };
            for (meta, buffer) in metas.iter().zip(buffer.0.iter_mut()).take(count) {
                let path = Path { remote: canonical(meta.addr), local: meta.dst_ip };
                for datagram in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
                    take(path, datagram);
                }
            }
            // That was all there was.
            if count < BATCH {
                break;
            }
        }
        Ok(())
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// An IPv4 address in IPv6's clothes, without them.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Room for what is read at once.
pub(crate) struct Buffer(Box<[[u8; JOINED]; BATCH]>);

impl Buffer {
    pub(crate) fn new() -> Buffer {
        let zeros = vec![[0; JOINED]; BATCH].into_boxed_slice();
        Buffer(zeros.try_into().unwrap_or_else(|_| unreachable!("it has as many")))
    }
}

/// Why the system did not send or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Full,
    Unreachable,
    Nobody,
    TooLarge,
    Other,
}

impl Refusal {
    fn of(error: &io::Error) -> Refusal {
        match Errno::from_io_error(error) {
            Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => Refusal::Full,
            Some(
                Errno::NETUNREACH
                | Errno::HOSTUNREACH
                | Errno::NETDOWN
                | Errno::HOSTDOWN
                | Errno::NODEV
                | Errno::ADDRNOTAVAIL,
            ) => Refusal::Unreachable,
            Some(Errno::CONNREFUSED) => Refusal::Nobody,
            Some(Errno::MSGSIZE) => Refusal::TooLarge,
            _ => Refusal::Other,
        }
    }

    pub(crate) fn count(self, refused: &mut Refused) {
        let counter = match self {
            Refusal::Full => &mut refused.full,
            Refusal::Unreachable => &mut refused.unreachable,
            Refusal::Nobody => &mut refused.nobody,
            Refusal::TooLarge => &mut refused.too_large,
            Refusal::Other => &mut refused.other,
        };
        *counter += 1;
    }
}
