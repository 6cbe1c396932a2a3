//! The real mosh on the other end: its server answers us, and its client echoes our timestamps.
//!
//! Where mosh or a pseudo-terminal is missing, this is skipped, and says so.
#![cfg(unix)]

use exm_datagram::{Key, OVERHEAD, Roaming, Role, Session};
use exm_testing::{has, skip};
use exm_units::{Instant, Span};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long mosh may take for what it does at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// A clock that only these tests read.
#[expect(clippy::disallowed_methods, reason = "mosh's timestamps are of real time")]
fn clock() -> impl Fn() -> Instant {
    let start = std::time::Instant::now();
    move || Instant::from_nanos(start.elapsed().as_nanos() as u64)
}

/// What SSP's transport sends when there is nothing new: one whole fragment, numbered `fragment`, of
/// an instruction of version 2 whose states are `old` and `new`, compressed.
fn fragment(fragment: u64, [old, new, acknowledged]: [u8; 3]) -> Vec<u8> {
    // Protocol buffers: fields 1 to 5 are the version, the state this differs from, the state it
    // makes, the newest one received, and the one that may be forgotten; 6 is the difference.
    let instruction = [8, 2, 16, old, 24, new, 32, acknowledged, 40, 0, 50, 0];
    let mut bytes = fragment.to_be_bytes().to_vec();
    // The highest bit marks the last fragment; the others count them.
    bytes.extend(0x8000_u16.to_be_bytes());
    bytes.extend(miniz_oxide::deflate::compress_to_vec_zlib(&instruction, 6));
    bytes
}

/// The version in the instruction that `payload` carries, if it is one whole fragment.
fn version(payload: &[u8]) -> Option<u8> {
    let compressed = payload.get(10..)?;
    let instruction = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).ok()?;
    (instruction.first() == Some(&8)).then_some(*instruction.get(1)?)
}

/// One end, which talks to mosh on the other.
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

    /// Sends to the peer, or, before that is proven, to where it may be.
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

    /// The next payload that is authentic and whether it told a round-trip time, if one came.
    fn receive(&mut self, now: impl Fn() -> Instant) -> Option<(Vec<u8>, Option<Span>)> {
        let mut buffer = [0; 2048];
        let (length, from) = self.socket.recv_from(&mut buffer).ok()?;
        let now = now();
        let opened = self.session.open(now, &mut buffer[..length]).expect("mosh's own");
        self.roaming.receive(now, &opened, from);
        Some((opened.payload.to_vec(), opened.rtt))
    }
}

/// A server of mosh's that runs `sleep`, its address and its key.
fn start_server() -> Option<(SocketAddr, Key)> {
    let mut command = Command::new("mosh-server");
    command.args(["new", "-i", "127.0.0.1", "-p", "61000:61999", "--", "sleep", "15"]);
    let output = command.env("LC_ALL", "C.UTF-8").env("MOSH_SERVER_NETWORK_TMOUT", "12").output();
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("MOSH CONNECT "))?;
    let (port, key) = line.split_once(' ')?;
    Some(((Ipv4Addr::LOCALHOST, port.parse().ok()?).into(), key.parse().expect("mosh's key")))
}

#[test]
fn mosh_server_answers_us() -> io::Result<()> {
    let now = clock();
    let Some((server, key)) = has("mosh-server").then(start_server).flatten() else {
        skip("mosh-server is not here, or does not start");
        return Ok(());
    };
    let mut end = End::new(&key, Roaming::client(server))?;
    let (mut answers, mut measured) = (0, None);
    while answers < 3 || measured.is_none() {
        assert!(now() < Instant::ZERO + Span::from_secs(PATIENCE.as_secs()), "{answers} answers");
        end.send(now(), &fragment(answers, [0, 0, 0]))?;
        while let Some((payload, rtt)) = end.receive(&now) {
            assert_eq!(version(&payload), Some(2), "SSP's version");
            answers += 1;
            measured = measured.or(rtt);
        }
    }
    assert!(measured < Some(Span::from_secs(1)), "{measured:?}");
    assert_eq!(end.session.dropped().total(), 0);
    Ok(())
}

/// mosh's client on a terminal of its own, ended when dropped.
struct Client(Child);

impl Client {
    fn start(port: u16, key: &Key) -> io::Result<Client> {
        let mut command = Command::new("script");
        command.args([
            "-qfc",
            &format!("stty rows 24 cols 80; exec mosh-client 127.0.0.1 {port}"),
            "/dev/null",
        ]);
        command.env("MOSH_KEY", key.to_text().as_str()).env("LC_ALL", "C.UTF-8");
        command.env("TERM", "xterm").stdin(Stdio::piped());
        Ok(Client(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn mosh_client_talks_to_us() -> io::Result<()> {
    if !has("mosh-client") || !has("script") {
        skip("mosh-client is not here, or no program to give it a terminal");
        return Ok(());
    }
    let now = clock();
    let key = Key::generate().expect("randomness");
    let mut end = End::new(&key, Roaming::server())?;
    assert_eq!(end.session.role(), Role::Server);
    let _client = Client::start(end.socket.local_addr()?.port(), &key)?;
    let (mut heard, mut measured) = (0, None);
    for sent in 0.. {
        assert!(now() < Instant::ZERO + Span::from_secs(PATIENCE.as_secs()), "{heard} heard");
        if let Some((payload, rtt)) = end.receive(&now) {
            assert_eq!(version(&payload), Some(2), "SSP's version");
            measured = measured.or(rtt);
            heard += 1;
        }
        // Its echo of the challenge is what proves where it is.
        if heard >= 2 && measured.is_some() && end.roaming.peer().is_some() {
            break;
        }
        // Ten times a second: the client, which speaks every three seconds when it has nothing new,
        // echoes none that is older than one.
        end.send(now(), &fragment(sent, [0, 0, 1]))?;
    }
    assert!(measured < Some(Span::from_secs(1)), "{measured:?}");
    assert_eq!(end.session.dropped().total(), 0);
    Ok(())
}
