//! A table in the kernel over emulated links that treat it badly. Skipped where the kernel runs no tables.
#![cfg(target_os = "linux")]

use exm_emulator::{
    Ends, Observer, OutsideNetwork, PathSpec, Propagation, Reordering, Setup, emulate,
};
use exm_kernel::{Algorithm, connections};
use exm_link::{Limit, Service};
use exm_remy::fixed::FixedTable;
use exm_remy::{Action, RuleTable, SignalSet};
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

/// Sends `count` bytes by `algorithm` through the link, with `work` beside it, and has every byte checked.
fn transfer(
    (algorithm, ends): &(Algorithm, Ends),
    (up, down): (PathSpec, PathSpec),
    count: usize,
    work: impl FnOnce() -> Result<(), Problem> + Send,
) -> Result<(), Problem> {
    let bytes = |range: std::ops::Range<usize>| range.map(|i| (i % 251) as u8).collect::<Vec<u8>>();
    let observers: [Box<dyn Observer>; 2] = [Box::new(()), Box::new(())];
    let setup = Setup { seed: 1, ..Setup::new(up, down) };
    let (done, _) = emulate(&setup, ends.ports(), observers, |_| {
        thread::scope(|scope| -> Result<(), Problem> {
            let listener =
                ends.outside.namespace.run(|| TcpListener::bind((ends.outside.ip, 0)))?;
            let address = listener.local_addr()?;
            let connect = || TcpStream::connect(address);
            let mut sender = ends.inside.namespace.run(connect)?;
            set_tcp_congestion(&sender, algorithm.name())?;
            let (mut receiver, _) = listener.accept()?;
            receiver.set_read_timeout(Some(Duration::from_secs(60)))?;
            let working = scope.spawn(work);
            let sending = scope.spawn(move || sender.write_all(&bytes(0..count)));
            let mut received = vec![0; count];
            receiver.read_exact(&mut received)?;
            assert!(received == bytes(0..count), "what arrived is not what was sent");
            sending.join().expect("no panic")?;
            working.join().expect("no panic")
        })
    })?;
    done
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

#[test]
fn another_table_comes_into_force_a_thousand_times_under_load() {
    let Some(loaded) = loaded() else { return };
    let replace = || {
        for number in 0..1000 {
            loaded.0.replace(&table(), &format!("table {number}"))?;
            let found = connections()?;
            let own = found.iter().filter(|one| one.algorithm == loaded.0.name());
            assert!(own.clone().count() <= 1 && own.clone().all(|one| one.window <= 40));
        }
        Ok(())
    };
    transfer(&loaded, (path(), path()), 3_000_000, replace)
        .unwrap_or_else(|error| panic!("{error}"));
}
