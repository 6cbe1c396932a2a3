//! Networks for tests: a client, a server, and a host behind it, connected by veth pairs.

use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::{Clock, Namespace};
use exm_session::{
    Application, Listener, LoopControl, Mailbox, Session, Settings, State, Unrouted, WhenFull,
    drive,
};
use exm_tunnel::{Client, ClientPlan, Server, ServerPlan, SharedServer, drive_shared};
use exm_units::{Bytes, Span};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The server's address.
pub(crate) const SERVER: &str = "10.9.0.1:60001";

/// Whether the tests can run here.
#[track_caller]
pub(crate) fn possible() -> bool {
    exm_testing::can_make_networks(&["ip", "nft", "ping"])
}

/// Runs a shell command in a network and returns its output.
pub(crate) fn shell(network: &Namespace, script: &str) -> String {
    let output = network.run(|| {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).output()
    });
    let output = output.expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A client with two links to a server, which has another link to a host behind it.
pub(crate) struct Networks {
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    pub(crate) host: Namespace,
}

impl Networks {
    pub(crate) fn new() -> Networks {
        let new = || Namespace::new().expect("it is possible");
        let networks = Networks { client: new(), server: new(), host: new() };
        let [server, host] =
            [&networks.server, &networks.host].map(|n| n.path().display().to_string());
        for network in [&networks.client, &networks.server, &networks.host] {
            shell(network, "ip link set lo up");
        }
        shell(
            &networks.client,
            &format!(
                "ip link add w0 type veth peer name w0 netns {server}
             ip link add w1 type veth peer name w1 netns {server}
             ip address add 10.1.0.2/24 dev w0; ip link set w0 up
             ip address add 10.2.0.2/24 dev w1; ip link set w1 up"
            ),
        );
        shell(
            &networks.server,
            &format!(
                "ip link add h0 type veth peer name h0 netns {host}
             ip address add 10.1.0.1/24 dev w0; ip link set w0 up
             ip address add 10.2.0.1/24 dev w1; ip link set w1 up
             ip address add 10.9.0.1/32 dev lo
             ip address add 203.0.113.1/24 dev h0
             ip address add 2001:db8:1::1/64 dev h0 nodad
             ip link set h0 up
             ip route add default via 203.0.113.2
             ip -6 route add default via 2001:db8:1::2"
            ),
        );
        shell(
            &networks.host,
            "ip address add 203.0.113.2/24 dev h0
             ip address add 2001:db8:1::2/64 dev h0 nodad
             ip link set h0 up",
        );
        shell(
            &networks.client,
            "ip route add default via 10.1.0.1 dev w0 metric 100
             ip route add default via 10.2.0.1 dev w1 metric 200",
        );
        networks
    }

    /// Another client's network, with a link to the server.
    pub(crate) fn another(&self, number: u8) -> Namespace {
        let client = Namespace::new().expect("it is possible");
        let server = self.server.path().display().to_string();
        shell(
            &client,
            &format!(
                "ip link set lo up
             ip link add w0 type veth peer name c{number} netns {server}
             ip address add 10.{number}.0.2/24 dev w0; ip link set w0 up"
            ),
        );
        shell(
            &self.server,
            &format!("ip address add 10.{number}.0.1/24 dev c{number}; ip link set c{number} up"),
        );
        shell(&client, &format!("ip route add default via 10.{number}.0.1"));
        client
    }
}

/// The limit for anything that should happen soon.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether `condition`, whose evaluation should take a while, becomes true soon.
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let clock = Clock::start();
    let end = clock.now() + Span::from_nanos(PATIENCE.as_nanos() as u64);
    while clock.now() < end {
        if condition() {
            return true;
        }
    }
    false
}

/// An end of a tunnel that runs in a thread of its own until it is dropped.
pub(crate) struct End<T> {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<io::Result<()>>>,
    reports: Receiver<T>,
}

impl<T> End<T> {
    /// Its next report.
    pub(crate) fn report(&self) -> T {
        self.reports.recv_timeout(PATIENCE).expect("a report")
    }

    /// The same end, once it has reported.
    pub(crate) fn started(self) -> End<T> {
        self.report();
        self
    }

    /// Its newest report.
    pub(crate) fn newest(&self) -> T {
        let next = self.report();
        self.reports.try_iter().last().unwrap_or(next)
    }

    /// Whether it has reported nothing so far.
    pub(crate) fn is_silent(&self) -> bool {
        self.reports.try_recv().is_err()
    }

    /// Waits for a report that meets `condition`.
    pub(crate) fn wait_until(&self, condition: impl Fn(&T) -> bool) {
        assert!(eventually(|| condition(&self.report())), "no such report");
    }

    /// Waits until it fails, and returns the error.
    pub(crate) fn failed(&mut self) -> io::Error {
        // The channel is closed at the end of the thread.
        let ended = eventually(|| {
            matches!(self.reports.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected))
        });
        assert!(ended, "it continues");
        let ended = self.thread.take().map(|thread| thread.join().expect("it does not panic"));
        ended.expect("it ran").expect_err("it fails")
    }

    /// Waits until it has ended.
    pub(crate) fn end_of_time(mut self) -> io::Result<()> {
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }

    /// Ends it, and returns its result.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.stop = None;
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs `body` in a thread in `network`, with a stream that is closed when it should stop.
fn spawn<T: Send + 'static>(
    network: &Namespace,
    body: impl FnOnce(&UnixStream, &Sender<T>) -> io::Result<()> + Send + 'static,
) -> End<T> {
    let (ours, theirs) = UnixStream::pair().expect("a pair of streams");
    theirs.set_nonblocking(true).expect("it can be set");
    let (sender, reports) = channel();
    let here = network.path();
    let thread = thread::spawn(move || {
        Namespace::at(&here)?.enter()?;
        body(&theirs, &sender)
    });
    End { stop: Some(ours), thread: Some(thread), reports }
}

/// Whether to continue: until the other end of `stop` is closed, for which nothing ever arrives.
fn control(mut stop: &UnixStream, clock: Clock) -> LoopControl {
    match stop.read_exact(&mut [0; 1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => LoopControl::Stop,
        Ok(()) => LoopControl::Stop,
        Err(_) => LoopControl::WakeAt(clock.now() + Span::from_millis(10)),
    }
}

/// Runs the application that `open` creates in `network`; `report` sends reports about it every few
/// milliseconds.
fn run<E: Application, T: Send + 'static>(
    network: &Namespace,
    open: impl FnOnce() -> io::Result<(Session, E)> + Send + 'static,
    report: impl Fn(&Session, &E, &Sender<T>) + Send + 'static,
) -> End<T> {
    spawn(network, move |stop, sender| {
        let (mut session, mut application) = open()?;
        let clock = session.clock();
        let monitor = |session: &Session, application: &E, _| {
            report(session, application, sender);
            control(stop, clock)
        };
        drive(&mut session, &mut application, stop.as_fd(), monitor)
    })
}

/// What a server of many clients reports every few milliseconds.
#[derive(Debug)]
pub(crate) struct SharedView {
    /// What the user has been told so far.
    pub(crate) notices: Vec<String>,
    /// Of each client: its name, its state, and its packets with addresses of others.
    pub(crate) clients: Vec<(String, Option<State>, u64)>,
    pub(crate) unrouted: Unrouted,
}

/// A server of the clients in `file`.
pub(crate) fn shared_server(network: &Namespace, file: PathBuf) -> End<SharedView> {
    spawn(network, move |stop, sender| {
        let (clock, ports) = (Clock::start(), PortRange::single(60001));
        let mut listener =
            Listener::bind(clock, Settings::default(), None, ports).map_err(io::Error::other)?;
        let mut server = SharedServer::new(&mut listener, &ServerPlan::default(), &file)?;
        let mut notices = Vec::new();
        let monitor = |listener: &Listener, server: &mut SharedServer, _| {
            notices.extend(server.take_notices());
            let state = |id| listener.stats(id).map(|stats| stats.state);
            let clients = server.members().map(|(id, member)| {
                (member.name().to_owned(), state(id), member.counters().foreign)
            });
            let (clients, unrouted) = (clients.collect(), listener.unrouted());
            let _ = sender.send(SharedView { notices: notices.clone(), clients, unrouted });
            control(stop, clock)
        };
        drive_shared(&mut listener, &mut server, stop.as_fd(), monitor)
    })
}

/// A session of a hostile client with `key`, which sends `payloads` again and again, as fast as it may.
pub(crate) fn hostile(network: &Namespace, key: Key, payloads: Vec<Vec<u8>>) -> End<()> {
    spawn(network, move |stop, _| {
        let servers = vec![SERVER.parse().expect("an address")];
        let clock = Clock::start();
        let mut session =
            Session::connect(clock, key, Settings::default(), servers).map_err(io::Error::other)?;
        let mut traffic = Mailbox::new(Bytes::new(100_000), WhenFull::DropHead);
        let mut next = payloads.iter().cycle();
        while control(stop, clock) != LoopControl::Stop {
            traffic.queue.try_send(next.next().expect("it is endless").clone()).expect("it drops");
            session.service(&mut traffic);
            traffic.delivered.clear();
        }
        Ok(())
    })
}

pub(crate) fn key() -> Key {
    Key::from_bytes([7; 16])
}

/// A server in its network, which reports the name of its device once.
pub(crate) fn server(network: &Namespace, plan: ServerPlan, settings: Settings) -> End<String> {
    let open = move || {
        let ports = PortRange::single(60001);
        let session = Session::listen(Clock::start(), key(), settings, None, ports)
            .map_err(io::Error::other)?;
        let server = Server::new(&session, &plan)?;
        Ok((session, server))
    };
    let reported = std::cell::Cell::new(false);
    run(network, open, move |_, server: &Server, sender| {
        if !reported.replace(true) {
            let _ = sender.send(server.pipe().device_name().to_owned());
        }
    })
}

/// What a client reports every few milliseconds.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) device: String,
    pub(crate) mtu: u16,
    pub(crate) has_ipv6: bool,
    /// How many packets could not be sent because there was no route.
    pub(crate) unreachable: u64,
    /// What the user is told.
    pub(crate) notices: Vec<String>,
}

/// A client in its network.
pub(crate) fn client(network: &Namespace, plan: ClientPlan, settings: Settings) -> End<View> {
    client_with(network, key(), plan, settings)
}

/// A client with `key`.
pub(crate) fn client_with(
    network: &Namespace,
    key: Key,
    plan: ClientPlan,
    settings: Settings,
) -> End<View> {
    let open = move || {
        let servers = vec![SERVER.parse().expect("an address")];
        let mut session =
            Session::connect(Clock::start(), key, settings, servers).map_err(io::Error::other)?;
        let client = Client::new(&mut session, plan)?;
        Ok((session, client))
    };
    run(network, open, |session, client: &Client, sender| {
        let Some(pipe) = client.pipe() else { return };
        let device = pipe.device_name().to_owned();
        let unreachable = session.counters().socket_errors.unreachable;
        let (mtu, has_ipv6) = (pipe.mtu(), pipe.has_ipv6());
        let notices = client.notices().to_vec();
        let _ = sender.send(View { device, mtu, has_ipv6, unreachable, notices });
    })
}
