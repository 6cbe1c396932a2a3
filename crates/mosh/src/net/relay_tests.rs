use super::*;
use crate::Extensions;
use crate::net::client_channels::ClientChannels;
use crate::net::forward::{Agent, Forward, Forwards, LocalForward};
use crate::net::server_channels::ServerChannels;
use exm_units::Instant;
use std::io::{Read, Write};
use std::net::{Shutdown as Half, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

/// Both ends, joined without a network.
struct Ends {
    client: (ClientChannels, Channels),
    server: (ServerChannels, Channels),
    /// How long they wait for a socket, in milliseconds.
    patience: u64,
}

impl Ends {
    fn new(forwards: Forwards, granted: Extensions) -> Ends {
        let wanted = ClientChannels::extensions(&forwards);
        Ends {
            client: (ClientChannels::new(forwards).unwrap(), Channels::client(wanted)),
            server: (ServerChannels::new(None).unwrap(), Channels::server(granted)),
            patience: 100,
        }
    }

    /// Runs both until `done`. Each waits as in a session, so that a wake-up that is missing shows.
    fn run_until(&mut self, mut done: impl FnMut(&mut Ends) -> bool) {
        for _ in 0..100_000 {
            let (client, server) = (&mut self.client, &mut self.server);
            client.0.serve(Instant::ZERO, &mut client.1, true);
            server.0.serve(&mut server.1);
            let mut is_quiet = true;
            while client.1.has_output() || server.1.has_output() {
                is_quiet = false;
                server.1.receive(&client.1.pull(4000));
                client.1.receive(&server.1.pull(4000));
            }
            if done(self) {
                return;
            }
            let (client, server) = (&mut self.client, &mut self.server);
            client.0.arm(&client.1);
            server.0.arm(&server.1);
            if is_quiet {
                let any = exm_os::AnyOf::new(&[client.0.as_fd(), server.0.as_fd()]).unwrap();
                let clock = exm_os::Clock::start();
                let waiter = exm_os::Waiter::new(clock, exm_units::Span::ZERO);
                let until = clock.now() + exm_units::Span::from_millis(self.patience);
                waiter.wait([any.as_fd()], until).unwrap();
            }
        }
        panic!("nothing has come of it");
    }
}

const ALL: Extensions =
    Extensions { tcp: true, listen: true, agent: true, files: true, ..Extensions::HARMLESS };

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn forward(host_port: u16) -> Forward {
    let bind = Some("127.0.0.1".to_owned());
    Forward { bind, port: free_port(), host: "127.0.0.1".to_owned(), host_port }
}

/// Ends that forward a port, from the client or from the server, and the port.
fn forwarding(is_local: bool, host_port: u16) -> (Ends, u16) {
    let forward = forward(host_port);
    let port = forward.port;
    let forwards = if is_local {
        Forwards { local: vec![LocalForward::listen(forward).unwrap()], ..Forwards::default() }
    } else {
        Forwards { remote: vec![forward], ..Forwards::default() }
    };
    let mut ends = Ends::new(forwards, ALL);
    // The server listens once it was asked.
    ends.run_until(|ends| ends.client.1.granted().is_some());
    (0..3).for_each(|_| ends.run_until(|ends| !ends.client.1.has_output()));
    (ends, port)
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn everything_arrives_in_both_directions_and_ends_there() {
    for is_local in [true, false] {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut ends, port) = forwarding(is_local, target.local_addr().unwrap().port());
        // More than all buffers between hold; the answer comes only after the end.
        let content = bytes(3_000_000);
        let expected = content.clone();
        let server = thread::spawn(move || {
            let (mut socket, _) = target.accept().unwrap();
            let mut read = Vec::new();
            socket.read_to_end(&mut read).unwrap();
            socket.write_all(&read).unwrap();
            read == expected
        });
        let client = thread::spawn(move || {
            let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
            socket.write_all(&content).unwrap();
            socket.shutdown(Half::Write).unwrap();
            let mut read = Vec::new();
            socket.read_to_end(&mut read).unwrap();
            read == content
        });
        ends.run_until(|_| client.is_finished());
        assert!(client.join().unwrap() && server.join().unwrap(), "local: {is_local}");
    }
}

#[test]
fn a_slow_reader_holds_its_writer_back() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut ends, port) = forwarding(true, target.local_addr().unwrap().port());
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let (mut accepted, mut written) = (None, 0);
    target.set_nonblocking(true).unwrap();
    ends.patience = 1;
    // Nobody reads: what the sockets and channels hold is bounded, and the writer waits in the end.
    let mut waited = 0;
    while waited < 50 {
        let more = socket.write(&[1; 1 << 16]).unwrap_or(0);
        written += more;
        assert!(written < 64 << 20, "the writer waits");
        waited = if more == 0 { waited + 1 } else { 0 };
        accepted = accepted.or_else(|| target.accept().ok());
        let mut rounds = 0;
        ends.run_until(|_| {
            rounds += 1;
            rounds > 1
        });
    }
    let (mut reader, mut read) = (accepted.expect("it is connected").0, 0);
    reader.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 20];
    ends.run_until(|_| {
        read += reader.read(&mut buffer).unwrap_or(0);
        read == written
    });
}

#[test]
fn refused_and_reset_connections_are_reset() {
    let (mut ends, port) = forwarding(true, free_port());
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let is_reset = |socket: &mut TcpStream| {
        let read = socket.read(&mut [0; 10]);
        read.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
    };
    ends.run_until(|_| is_reset(&mut socket));
    let message = ends.client.0.message("").expect("the user is notified");
    assert!(message.contains("refused"), "{message}");

    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut ends, port) = forwarding(true, target.local_addr().unwrap().port());
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_nonblocking(true).unwrap();
    target.set_nonblocking(true).unwrap();
    let mut reset = false;
    ends.run_until(|_| {
        if let Ok((accepted, _)) = target.accept() {
            sockopt::set_socket_linger(&accepted, Some(Duration::ZERO)).unwrap();
            reset = true;
        }
        reset && is_reset(&mut socket)
    });
}

#[test]
fn what_is_not_granted_is_said() {
    let forwards = Forwards { remote: vec![forward(1)], ..Forwards::default() };
    let mut ends = Ends::new(forwards, Extensions::HARMLESS);
    ends.run_until(|ends| ends.client.0.message("").is_some());
    assert!(ends.client.0.message("").unwrap().contains("does not allow"));
}

#[test]
fn more_connections_than_channels_are_reset_and_the_others_go_on() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut ends, port) = forwarding(true, target.local_addr().unwrap().port());
    target.set_nonblocking(true).unwrap();
    let mut sockets: Vec<_> = (0..80)
        .map(|_| {
            let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        })
        .collect();
    let mut accepted = Vec::new();
    let mut failed = 0;
    ends.run_until(|_| {
        accepted.extend(target.accept());
        sockets.retain_mut(|socket| {
            let is_failed =
                socket.peek(&mut [0]).is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock);
            failed += usize::from(is_failed);
            !is_failed
        });
        accepted.len() + failed == 80
    });
    assert!((1..=64).contains(&accepted.len()) && failed >= 16, "{} of 80", accepted.len());
    assert!(accepted.iter_mut().all(|(socket, _)| socket.write(b"x").is_ok()));
    ends.run_until(|_| {
        sockets.retain_mut(|socket| socket.read(&mut [0; 9]).is_err());
        sockets.is_empty()
    });
}

#[test]
fn questions_are_bounded_and_answered_with_no_in_time() {
    let agent = Agent { socket: "/nowhere/agent".into(), server: "host".to_owned() };
    let forwards = Forwards { agent: Some(agent), ..Forwards::default() };
    let wanted = ClientChannels::extensions(&forwards);
    let mut client = ClientChannels::new(forwards).unwrap();
    let (mut ours, mut theirs) = (Channels::client(wanted), Channels::server(ALL));
    theirs.receive(&ours.pull(1000));
    ours.receive(&theirs.pull(1000));
    (0..10).for_each(|_| assert!(theirs.open(Opening::Agent).is_ok()));
    let mut serve = |client: &mut ClientChannels, at: Instant| {
        ours.receive(&theirs.pull(10_000));
        client.serve(at, &mut ours, true);
        theirs.receive(&ours.pull(10_000));
        std::iter::from_fn(|| theirs.next_event()).collect::<Vec<_>>()
    };
    let refused = |events: &[Event], wanted: Reason| {
        let is = |event: &&Event| matches!(event, Event::Refused(_, reason) if *reason == wanted);
        events.iter().filter(is).count()
    };
    let events = serve(&mut client, Instant::ZERO);
    assert_eq!((events.len(), refused(&events, Reason::TooMany)), (2, 2));
    let question = client.message("Ctrl-^").expect("the user is asked");
    assert_eq!(question, "host asks for your SSH agent: Ctrl-^ y lets it, Ctrl-^ n does not");
    let almost = client.next_wake() - exm_units::Span::from_nanos(1);
    assert_eq!(serve(&mut client, almost), []);
    let late = client.next_wake();
    assert_eq!(late, Instant::ZERO + exm_units::Span::from_secs(60));
    let events = serve(&mut client, late);
    assert_eq!((events.len(), refused(&events, Reason::Denied)), (8, 8));
    assert!(!client.is_asking());
}
