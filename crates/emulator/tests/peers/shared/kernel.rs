//! The transfer by the kernel.

use super::Scenario;
use super::bottleneck::{self, Queue};
use super::record::{Flow, Record, Window};
use exm_emulator::{End, Ends, EndsError, OutsideNetwork, RunningLink, emulate};
use exm_os::{Clock, set_net_sysctl, set_realtime_priority};
use exm_units::{Instant, Span};
use rustix::net::sockopt::Timeout;
use rustix::net::{self, AddressFamily, SocketType};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The port of the first flow's receiver; the next flow's is the next.
const PORT: u16 = 5001;
/// The interval at which the senders' windows are read.
const SAMPLING: Duration = Duration::from_millis(20);
/// The timeout for setting up a connection.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long a thread blocks before it checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Buffers so large that they never limit a transfer, and no cached metrics. The rest are the kernel's
/// defaults, set explicitly in case a machine has others.
const SETTINGS: [(&str, &str); 10] = [
    ("ipv4/tcp_rmem", "4096 4194304 16777216"),
    ("ipv4/tcp_wmem", "4096 1048576 16777216"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_timestamps", "1"),
    ("ipv4/tcp_sack", "1"),
    ("ipv4/tcp_ecn", "0"),
    ("ipv4/tcp_window_scaling", "1"),
    ("ipv4/tcp_moderate_rcvbuf", "1"),
    ("ipv4/tcp_recovery", "1"),
    ("ipv4/tcp_early_retrans", "3"),
];

/// The result of a transfer by the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// What happened.
    pub(crate) record: Record,
    /// The 99.9th percentile of the bottleneck's lateness, in the worse direction.
    pub(crate) late: Span,
    /// The sending kernel's nonzero counters, by the names of `/proc/net/netstat`.
    pub(crate) counters: BTreeMap<String, u64>,
}

/// Why the kernel could not send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    /// The environment does not allow it; this is not an error.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// It should have worked.
    #[error("{what}: {error}")]
    Failed {
        /// The attempted operation.
        what: &'static str,
        /// The error.
        error: io::Error,
    },
}

/// What this environment lacks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    /// Network namespaces: they take root's rights.
    #[error("cannot create a network namespace ({0}): this needs root")]
    Namespace(io::Error),
    /// Settings of the namespace.
    #[error("the kernel's TCP cannot be set up: {0}")]
    Setting(io::Error),
    /// TUN devices.
    #[error("cannot create a TUN device ({0}): this needs /dev/net/tun and root")]
    Device(io::Error),
    /// A congestion control.
    #[error("the kernel has no congestion control \"{0}\" ({1})")]
    Control(String, io::Error),
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> TransferError {
    move |error| TransferError::Failed { what, error }
}

impl From<EndsError> for Unavailable {
    fn from(error: EndsError) -> Unavailable {
        match error {
            EndsError::Namespace(error) => Unavailable::Namespace(error),
            EndsError::Device(error) => Unavailable::Device(error),
            other => Unavailable::Setting(io::Error::other(other)),
        }
    }
}

/// Lets the kernel send over `scenario` with the congestion control it calls `control`, for the duration of
/// the scenario.
///
/// # Errors
/// [`TransferError::Unavailable`] if the environment does not allow it, and the error of anything that fails.
pub(crate) fn transfer(scenario: &Scenario, control: &str) -> Result<Measured, TransferError> {
    let ends = Ends::new(OutsideNetwork::Namespace).map_err(Unavailable::from)?;
    let (from, to) = (&ends.inside, &ends.outside);
    for end in [from, to] {
        let set = end
            .namespace
            .run(|| SETTINGS.iter().try_for_each(|(name, value)| set_net_sysctl(name, value)));
        set.map_err(Unavailable::Setting)?;
    }
    let flows = scenario.starts.iter().zip(PORT..).map(|(&start, port)| {
        let address = SocketAddrV4::new(to.ip, port);
        let listener = to.namespace.run(|| TcpListener::bind(address));
        let listener = listener.map_err(failed("listening"))?;
        Ok(Connection { start, sending: socket(from, control)?, address, listener })
    });
    let flows = flows.collect::<Result<Vec<_>, TransferError>>()?;
    let ports: Vec<u16> = flows.iter().map(|flow| flow.address.port()).collect();
    let queue = Mutex::new(Queue::new(scenario.rate));
    let setup = bottleneck::setup(scenario);
    let observers = bottleneck::observers(&queue);
    let work = |link: &RunningLink| run(scenario, from, flows, link.clock());
    let (done, emulated) = emulate(&setup, ends.ports(), observers, work)
        .map_err(|error| failed("carrying packets")(io::Error::other(error)))?;
    let Done { began, flows, counters } = done?;
    let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut record = queue.finish(&ports, began + scenario.settled);
    for (counted, seen) in record.flows.iter_mut().zip(flows) {
        (counted.delivered, counted.windows) = (seen.delivered, seen.windows);
    }
    record.retransmissions = counters.get("RetransSegs").copied().unwrap_or(0);
    record.begin_at(began);
    let late = emulated.stats.iter().map(|stats| stats.lateness.quantile(0.999)).max();
    Ok(Measured { record, late: late.unwrap_or_default(), counters })
}

/// A flow before it starts.
struct Connection {
    start: Span,
    sending: OwnedFd,
    address: SocketAddrV4,
    listener: TcpListener,
}

/// The results of both ends of a transfer.
struct Done {
    began: Instant,
    flows: Vec<Flow>,
    counters: BTreeMap<String, u64>,
}

/// Sends and receives for the duration of `scenario`.
fn run(
    scenario: &Scenario,
    from: &End,
    flows: Vec<Connection>,
    clock: Clock,
) -> Result<Done, TransferError> {
    let stop = AtomicBool::new(false);
    let began = clock.now();
    let count = flows.len();
    thread::scope(|scope| {
        let stop = &stop;
        let ends = flows.into_iter().map(|flow| {
            let Connection { start, sending, address, listener } = flow;
            let receiver = scope.spawn(move || {
                set_realtime_priority();
                receive(&listener, clock, stop)
            });
            let sender = scope.spawn(move || {
                set_realtime_priority();
                send(sending, address, start, stop)
            });
            (sender, receiver)
        });
        let ends: Vec<_> = ends.collect();
        let sampler = scope.spawn(|| from.namespace.run(|| sample(count, clock, stop)));
        thread::sleep(Duration::from_nanos(scenario.duration.as_nanos()));
        stop.store(true, Ordering::Relaxed);
        let sampled = sampler.join().expect("the sampler does not panic");
        let (windows, counters) = sampled.map_err(failed("reading /proc/net"))?;
        let flows = ends.into_iter().zip(windows).map(|((sender, receiver), windows)| {
            let sent = sender.join().expect("the sender does not panic");
            let received = receiver.join().expect("the receiver does not panic");
            sent.map_err(failed("sending"))?;
            let delivered = received.map_err(failed("receiving"))?;
            Ok(Flow { delivered, windows, ..Flow::default() })
        });
        let flows = flows.collect::<Result<Vec<_>, TransferError>>()?;
        Ok(Done { began, flows, counters })
    })
}

/// A socket at `end` whose congestion control is `control`.
fn socket(end: &End, control: &str) -> Result<OwnedFd, Unavailable> {
    let made = end.namespace.run(|| -> io::Result<OwnedFd> {
        let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        net::sockopt::set_tcp_congestion(&socket, control)?;
        Ok(socket)
    });
    made.map_err(|error| Unavailable::Control(control.to_owned(), error))
}

/// Sends as much as possible, from `start` on.
fn send(socket: OwnedFd, address: SocketAddrV4, start: Span, stop: &AtomicBool) -> io::Result<()> {
    thread::sleep(Duration::from_nanos(start.as_nanos()));
    net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(CONNECTING))?;
    net::connect(&socket, &address)?;
    let mut stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(PATIENCE))?;
    let data = [0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            // The receiver may have stopped first.
            Err(error) if !is_impatience(&error) && !stop.load(Ordering::Relaxed) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The times and the total bytes received by then.
fn receive(
    listener: &TcpListener,
    clock: Clock,
    stop: &AtomicBool,
) -> io::Result<Vec<(Instant, u64)>> {
    listener.set_nonblocking(true)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if !is_impatience(&error) => return Err(error),
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(Vec::new()),
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut buffer, mut total, mut received) = ([0; 65_536], 0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(size) => total += size as u64,
            Err(error) if is_impatience(&error) => continue,
            Err(error) => return Err(error),
        }
        received.push((clock.now(), total));
    }
    Ok(received)
}

fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

type Samples = (Vec<Vec<Window>>, BTreeMap<String, u64>);

/// Reads the windows of `flows` repeatedly, and the kernel's counters at the end.
fn sample(flows: usize, clock: Clock, stop: &AtomicBool) -> io::Result<Samples> {
    let mut windows = vec![Vec::new(); flows];
    while !stop.load(Ordering::Relaxed) {
        let sockets = fs::read_to_string("/proc/thread-self/net/tcp")?;
        for line in sockets.lines() {
            let Some((port, window)) = read_window(line, clock.now()) else { continue };
            let flow = port.checked_sub(PORT).and_then(|flow| windows.get_mut(usize::from(flow)));
            flow.into_iter().for_each(|windows| windows.push(window));
        }
        thread::sleep(SAMPLING);
    }
    let mut counters = counters(&fs::read_to_string("/proc/thread-self/net/netstat")?);
    counters.extend(self::counters(&fs::read_to_string("/proc/thread-self/net/snmp")?));
    Ok((windows, counters))
}

/// The remote port and the window in a line of `/proc/net/tcp`, if it is of an established connection. The
/// kernel's documentation names the fields (`proc_net_tcp.rst`): the last two are the window and the
/// threshold, which is -1 until it is set.
fn read_window(line: &str, at: Instant) -> Option<(u16, Window)> {
    const ESTABLISHED: &str = "01";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (cwnd, ssthresh) = (fields.get(15)?, fields.get(16)?);
    let port = u16::from_str_radix(fields[2].split_once(':')?.1, 16).ok()?;
    let cwnd = cwnd.parse().ok().filter(|_| fields[3] == ESTABLISHED)?;
    Some((port, Window { at, cwnd, ssthresh: ssthresh.parse().ok() }))
}

/// The counters in a file in the format of `/proc/net/netstat`: a line of names, a line of values.
fn counters(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let (names, values) = (pair[0].split_whitespace(), pair[1].split_whitespace());
        names.zip(values).skip(1)
    });
    let counted = pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    counted.filter(|&(_, value)| value > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_from_the_table_of_sockets() {
        let line = "   1: 01004D0A:C350 02004D0A:1389 01 00000000:00000000 01:0000001A 00000000     \
                    0        0 4711 3 0000000000000000 26 4 31 37 22";
        let at = Instant::from_nanos(5);
        let window = Window { at, cwnd: 37, ssthresh: Some(22) };
        assert_eq!(read_window(line, at), Some((5001, window)));
        let unset = line.replace(" 22", " -1");
        assert_eq!(read_window(&unset, at).map(|(_, window)| window.ssthresh), Some(None));
        assert_eq!(read_window(&line.replace(" 01 ", " 06 "), at), None);
        assert_eq!(read_window("  sl  local_address rem_address   st tx_queue", at), None);
    }

    #[test]
    fn counters_are_read_by_name() {
        let text = "TcpExt: A B C\nTcpExt: 0 2 3\nIp: D\nIp: -1\n";
        let read = counters(text);
        assert_eq!(read, BTreeMap::from([("B".to_owned(), 2), ("C".to_owned(), 3)]));
    }
}
