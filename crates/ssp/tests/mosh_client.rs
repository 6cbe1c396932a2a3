//! The real mosh-client at the other end: what its user types arrives here, and what we show arrives there.
//!
//! Skipped if mosh or a pseudo-terminal is missing.
#![cfg(unix)]

use exm_datagram::{Key, Role, Session};
use exm_ssp::{
    DiffError, HostEvent, Rtt, Settings, State, Transport, UserEvent, UserStream, WindowSize,
    encode_host,
};
use exm_testing::{InTerminal, has, skip};
use exm_units::{Instant, Span};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The limit for each wait.
const PATIENCE: Span = Span::from_secs(20);

/// A clock used only by these tests.
#[expect(clippy::disallowed_methods, reason = "mosh's timers are of real time")]
fn clock() -> impl Fn() -> Instant {
    let start = std::time::Instant::now();
    move || Instant::from_nanos(start.elapsed().as_nanos() as u64)
}

/// What stands for a terminal: all output so far, which mosh-client copies to its screen.
#[derive(Clone, Default, PartialEq)]
struct Output(Vec<u8>);

impl State for Output {
    fn diff_from(&self, base: &Output) -> Vec<u8> {
        match &self.0[base.0.len()..] {
            [] => Vec::new(),
            bytes => encode_host(&[HostEvent::Bytes(bytes.to_vec())]),
        }
    }

    fn apply(&mut self, _: &[u8]) -> Result<(), DiffError> {
        Err(DiffError::new("a server only shows this state"))
    }

    fn initial_diff(&self) -> Vec<u8> {
        self.diff_from(&Output::default())
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}

/// A server, and all that its user has done.
struct Server<C> {
    session: Session,
    transport: Transport<Output, UserStream>,
    socket: UdpSocket,
    peer: Option<SocketAddr>,
    clock: C,
    done: UserStream,
}

impl<C: Fn() -> Instant> Server<C> {
    fn new(key: &Key, clock: C) -> io::Result<Server<C>> {
        let settings = Settings::server(7);
        Ok(Server {
            session: Session::new(key, Role::Server),
            transport: Transport::new(clock(), settings, Output::default(), UserStream::new()),
            socket: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            peer: None,
            clock,
            done: UserStream::new(),
        })
    }

    fn rtt(&self) -> Rtt {
        let measured = self.session.rtt();
        let srtt = measured.srtt().unwrap_or(Rtt::default().srtt);
        Rtt { srtt, timeout: measured.timeout() }
    }

    /// Sends what is due, and waits for a datagram or the next timer.
    fn step(&mut self) -> io::Result<()> {
        let (now, rtt) = ((self.clock)(), self.rtt());
        let mut wait = Span::from_millis(100);
        if let Some(peer) = self.peer {
            while let Some(payload) = self.transport.transmit(now, &rtt).expect("short") {
                let mut datagram = Vec::new();
                self.session.seal(now, &[&payload], &mut datagram).expect("the key is fresh");
                self.socket.send_to(&datagram, peer)?;
            }
            wait = wait.min(self.transport.next_wake(now, &rtt).saturating_since(now));
        }
        let wait = Duration::from_nanos(wait.max(Span::from_millis(1)).as_nanos());
        self.socket.set_read_timeout(Some(wait))?;
        let mut buffer = [0; 2048];
        let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { return Ok(()) };
        let now = (self.clock)();
        let opened = self.session.open(now, &mut buffer[..length]).expect("mosh's own");
        self.transport.receive(now, opened.payload).expect("mosh's own");
        self.peer = Some(from);
        self.done.apply(&self.transport.take_remote_diff()).expect("it was applied before");
        Ok(())
    }

    /// Steps until `condition`.
    fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> io::Result<()> {
        let limit = (self.clock)() + PATIENCE;
        while !condition(self) {
            assert!((self.clock)() < limit, "{what} did not happen: {:?}", self.done);
            self.step()?;
        }
        Ok(())
    }
}

fn keys(stream: &UserStream) -> Vec<u8> {
    let keys = stream.events().filter_map(|event| match event {
        UserEvent::Keys(keys) => Some(keys.as_slice()),
        _ => None,
    });
    keys.collect::<Vec<_>>().concat()
}

#[test]
fn mosh_client_types_and_shows() -> io::Result<()> {
    if !has("mosh-client") || !has("script") {
        skip("mosh-client or script is missing");
        return Ok(());
    }
    let key = Key::generate().expect("randomness");
    let mut server = Server::new(&key, clock())?;
    let mut client =
        InTerminal::mosh_client(server.socket.local_addr()?.port(), key.to_text().as_str())?;
    let size = UserEvent::Resize(WindowSize { width: 80, height: 24 });
    server.until("a resize", |server| server.done.events().next() == Some(&size))?;

    server.transport.local_mut().0.extend(b"welcome\r\n");
    server.until("an acknowledgement", |server| {
        server.transport.acknowledged_number() == server.transport.sent_number()
    })?;
    for typed in ["h", "he", "hel", "hell", "hello"] {
        client.type_keys(&typed.as_bytes()[typed.len() - 1..])?;
        server.until("a key", |server| keys(&server.done) == typed.as_bytes())?;
        server.transport.local_mut().0.extend(&typed.as_bytes()[typed.len() - 1..]);
    }
    // More than a datagram holds, in one paste.
    let mut drawn: u32 = 1;
    let mut letter = || {
        // Of "Numerical Recipes".
        drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (drawn >> 16) as u8 % 26
    };
    let paste: Vec<u8> = (0..4000).map(|_| letter()).collect();
    client.type_keys(&paste)?;
    server.until("a paste", |server| keys(&server.done)[5..] == paste)?;

    let now = (server.clock)();
    server.transport.local_mut().0.extend(b"\r\nfarewell");
    server.transport.shutdown(now);
    server.until("agreement", |server| server.transport.is_shutdown_acknowledged())?;
    let shown = String::from_utf8_lossy(&client.ended().1).into_owned();
    for text in ["welcome", "hello", "farewell"] {
        assert!(shown.contains(text), "{text}: {shown:?}");
    }
    assert_eq!(server.session.dropped().total(), 0);
    Ok(())
}
