//! Handshakes: whatever strangers and recorders send, a responder's memory is bounded and nothing it
//! sends is longer than what it replies to; an initiator takes no reply but its own; and whoever has
//! the key gets through.

use exm_datagram::Key;
use exm_endpoint::{Handshake, Initiator, Reply, Responder};
use exm_units::{Instant, Span};
use std::net::SocketAddr;

const HANDSHAKE: Handshake = Handshake::new("fuzzed 1", 2);

/// Runs the target on `bytes`: steps of three, each of which sends something to one end or the other.
pub fn run(bytes: &[u8]) {
    let key = Key::from_bytes([9; 16]);
    let initiate = || HANDSHAKE.initiate(&key).expect("randomness");
    let mut responder = Responder::new(HANDSHAKE, key.clone());
    let mut recorded: Vec<Initiator> = vec![initiate(), initiate()];
    let mut replies: Vec<Vec<u8>> = Vec::new();
    let (mut now, mut rest) = (Instant::ZERO, bytes);
    for _ in 0..50 {
        let [step, a, b, after @ ..] = rest else { break };
        rest = after;
        now += Span::from_millis(u64::from(*b) * 50);
        let (a, from) = (usize::from(*a), address(*b));
        let mut message = match step % 4 {
            0 => after[..after.len().min(a)].to_vec(),
            1 => replies.get(a % replies.len().max(1)).cloned().unwrap_or_default(),
            _ => recorded[a % recorded.len()].initiation().to_vec(),
        };
        let is_changed = step & 4 != 0 && !message.is_empty();
        if is_changed {
            let place = a % message.len();
            message[place] ^= 1 << (step >> 5);
        }
        match responder.reply(now, from, &message) {
            Ok(Some(Reply::Response(reply) | Reply::Cookie(reply))) => {
                assert!(!is_changed && step % 4 > 1 && reply.len() <= message.len());
                replies.push(reply);
            }
            reply => assert!(reply.is_err(), "there is randomness"),
        }
        // An initiator takes replies to itself alone, and those once.
        if is_changed {
            assert!(recorded.iter_mut().all(|initiator| initiator.finish(&message).is_none()));
            assert!(recorded.iter_mut().all(|initiator| !initiator.retry(&message)));
        }
        if step & 8 != 0 {
            let mut count = 0;
            responder.accept(now, |_| {
                count += 1;
                (step & 16 != 0).then_some(())
            });
            assert!(count <= 4);
        }
    }
    connects(&mut responder, now, initiate());
}

/// Whoever has the key and is where it says is answered in one round trip, or in two.
fn connects(responder: &mut Responder, now: Instant, mut honest: Initiator) {
    let home = ([198, 51, 100, 1], 1).into();
    let mut exchange = |honest: &Initiator| {
        responder
            .reply(now, home, honest.initiation())
            .expect("it has the key")
            .expect("randomness")
    };
    let response = match exchange(&honest) {
        Reply::Response(response) => response,
        Reply::Cookie(cookie) => {
            assert!(honest.retry(&cookie));
            match exchange(&honest) {
                Reply::Response(response) => response,
                Reply::Cookie(_) => panic!("its cookie is new"),
            }
        }
    };
    let keys = honest.finish(&response).expect("its response");
    assert!(responder.accept(now, |pending| (pending == keys).then_some(())).is_some());
}

fn address(host: u8) -> SocketAddr {
    ([192, 0, 2, host], 9).into()
}
