//! Bulk transfers over an emulated link, until they are stopped.

use crate::live::meter::{Meters, note_connection};
use crate::{End, Ends, Flow};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::Clock;
use exm_session::{Application, LoopControl, Session, Settings, Sink, Source, drive};
use exm_units::{Instant, Span};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketType};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often threads check whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest connection attempt: links have outages.
const CONNECTING: Duration = Duration::from_secs(60);

/// What runs a flow, once it is in the kernel.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// Sprout, in a session with these settings.
    Sprout(Settings),
    /// The kernel's TCP, with its congestion control of this name.
    Tcp(String),
}

/// An error of one end or both.
pub(crate) type Problem = Box<dyn Error + Send + Sync>;

/// Sends from the inside of the link to the outside until `stop` is set. Returns how many application bytes
/// arrived of each flow.
pub(crate) fn transfer(
    senders: &[Control],
    ends: &Ends,
    clock: Clock,
    meters: &Mutex<Meters>,
    stop: &AtomicBool,
) -> Result<Vec<u64>, Problem> {
    thread::scope(|scope| {
        let start = |(flow, sender): (usize, &Control)| {
            let sender = sender.clone();
            scope.spawn(move || match &sender {
                Control::Sprout(settings) => sprout(*settings, ends, clock, stop),
                Control::Tcp(name) => {
                    tcp(name, ends, |connection| note_connection(meters, connection, flow), stop)
                }
            })
        };
        let running: Vec<_> = senders.iter().enumerate().map(start).collect();
        running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn tcp(
    control: &str,
    ends: &Ends,
    note: impl Fn(&Flow) + Send + Sync,
    stop: &AtomicBool,
) -> Result<u64, Problem> {
    const TCP: u8 = 6;
    let Ends { inside, outside } = ends;
    let listener = outside.namespace.run(|| TcpListener::bind((outside.ip, 0)))?;
    let Ok(SocketAddr::V4(server)) = listener.local_addr() else {
        return Err("the listening socket has no address of version 4".into());
    };
    let socket = inside.namespace.run(|| socket(control))?;
    net::bind(&socket, &SocketAddrV4::new(inside.ip, 0))?;
    let own = SocketAddr::try_from(net::getsockname(&socket)?)?;
    note(&Flow {
        protocol: TCP,
        from: (own.ip(), own.port()),
        to: ((*server.ip()).into(), server.port()),
    });
    both(stop, || receive(&listener, stop), || send(socket, server, stop))
}

/// A TCP socket with the congestion control `control`.
fn socket(control: &str) -> io::Result<OwnedFd> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_tcp_congestion(&socket, control)?;
    // Unsent data is discarded at the end.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    Ok(socket)
}

fn send(socket: OwnedFd, server: SocketAddrV4, stop: &AtomicBool) -> Result<(), Problem> {
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(CONNECTING))?;
    net::connect(&socket, &server)?;
    let mut stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(PATIENCE))?;
    let data = [0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            // The receiver stopped first.
            Err(_) if stop.load(Ordering::Relaxed) => break,
            Err(error) if !is_impatience(&error) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

fn receive(listener: &TcpListener, stop: &AtomicBool) -> Result<u64, Problem> {
    listener.set_nonblocking(true)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if !is_impatience(&error) => return Err(error.into()),
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(0),
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut buffer, mut total) = ([0; 65_536], 0);
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(size) => total += size as u64,
            Err(error) if is_impatience(&error) => {}
            // The sender stopped first.
            Err(_) if stop.load(Ordering::Relaxed) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(total)
}

fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn sprout(
    settings: Settings,
    ends: &Ends,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<u64, Problem> {
    let Ends { inside, outside } = ends;
    let key = Key::generate()?;
    let within =
        |end: &End, open: &(dyn Fn() -> Result<Session, Problem> + Sync)| end.namespace.run(open);
    let listen = || {
        let port = PortRange::single(0);
        Ok(Session::listen(clock, key.clone(), settings, Some(outside.ip.into()), port)?)
    };
    let mut server = within(outside, &listen)?;
    let port = server.local_address()?.port();
    let mut received = Bulk { length: None, delivered: 0 };
    let mut sent = Bulk { length: Some(settings.max_payload()), delivered: 0 };
    let address: Ipv4Addr = outside.ip;
    both(
        stop,
        || {
            carry_on(&mut server, &mut received, clock, stop)?;
            Ok(received.delivered)
        },
        || {
            // A client opens further sockets, so its thread stays in its network.
            inside.namespace.enter()?;
            let servers = vec![SocketAddr::from((address, port))];
            let mut client = Session::connect(clock, key.clone(), settings, servers)?;
            carry_on(&mut client, &mut sent, clock, stop)
        },
    )
}

/// Runs both ends; if one fails, the other stops. Returns the result of the first.
fn both(
    stop: &AtomicBool,
    receive: impl FnOnce() -> Result<u64, Problem> + Send,
    send: impl FnOnce() -> Result<(), Problem> + Send,
) -> Result<u64, Problem> {
    let stopping = |failed: bool| {
        if failed {
            stop.store(true, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive().inspect_err(|_| stopping(true)));
        let sender = scope.spawn(|| send().inspect_err(|_| stopping(true)));
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.and(received)
    })
}

fn carry_on(
    session: &mut Session,
    bulk: &mut Bulk,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<(), Problem> {
    // No process writes to it.
    let (alarm, _writer) = io::pipe()?;
    let patience = Span::from_nanos(PATIENCE.as_nanos() as u64);
    drive(session, bulk, alarm.as_fd(), |_, _, _| match stop.load(Ordering::Relaxed) {
        true => LoopControl::Stop,
        false => LoopControl::WakeAt(clock.now() + patience),
    })?;
    Ok(())
}

/// An endless source of datagrams of one length, or of none, and a count of received bytes.
struct Bulk {
    length: Option<usize>,
    delivered: u64,
}

impl Application for Bulk {
    fn work(&mut self, _session: &mut Session) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Bulk {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        self.length
    }

    fn pull(&mut self, _now: Instant, payload: &mut Vec<u8>) {
        payload.resize(payload.len() + self.length.unwrap_or(0), 0);
    }
}

impl Sink for Bulk {
    fn deliver(&mut self, _now: Instant, payload: &[u8]) {
        self.delivered += payload.len() as u64;
    }
}
