//! The real mosh at the other end: its server runs a shell for us.
//!
//! Skipped if mosh is missing.
#![cfg(unix)]

use exm_datagram::{Key, Role, Session};
use exm_ssp::{
    DiffError, HostEvent, Received, Rtt, Settings, State, Transport, UserStream, WindowSize,
    decode_host,
};
use exm_testing::{has, mosh_server, skip};
use exm_units::{Instant, Span};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::time::Duration;

/// The limit for each wait.
const PATIENCE: Span = Span::from_secs(20);

/// A clock used only by these tests.
#[expect(clippy::disallowed_methods, reason = "mosh's timers are of real time")]
fn clock() -> impl Fn() -> Instant {
    let start = std::time::Instant::now();
    move || Instant::from_nanos(start.elapsed().as_nanos() as u64)
}

/// What stands for a terminal: the differences that lead to this state from the initial one, newest first.
#[derive(Clone, Default)]
struct Screen(Option<Rc<(Screen, Vec<u8>)>>);

impl Screen {
    /// The output in all differences, in order.
    fn output(&self) -> Vec<u8> {
        let Some(link) = &self.0 else { return Vec::new() };
        let mut output = link.0.output();
        for event in decode_host(&link.1).expect("it was decoded before") {
            if let HostEvent::Bytes(bytes) = event {
                output.extend(bytes);
            }
        }
        output
    }

    fn echo_ack(&self) -> Option<u64> {
        let link = self.0.as_ref()?;
        let events = decode_host(&link.1).expect("it was decoded before");
        let own = events.iter().rev().find_map(|event| match event {
            HostEvent::EchoAck(number) => Some(*number),
            _ => None,
        });
        own.or_else(|| link.0.echo_ack())
    }
}

impl PartialEq for Screen {
    fn eq(&self, other: &Screen) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl State for Screen {
    /// A client only follows this state.
    fn diff_from(&self, _: &Screen) -> Vec<u8> {
        Vec::new()
    }

    fn apply(&mut self, diff: &[u8]) -> Result<(), DiffError> {
        decode_host(diff)?;
        *self = Screen(Some(Rc::new((self.clone(), diff.to_vec()))));
        Ok(())
    }

    fn initial_diff(&self) -> Vec<u8> {
        Vec::new()
    }

    fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.1.len())
    }
}

/// A client.
struct Client<C> {
    session: Session,
    transport: Transport<UserStream, Screen>,
    socket: UdpSocket,
    clock: C,
    /// Payloads received that did not complete an instruction.
    fragments: usize,
}

impl<C: Fn() -> Instant> Client<C> {
    fn new(server: SocketAddr, key: &Key, clock: C) -> io::Result<Client<C>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server)?;
        let settings = Settings::client(7);
        let transport = Transport::new(clock(), settings, UserStream::new(), Screen::default());
        let session = Session::new(key, Role::Client);
        Ok(Client { session, transport, socket, clock, fragments: 0 })
    }

    fn rtt(&self) -> Rtt {
        let measured = self.session.rtt();
        let srtt = measured.srtt().unwrap_or(Rtt::default().srtt);
        Rtt { srtt, timeout: measured.timeout() }
    }

    /// Sends what is due, and waits for a datagram or the next timer.
    fn step(&mut self) -> io::Result<()> {
        let (now, rtt) = ((self.clock)(), self.rtt());
        while let Some(payload) = self.transport.transmit(now, &rtt).expect("short") {
            let mut datagram = Vec::new();
            self.session.seal(now, &[&payload], &mut datagram).expect("the key is fresh");
            self.socket.send(&datagram)?;
        }
        let wait = self.transport.next_wake(now, &rtt).saturating_since(now);
        let wait = wait.clamp(Span::from_millis(1), Span::from_millis(100));
        self.socket.set_read_timeout(Some(Duration::from_nanos(wait.as_nanos())))?;
        let mut buffer = [0; 2048];
        let length = match self.socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(error),
            Err(_) => return Ok(()),
        };
        let now = (self.clock)();
        let opened = self.session.open(now, &mut buffer[..length]).expect("mosh's own");
        let received = self.transport.receive(now, opened.payload).expect("mosh's own");
        self.fragments += usize::from(received == Received::Fragment);
        Ok(())
    }

    /// Steps until `condition`.
    fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> io::Result<()> {
        let limit = (self.clock)() + PATIENCE;
        while !condition(self) {
            let output = String::from_utf8_lossy(&self.transport.remote().output()).into_owned();
            assert!((self.clock)() < limit, "{what} did not happen: {output:?}");
            self.step()?;
        }
        Ok(())
    }

    fn shows(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.transport.remote().output()).contains(text)
    }
}

/// A mosh server that runs a shell.
fn start_server() -> Option<(SocketAddr, Key)> {
    let (server, key) = mosh_server(&["sh", "-c", "PS1='ready$ ' exec sh -i"])?;
    Some((server, key.parse().expect("mosh's key")))
}

#[test]
fn a_shell_answers_over_mosh_server() -> io::Result<()> {
    let Some((server, key)) = has("mosh-server").then(start_server).flatten() else {
        skip("mosh-server is missing, or does not start");
        return Ok(());
    };
    let mut client = Client::new(server, &key, clock())?;
    let size = WindowSize { width: 80, height: 24 };
    client.transport.local_mut().push_resize(size).expect("few");
    client.until("a prompt", |client| client.shows("ready$"))?;
    assert!(client.session.rtt().srtt().is_some());

    let line = b"echo hel\"\"lo\r";
    for key in line {
        client.transport.local_mut().push_keys(&[*key]).expect("short");
        client.step()?;
    }
    client.until("an answer", |client| client.shows("hello"))?;
    client.until("an acknowledgement", |client| client.transport.local().is_empty())?;
    let acknowledged = client.transport.acknowledged_number();
    assert!(acknowledged > 0);
    client.until("an echo acknowledgement", |client| {
        client.transport.remote().echo_ack().is_some_and(|echoed| echoed >= 1)
    })?;

    // Long output needs several fragments.
    let size = WindowSize { width: 200, height: 60 };
    client.transport.local_mut().push_resize(size).expect("few");
    let line = b"head -c 20000 /dev/urandom | base64; echo \"*\"end*\r";
    client.transport.local_mut().push_keys(line).expect("short");
    client.until("long output", |client| client.shows("*end*"))?;
    assert!(client.fragments > 0, "a screen of random text takes more than a datagram");

    client.transport.local_mut().push_keys(b"exit\r").expect("short");
    client.until("the end", |client| client.transport.peer_is_shutting_down())?;
    client.until("agreement", |client| client.transport.has_answered_shutdown())?;
    // The server quits once it has our answer, so that its port refuses datagrams.
    let limit = (client.clock)() + PATIENCE;
    while client.step().is_ok() {
        assert!((client.clock)() < limit, "mosh-server did not quit");
        client.transport.shutdown((client.clock)());
    }
    assert_eq!(client.session.dropped().total(), 0);
    Ok(())
}

#[test]
fn a_client_ends_the_session() -> io::Result<()> {
    let Some((server, key)) = has("mosh-server").then(start_server).flatten() else {
        skip("mosh-server is missing, or does not start");
        return Ok(());
    };
    let mut client = Client::new(server, &key, clock())?;
    client.until("a prompt", |client| client.shows("ready$"))?;
    let now = (client.clock)();
    client.transport.shutdown(now);
    client.until("agreement", |client| client.transport.is_shutdown_acknowledged())?;
    assert!(!client.transport.is_shutdown_expired((client.clock)()));
    Ok(())
}
