//! The real mosh at the other end: its server replies to us, and its client echoes our timestamps.
//!
//! Skipped if mosh or a pseudo-terminal is missing.
#![cfg(unix)]

use exm_datagram::{Key, OVERHEAD, Roaming, Role, Session};
use exm_testing::{InTerminal, has, mosh_server, skip};
use exm_units::{Instant, Span};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// The limit for everything that mosh does at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A clock used only by these tests.
#[expect(clippy::disallowed_methods, reason = "mosh's timestamps are of real time")]
fn clock() -> impl Fn() -> Instant {
    let start = std::time::Instant::now();
    move || Instant::from_nanos(start.elapsed().as_nanos() as u64)
}

/// What SSP's transport sends when there is nothing new: a single fragment, numbered `fragment`,
/// with a compressed instruction of version 2 between the states `old` and `new`.
fn fragment(fragment: u64, [old, new, acknowledged]: [u8; 3]) -> Vec<u8> {
    // Protocol buffers: fields 1 to 5 are the version, the base state, the new state, the newest
    // state received, and the state that may be discarded; 6 is the difference.
    let instruction = [8, 2, 16, old, 24, new, 32, acknowledged, 40, 0, 50, 0];
    let mut bytes = fragment.to_be_bytes().to_vec();
    // The highest bit marks the last fragment; the other bits number them.
    bytes.extend(0x8000_u16.to_be_bytes());
    bytes.extend(miniz_oxide::deflate::compress_to_vec_zlib(&instruction, 6));
    bytes
}

/// The version in the instruction in `payload`, if that is a single fragment.
fn version(payload: &[u8]) -> Option<u8> {
    let compressed = payload.get(10..)?;
    let instruction = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).ok()?;
    (instruction.first() == Some(&8)).then_some(*instruction.get(1)?)
}

/// One endpoint, with mosh at the other.
struct End {
    session: Session,
    socket: UdpSocket,
    roaming: Roaming,
}

impl End {
    fn new(key: &Key, roaming: Roaming) -> io::Result<End> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        Ok(End { session: Session::new(key, roaming.role()), socket, roaming })
    }

    /// Sends to the peer or, before that is validated, a challenge to its candidate.
    fn send(&mut self, now: Instant, payload: &[u8]) -> io::Result<()> {
        let mut datagram = Vec::new();
        let challenge = self.roaming.challenge(now, OVERHEAD + payload.len());
        let (sealed, to) = match (challenge, self.roaming.peer()) {
            (Some((to, mark)), _) => {
                (self.session.seal_marked(now, mark, &[payload], &mut datagram), to)
            }
            (None, Some(peer)) => (self.session.seal(now, &[payload], &mut datagram), peer),
            (None, None) => return Ok(()),
        };
        sealed.expect("the key is fresh");
        self.socket.send_to(&datagram, to).map(drop)
    }

    /// The next authentic payload, if any, and its RTT sample.
    fn receive(&mut self, now: impl Fn() -> Instant) -> Option<(Vec<u8>, Option<Span>)> {
        let mut buffer = [0; 2048];
        let (length, from) = self.socket.recv_from(&mut buffer).ok()?;
        let now = now();
        let opened = self.session.open(now, &mut buffer[..length]).expect("mosh's own");
        self.roaming.receive(now, &opened, from);
        Some((opened.payload.to_vec(), opened.rtt))
    }
}

#[test]
fn mosh_server_replies() -> io::Result<()> {
    let now = clock();
    let Some((server, key)) = has("mosh-server").then(|| mosh_server(&["sleep", "15"])).flatten()
    else {
        skip("mosh-server is missing, or does not start");
        return Ok(());
    };
    let key: Key = key.parse().expect("mosh's key");
    let mut end = End::new(&key, Roaming::client(server))?;
    let (mut replies, mut measured) = (0, None);
    while replies < 3 || measured.is_none() {
        assert!(now() < Instant::ZERO + Span::from_secs(PATIENCE.as_secs()), "{replies} replies");
        end.send(now(), &fragment(replies, [0, 0, 0]))?;
        while let Some((payload, rtt)) = end.receive(&now) {
            assert_eq!(version(&payload), Some(2), "SSP's version");
            replies += 1;
            measured = measured.or(rtt);
        }
    }
    assert!(measured < Some(Span::from_secs(1)), "{measured:?}");
    assert_eq!(end.session.dropped().total(), 0);
    Ok(())
}

#[test]
fn mosh_client_sends() -> io::Result<()> {
    if !has("mosh-client") || !has("script") {
        skip("mosh-client or script is missing");
        return Ok(());
    }
    let now = clock();
    let key = Key::generate().expect("randomness");
    let mut end = End::new(&key, Roaming::server())?;
    assert_eq!(end.session.role(), Role::Server);
    let port = end.socket.local_addr()?.port();
    let _client = InTerminal::mosh_client(port, key.to_text().as_str())?;
    let (mut received, mut measured) = (0, None);
    for sent in 0.. {
        assert!(now() < Instant::ZERO + Span::from_secs(PATIENCE.as_secs()), "{received} received");
        if let Some((payload, rtt)) = end.receive(&now) {
            assert_eq!(version(&payload), Some(2), "SSP's version");
            measured = measured.or(rtt);
            received += 1;
        }
        // Its echoes of three challenges validate its address. When idle it sends every three seconds.
        if received >= 2 && measured.is_some() && end.roaming.peer().is_some() {
            break;
        }
        // Ten times a second: the client, which sends every three seconds when idle, does not echo
        // timestamps older than one second.
        end.send(now(), &fragment(sent, [0, 0, 1]))?;
    }
    assert!(measured < Some(Span::from_secs(1)), "{measured:?}");
    assert_eq!(end.session.dropped().total(), 0);
    Ok(())
}
