//! The benchmark of a session, over the loopback device.
#![cfg(target_os = "linux")]

use exm_bench::session::{Bench, BenchServer, Plan};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::Clock;
use exm_session::{LoopControl, Session, Settings, drive};
use exm_units::{Instant, Rate, Span};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

#[test]
fn a_benchmark_measures_both_directions() {
    let clock = Clock::start();
    let (key, settings, any) =
        (Key::from_bytes([1; 16]), Settings::default(), PortRange::single(0));
    let local = Some(Ipv4Addr::LOCALHOST.into());
    let mut server =
        Session::listen(clock, key.clone(), settings, local, any).expect("a free port");
    let servers = vec![server.local_address().expect("an address")];
    let mut client = Session::connect(clock, key, settings, servers).expect("a socket");
    let plan = Plan {
        up: true,
        down: true,
        duration: Span::from_millis(1500),
        skip: Span::from_millis(500),
        rate: Some(Rate::from_bps(1_000_000)),
    };
    let (mut alarm, stop) = UnixStream::pair().expect("a pair");
    stop.set_nonblocking(true).expect("it can be");
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut application = BenchServer::new(&server);
            let monitor = |_: &Session, _: &_, _| match (&stop).read(&mut [0; 1]) {
                Ok(_) => LoopControl::Stop,
                Err(_) => LoopControl::WakeAt(Instant::MAX),
            };
            drive(&mut server, &mut application, stop.as_fd(), monitor).expect("it continues");
            assert_eq!(application.finished(), 1);
        });
        let mut bench = Bench::new(&client, plan, 7);
        let (silent, _open) = UnixStream::pair().expect("a pair");
        let end = clock.now() + Span::from_secs(20);
        let until = |_: &Session, _: &Bench, _| match clock.now() < end {
            true => LoopControl::WakeAt(end),
            false => LoopControl::Stop,
        };
        drive(&mut client, &mut bench, silent.as_fd(), until).expect("it continues");
        alarm.write_all(b"x").expect("it is written");
        bench.outcome().expect("an outcome")
    });
    assert!(outcome.one_clock);
    for half in [outcome.up, outcome.down] {
        let half = half.expect("both directions");
        assert!(half.received > 20 && half.received <= half.sent, "{half:?}");
        assert!(half.delay_95.is_some_and(|delay| delay < Span::from_millis(500)), "{half:?}");
        assert!(half.throughput > Rate::from_bps(200_000), "{half:?}");
    }
    assert!(outcome.processor.iter().all(|&share| share > 0.0 && share < 1.0));
}
