//! [`Sockets`]: the sockets of one end.

use crate::Ecn;
use crate::hop::HopPlan;
use crate::ports::PortRange;
use crate::socket::{Arrival, Buffer, Path, SocketError, SocketErrors, SocketOptions, UdpPort};
use exm_units::Instant;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The sockets of one end: a server has one, and a client opens another after a long silence of its peer, since
/// a NAT or firewall may have lost the old port (mosh does the same). Old sockets are read for a while longer.
#[derive(Debug)]
pub struct Sockets {
    /// Oldest first; the last one is used for sending. Never empty.
    ports: VecDeque<UdpPort>,
    /// Readable if any of the ports is.
    ready: OwnedFd,
    /// When to change ports; a client's only.
    hops: Option<HopPlan>,
    options: SocketOptions,
    buffer: Buffer,
    errors: SocketErrors,
}

impl Sockets {
    /// Opens the socket of a server at the first free one of `ports`, at `address` or at all addresses of
    /// this machine.
    ///
    /// # Errors
    /// No port is free, or this process lacks the privileges.
    pub fn listen(
        address: Option<IpAddr>,
        ports: PortRange,
        options: SocketOptions,
    ) -> io::Result<Sockets> {
        let port = UdpPort::bind_first(address, ports, &options)?;
        Sockets::new(port, options, None)
    }

    /// Opens the first socket of a client, at any port, at `now`.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn connect(now: Instant, options: SocketOptions) -> io::Result<Sockets> {
        let port = UdpPort::bind_first(None, PortRange::single(0), &options)?;
        Sockets::new(port, options, Some(HopPlan::new(now)))
    }

    fn new(port: UdpPort, options: SocketOptions, hops: Option<HopPlan>) -> io::Result<Sockets> {
        let (ready, ports) = (epoll::create(CreateFlags::CLOEXEC)?, VecDeque::new());
        let (buffer, errors) = (Buffer::new(), SocketErrors::default());
        let mut sockets = Sockets { ports, ready, hops, options, buffer, errors };
        sockets.add(port)?;
        Ok(sockets)
    }

    fn add(&mut self, port: UdpPort) -> io::Result<()> {
        epoll::add(&self.ready, &port, EventData::new_u64(0), EventFlags::IN)?;
        self.ports.push_back(port);
        Ok(())
    }

    fn newest(&self) -> &UdpPort {
        self.ports.back().unwrap_or_else(|| unreachable!("the last one is never closed"))
    }

    /// The local address of the socket that sends.
    ///
    /// # Errors
    /// The system call failed.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.newest().address()
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.ports.len()
    }

    /// Binds all of them, and future ones, to `device`, or to none.
    ///
    /// # Errors
    /// There is no such device, or this process lacks the privileges.
    pub fn bind_device(&mut self, device: Option<&str>) -> io::Result<()> {
        self.ports.iter().try_for_each(|port| port.bind_device(device))?;
        self.options.device = device.map(str::to_owned);
        Ok(())
    }

    /// Sets the mark of packets that they, and future ones, send.
    ///
    /// # Errors
    /// This process lacks `CAP_NET_ADMIN`.
    pub fn set_mark(&mut self, mark: u32) -> io::Result<()> {
        self.ports.iter().try_for_each(|port| port.set_mark(mark))?;
        self.options.mark = Some(mark);
        Ok(())
    }

    /// Passes each datagram that has arrived to `take`.
    pub fn receive(&mut self, mut take: impl FnMut(Arrival, &mut [u8])) {
        for port in &self.ports {
            if let Err(error) = port.receive(&mut self.buffer, &mut take) {
                self.errors.count(error);
            }
        }
    }

    /// Sends `datagram` from the newest socket. Failures are counted.
    ///
    /// # Errors
    /// It was not sent, for the given cause.
    pub fn send(
        &mut self,
        path: Path,
        datagram: &[u8],
        ecn: Option<Ecn>,
    ) -> Result<(), SocketError> {
        self.newest().send(path, datagram, ecn).inspect_err(|&error| self.errors.count(error))
    }

    /// Opens another socket of a client if one is due at `now`, and closes expired ones. `last_received_at` is
    /// when the peer's last datagram arrived. Returns whether the port has changed.
    pub fn hop(&mut self, now: Instant, last_received_at: Option<Instant>) -> bool {
        let Some(plan) = &mut self.hops else { return false };
        if let Some(at) = last_received_at {
            plan.received(at);
        }
        let (mut closing, mut hopped) = (plan.expire(now), false);
        if now >= plan.due() {
            closing += plan.hopped(now);
            let opened = UdpPort::bind_first(None, PortRange::single(0), &self.options);
            hopped = opened.and_then(|port| self.add(port)).is_ok();
        }
        // If none can be opened, the old one stays in use.
        self.ports.drain(..closing.min(self.ports.len() - 1));
        hopped
    }

    /// When to call [`Sockets::hop`] next; [`Instant::MAX`] for a server.
    pub fn next_hop(&self) -> Instant {
        self.hops.as_ref().map_or(Instant::MAX, |plan| plan.due().min(plan.expiry()))
    }

    /// How often sending or receiving failed.
    pub fn errors(&self) -> SocketErrors {
        self.errors
    }
}

impl AsFd for Sockets {
    /// A file that is readable when a datagram has arrived. It is for polling only and may change: ask for
    /// it before each poll.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // There is nearly always one socket, which is cheaper to poll than an epoll set of one.
        if self.ports.len() == 1 { self.newest().as_fd() } else { self.ready.as_fd() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PORT_HOP_INTERVAL;
    use exm_units::Span;

    #[test]
    fn a_client_changes_its_port_after_a_silence_and_reads_the_old_one() {
        let (local, any) = (Some([127, 0, 0, 1].into()), PortRange::single(0));
        let mut server = Sockets::listen(local, any, SocketOptions::default()).expect("a socket");
        let start = Instant::ZERO;
        let mut client = Sockets::connect(start, SocketOptions::default()).expect("a socket");
        assert_eq!(
            (client.next_hop(), server.next_hop()),
            (start + PORT_HOP_INTERVAL, Instant::MAX)
        );
        let old = client.local_address().expect("an address").port();
        let received = start + Span::from_secs(3);
        assert!(!client.hop(start + PORT_HOP_INTERVAL, Some(received)), "a datagram arrived since");
        assert!(client.hop(received + PORT_HOP_INTERVAL, Some(received)));
        assert_ne!(client.local_address().expect("an address").port(), old);
        assert_eq!(client.count(), 2);
        let to_old = Path { remote: ([127, 0, 0, 1], old).into(), local: None };
        server.send(to_old, b"late", None).expect("it is sent");
        let mut received = Vec::new();
        while received.is_empty() {
            client.receive(|_, bytes| received.extend_from_slice(bytes));
        }
        assert_eq!((&received[..], client.errors().total()), (&b"late"[..], 0));
        assert!(!server.hop(Instant::MAX, None), "servers keep theirs");
    }
}
