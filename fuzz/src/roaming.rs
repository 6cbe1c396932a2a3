//! Roaming: whatever copies an attacker forwards of what the client sends, from wherever, in whatever order
//! and beside the client's own changes of address, the server sends nothing but challenges to an address
//! where the client has never received anything, and no more than three times what came from there.

use exm_datagram::{Key, OVERHEAD, Roaming, Role, Session};
use exm_units::{Instant, Span};
use std::net::SocketAddr;

/// The client is at one of the first of these addresses; nobody receives what is sent to the others.
const CLIENTS: usize = 3;
const ADDRESSES: usize = 8;
/// Sent so far and at hand to the attacker, at most.
const HELD: usize = 16;

fn address(number: usize) -> SocketAddr {
    ([192, 0, 2, 1], number as u16).into()
}

/// Runs the target on `bytes`: steps of three.
pub fn run(bytes: &[u8]) {
    let key = Key::from_bytes([9; 16]);
    let (mut client, mut server) =
        (Session::new(&key, Role::Client), Session::new(&key, Role::Server));
    let mut roaming = Roaming::server();
    let (mut now, mut place, mut rest) = (Instant::ZERO, 0, bytes);
    let mut held: Vec<Vec<u8>> = Vec::new();
    let (mut received, mut sent) = ([0; ADDRESSES], [0; ADDRESSES]);
    while let [step, a, b, after @ ..] = rest {
        rest = after;
        let (a, b) = (usize::from(*a), usize::from(*b));
        now += Span::from_millis(b as u64 * if step & 8 == 0 { 1 } else { 50 });
        // Whose datagram comes to the server, and from where.
        let (mut datagram, from) = match step % 4 {
            0 | 1 => {
                let mut datagram = Vec::new();
                client.seal(now, &[&vec![0; a]], &mut datagram).expect("a fresh key");
                if held.len() == HELD {
                    held.remove(0);
                }
                held.push(datagram.clone());
                // It is overtaken, or delivered.
                if step % 4 == 0 { (datagram, place) } else { continue }
            }
            2 => match held.get(a % held.len().max(1)) {
                Some(datagram) => (datagram.clone(), b % ADDRESSES),
                None => continue,
            },
            _ => {
                place = a % CLIENTS;
                continue;
            }
        };
        let length = datagram.len();
        if let Ok(opened) = server.open(now, &mut datagram) {
            received[from] += length;
            roaming.receive(now, &opened, address(from));
        }
        let mut answer = Vec::new();
        if let Some((to, mark)) = roaming.challenge(now, OVERHEAD + b) {
            let to = usize::from(to.port());
            sent[to] += OVERHEAD + b;
            assert!(sent[to] <= 3 * received[to], "{} for {}", sent[to], received[to]);
            server.seal_marked(now, mark, &[&vec![0; b]], &mut answer).expect("a fresh key");
            if to == place {
                client.open(now, &mut answer).expect("authentic");
            }
        } else if let Some(peer) = roaming.peer() {
            let peer = usize::from(peer.port());
            assert!(peer < CLIENTS, "the client has never been there");
            server.seal(now, &[], &mut answer).expect("a fresh key");
            if peer == place {
                client.open(now, &mut answer).expect("authentic");
            }
        }
    }
}
