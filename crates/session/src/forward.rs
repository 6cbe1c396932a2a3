//! [`Forward`]: carries UDP datagrams of other programs over a session.

use crate::application::Application;
use crate::session::Session;
use crate::traffic::{Queue, Sink, Source, WhenFull};
use exm_units::{Bytes, Instant, Span};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The bytes of the flow number that precedes each datagram, big-endian.
const NUMBER: usize = 2;
/// The most flows; beyond, the one that has been idle for longest is forgotten.
const MAX_FLOWS: usize = 256;
/// A flow that has been idle for this long is forgotten.
const IDLE: Span = Span::from_secs(300);
/// The most datagrams read from a socket in one call.
const MAX_READS: usize = 64;

/// Forwards datagrams from a UDP port of this machine to the other end, which sends them to a target address, and
/// forwards replies back. The other end has a socket for each local program.
///
/// The queue holds what the link will deliver by the forecast; beyond that, the oldest datagrams are dropped.
#[derive(Debug)]
pub struct Forward {
    side: Side,
    flows: BTreeMap<u16, Flow>,
    ready: OwnedFd,
    queue: Queue,
    buffer: Vec<u8>,
    unsent: u64,
}

#[derive(Debug)]
enum Side {
    /// Programs send to this socket; each of their addresses is a flow.
    Here { socket: UdpSocket, next: u16 },
    /// Datagrams are sent to this address; each flow has a socket.
    There(SocketAddr),
}

#[derive(Debug)]
struct Flow {
    /// The address of its program, on the side of the programs.
    program: Option<SocketAddr>,
    /// Its socket, on the side of the target.
    socket: Option<UdpSocket>,
    active_at: Instant,
}

impl Forward {
    /// The end to which programs send, at `address`, such as 127.0.0.1:5000.
    ///
    /// # Errors
    /// The address is in use or does not exist.
    pub fn from_port(address: SocketAddr) -> io::Result<Forward> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let forward = Forward::new(Side::Here { socket, next: 0 })?;
        if let Side::Here { socket, .. } = &forward.side {
            epoll::add(&forward.ready, socket, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(forward)
    }

    /// The end that sends to `target`.
    ///
    /// # Errors
    /// The process is out of file descriptors.
    pub fn to_target(target: SocketAddr) -> io::Result<Forward> {
        Forward::new(Side::There(target))
    }

    fn new(side: Side) -> io::Result<Forward> {
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Forward {
            side,
            flows: BTreeMap::new(),
            ready,
            queue: Queue::new(Bytes::ZERO, WhenFull::DropHead),
            buffer: vec![0; 65_536],
            unsent: 0,
        })
    }

    /// The address to which programs send, on the side of the programs.
    ///
    /// # Errors
    /// The system call failed.
    pub fn address(&self) -> io::Result<Option<SocketAddr>> {
        match &self.side {
            Side::Here { socket, .. } => socket.local_addr().map(Some),
            Side::There(_) => Ok(None),
        }
    }

    /// The number of datagrams dropped because they would have been late.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// The number of datagrams that could not be sent on.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Reads the datagrams of programs.
    fn read_programs(&mut self, now: Instant) {
        for _ in 0..MAX_READS {
            let Side::Here { socket, .. } = &self.side else { return };
            let Ok((length, from)) = socket.recv_from(&mut self.buffer) else { return };
            let number = self.number_of(now, from);
            self.carry(number, length);
        }
    }

    /// The number of the flow of the program at `from`.
    fn number_of(&mut self, now: Instant, from: SocketAddr) -> u16 {
        let known = self.flows.iter_mut().find(|(_, flow)| flow.program == Some(from));
        if let Some((&number, flow)) = known {
            flow.active_at = now;
            return number;
        }
        self.make_room(now);
        let Side::Here { next, .. } = &mut self.side else { return 0 };
        while self.flows.contains_key(next) {
            *next = next.wrapping_add(1);
        }
        let number = *next;
        *next = next.wrapping_add(1);
        self.flows.insert(number, Flow { program: Some(from), socket: None, active_at: now });
        number
    }

    /// Reads the replies of the target.
    fn read_answers(&mut self, now: Instant) -> io::Result<()> {
        let mut events = Vec::with_capacity(MAX_FLOWS);
        let count = epoll::wait(
            &self.ready,
            rustix::buffer::spare_capacity(&mut events),
            Some(&Timespec::default()),
        )?;
        for event in &events[..count] {
            let number = event.data.u64() as u16;
            for _ in 0..MAX_READS {
                let Some(flow) = self.flows.get_mut(&number) else { break };
                let Some(Ok(length)) = flow.socket.as_ref().map(|s| s.recv(&mut self.buffer))
                else {
                    break;
                };
                flow.active_at = now;
                self.carry(number, length);
            }
        }
        Ok(())
    }

    /// Queues the `length` bytes in the buffer.
    fn carry(&mut self, number: u16, length: usize) {
        let mut datagram = Vec::with_capacity(NUMBER + length);
        datagram.extend_from_slice(&number.to_be_bytes());
        datagram.extend_from_slice(&self.buffer[..length]);
        self.queue.push(datagram);
    }

    /// The flow `number` on the side of the target, with a new socket if it is new.
    fn open(&mut self, now: Instant, number: u16, target: SocketAddr) -> io::Result<&mut Flow> {
        if !self.flows.contains_key(&number) {
            self.make_room(now);
            let any = if target.is_ipv6() {
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
            } else {
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
            };
            let socket = UdpSocket::bind(any)?;
            socket.set_nonblocking(true)?;
            socket.connect(target)?;
            let data = EventData::new_u64(u64::from(number));
            epoll::add(&self.ready, &socket, data, EventFlags::IN)?;
            let flow = Flow { program: None, socket: Some(socket), active_at: now };
            self.flows.insert(number, flow);
        }
        self.flows.get_mut(&number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Forgets idle flows, and one more if there are still too many.
    fn make_room(&mut self, now: Instant) {
        self.flows.retain(|_, flow| now.saturating_since(flow.active_at) < IDLE);
        if self.flows.len() >= MAX_FLOWS {
            let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.active_at);
            if let Some((&number, _)) = oldest {
                self.flows.remove(&number);
            }
        }
    }

    fn send_on(&mut self, now: Instant, number: u16, payload: &[u8]) -> io::Result<()> {
        match &self.side {
            Side::Here { socket, .. } => {
                let Some(flow) = self.flows.get_mut(&number) else { return Ok(()) };
                flow.active_at = now;
                let Some(program) = flow.program else { return Ok(()) };
                socket.send_to(payload, program).map(drop)
            }
            &Side::There(target) => {
                let flow = self.open(now, number, target)?;
                flow.active_at = now;
                let Some(socket) = &flow.socket else { return Ok(()) };
                // The first call may report the error of an earlier datagram.
                socket.send(payload).or_else(|_| socket.send(payload)).map(drop)
            }
        }
    }
}

impl Application for Forward {
    fn work(&mut self, session: &mut Session) -> io::Result<()> {
        let now = session.clock().now();
        let two = Bytes::new(2 * session.settings().max_payload() as u64);
        self.queue.set_bound(session.deliverable().max(two));
        match self.side {
            Side::Here { .. } => self.read_programs(now),
            Side::There(_) => self.read_answers(now)?,
        }
        Ok(())
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ready.as_fd())
    }
}

impl Source for Forward {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        self.queue.waiting(now)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        self.queue.pull(now, payload);
    }
}

impl Sink for Forward {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        let Some((number, payload)) = payload.split_first_chunk::<NUMBER>() else { return };
        if self.send_on(now, u16::from_be_bytes(*number), payload).is_err() {
            self.unsent += 1;
        }
    }
}
