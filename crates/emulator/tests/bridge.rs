//! The emulator between two network devices. Skipped if this process may not create networks or
//! `ip` is missing.
#![cfg(target_os = "linux")]

use exm_emulator::{Observer, PathSpec, Port, RunningLink, Setup, emulate};
use exm_link::Service;
use exm_os::{Namespace, Netlink, PacketSocket};
use exm_units::Rate;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The addresses of the two machines, of both IP versions.
const ADDRESSES: [[&str; 2]; 2] = [["192.0.2.1", "2001:db8::1"], ["192.0.2.2", "2001:db8::2"]];

/// Runs `work` in `network`.
fn inside<T: Send>(network: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    network.run(|| Ok::<_, io::Error>(work())).unwrap()
}

/// Runs `ip` with these arguments, in the network of the calling thread, and returns its output.
fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A machine connected by a veth pair to the device `wire` of this thread's network.
fn machine(wire: &str, addresses: [&str; 2]) -> (Namespace, Port) {
    let namespace = Namespace::new().unwrap();
    let place = namespace.path();
    ip(&format!("link add name {wire} type veth peer name eth0 netns {}", place.display()));
    ip(&format!("link set {wire} up"));
    inside(&namespace, || {
        for address in addresses {
            let prefix = if address.contains(':') { "64 nodad" } else { "24" };
            ip(&format!("addr add {address}/{prefix} dev eth0"));
        }
        ip("link set eth0 up");
    });
    let index = Netlink::open().unwrap().index(wire).unwrap();
    (namespace, Port::Device(PacketSocket::open(index, 1 << 22).unwrap()))
}

/// Neighbour discovery works although the queue is many seconds long, for both IP versions; data
/// waits in the queue.
#[test]
fn neighbours_are_found_beside_a_full_queue() {
    if !exm_testing::can_make_networks(&["ip"]) {
        return;
    }
    let between = Namespace::new().unwrap();
    let machines = [("one", ADDRESSES[0]), ("other", ADDRESSES[1])];
    let [(here, first), (_there, second)] =
        inside(&between, || machines.map(|(wire, addresses)| machine(wire, addresses)));
    // A packet of 1000 bytes takes 8 s.
    let path = || PathSpec::new(Service::Fixed(Rate::from_bps(1000)));
    let observers: [Box<dyn Observer>; 2] = [Box::new(()), Box::new(())];
    let find = || {
        ip("neigh flush dev eth0");
        for address in ADDRESSES[1] {
            let address: IpAddr = address.parse().unwrap();
            let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
            let socket = UdpSocket::bind((any, 0)).unwrap();
            for _ in 0..10 {
                assert_eq!(socket.send_to(&[0; 1000], (address, 9)).unwrap(), 1000);
            }
        }
        (0..300).any(|_| {
            thread::sleep(Duration::from_millis(10));
            ADDRESSES[1]
                .iter()
                .all(|address| ip(&format!("neigh show {address}")).contains("lladdr"))
        })
    };
    // The second time the queue is full from the start.
    let work = |_: &RunningLink| inside(&here, || find() && find());
    let (found, emulated) =
        emulate(&Setup::new(path(), path()), [&first, &second], observers, work).unwrap();
    let [up, down] = &emulated.stats;
    assert!(found, "{} and {} passed by", up.passed_by, down.passed_by);
    assert!(up.passed_by >= 4 && down.passed_by >= 4, "{} {}", up.passed_by, down.passed_by);
    assert!(up.arrived.packets >= 4 && emulated.inside[0] >= 3, "{:?}", emulated.inside);
}

/// As an assertion that does not hold does: the link ends, and the caller hears of it.
#[test]
fn a_panic_beside_the_link_ends_it() {
    if !exm_testing::can_make_networks(&["ip"]) {
        return;
    }
    let between = Namespace::new().unwrap();
    let machines = [("one", ADDRESSES[0]), ("other", ADDRESSES[1])];
    let [(_here, first), (_there, second)] =
        inside(&between, || machines.map(|(wire, addresses)| machine(wire, addresses)));
    let path = || PathSpec::new(Service::Fixed(Rate::from_mbps(1.0)));
    let observers: [Box<dyn Observer>; 2] = [Box::new(()), Box::new(())];
    let run = || {
        emulate(&Setup::new(path(), path()), [&first, &second], observers, |_| {
            panic!("of the work")
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).map(|_: Result<((), _), _>| ()).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"of the work"));
}
