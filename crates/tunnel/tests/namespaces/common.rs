//! Networks for tests: a client, a server, and a host beyond it, connected by pairs of devices.

use exm_datagram::{Key, PortRange};
use exm_os::{Clock, Namespace};
use exm_session::{Errand, Look, Session, Settings, drive};
use exm_tunnel::{Client, ClientPlan, Server, ServerPlan};
use exm_units::Span;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Where the server listens.
pub(crate) const SERVER: &str = "10.9.0.1:60001";

/// Whether it can be tested here.
#[track_caller]
pub(crate) fn possible() -> bool {
    exm_testing::can_make_networks(&["ip", "nft", "ping"])
}

/// What a command in a network prints.
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

/// A client with two devices to a server, which has another to a host beyond.
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
}

/// An end of a tunnel that runs in a thread of its own until it is dropped.
pub(crate) struct End<T> {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<io::Result<()>>>,
    told: Receiver<T>,
}

impl<T> End<T> {
    /// What it tells next, within a few seconds.
    pub(crate) fn told(&self) -> T {
        self.told.recv_timeout(Duration::from_secs(20)).expect("it tells something")
    }

    /// How it fails, within a few seconds.
    pub(crate) fn failed(&mut self) -> io::Error {
        let failed = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            self.thread.as_ref().is_some_and(JoinHandle::is_finished)
        });
        assert!(failed, "it goes on");
        let ended = self.thread.take().map(|thread| thread.join().expect("it does not panic"));
        ended.expect("it ran").expect_err("it fails")
    }

    /// Waits as long as it runs.
    pub(crate) fn end_of_time(mut self) -> io::Result<()> {
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }

    /// Ends it; how it went.
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

/// Runs what `open` opens in `network`, and has `tell` tell about it, every few milliseconds.
fn run<E: Errand, T: Send + 'static>(
    network: &Namespace,
    open: impl FnOnce() -> io::Result<(Session, E)> + Send + 'static,
    tell: impl Fn(&Session, &E, &Sender<T>) + Send + 'static,
) -> End<T> {
    let (ours, theirs) = UnixStream::pair().expect("a pair of streams");
    theirs.set_nonblocking(true).expect("it can be set");
    let (sender, told) = channel();
    let here = network.path();
    let thread = thread::spawn(move || {
        Namespace::at(&here)?.enter()?;
        let (mut session, mut errand) = open()?;
        let clock = session.clock();
        let mut stop = &theirs;
        let look = |session: &Session, errand: &E, _| {
            tell(session, errand, &sender);
            match stop.read_exact(&mut [0; 1]) {
                // The other end is closed, and nothing ever comes.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Look::Stop,
                Ok(()) => Look::Stop,
                Err(_) => Look::Again(clock.now() + Span::from_millis(10)),
            }
        };
        drive(&mut session, &mut errand, theirs.as_fd(), look)
    });
    End { stop: Some(ours), thread: Some(thread), told }
}

pub(crate) fn key() -> Key {
    Key::from_bytes([7; 16])
}

/// A server in its network; it tells its tunnel's device.
pub(crate) fn server(network: &Namespace, plan: ServerPlan, settings: Settings) -> End<String> {
    let open = move || {
        let ports = PortRange::single(60001);
        let session = Session::listen(Clock::start(), key(), settings, None, ports)
            .map_err(io::Error::other)?;
        let server = Server::new(&session, &plan)?;
        Ok((session, server))
    };
    let told = std::cell::Cell::new(false);
    run(network, open, move |_, server: &Server, sender| {
        if !told.replace(true) {
            let _ = sender.send(server.pipe().device_name().to_owned());
        }
    })
}

/// What a client tells, again and again.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) device: String,
    pub(crate) mtu: u16,
    pub(crate) has_six: bool,
}

/// A client in its network.
pub(crate) fn client(network: &Namespace, plan: ClientPlan, settings: Settings) -> End<View> {
    let open = move || {
        let servers = vec![SERVER.parse().expect("an address")];
        let mut session =
            Session::connect(Clock::start(), key(), settings, servers).map_err(io::Error::other)?;
        let client = Client::new(&mut session, plan)?;
        Ok((session, client))
    };
    run(network, open, |_, client: &Client, sender| {
        let Some(pipe) = client.pipe() else { return };
        let device = pipe.device_name().to_owned();
        let _ = sender.send(View { device, mtu: pipe.mtu(), has_six: pipe.has_six() });
    })
}
