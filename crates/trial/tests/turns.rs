//! Turns against a listener on the same machine.

#![cfg(target_os = "linux")]

use exm_datagram::Key;
use exm_trial::{Event, Limits, Listener, Turn, TurnError};
use exm_units::{Rate, Span};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn key() -> Key {
    Key::from_bytes([3; 16])
}

fn turn(server: SocketAddr, key: &Key) -> Turn<'_> {
    let (duration, max_rate) = (Span::from_millis(300), Rate::from_mbps(40.0));
    Turn { server, key, control: "reno", duration, max_rate }
}

/// Runs `work` beside a listener, and returns its result with what the listener told.
fn beside<T>(limits: Limits, work: impl FnOnce(SocketAddr) -> T) -> (T, Vec<Event>) {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), key(), limits).unwrap();
    let (stop, events) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let server = listener.address().unwrap();
    let result = thread::scope(|scope| {
        let tell = |event| events.lock().unwrap().push(event);
        let (listener, stop) = (&listener, &stop);
        let running = scope.spawn(move || listener.run(stop, &tell));
        // The listener ends whatever happens here.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(server)));
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    (result, events.into_inner().unwrap())
}

fn run(turn: Turn<'_>) -> Result<exm_trial::Measured, TurnError> {
    turn.run(&AtomicBool::new(false))
}

#[test]
fn a_turn_sends_at_its_rate_and_measures_it() {
    let key = key();
    let (measured, events) = beside(Limits::default(), |server| run(turn(server, &key)));
    let measured = measured.unwrap();
    assert!((30.0..42.0).contains(&measured.goodput_mbps), "{measured:?}");
    assert!(measured.least_rtt <= measured.rtt && measured.rtt <= measured.rtt_95, "{measured:?}");
    assert!(measured.rtt > Span::ZERO && measured.rtt < Span::from_millis(50), "{measured:?}");
    // Nothing is lost on a loopback, though a probe may be sent while the machine is busy.
    assert!(measured.retransmitted < 1e-3, "{}", measured.retransmitted);
    let [Event::Began(began), Event::Ended(ended, bytes)] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(began, ended);
    assert_eq!(bytes, measured.bytes);
}

#[test]
fn several_take_turns_at_once() {
    let key = key();
    let (all, _) = beside(Limits::default(), |server| {
        thread::scope(|scope| {
            let turns = [(); 4].map(|()| scope.spawn(|| run(turn(server, &key))));
            turns.map(|turn| turn.join().unwrap())
        })
    });
    for measured in all {
        assert!(measured.unwrap().goodput_mbps > 10.0);
    }
}

#[test]
fn a_client_without_the_key_is_refused() {
    let other = Key::from_bytes([4; 16]);
    let (result, events) = beside(Limits::default(), |server| run(turn(server, &other)));
    assert!(matches!(result, Err(TurnError::Stranger(_))), "{result:?}");
    assert!(matches!(events[..], [Event::Refused(_)]), "{events:?}");
}

#[test]
fn a_listener_takes_no_more_than_its_limits() {
    let key = key();
    let limits = Limits { turn: Span::from_millis(100), ..Limits::default() };
    let (result, _) = beside(limits, |server| run(turn(server, &key)));
    assert!(matches!(result, Err(TurnError::TooMuch { .. })), "{result:?}");
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let (result, _) = beside(limits, |server| run(turn(server, &key)));
    assert!(matches!(result, Err(TurnError::TooMuch { bytes: 1000, .. })), "{result:?}");
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let limits = Limits { connections: 2, ..Limits::default() };
    beside(limits, |server| {
        let _silent = [(); 2].map(|()| TcpStream::connect(server).unwrap());
        // Until both are being served.
        thread::sleep(Duration::from_millis(300));
        let mut third = TcpStream::connect(server).unwrap();
        third.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(third.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_client_that_says_nothing_is_left() {
    let ((), events) = beside(Limits::default(), |server| {
        let mut silent = TcpStream::connect(server).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "within its five seconds");
    });
    assert!(matches!(events[..], [Event::Refused(_)]), "{events:?}");
}

#[test]
fn what_cannot_be_tried_is_said() {
    let key = key();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let result = run(turn(closed, &key));
    assert!(matches!(result, Err(TurnError::Connect { .. })), "{result:?}");
    let result = run(Turn { control: "no_such", ..turn(closed, &key) });
    assert!(result.unwrap_err().to_string().contains("no_such"));
    let stopped = turn(closed, &key).run(&AtomicBool::new(true));
    assert!(stopped.is_err());
}

/// A program that ends the connection in the listener's place cannot make a receipt.
#[test]
fn a_proxy_that_swallows_data_is_found_out() {
    let key = key();
    let (result, _) = beside(Limits::default(), |server| {
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = proxy.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let (client, _) = proxy.accept().unwrap();
                let upstream = TcpStream::connect(server).unwrap();
                thread::scope(|scope| {
                    // The handshake passes; of what follows, only a part.
                    scope.spawn(|| forward(&client, &upstream, 100_000));
                    scope.spawn(|| forward(&upstream, &client, u64::MAX));
                });
            });
            run(turn(address, &key))
        })
    });
    assert!(
        matches!(result, Err(TurnError::Intercepted { .. } | TurnError::Lost(_))),
        "{result:?}"
    );
}

fn forward(mut from: &TcpStream, mut to: &TcpStream, limit: u64) {
    let (mut buffer, mut passed) = ([0; 65_536], 0);
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        passed += size as u64;
        if passed <= limit && to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever arrives, the listener lives on, and nobody without the key begins a turn.
    #[test]
    fn noise_harms_no_listener(noise in proptest::collection::vec(any::<u8>(), 0..400)) {
        let key = key();
        let (measured, events) = beside(Limits::default(), |server| {
            let mut stream = TcpStream::connect(server).unwrap();
            let _ = stream.write_all(&noise);
            drop(stream);
            let short = Turn { duration: Span::from_millis(20), ..turn(server, &key) };
            run(short)
        });
        prop_assert!(measured.is_ok(), "{:?}", measured);
        let begun = events.iter().filter(|event| matches!(event, Event::Began(_))).count();
        prop_assert_eq!(begun, 1);
    }
}
