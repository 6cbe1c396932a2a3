//! The measurements, and their senders and receivers.

use exm_emulator::{
    Cause, DirectionStats, End, Ends, Observer, OutsideNetwork, PathSpec, Propagation, RunningLink,
    Setup, Timing, emulate,
};
use exm_link::{Limit, Service};
use exm_os::Waiter;
use exm_units::{Packets, Rate, Span};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_tcp_congestion};
use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The payload of a datagram that makes a packet of 1500 bytes.
const PAYLOAD: usize = 1472;
/// The most datagrams sent by one system call.
const TOGETHER: usize = 42;
/// The propagation delay, each way.
const DELAY: Span = Span::from_millis(20);
/// The time at the start that is not measured: TCP's slow start.
const WARM_UP: Span = Span::from_secs(2);

/// A measurement.
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    mbps: f64,
    buffer: u64,
    load: Load,
}

enum Load {
    /// One flow of TCP, Cubic.
    Tcp,
    /// Datagrams at this rate in Mbps, this many per system call.
    Udp(f64, usize),
}

/// All measurements.
pub(crate) const ROWS: [Row; 4] = [
    Row { name: "TCP at 100 Mbps", mbps: 100.0, buffer: 500, load: Load::Tcp },
    Row { name: "UDP of 95 Mbps at 100 Mbps", mbps: 100.0, buffer: 500, load: Load::Udp(95.0, 1) },
    Row { name: "TCP at 1 Gbps", mbps: 1000.0, buffer: 4000, load: Load::Tcp },
    Row {
        name: "UDP of 2 Gbps at 2.5 Gbps",
        mbps: 2500.0,
        buffer: 40_000,
        load: Load::Udp(2000.0, TOGETHER),
    },
];

/// The result of a measurement.
pub(crate) struct Measured {
    /// The payload that arrived at the program, in Mbps.
    goodput: f64,
    /// How many packets were sent, if the program knows, and how many of them arrived there.
    packets: Option<(u64, u64)>,
    up: DirectionStats,
    missed: u64,
    /// Its CPU time, as a fraction of one processor.
    cpu: f64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |share| self.up.lateness.quantile(share).as_nanos() / 1000;
        let late = format!("{}/{}/{}", micros(0.5), micros(0.99), micros(0.999));
        write!(f, "{:>9.1} {late:>18} {:>7.0}  ", self.goodput, self.cpu)?;
        let lost = Cause::ALL.map(|cause| (cause.name(), self.up.lost(cause).packets));
        for (cause, count) in lost.into_iter().chain([("missed", self.missed)]) {
            if count > 0 {
                write!(f, "{cause} {count} ")?;
            }
        }
        if let Some((sent, arrived)) = self.packets {
            write!(f, "({sent} sent, {arrived} arrived at the program)")?;
        }
        Ok(())
    }
}

/// Measures `row` for `seconds`.
pub(crate) fn measure(row: &Row, seconds: u64, timing: Timing) -> Result<Measured, Box<dyn Error>> {
    let ends = Ends::new(OutsideNetwork::Namespace)?;
    let path = |buffer| PathSpec {
        propagation: Propagation::Fixed(DELAY),
        limit: buffer,
        ..PathSpec::new(Service::Fixed(Rate::from_mbps(row.mbps)))
    };
    let up = path(Limit::Packets(Packets::new(row.buffer)));
    let setup = Setup { timing, warm_up: WARM_UP, ..Setup::new(up, path(Limit::Unlimited)) };
    let observers: [Box<dyn Observer>; 2] = [Box::new(()), Box::new(())];
    let received = AtomicU64::new(0);
    let work = |_: &RunningLink| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let sender =
                scope.spawn(|| run(&row.load, (&ends.inside, &ends.outside), &received, &stop));
            thread::sleep(Duration::from_nanos(WARM_UP.as_nanos()));
            let before = (received.load(Ordering::Relaxed), cpu_of_link());
            thread::sleep(Duration::from_secs(seconds));
            let bytes = received.load(Ordering::Relaxed) - before.0;
            let cpu = cpu_of_link() - before.1;
            stop.store(true, Ordering::Relaxed);
            let packets = sender.join().expect("it does not panic")?;
            Ok::<_, io::Error>((bytes, cpu, packets))
        })
    };
    let (done, emulated) = emulate(&setup, ends.ports(), observers, work)?;
    let (bytes, cpu, sent) = done?;
    let missed = ends.missed()?[0];
    let [up, _] = emulated.stats;
    let arrived = received.load(Ordering::Relaxed) / PAYLOAD as u64;
    Ok(Measured {
        goodput: bytes as f64 * 8e-6 / seconds as f64,
        packets: sent.map(|sent| (sent, arrived)),
        up,
        missed,
        cpu: cpu * 100.0 / seconds as f64,
    })
}

/// The CPU time of the emulator's thread so far, in seconds.
fn cpu_of_link() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_link = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "exm-link")
    };
    let task = tasks.map(|entry| entry.path()).find(is_link);
    let times = task.and_then(|path| fs::read_to_string(path.join("schedstat")).ok());
    let nanos = times.as_ref().and_then(|times| times.split(' ').next()?.parse::<u64>().ok());
    nanos.unwrap_or(0) as f64 * 1e-9
}

/// Loads the link until `stop` is set, and counts the payload bytes `received`. Returns how many
/// packets were sent, if known.
fn run(
    load: &Load,
    (from, to): (&End, &End),
    received: &AtomicU64,
    stop: &AtomicBool,
) -> io::Result<Option<u64>> {
    match *load {
        Load::Tcp => tcp((from, to), received, stop).map(|()| None),
        Load::Udp(mbps, together) => {
            let socket = |end: &End| end.namespace.run(|| UdpSocket::bind((end.ip, 0)));
            let (from, to) = (socket(from)?, socket(to)?);
            from.connect(to.local_addr()?)?;
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                let receiver = scope.spawn(|| receive_datagrams(&to, received, &done));
                let sent = send_datagrams(&from, mbps, together, stop);
                // Packets in flight arrive.
                thread::sleep(Duration::from_millis(500));
                done.store(true, Ordering::Relaxed);
                receiver.join().expect("it does not panic")?;
                sent.map(Some)
            })
        }
    }
}

fn tcp((from, to): (&End, &End), received: &AtomicU64, stop: &AtomicBool) -> io::Result<()> {
    let listener = to.namespace.run(|| TcpListener::bind((to.ip, 0)))?;
    let address = listener.local_addr()?;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept()?;
            let mut buffer = vec![0; 1 << 20];
            loop {
                match stream.read(&mut buffer)? {
                    0 => return Ok(()),
                    length => received.fetch_add(length as u64, Ordering::Relaxed),
                };
            }
        });
        let mut stream = from.namespace.run(|| TcpStream::connect(address))?;
        set_tcp_congestion(&stream, "cubic")?;
        let data = vec![0; 1 << 18];
        while !stop.load(Ordering::Relaxed) {
            stream.write_all(&data)?;
        }
        stream.shutdown(std::net::Shutdown::Both)?;
        drop(stream);
        receiver.join().expect("it does not panic")
    })
}

/// Sends datagrams at `mbps`, including IP headers, `together` per system call.
fn send_datagrams(
    socket: &UdpSocket,
    mbps: f64,
    together: usize,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let clock = exm_os::Clock::start();
    let data = vec![0; PAYLOAD * together];
    let state = UdpSocketState::new(socket.into())?;
    let transmit = Transmit {
        destination: socket.peer_addr()?,
        ecn: None,
        contents: &data,
        segment_size: (together > 1).then_some(PAYLOAD),
        src_ip: None,
    };
    let gap = (PAYLOAD + 28) as f64 * 8.0 * together as f64 / mbps * 1e3;
    let mut turns = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let due = Span::from_nanos((turns as f64 * gap) as u64);
        let left = due.saturating_sub(clock.now() - exm_units::Instant::ZERO);
        if left > Span::from_micros(100) {
            thread::sleep(Duration::from_nanos(left.as_nanos()));
            continue;
        }
        match state.try_send(socket.into(), &transmit) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            sent => sent?,
        }
        turns += 1;
    }
    Ok(turns * together as u64)
}

/// Counts the bytes of datagrams until stopped.
fn receive_datagrams(
    socket: &UdpSocket,
    received: &AtomicU64,
    done: &AtomicBool,
) -> io::Result<()> {
    let state = UdpSocketState::new(socket.into())?;
    // Beyond the system's limit if this process is privileged, otherwise up to it.
    let _ = set_socket_recv_buffer_size_force(socket, 64 << 20);
    let clock = exm_os::Clock::start();
    let waiter = Waiter::new(clock, Span::ZERO);
    let mut buffer = vec![0; 1 << 16];
    while !done.load(Ordering::Relaxed) {
        waiter.wait([socket.as_fd()], clock.now() + Span::from_millis(100))?;
        let (mut parts, mut metas) = ([IoSliceMut::new(&mut buffer)], [RecvMeta::default()]);
        match state.recv(socket.into(), &mut parts, &mut metas) {
            Ok(_) => received.fetch_add(metas[0].len as u64, Ordering::Relaxed),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}
