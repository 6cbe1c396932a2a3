//! One server, many clients: none reaches, spoofs or stops another.

use crate::common::{
    End, Networks, SERVER, View, client_with, eventually, hostile, possible, shared_server, shell,
};
use crate::leaks::{HOST4, assert_replies, ping};
use exm_os::Namespace;
use exm_session::{Settings, State};
use exm_tunnel::{ClientPlan, Clients, ClientsError, Lease, Message, Network};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A file of clients, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, clients: &[&str]) -> Folder {
        let folder = std::env::temp_dir().join(format!("exm-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let folder = Folder(folder);
        for name in clients {
            folder.add(name);
        }
        folder
    }

    fn file(&self) -> PathBuf {
        self.0.join("clients.toml")
    }

    fn change<T>(&self, change: impl FnOnce(&mut Clients) -> Result<T, ClientsError>) -> T {
        let network = Network::new("10.77.0.0/16".parse().expect("a network"));
        let new = || Clients::new(network.expect("it is assignable")).expect("large enough");
        let changed = Clients::change(&self.file(), |before| {
            let mut all = before.unwrap_or_else(new);
            let result = change(&mut all)?;
            Ok((all, result))
        });
        changed.expect("it can be changed")
    }

    fn add(&self, name: &str) -> Lease {
        self.change(|all| all.add(name).cloned())
    }

    fn lease(&self, name: &str) -> Lease {
        let all = Clients::load(Path::new(&self.file())).expect("it is well-formed");
        all.leases().iter().find(|lease| lease.name == name).expect("it is there").clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(network: &Namespace, lease: &Lease) -> End<View> {
    client_with(network, lease.key.clone(), ClientPlan::default(), Settings::default())
}

#[test]
fn clients_share_a_server_and_are_isolated() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let folder = Folder::new("isolated", &["a", "b"]);
    let [a, b] = ["a", "b"].map(|name| folder.lease(name));
    let other = networks.another(11);
    let server = shared_server(&networks.server, folder.file());
    let _a = start(&networks.client, &a).started();
    let _b = start(&other, &b).started();
    for network in [&networks.client, &other] {
        assert_replies(network, HOST4);
        assert_replies(network, "2001:db8:1::2");
    }
    for (network, lease) in [(&networks.client, &a), (&other, &b)] {
        assert_replies(network, &lease.network.server().to_string());
        assert_replies(network, &lease.network.server6().to_string());
    }
    // Neither reaches the other, nor the server by the other's address for it.
    let theirs = b.network;
    for to in [theirs.client().into(), theirs.client6().into(), theirs.server().into()] {
        let to: std::net::IpAddr = to;
        assert!(!ping(&networks.client, &to.to_string()).0, "{to} is reached");
    }
    // With the other's address it gets no answer, and disturbs nothing.
    shell(&networks.client, &format!("ip address add {}/32 dev exm0", theirs.client()));
    let foreign = |view: &crate::common::SharedView| view.clients[0].2;
    let before = foreign(&server.newest());
    assert!(!ping(&networks.client, &format!("-I {} {HOST4}", theirs.client())).0);
    assert!(foreign(&server.newest()) > before, "it is counted");
    assert_replies(&networks.client, HOST4);
    assert_replies(&other, HOST4);
    server.end().expect("it ends without an error");
}

#[test]
fn clients_are_admitted_and_revoked_while_the_server_runs() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let folder = Folder::new("revoked", &["a", "b"]);
    let [a, b] = ["a", "b"].map(|name| folder.lease(name));
    let [second, third] = [11, 12].map(|number| networks.another(number));
    let server = shared_server(&networks.server, folder.file());
    let _a = start(&networks.client, &a).started();
    let mut revoked = start(&second, &b).started();
    assert_replies(&second, HOST4);
    folder.change(|all| all.revoke("b"));
    let error = revoked.failed().to_string();
    assert!(error.contains("it was revoked there"), "{error}");
    // With the same key again it gets no session.
    let again = start(&second, &b);
    let c = folder.add("c");
    assert_eq!(c.network, b.network, "the address is free");
    let _c = start(&third, &c).started();
    assert_replies(&third, HOST4);
    assert_replies(&networks.client, HOST4);
    assert!(again.is_silent(), "no tunnel");
    // A broken file changes nothing, and is reported once.
    std::fs::write(folder.file(), "network = 5").expect("it is ours");
    let broken =
        |notices: &[String]| notices.iter().filter(|n| n.contains("stay as they were")).count();
    server.wait_until(|view| broken(&view.notices) == 1);
    assert_replies(&third, HOST4);
    let notices = server.newest().notices;
    assert_eq!(broken(&notices), 1, "{notices:?}");
    for part in ["b is revoked", "c is admitted", "a is connected from 10.1.0.2:"] {
        assert!(notices.iter().any(|notice| notice.contains(part)), "{part}: {notices:?}");
    }
}

#[test]
fn two_clients_with_one_key_are_told() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let folder = Folder::new("displaced", &["a"]);
    let a = folder.lease("a");
    let other = networks.another(11);
    let server = shared_server(&networks.server, folder.file());
    let mut first = start(&networks.client, &a).started();
    let second = start(&other, &a).started();
    let error = first.failed().to_string();
    assert!(
        error.contains("another client with this key has connected from 10.11.0.2:"),
        "{error}"
    );
    server
        .wait_until(|view| view.notices.iter().any(|n| n.contains("two clients use the key of a")));
    assert_replies(&other, HOST4);
    second.end().expect("it is served");
}

/// A client with a key floods the server by garbage inside and outside its session.
#[test]
fn a_hostile_client_stops_no_other() {
    if !possible() {
        return;
    }
    let networks = Networks::new();
    let folder = Folder::new("hostile", &["a", "bad"]);
    let [a, bad] = ["a", "bad"].map(|name| folder.lease(name));
    let other = networks.another(11);
    let server = shared_server(&networks.server, folder.file());
    let _a = start(&networks.client, &a).started();
    let mut spoofed = vec![0; 1000];
    (spoofed[0], spoofed[2], spoofed[3], spoofed[9]) = (0x45, 3, 232, 17);
    spoofed[12..16].copy_from_slice(&a.network.client().octets());
    spoofed[16..20].copy_from_slice(&[203, 0, 113, 2]);
    let payloads = vec![
        Message::Hello { mtu: 68 }.encode(),
        vec![1, 1, 0],
        vec![3; 40],
        vec![0x45; 900],
        vec![0x60; 3],
        spoofed,
    ];
    let _bad = hostile(&other, bad.key.clone(), payloads);
    server.wait_until(|view| view.clients[1].2 > 100);
    let socket = other.run(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0u32;
            while !stop.load(Ordering::Relaxed) {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let mut datagram = vec![if number % 8 < 4 { 0x40 } else { 0 }; 65];
                datagram[5..9].copy_from_slice(&number.to_be_bytes());
                let _ = socket.send_to(&datagram, SERVER);
            }
        });
        let replies = (0..10).filter(|_| ping(&networks.client, HOST4).0).count();
        stop.store(true, Ordering::Relaxed);
        assert!(replies >= 6, "{replies} of 10");
    });
    let view = server.newest();
    assert_eq!(view.clients[0].1, Some(State::Established));
    assert!(view.unrouted.untried > 0, "the flood was bounded: {:?}", view.unrouted);
    assert!(eventually(|| ping(&networks.client, HOST4).0));
}
