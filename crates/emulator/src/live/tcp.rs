//! [`TcpFlows`]: the kernel's TCP as the sender of a flow that goes on and off, with a connection for each
//! on-period.

use crate::live::bulk::{PATIENCE, Problem, both};
use crate::live::meter::{Meters, locked};
use crate::{Ends, Flow};
use exm_os::Clock;
use exm_sim::traffic::{FlowDemand, TrafficSource};
use exm_units::{Bytes, Instant};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketType};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The longest connection attempt: links have outages.
const CONNECTING: Duration = Duration::from_secs(60);
/// The protocol number of TCP.
const TCP: u8 = 6;

/// What the threads of one flow have in common.
pub(crate) struct TcpFlows<'a> {
    /// The congestion control, by the kernel's name.
    pub(crate) control: &'a str,
    /// Its number among the flows of the run.
    pub(crate) flow: usize,
    /// The payload of a packet.
    pub(crate) payload: Bytes,
    pub(crate) ends: &'a Ends,
    pub(crate) clock: Clock,
    pub(crate) meters: &'a Mutex<Meters>,
    pub(crate) stop: &'a AtomicBool,
}

impl TcpFlows<'_> {
    /// Sends what `source` asks for until it is stopped. Returns how many bytes arrived.
    pub(crate) fn run(&self, source: TrafficSource) -> Result<u64, Problem> {
        let Ends { inside, outside } = self.ends;
        let listener = outside.namespace.run(|| TcpListener::bind((outside.ip, 0)))?;
        let Ok(SocketAddr::V4(server)) = listener.local_addr() else {
            return Err("the listening socket has no address of version 4".into());
        };
        both(
            self.stop,
            || self.receive(&listener),
            || {
                // A rendezvous: one connection is ready while another is in use.
                let (made, ready) = sync_channel(0);
                thread::scope(|scope| {
                    let connecting = scope.spawn(move || {
                        inside.namespace.enter()?;
                        self.connect(server, &made)
                    });
                    let sent = self.send(source, &ready);
                    // Nobody needs a connection any more.
                    drop(ready);
                    let connected =
                        connecting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    connected.and(sent)
                })
            },
        )
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Makes connections, each before it is needed, until nobody needs any.
    fn connect(&self, server: SocketAddrV4, made: &SyncSender<TcpStream>) -> Result<(), Problem> {
        while !self.is_stopped() {
            let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
            sockopt::set_tcp_congestion(&socket, self.control)?;
            // Unsent data is discarded at the end.
            sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
            net::bind(&socket, &SocketAddrV4::new(self.ends.inside.ip, 0))?;
            let own = SocketAddr::try_from(net::getsockname(&socket)?)?;
            let (from, to) = ((own.ip(), own.port()), ((*server.ip()).into(), server.port()));
            locked(self.meters).note(&Flow { protocol: TCP, from, to }, self.flow);
            sockopt::set_socket_timeout(&socket, Timeout::Send, Some(CONNECTING))?;
            net::connect(&socket, &server)?;
            let stream = TcpStream::from(socket);
            stream.set_write_timeout(Some(PATIENCE))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            if made.send(stream).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Takes a connection of `ready` for each on-period.
    fn send(&self, mut source: TrafficSource, ready: &Receiver<TcpStream>) -> Result<(), Problem> {
        loop {
            let start = source.next_start(self.clock.now());
            let Some(mut stream) = self.next(ready)? else { return Ok(()) };
            if !self.sleep_until(start) {
                return Ok(());
            }
            let begin = self.clock.now();
            locked(self.meters).start(self.flow, begin);
            let demand = source.next_flow(begin);
            let sent = self.meet(demand, &mut stream);
            let is_whole =
                sent.or_else(|error| if self.is_stopped() { Ok(false) } else { Err(error) })?;
            if !is_whole {
                return Ok(());
            }
            locked(self.meters).end(self.flow, self.clock.now(), demand);
        }
    }

    /// The next connection; none if it is stopped before.
    fn next(&self, ready: &Receiver<TcpStream>) -> Result<Option<TcpStream>, Problem> {
        while !self.is_stopped() {
            match ready.recv_timeout(PATIENCE) {
                Ok(stream) => return Ok(Some(stream)),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread that connects says why.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(None)
    }

    /// Whether it slept until then without being stopped.
    fn sleep_until(&self, at: Instant) -> bool {
        loop {
            let left = Duration::from_nanos(at.saturating_since(self.clock.now()).as_nanos());
            if left.is_zero() || self.is_stopped() {
                return !self.is_stopped();
            }
            thread::sleep(left.min(PATIENCE));
        }
    }

    /// Sends what an on-period asks for. Returns whether it did so without being stopped.
    fn meet(&self, demand: FlowDemand, stream: &mut TcpStream) -> io::Result<bool> {
        static DATA: [u8; 65_536] = [0; 65_536];
        let mut left = match demand {
            FlowDemand::Until(_) => u64::MAX,
            FlowDemand::Deliver(packets) => packets.get().saturating_mul(self.payload.get()),
        };
        let is_over = || matches!(demand, FlowDemand::Until(end) if self.clock.now() >= end);
        while left > 0 && !is_over() {
            if self.is_stopped() {
                return Ok(false);
            }
            let size = DATA.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match stream.write(&DATA[..size]) {
                Ok(written) => left -= written as u64,
                Err(error) if is_impatience(&error) => {}
                Err(error) => return Err(error),
            }
        }
        match demand {
            FlowDemand::Until(_) => Ok(true),
            FlowDemand::Deliver(_) => self.await_delivery(stream),
        }
    }

    /// Waits until the receiver has everything: then it closes its side. Returns whether it came so far.
    fn await_delivery(&self, stream: &mut TcpStream) -> io::Result<bool> {
        stream.shutdown(Shutdown::Write)?;
        while !self.is_stopped() {
            match stream.read(&mut [0]) {
                Ok(_) => return Ok(true),
                Err(error) if is_impatience(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Takes what arrives on each connection in turn.
    fn receive(&self, listener: &TcpListener) -> Result<u64, Problem> {
        listener.set_nonblocking(true)?;
        let mut total = 0;
        while !self.is_stopped() {
            match listener.accept() {
                Ok((stream, _)) => total += self.drain(stream)?,
                Err(error) if !is_impatience(&error) => return Err(error.into()),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        Ok(total)
    }

    fn drain(&self, mut stream: TcpStream) -> Result<u64, Problem> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (mut buffer, mut total) = ([0; 65_536], 0);
        while !self.is_stopped() {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(size) => total += size as u64,
                Err(error) if is_impatience(&error) => {}
                // The sender's time was over, or it was stopped first.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(_) if self.is_stopped() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(total)
    }
}

fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
