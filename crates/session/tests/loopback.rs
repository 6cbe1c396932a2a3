//! Sessions over real sockets, both ends in this process.
#![cfg(target_os = "linux")]

use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::{Clock, Waiter};
use exm_session::{
    Application, Forward, Lines, LoopControl, Mailbox, RecordedDatagram, Recorder, Session,
    SessionError, Settings, State, WhenFull, drive,
};
use exm_units::{Bytes, Instant, Span};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn key(byte: u8) -> Key {
    Key::from_bytes([byte; 16])
}

fn listen(clock: Clock) -> Session {
    let ports = PortRange::single(0);
    Session::listen(clock, key(1), Settings::default(), Some(LOCAL), ports).expect("a free port")
}

fn address(session: &Session) -> SocketAddr {
    session.local_address().expect("it is bound")
}

fn connect(clock: Clock, key: Key, server: SocketAddr) -> Session {
    Session::connect(clock, key, Settings::default(), vec![server]).expect("a socket")
}

fn mailbox() -> Mailbox {
    Mailbox::new(Bytes::new(1_000_000), WhenFull::Refuse)
}

/// Two ends, served in turn.
struct Pair {
    clock: Clock,
    sessions: [Session; 2],
    traffic: [Mailbox; 2],
}

impl Pair {
    fn new(server: impl FnOnce(Clock) -> Session, client_key: Key) -> Pair {
        let clock = Clock::start();
        let server = server(clock);
        let client = connect(clock, client_key, address(&server));
        Pair { clock, sessions: [client, server], traffic: [mailbox(), mailbox()] }
    }

    /// Serves both until `done`; false if that takes longer than `patience`.
    fn run(&mut self, patience: Span, done: impl Fn(&Pair) -> bool) -> bool {
        let end = self.clock.now() + patience;
        let waiter = Waiter::new(self.clock, Span::ZERO);
        while !done(self) {
            if self.clock.now() >= end {
                return false;
            }
            for (session, traffic) in self.sessions.iter_mut().zip(&mut self.traffic) {
                session.service(traffic);
            }
            let wake = self.sessions.iter().map(Session::next_wake).min().unwrap_or(end);
            let files = self.sessions.each_ref().map(AsFd::as_fd);
            waiter.wait(files, wake.min(end)).expect("it waits");
        }
        true
    }
}

#[test]
fn datagrams_go_both_ways() {
    let mut pair = Pair::new(listen, key(1));
    for traffic in &mut pair.traffic {
        for number in 0..200u8 {
            traffic.queue.try_send(vec![number; 1 + 6 * usize::from(number)]).expect("room");
        }
    }
    let done = pair.run(Span::from_secs(20), |pair| {
        pair.traffic.iter().all(|traffic| traffic.delivered.len() == 200)
    });
    assert!(done, "{:?}", pair.traffic.each_ref().map(|traffic| traffic.delivered.len()));
    for traffic in &pair.traffic {
        let whole = |(number, datagram): (usize, &Vec<u8>)| {
            datagram.len() == 1 + 6 * number && datagram.iter().all(|&b| usize::from(b) == number)
        };
        assert!(traffic.delivered.iter().enumerate().all(whole), "unchanged");
    }
    let stats = pair.sessions.each_ref().map(Session::stats);
    assert!(stats.iter().all(|stats| stats.state == State::Established));
    assert!(stats.iter().all(|stats| stats.counters.dropped.total() == 0));
    assert!(stats.iter().all(|stats| stats.counters.socket_errors.total() == 0));
    assert_eq!(stats[0].counters.carried, 200);
    assert!(stats[0].srtt.is_some_and(|srtt| srtt < Span::from_millis(200)));
    assert_eq!(stats[0].peer, Some(address(&pair.sessions[1])));
}

/// What a session was told: whether it was sent, its number, its size and that of its payload.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(bool, RecordedDatagram)>>>);

impl Recorder for Told {
    fn sent(&mut self, _at: Instant, datagram: &RecordedDatagram) {
        self.0.lock().expect("it is whole").push((true, *datagram));
    }

    fn received(&mut self, _at: Instant, datagram: &RecordedDatagram) {
        self.0.lock().expect("it is whole").push((false, *datagram));
    }
}

#[test]
fn recorders_are_told_what_is_sent_and_received() {
    let mut pair = Pair::new(listen, key(1));
    let told = [Told::default(), Told::default()];
    for (session, told) in pair.sessions.iter_mut().zip(&told) {
        session.set_recorder(Some(Box::new(told.clone())));
    }
    for number in 1..=50 {
        pair.traffic[0].queue.try_send(vec![0; number]).expect("room");
    }
    let done = pair.run(Span::from_secs(20), |pair| pair.traffic[1].delivered.len() == 50);
    assert!(done);
    let [client, server] = told.map(|told| told.0.lock().expect("it is whole").clone());
    let of = |told: &[(bool, RecordedDatagram)], sent| {
        let of_way = told.iter().filter(|(way, _)| *way == sent).map(|(_, datagram)| *datagram);
        of_way.collect::<Vec<_>>()
    };
    let (sent, received) = (of(&client, true), of(&server, false));
    assert!(received.iter().all(|datagram| sent.contains(datagram)), "{received:?}");
    let payloads = sent.iter().map(|datagram| datagram.payload.get()).filter(|&bytes| bytes > 0);
    assert!(payloads.eq(1..=50));
    assert!(
        sent.iter().zip(0..).all(|(datagram, n)| (datagram.session, datagram.sequence) == (1, n))
    );
    assert_eq!(pair.sessions[0].counters().sent, sent.len() as u64);
}

#[test]
fn ipv6_and_ipv4_meet_at_one_port() {
    let anywhere = |clock| {
        let ports = PortRange::single(0);
        Session::listen(clock, key(1), Settings::default(), None, ports).expect("a free port")
    };
    for host in ["127.0.0.1", "::1"] {
        let clock = Clock::start();
        let server = anywhere(clock);
        let ip: IpAddr = host.parse().expect("an address");
        if UdpSocket::bind((ip, 0)).is_err() {
            exm_testing::skip(format!("no address {host} on this machine"));
            continue;
        }
        let to = SocketAddr::new(ip, address(&server).port());
        // No process listens at the first address: the second is tried as well.
        let unused = UdpSocket::bind((ip, 0)).expect("a free port").local_addr().expect("bound");
        let client = Session::connect(clock, key(1), Settings::default(), vec![unused, to]);
        let sessions = [client.expect("a socket"), server];
        let mut pair = Pair { clock, sessions, traffic: [mailbox(), mailbox()] };
        pair.traffic.iter_mut().for_each(|t| t.queue.try_send(b"hello".to_vec()).expect("room"));
        let done = |pair: &Pair| pair.traffic.iter().all(|t| t.delivered == [b"hello"]);
        assert!(pair.run(Span::from_secs(10), done), "{host}");
        assert_eq!(
            pair.sessions[1].stats().peer.map(|peer| peer.ip()),
            Some(ip),
            "in the form of its IP version"
        );
    }
}

#[test]
fn a_client_without_the_key_gets_no_reply() {
    let mut pair = Pair::new(listen, key(2));
    let stranger = UdpSocket::bind((LOCAL, 0)).expect("a free port");
    stranger.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    for first in [0u8, 0x40, 0x80, 0xc0, 0xff] {
        for length in [1, 27, 28, 65, 66, 1400, 9000] {
            let datagram = vec![first; length];
            stranger.send_to(&datagram, address(&pair.sessions[1])).expect("it is sent");
        }
    }
    assert!(!pair.run(Span::from_millis(700), |pair| !pair.traffic[1].delivered.is_empty()));
    let stats = pair.sessions[1].stats();
    assert_eq!((stats.state, stats.counters.sent), (State::Waiting, 0));
    assert!(
        stats.counters.unauthenticated >= 2,
        "the client has sent initiations, with a wrong key"
    );
    assert!(stats.counters.dropped.total() >= 20);
    assert!(stranger.recv(&mut [0; 100]).is_err(), "silence");
}

#[test]
fn an_error_names_the_port_in_use() {
    let taken = listen(Clock::start());
    let port = address(&taken).port();
    let again =
        |ports| Session::listen(Clock::start(), key(1), Settings::default(), Some(LOCAL), ports);
    let error = again(PortRange::single(port)).err().expect("it is taken");
    assert!(matches!(error, SessionError::Listen { .. }));
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("cannot listen on UDP port {port} of 127.0.0.1: ")),
        "{text}"
    );
    assert!(again(format!("{port}:{}", port + 50).parse().expect("a range")).is_ok());
    let without_address = Session::connect(Clock::start(), key(1), Settings::default(), Vec::new());
    assert!(matches!(without_address.err(), Some(SessionError::NoAddress)));
}

/// Runs `application` until it is done, or for `patience`.
fn carry(mut session: Session, application: &mut impl Application, patience: Span) -> Session {
    let end = session.clock().now() + patience;
    let (alarm, _other) = UnixStream::pair().expect("a pair");
    let look = |session: &Session, _: &_, _| {
        if session.clock().now() < end { LoopControl::WakeAt(end) } else { LoopControl::Stop }
    };
    drive(&mut session, application, alarm.as_fd(), look).expect("it goes on");
    session
}

#[test]
fn lines_are_carried_and_the_end_of_input_ends_the_loop() {
    let clock = Clock::start();
    let server = listen(clock);
    let client = connect(clock, key(1), address(&server));
    let (mut typed, input) = UnixStream::pair().expect("a pair");
    let (silent, never) = UnixStream::pair().expect("a pair");
    let (mut shown, mut replies) = (Vec::new(), Vec::new());
    let long = "x".repeat(5000);
    write!(typed, "first\n\nsecond\n{long}\nlast, without its end").expect("it is written");
    drop(typed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut lines = Lines::new(input, &mut replies, true);
            let session = carry(client, &mut lines, Span::from_secs(20));
            assert_eq!(session.stats().counters.unsendable, 1, "the long one");
        });
        let mut lines = Lines::new(silent, &mut shown, false);
        carry(server, &mut lines, Span::from_secs(3));
    });
    drop(never);
    assert_eq!(String::from_utf8_lossy(&shown), "first\nsecond\nlast, without its end\n");
    assert!(replies.is_empty());
}

#[test]
fn programs_reach_a_target_and_receive_its_replies() {
    let clock = Clock::start();
    let server = listen(clock);
    let client = connect(clock, key(1), address(&server));
    let target = UdpSocket::bind((LOCAL, 0)).expect("a free port");
    let target_address = target.local_addr().expect("bound");
    let mut here = Forward::from_port((LOCAL, 0).into()).expect("a free port");
    let port = here.address().expect("bound").expect("there are programs");
    let mut there = Forward::to_target(target_address).expect("files");
    std::thread::scope(|scope| {
        scope.spawn(|| carry(client, &mut here, Span::from_secs(4)));
        scope.spawn(|| carry(server, &mut there, Span::from_secs(4)));
        scope.spawn(|| {
            // It sends each program's word back reversed.
            target.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
            let mut buffer = [0; 2000];
            while let Ok((length, from)) = target.recv_from(&mut buffer) {
                buffer[..length].reverse();
                target.send_to(&buffer[..length], from).expect("it is sent");
            }
        });
        let programs = ["abc", "defgh"].map(|word| {
            let socket = UdpSocket::bind((LOCAL, 0)).expect("a free port");
            socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
            (socket, word)
        });
        for (socket, word) in &programs {
            let mut buffer = [0; 100];
            // Datagrams may be lost, for example before the session is established.
            let reply = (0..15).find_map(|_| {
                socket.send_to(word.as_bytes(), port).expect("it is sent");
                socket.recv(&mut buffer).ok()
            });
            let expected: String = word.chars().rev().collect();
            assert_eq!(reply.map(|length| &buffer[..length]), Some(expected.as_bytes()));
        }
    });
}
