//! A table in the kernel over emulated links that treat it badly. Skipped where the kernel runs no tables.
#![cfg(target_os = "linux")]

use exm_emulator::{
    Ends, Observer, OutsideNetwork, PathSpec, Propagation, Reordering, Setup, emulate,
};
use exm_kernel::{Algorithm, connections};
use exm_link::{Limit, Service};
use exm_remy::fixed::FixedTable;
use exm_remy::{Action, RuleTable, Signal, SignalSet};
use exm_trace::Trace;
use exm_units::{Instant, Packets, Probability, Rate, Span};
use rustix::net::sockopt::set_tcp_congestion;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

type Problem = Box<dyn Error + Send + Sync>;

/// A table of one rule: 40 packets, one each millisecond.
fn table() -> FixedTable {
    let action = Action { multiple: 0.0, increment: 40, intersend_ms: 1.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    FixedTable::new(&table, 1000).expect("four signals")
}

/// Loads it, or says why the test does not run.
#[track_caller]
fn loaded() -> Option<(Algorithm, Ends)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("f{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let algorithm = match Algorithm::load(&name, &table(), "a test") {
        Ok(algorithm) => algorithm,
        Err(error) if error.is_of_the_machine() => {
            exm_testing::skip(error);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    match Ends::new(OutsideNetwork::Namespace) {
        Ok(ends) => Some((algorithm, ends)),
        Err(error) => {
            exm_testing::skip(error);
            None
        }
    }
}

/// One way of 8 Mbps with a queue of 100 packets and 10 ms of propagation.
fn path() -> PathSpec {
    PathSpec {
        propagation: Propagation::Fixed(Span::from_millis(10)),
        limit: Limit::Packets(Packets::new(100)),
        ..PathSpec::new(Service::Fixed(Rate::from_mbps(8.0)))
    }
}

/// Does `work` with both ends of a connection through the link, the first of which sends by `algorithm`.
fn connected(
    (algorithm, ends): &(Algorithm, Ends),
    (up, down): (PathSpec, PathSpec),
    work: impl FnOnce(TcpStream, TcpStream) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let observers: [Box<dyn Observer>; 2] = [Box::new(()), Box::new(())];
    let setup = Setup { seed: 1, ..Setup::new(up, down) };
    let (done, _) = emulate(&setup, ends.ports(), observers, |_| {
        let listener = ends.outside.namespace.run(|| TcpListener::bind((ends.outside.ip, 0)))?;
        let address = listener.local_addr()?;
        let sender = ends.inside.namespace.run(|| TcpStream::connect(address))?;
        set_tcp_congestion(&sender, algorithm.name())?;
        let (receiver, _) = listener.accept()?;
        let patience = Some(Duration::from_secs(60));
        sender.set_write_timeout(patience)?;
        receiver.set_read_timeout(patience)?;
        work(sender, receiver)
    })?;
    done
}

/// Sends `count` bytes with `work` beside it, and has every byte checked.
fn transfer(
    loaded: &(Algorithm, Ends),
    ways: (PathSpec, PathSpec),
    count: usize,
    work: impl FnOnce() -> Result<(), Problem> + Send,
) -> Result<(), Problem> {
    let bytes = |range: std::ops::Range<usize>| range.map(|i| (i % 251) as u8).collect::<Vec<u8>>();
    connected(loaded, ways, |mut sender, mut receiver| {
        thread::scope(|scope| {
            let working = scope.spawn(work);
            let sending = scope.spawn(move || sender.write_all(&bytes(0..count)));
            let mut received = vec![0; count];
            receiver.read_exact(&mut received)?;
            assert!(received == bytes(0..count), "what arrived is not what was sent");
            sending.join().expect("no panic")?;
            working.join().expect("no panic")
        })
    })
}

#[track_caller]
fn survives(up: PathSpec, down: PathSpec, count: usize) {
    let Some(loaded) = loaded() else { return };
    transfer(&loaded, (up, down), count, || Ok(())).unwrap_or_else(|error| panic!("{error}"));
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("between 0 and 1")
}

#[test]
fn one_packet_in_twenty_is_lost() {
    survives(PathSpec { loss: probability(0.05), ..path() }, path(), 3_000_000);
}

#[test]
fn one_ack_in_five_is_lost() {
    survives(path(), PathSpec { loss: probability(0.2), ..path() }, 3_000_000);
}

#[test]
fn packets_and_acks_overtake_one_another() {
    let reordering = Reordering { probability: probability(0.1), extra: Span::from_millis(5) };
    let shuffled = || PathSpec { reordering: Some(reordering), ..path() };
    survives(shuffled(), shuffled(), 3_000_000);
}

#[test]
fn the_queue_is_short() {
    survives(PathSpec { limit: Limit::Packets(Packets::new(5)), ..path() }, path(), 2_000_000);
}

/// A link that carries 8 Mbps for a second, then nothing for so long, and so on.
fn stalling(seconds: u64) -> PathSpec {
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    let last = at(1000 * (seconds + 1));
    let times: Vec<Instant> = (1..=700).map(|n| at(n * 3 / 2)).chain([last]).collect();
    PathSpec {
        service: Service::Trace(Arc::new(Trace::new(times).expect("is in order"))),
        ..path()
    }
}

#[test]
fn the_path_stalls() {
    survives(stalling(4), path(), 1_500_000);
}

#[test]
#[ignore = "takes 45 s"]
fn the_path_stalls_for_thirty_seconds() {
    survives(stalling(30), path(), 1_500_000);
}

/// A full packet takes 1.5 ms at the link, and a small one 0.2 ms: of an RTT of 20 ms the difference is no queue.
#[test]
fn a_small_packet_makes_no_queue_of_full_ones() {
    let Some(loaded) = loaded() else { return };
    let action = Action { multiple: 0.0, increment: 40, intersend_ms: 4.0 };
    let slow = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    let slow = FixedTable::new(&slow, 1000).expect("four signals");
    loaded.0.replace(&slow, "slow").expect("it is loaded");
    let ratio = || -> Result<f64, Problem> {
        let found = loaded.1.inside.namespace.run(|| Ok::<_, Problem>(connections()?))?;
        let own = found.iter().find(|one| one.algorithm == loaded.0.name()).ok_or("it is open")?;
        let signal = own.signals.iter().find(|(signal, _)| *signal == Signal::RttRatio);
        Ok(signal.expect("one of Remy's").1)
    };
    let ask_then_send = |mut sender: TcpStream, mut receiver: TcpStream| -> Result<(), Problem> {
        // The emulator may be late for any one of them.
        let mut least = f64::INFINITY;
        for count in [100, 100, 30_000, 30_000, 30_000, 30_000, 30_000] {
            sender.write_all(&vec![7; count])?;
            receiver.read_exact(&mut vec![0; count])?;
            thread::sleep(Duration::from_millis(100));
            if count > 1000 {
                least = least.min(ratio()?);
            }
        }
        assert!((1.0..1.04).contains(&least), "{least}");
        Ok(())
    };
    connected(&loaded, (path(), path()), ask_then_send).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn another_table_comes_into_force_a_thousand_times_under_load() {
    let Some(loaded) = loaded() else { return };
    let replace = || {
        for number in 0..1000 {
            loaded.0.replace(&table(), &format!("table {number}"))?;
            let found = loaded.1.inside.namespace.run(|| Ok::<_, Problem>(connections()?))?;
            let own = found.iter().filter(|one| one.algorithm == loaded.0.name());
            assert!(own.clone().count() <= 1 && own.clone().all(|one| one.window <= 40));
        }
        Ok(())
    };
    transfer(&loaded, (path(), path()), 3_000_000, replace)
        .unwrap_or_else(|error| panic!("{error}"));
}
