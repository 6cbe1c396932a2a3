//! A million of each kind of transmission error and attack: all are dropped and counted, and genuine
//! datagrams still open, once.

use exm_datagram::{Dropped, Key, OVERHEAD, Role, Session};
use exm_units::{Instant, Span};

const MILLION: u64 = 1_000_000;

/// The attacker's random numbers: xorshift (G. Marsaglia, 2003).
struct AttackRng(u64);

impl AttackRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn at(index: u64) -> Instant {
    Instant::ZERO + Span::from_micros(100) * index
}

/// Two ends that share a key, and the state of an attack on them.
struct Scene {
    client: Session,
    server: Session,
    rng: AttackRng,
}

impl Scene {
    fn new() -> Scene {
        let key = Key::generate().expect("randomness");
        let (client, server) = (Session::new(&key, Role::Client), Session::new(&key, Role::Server));
        Scene { client, server, rng: AttackRng(88_172_645_463_325_252) }
    }

    /// A genuine datagram, numbered in its payload.
    fn datagram(&mut self, index: u64) -> Vec<u8> {
        let mut datagram = Vec::new();
        let parts: [&[u8]; 2] = [&index.to_be_bytes(), b"a payload of some blocks, not aligned"];
        self.client.seal(at(index), &parts, &mut datagram).expect("the key is fresh");
        datagram
    }

    fn opens(&mut self, index: u64, mut datagram: Vec<u8>) -> bool {
        match self.server.open(at(index), &mut datagram) {
            Ok(opened) => opened.payload[..8] == index.to_be_bytes(),
            Err(_) => false,
        }
    }
}

#[test]
fn forged_datagrams_are_dropped() {
    let mut scene = Scene::new();
    let wrong = Key::generate().expect("randomness");
    let mut stranger = Session::new(&wrong, Role::Client);
    let mut forged = Vec::new();
    for index in 0..MILLION {
        let genuine = scene.datagram(index);
        if index % 2 == 0 {
            forged.clone_from(&genuine);
            // The sequence number is not changed: that would make the datagram old, or reflected.
            let place = 8 + scene.rng.below(forged.len() - 8);
            forged[place] ^= 1 << scene.rng.below(8);
        } else {
            stranger.seal(at(index), &[b"let me in"], &mut forged).expect("the key is fresh");
            forged[..8].copy_from_slice(&genuine[..8]);
        }
        assert!(!scene.opens(index, forged.clone()));
        if index % 64 == 0 {
            assert!(scene.opens(index, genuine));
        }
    }
    assert_eq!(scene.server.dropped().forged, MILLION);
    assert_eq!(scene.server.dropped().total(), MILLION);
}

#[test]
fn truncated_datagrams_are_dropped() {
    let mut scene = Scene::new();
    let mut short = 0;
    for index in 0..MILLION {
        let mut datagram = scene.datagram(index);
        datagram.truncate(scene.rng.below(datagram.len()));
        short += u64::from(datagram.len() < OVERHEAD);
        assert!(!scene.opens(index, datagram));
    }
    let dropped = scene.server.dropped();
    assert_eq!((dropped.short, dropped.forged), (short, MILLION - short));
}

#[test]
fn replayed_and_duplicated_datagrams_are_dropped() {
    let mut scene = Scene::new();
    let mut recorded: Vec<Vec<u8>> = Vec::new();
    for index in 0..MILLION {
        let genuine = scene.datagram(index);
        assert!(scene.opens(index, genuine.clone()));
        assert!(!scene.opens(index, genuine.clone()), "a duplicate");
        let slot = scene.rng.below(20_000);
        match recorded.get_mut(slot) {
            Some(old) => *old = genuine,
            None => recorded.push(genuine),
        }
        let replayed = recorded[scene.rng.below(recorded.len())].clone();
        assert!(!scene.opens(index, replayed), "a replay");
        let mut reflected = recorded[0].clone();
        assert!(scene.client.open(at(index), &mut reflected).is_err(), "a reflection");
    }
    let dropped: Dropped = scene.server.dropped();
    assert_eq!(dropped.replayed + dropped.too_old, 2 * MILLION);
    assert!(dropped.too_old > MILLION / 10 && dropped.forged == 0, "{dropped:?}");
    assert_eq!(scene.client.dropped().wrong_direction, MILLION);
}

#[test]
fn reordered_datagrams_open_once() {
    let mut scene = Scene::new();
    let mut held: Vec<(u64, Vec<u8>)> = Vec::new();
    for index in 0..MILLION {
        held.push((index, scene.datagram(index)));
        if held.len() > 1000 {
            let (index, datagram) = held.swap_remove(scene.rng.below(1000));
            // One that was delayed by more than the window is rejected.
            let late = scene.server.highest().is_some_and(|highest| highest > index + 8000);
            assert!(scene.opens(index, datagram) || late, "{index}");
        }
    }
    let opened = scene.server.opened();
    assert_eq!(opened + scene.server.dropped().total() + held.len() as u64, MILLION);
    assert!(opened > MILLION * 99 / 100, "{opened}");
}
