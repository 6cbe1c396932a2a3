//! Sessions between two network namespaces: an interface goes down and up, an address changes.
//!
//! Skipped if network namespaces cannot be created, or the program `ip` is missing.
#![cfg(target_os = "linux")]

use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::{Clock, Namespace};
use exm_session::{Application, LoopControl, Session, Settings, Sink, Source, State, Stats, drive};
use exm_units::{Instant, Span};
use std::io::{self};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The limit for any expected change.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `ip` with the arguments `words`, in the network of this thread.
fn ip(words: &str) -> io::Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output()?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("ip {words}: {message}")))
    }
}

/// Two namespaces connected by a veth pair: `exm-a` in the first, `exm-b` in the second.
fn networks() -> io::Result<[Namespace; 2]> {
    let networks = [Namespace::new()?, Namespace::new()?];
    let [first, second] = &networks;
    let path = second.path();
    first.run(|| {
        ip(&format!("link add name exm-a type veth peer name exm-b netns {}", path.display()))
    })?;
    first.run(|| {
        ip("address add 10.9.0.1/24 dev exm-a")?;
        ip("link set exm-a up")
    })?;
    second.run(|| {
        ip("address add 10.9.0.2/24 dev exm-b")?;
        ip("link set exm-b up")
    })?;
    Ok(networks)
}

/// A datagram of 100 bytes every 10 ms.
struct Ticking {
    clock: Clock,
    next_at: Instant,
    delivered: u64,
}

impl Application for Ticking {
    fn work(&mut self, _session: &mut Session) -> io::Result<()> {
        Ok(())
    }

    fn next_wake(&self) -> Instant {
        self.next_at.max(self.clock.now() + Span::from_millis(1))
    }
}

impl Source for Ticking {
    fn waiting(&mut self, now: Instant) -> Option<usize> {
        (now >= self.next_at).then_some(100)
    }

    fn pull(&mut self, now: Instant, payload: &mut Vec<u8>) {
        payload.resize(payload.len() + 100, 1);
        self.next_at = now + Span::from_millis(10);
    }
}

impl Sink for Ticking {
    fn deliver(&mut self, _now: Instant, payload: &[u8]) {
        assert_eq!(payload, [1; 100]);
        self.delivered += 1;
    }
}

/// The externally visible state of an end.
#[derive(Default)]
struct Window(Mutex<Option<(Stats, u64)>>);

impl Window {
    fn look(&self) -> Option<(Stats, u64)> {
        self.0.lock().expect("no holder of the lock panics").clone()
    }

    /// Waits until `wanted` is true of it.
    fn wait(&self, what: &str, wanted: impl Fn(&Stats, u64) -> bool) -> (Stats, u64) {
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some((stats, delivered)) = self.look().filter(|(s, d)| wanted(s, *d)) {
                return (stats, delivered);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("timed out waiting for {what}: {:?}", self.look());
    }

    /// Waits until `more` datagrams were delivered here.
    fn wait_for(&self, what: &str, more: u64) {
        let before = self.look().map_or(0, |(_, delivered)| delivered);
        self.wait(what, |_, delivered| delivered >= before + more);
    }
}

fn run(mut session: Session, window: &Window, stop: &AtomicBool) {
    let clock = session.clock();
    let mut application = Ticking { clock, next_at: clock.now(), delivered: 0 };
    let (alarm, _other) = UnixStream::pair().expect("a pair");
    let look = |session: &Session, application: &Ticking, _| {
        let shown = Some((session.stats(), application.delivered));
        *window.0.lock().expect("no holder of the lock panics") = shown;
        let again = clock.now() + Span::from_millis(20);
        if stop.load(Ordering::Relaxed) { LoopControl::Stop } else { LoopControl::WakeAt(again) }
    };
    drive(&mut session, &mut application, alarm.as_fd(), look).expect("it goes on");
}

/// Stops the ends when dropped, also if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_session_outlives_its_interface_and_its_address() -> io::Result<()> {
    let [client_side, server_side] = match networks() {
        Ok(networks) => networks,
        Err(error) => {
            exm_testing::skip(format!("cannot make networks: {error}"));
            return Ok(());
        }
    };
    let (clock, key) = (Clock::start(), Key::generate().expect("randomness"));
    let server = server_side.run(|| {
        let ports = PortRange::single(60_001);
        Session::listen(clock, key.clone(), Settings::default(), None, ports)
            .map_err(io::Error::other)
    })?;
    // Sockets are opened by the thread of the session, which must therefore be in the namespace.
    let [client_window, server_window] = [Window::default(), Window::default()];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| run(server, &server_window, &stop));
        scope.spawn(|| {
            client_side.enter().expect("it can be entered");
            let server = "10.9.0.2:60001".parse().expect("an address");
            let client = Session::connect(clock, key, Settings::default(), vec![server]);
            run(client.expect("a socket"), &client_window, &stop);
        });
        let both = [&client_window, &server_window];
        both.iter().for_each(|window| window.wait_for("a session", 50));
        let peer = || server_window.look().and_then(|(stats, _)| stats.peer.map(|peer| peer.ip()));
        assert_eq!(peer(), Some("10.9.0.1".parse().expect("an address")));

        client_side.run(|| ip("link set exm-a down"))?;
        client_window.wait("a refusal", |stats, _| stats.counters.socket_errors.unreachable > 5);
        client_side.run(|| ip("link set exm-a up"))?;
        both.iter().for_each(|window| window.wait_for("the session again", 50));

        client_side.run(|| {
            ip("address add 10.9.0.7/24 dev exm-a")?;
            ip("address del 10.9.0.1/24 dev exm-a")?;
            // Deleting the first address also deleted the second, which is of the same network.
            ip("address replace 10.9.0.7/24 dev exm-a")
        })?;
        let new: IpAddr = "10.9.0.7".parse().expect("an address");
        server_window.wait("the new address", |stats, _| stats.peer.is_some_and(|p| p.ip() == new));
        both.iter().for_each(|window| window.wait_for("the session from there", 50));
        let (stats, _) = server_window.wait("a move", |stats, _| stats.counters.moves == 1);
        assert_eq!((stats.state, stats.counters.sessions), (State::Established, 1));

        // For longer than the silence after which another port is tried.
        server_side.run(|| ip("link set exm-b down"))?;
        client_window
            .wait("a hop", |stats, _| stats.counters.hops >= 1 && stats.state == State::Silent);
        server_side.run(|| ip("link set exm-b up"))?;
        both.iter().for_each(|window| window.wait_for("the session after silence", 50));
        Ok(())
    })
}
