//! Tables in the kernel of this machine: connections over loopback, in a network namespace of the test's own.
#![cfg(target_os = "linux")]

use exm_kernel::{Algorithm, Connection, bpf_object, connections};
use exm_os::{Namespace, Netlink};
use exm_remy::fixed::FixedTable;
use exm_remy::{Action, RuleTable, SignalSet};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A table of one rule: a window, and a pace.
fn fixed(window: i32, intersend_ms: f64) -> FixedTable {
    let action = Action { multiple: 0.0, increment: window, intersend_ms };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, action);
    FixedTable::new(&table, 1000).expect("four signals")
}

/// A name that no other test uses.
fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Loads a table and does `work` in a network namespace, or says why the test does not run.
#[track_caller]
fn with_loaded(table: &FixedTable, work: impl FnOnce(Algorithm) -> Result<(), Problem> + Send) {
    match Algorithm::load(&name(), table, "a test") {
        Err(error) if error.is_of_the_machine() => exm_testing::skip(error),
        Err(error) => panic!("{error}"),
        Ok(algorithm) => {
            let namespace = Namespace::new().expect("root may create namespaces");
            let run = namespace.run(|| {
                let netlink = Netlink::open()?;
                netlink.set_up(netlink.index("lo")?)?;
                work(algorithm)
            });
            run.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Both ends of a connection, the first of which sends by `algorithm`.
fn connect(algorithm: &str) -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    set_tcp_congestion(&sender, algorithm)?;
    Ok((sender, receiver))
}

/// Sends `count` bytes from one end to the other, and returns the time that they took.
#[expect(clippy::disallowed_methods, reason = "a kernel runs in real time")]
fn transfer((sender, receiver): &mut (TcpStream, TcpStream), count: usize) -> io::Result<Duration> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || sender.write_all(&vec![7; count]));
        receiver.read_exact(&mut vec![0; count])?;
        sending.join().expect("no panic")
    })?;
    Ok(begin.elapsed())
}

fn only_connection(name: &str) -> Connection {
    let mut found = connections().expect("the rights to load are enough");
    found.retain(|connection| connection.algorithm == name);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_connection_follows_the_table() {
    with_loaded(&fixed(20, 1.0), |algorithm| {
        let mut ends = connect(algorithm.name())?;
        let sender = ends.0.local_addr()?;
        transfer(&mut ends, 1_000_000)?;
        let connection = only_connection(algorithm.name());
        assert_eq!(connection.local, sender);
        assert_eq!((connection.window, connection.table_window), (20, 20));
        assert!(connection.acks > 0 && connection.rule == 0 && !connection.recovering);
        Ok(())
    });
}

#[test]
fn packets_are_paced() {
    with_loaded(&fixed(100, 1.0), |algorithm| {
        let mut ends = connect(algorithm.name())?;
        // A segment of loopback is 64 KB: these are hundred of them, at a millisecond each.
        let time = transfer(&mut ends, 6_500_000)?;
        assert!(time > Duration::from_millis(90), "{time:?}");
        Ok(())
    });
}

#[test]
fn a_table_follows_another_while_connections_live() {
    with_loaded(&fixed(20, 0.0), |algorithm| {
        let mut ends = connect(algorithm.name())?;
        transfer(&mut ends, 100_000)?;
        algorithm.replace(&fixed(30, 0.0), "another")?;
        transfer(&mut ends, 100_000)?;
        assert_eq!(only_connection(algorithm.name()).window, 30);
        assert_eq!(algorithm.table()?.label, "another");
        for window in (1..1001).rev() {
            algorithm.replace(&fixed(window, 0.0), "many")?;
        }
        transfer(&mut ends, 100_000)?;
        assert_eq!(only_connection(algorithm.name()).window, 1);
        Ok(())
    });
}

#[test]
fn connections_outlive_their_algorithm() {
    with_loaded(&fixed(20, 0.0), |algorithm| {
        let name = algorithm.name().to_owned();
        let mut ends = connect(&name)?;
        algorithm.unload()?;
        transfer(&mut ends, 1_000_000)?;
        assert_eq!(tcp_congestion(&ends.0)?, name);
        let error = connect(&name).expect_err("nothing has that name");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        Ok(())
    });
}

#[test]
fn two_hundred_connections_share_two_tables() {
    with_loaded(&fixed(10, 0.0), |first| {
        let second = Algorithm::load(&name(), &fixed(20, 0.0), "another")?;
        let names = [first.name().to_owned(), second.name().to_owned()];
        let mut all: Vec<_> =
            (0..200).map(|number| connect(&names[number % 2])).collect::<io::Result<_>>()?;
        for ends in &mut all {
            transfer(ends, 200_000)?;
        }
        let found = connections()?;
        for (name, window) in names.iter().zip([10, 20]) {
            let own: Vec<_> = found.iter().filter(|one| one.algorithm == *name).collect();
            assert_eq!(own.len(), 100);
            assert!(own.iter().all(|one| one.window == window), "{own:?}");
        }
        Ok(())
    });
}

/// Calls bpftool; what it says if it fails.
fn bpftool(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("bpftool").args(arguments).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn others_load_a_table_from_a_file() {
    if let Err(error) = bpftool(&["version"]) {
        return exm_testing::skip(format!("no bpftool: {error}"));
    }
    // What this kernel does not take, the other tests say.
    with_loaded(&fixed(1, 0.0), |_| {
        let folder = exm_testing::Folder::new("bpf-object");
        let (path, name) = (folder.0.join("remy.bpf.o"), name());
        fs::write(&path, bpf_object(&name, &fixed(20, 0.0), "twenty")?)?;
        bpftool(&["struct_ops", "register", &path.display().to_string()])?;
        let connected = connect(&name);
        bpftool(&["struct_ops", "unregister", "name", "remycc"])?;
        let mut ends = connected?;
        transfer(&mut ends, 1_000_000)?;
        let shown = Command::new("ss").args(["-tinH", "src", "127.0.0.1"]).output()?.stdout;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains(&name) && shown.contains("cwnd:20 "), "{shown}");
        Ok(())
    });
}

#[test]
fn a_name_that_is_taken_or_odd_is_refused() {
    with_loaded(&fixed(20, 0.0), |algorithm| {
        let load = |name: &str| {
            Algorithm::load(name, &fixed(20, 0.0), "").expect_err("no such name").to_string()
        };
        let taken = load(algorithm.name());
        assert!(taken.starts_with("the kernel has a congestion control called 't"), "{taken}");
        for odd in ["", "a name", "../x", "sixteen_letters_", "é", "a-b", "a.b"] {
            assert!(load(odd).contains("is no name for a congestion control"), "{odd}");
        }
        Ok(())
    });
}

#[test]
fn a_pin_outlives_what_loaded_it() {
    with_loaded(&fixed(20, 0.0), |algorithm| {
        let name = algorithm.name().to_owned();
        let path = algorithm.pin()?;
        drop(algorithm);
        let found = Algorithm::named(&name)?;
        assert_eq!(found.pinned(), Some(path.clone()));
        connect(&name)?;
        found.unload()?;
        assert!(!path.exists());
        let error = Algorithm::named(&name).expect_err("it was unloaded").to_string();
        assert!(error.starts_with("no RemyCC called"), "{error}");
        Ok(())
    });
}
