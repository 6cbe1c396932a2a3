//! Datagrams: whatever an attacker makes of those that were sent, none opens that was not sent, none
//! opens twice, and each that is dropped is counted.

use exm_datagram::{Key, Role, Session};
use exm_units::{Instant, Span};
use std::collections::BTreeSet;

/// Sent so far and at hand to the attacker, at most.
const HELD: usize = 64;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let key = Key::from_bytes([9; 16]);
    let (mut client, mut server) =
        (Session::new(&key, Role::Client), Session::new(&key, Role::Server));
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut opened = BTreeSet::new();
    let (mut now, mut offered, mut rest) = (Instant::ZERO, 0, bytes);
    while let [step, a, b, after @ ..] = rest {
        rest = after;
        let (a, b) = (usize::from(*a), usize::from(*b));
        now += Span::from_millis(b as u64);
        let mut datagram = match held.get(a % held.len().max(1)) {
            Some(datagram) if step % 8 != 0 => datagram.clone(),
            _ => {
                let mut datagram = Vec::new();
                client
                    .seal(now, &[&after[..after.len().min(b)]], &mut datagram)
                    .expect("a fresh key");
                if held.len() == HELD {
                    held.remove(0);
                }
                held.push(datagram.clone());
                datagram
            }
        };
        let length = datagram.len();
        let genuine = match step % 8 {
            1 => {
                datagram[b % length] ^= 1 << (step >> 5);
                false
            }
            2 => {
                datagram.truncate(b % length);
                false
            }
            3 => {
                datagram = after[..after.len().min(b)].to_vec();
                false
            }
            4 => {
                datagram.extend(&after[..after.len().min(b)]);
                datagram.len() == length
            }
            5 => {
                // Sent back to where it came from.
                assert!(client.open(now, &mut datagram.clone()).is_err());
                true
            }
            _ => true,
        };
        offered += 1;
        if let Ok(datagram) = server.open(now, &mut datagram) {
            assert!(genuine && opened.insert(datagram.sequence));
            assert_eq!(datagram.newest, opened.last() == Some(&datagram.sequence));
        }
    }
    assert_eq!(server.opened(), opened.len() as u64);
    assert_eq!(server.opened() + server.dropped().total(), offered);
    assert!(client.rtt().srtt().is_none());
}
