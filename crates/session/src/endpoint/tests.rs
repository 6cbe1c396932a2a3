//! Two parties in virtual time, with a network between them that does as it is told.

use super::*;
use crate::traffic::Sink;
use exm_random::{Purpose, Stream};
use exm_units::Rate;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SERVER: &str = "192.0.2.1:60001";
const HOME: &str = "198.51.100.7:40000";
const AWAY: &str = "203.0.113.9:50000";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn key(byte: u8) -> Key {
    Key::from_bytes([byte; 16])
}

fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

/// Numbered datagrams, endlessly, and what came of the other end's.
#[derive(Default)]
struct Numbered {
    /// How long a datagram is; none are sent where it is zero.
    length: usize,
    /// Before the others, some of these lengths, from the last on.
    first: Vec<usize>,
    next: u64,
    delivered: BTreeMap<u64, u32>,
    delivered_at: Instant,
}

impl Source for Numbered {
    fn waiting(&mut self, _now: Instant) -> Option<usize> {
        self.first.last().copied().or((self.length > 0).then_some(self.length))
    }

    fn pull(&mut self, _now: Instant, payload: &mut Vec<u8>) {
        let number = self.next.to_be_bytes();
        let length = self.first.pop().unwrap_or(self.length);
        payload.extend(number.iter().cycle().take(length));
        self.next += 1;
    }
}

impl Sink for Numbered {
    fn deliver(&mut self, now: Instant, payload: &[u8]) {
        let number: [u8; 8] = payload[..8].try_into().expect("long enough");
        assert!(payload.iter().zip(number.iter().cycle()).all(|(a, b)| a == b), "what was sent");
        *self.delivered.entry(u64::from_be_bytes(number)).or_default() += 1;
        self.delivered_at = now;
    }
}

/// What the network does to each datagram.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    loss: f64,
    duplication: f64,
    corruption: f64,
    /// Each is late by up to so much.
    jitter: Span,
    down: bool,
}

struct Side {
    endpoint: Endpoint,
    traffic: Numbered,
    /// Where its datagrams seem to come from.
    address: SocketAddr,
    sent: u64,
}

struct World {
    now: Instant,
    /// The client, and the server.
    sides: [Side; 2],
    /// What is under way: when it arrives, an order among equals, where, from where, what.
    air: BTreeMap<(Instant, u64), (usize, SocketAddr, Vec<u8>)>,
    /// All that ever was.
    recorded: Vec<(usize, Vec<u8>)>,
    count: u64,
    /// When the link to each side is free again.
    free_at: [Instant; 2],
    faults: Faults,
    random: Stream,
    /// From where somebody copies what the client sends, and overtakes it, if anybody does.
    copied_from: Option<SocketAddr>,
    /// The bytes of his copies, and of what the server sends there.
    copies: usize,
    astray: usize,
}

const CLIENT: usize = 0;
const THE_SERVER: usize = 1;

impl World {
    fn new(faults: Faults) -> World {
        let now = Instant::ZERO + secs(1);
        let client = || Endpoint::client(now, key(7), Settings::default(), vec![address(SERVER)]);
        let side = |endpoint, at| Side {
            endpoint,
            traffic: Numbered::default(),
            address: address(at),
            sent: 0,
        };
        let server = Endpoint::server(key(7), Settings::default());
        World {
            now,
            sides: [side(client(), HOME), side(server, SERVER)],
            air: BTreeMap::new(),
            recorded: Vec::new(),
            count: 0,
            free_at: [now; 2],
            faults,
            random: Stream::new(1, Purpose::Loss, 0),
            copied_from: None,
            copies: 0,
            astray: 0,
        }
    }

    fn transmit(&mut self, index: usize) {
        for _ in 0..2000 {
            let side = &mut self.sides[index];
            let Some(path) = side.endpoint.transmit(self.now, &mut side.traffic) else { return };
            assert!(side.endpoint.datagram().len() + 48 <= usize::from(Settings::DEFAULT_MTU));
            side.sent += 1;
            let (from, datagram) = (side.address, side.endpoint.datagram().to_vec());
            let receiver = 1 - index;
            if path.remote == self.sides[receiver].address {
                self.launch(receiver, from, datagram);
            } else {
                self.astray += datagram.len();
            }
        }
        panic!("it sends endlessly");
    }

    /// A datagram goes on its way, with what the network does to it.
    fn launch(&mut self, receiver: usize, from: SocketAddr, datagram: Vec<u8>) {
        let Faults { loss, duplication, corruption, jitter, down } = self.faults;
        let mut happens = |probability: f64| self.random.uniform() < probability;
        if down || happens(loss) {
            return;
        }
        let copies = if happens(duplication) { 2 } else { 1 };
        for _ in 0..copies {
            let mut copy = datagram.clone();
            if self.random.uniform() < corruption {
                let place = (self.random.uniform() * copy.len() as f64) as usize;
                copy[place] ^= 1 << (place % 8);
            }
            let late = Span::from_nanos((self.random.uniform() * jitter.as_nanos() as f64) as u64);
            self.count += 1;
            let free_at = &mut self.free_at[receiver];
            let size = Bytes::new(copy.len() as u64 + 28);
            *free_at = (*free_at).max(self.now) + Rate::from_bps(5_000_000).service_time(size);
            let at = *free_at + Span::from_millis(20) + late;
            if let Some(thief) = self.copied_from.filter(|_| receiver == THE_SERVER) {
                self.copies += copy.len();
                self.air.insert(
                    (at - Span::from_micros(1), self.count),
                    (receiver, thief, copy.clone()),
                );
            }
            self.air.insert((at, self.count), (receiver, from, copy));
        }
        self.recorded.push((receiver, datagram));
    }

    /// Lets `span` pass.
    fn run(&mut self, span: Span) {
        let end = self.now + span;
        (0..2).for_each(|index| self.transmit(index));
        loop {
            let wakes = self.sides.each_ref().map(|side| side.endpoint.next_wake(self.now));
            let arrival = self.air.first_key_value().map_or(Instant::MAX, |(&(at, _), _)| at);
            let next = wakes[0].min(wakes[1]).min(arrival);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.air.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let (receiver, from, datagram) = entry.remove();
                self.deliver(receiver, from, datagram);
            }
            (0..2).for_each(|index| self.transmit(index));
        }
    }

    fn deliver(&mut self, receiver: usize, from: SocketAddr, mut datagram: Vec<u8>) {
        let path = Path { remote: from, local: None };
        let side = &mut self.sides[receiver];
        if let Some(payload) = side.endpoint.receive(self.now, path, &mut datagram) {
            side.traffic.deliver(self.now, payload);
        }
    }

    fn state(&self, index: usize) -> State {
        self.sides[index].endpoint.stats(self.now).state
    }

    fn delivered(&self, index: usize) -> usize {
        self.sides[index].traffic.delivered.len()
    }
}

/// A world with a session in it and data both ways.
fn talking() -> World {
    let mut world = World::new(Faults::default());
    world.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    world.run(secs(2));
    assert!((0..2).all(|index| world.state(index) == State::Established));
    assert!((0..2).all(|index| world.delivered(index) > 20), "data flow");
    world
}

#[test]
fn a_session_begins_within_two_round_trips() {
    let mut world = World::new(Faults::default());
    world.run(Span::from_millis(81));
    assert!((0..2).all(|index| world.state(index) == State::Established));
    let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
    assert_eq!((stats.peer, stats.counters.sessions), (Some(address(HOME)), 1));
    assert!(stats.window > Bytes::ZERO);
    world.run(secs(1));
    let srtt = world.sides[CLIENT].endpoint.stats(world.now).srtt;
    assert!(
        srtt.is_some_and(|srtt| (40..=42).contains(&(srtt.as_nanos() / 1_000_000))),
        "{srtt:?}"
    );
}

#[test]
fn an_idle_session_says_little() {
    let mut world = World::new(Faults::default());
    let mut said_in = |time| {
        let before = world.sides.each_ref().map(|side| side.sent);
        world.run(time);
        [0, 1].map(|side| world.sides[side].sent - before[side])
    };
    // Heartbeats: no more than one a tick, enough to notice an outage; then no more than two a second.
    let (first, later) = (said_in(secs(4)), {
        said_in(secs(6));
        said_in(secs(10))
    });
    assert!(first.iter().all(|said| (80..=200).contains(said)), "{first:?}");
    assert!(later.iter().all(|said| (15..=25).contains(said)), "{later:?}");
}

#[test]
fn strangers_are_not_answered() {
    let mut server = Endpoint::server(key(7), Settings::default());
    let mut stranger =
        Endpoint::client(Instant::ZERO, key(8), Settings::default(), vec![address(SERVER)]);
    let mut nothing = Numbered::default();
    let path = Path { remote: address(AWAY), local: None };
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        now += secs(3);
        stranger.transmit(now, &mut nothing).expect("it asks and asks");
        assert_eq!(server.receive(now, path, &mut stranger.datagram().to_vec()), None);
        assert_eq!(server.transmit(now, &mut nothing), None);
    }
    for first in 0..=u8::MAX {
        for length in [0, 1, 27, 28, 65, 66, 1400] {
            let mut datagram = vec![first; length];
            assert_eq!(server.receive(now, path, &mut datagram), None);
            assert_eq!(server.transmit(now, &mut nothing), None);
        }
    }
    assert_eq!(server.stats(now).state, State::Waiting);
    assert_eq!(server.next_wake(now), Instant::MAX, "it has nothing to do");
    assert!(server.counters().unauthenticated > 100 && server.counters().dropped.total() > 1000);
}

/// What `count` clients sent that nobody replied to.
fn recorded_initiations(count: usize) -> Vec<Vec<u8>> {
    let initiate = |_| HANDSHAKE.initiate(&key(7)).expect("randomness");
    (0..count).map(|index| framed(INITIATION, initiate(index).initiation())).collect()
}

/// Delivers `datagrams` to the server as from [`AWAY`], and counts the bytes that are sent there.
fn replay(world: &mut World, datagrams: &[Vec<u8>]) -> usize {
    let (now, path) = (world.now, Path { remote: address(AWAY), local: None });
    let Side { endpoint, traffic, .. } = &mut world.sides[THE_SERVER];
    let mut replied = 0;
    for datagram in datagrams {
        assert_eq!(endpoint.receive(now, path, &mut datagram.clone()), None);
        while let Some(to) = endpoint.transmit(now, traffic) {
            replied += if to == path { endpoint.datagram().len() } else { 0 };
        }
    }
    replied
}

#[test]
fn replayed_initiations_begin_nothing_and_amplify_nothing() {
    let mut world = talking();
    let recorded = recorded_initiations(100);
    let before = world.sides[THE_SERVER].endpoint.counters().sessions;
    let replied = replay(&mut world, &recorded);
    assert!(0 < replied && replied <= recorded.concat().len() * 2 / 3, "cookies are short");
    world.run(secs(1));
    assert_eq!(world.sides[THE_SERVER].endpoint.counters().sessions, before, "none was begun");
    assert_eq!(world.sides[THE_SERVER].endpoint.stats(world.now).peer, Some(address(HOME)));
}

#[test]
fn clients_connect_under_a_flood_of_replayed_initiations() {
    let recorded = recorded_initiations(8);
    let mut world = World::new(Faults::default());
    for client in 1..=20 {
        world.sides[CLIENT].endpoint =
            Endpoint::client(world.now, key(7), Settings::default(), vec![address(SERVER)]);
        // 3000 a second from a spoofed source; a cookie costs one round trip of 40 ms.
        for _ in 0..50 {
            replay(&mut world, &recorded[..3]);
            world.run(Span::from_millis(1));
            replay(&mut world, &recorded[5..]);
            world.run(Span::from_millis(1));
        }
        world.run(Span::from_millis(22));
        let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
        assert_eq!((stats.counters.sessions, stats.peer), (client, Some(address(HOME))));
        assert_eq!(world.state(CLIENT), State::Established);
    }
}

/// A client begins a session, of which every datagram is withheld, and then another.
#[test]
fn a_withheld_first_datagram_silences_no_newer_session() {
    let mut world = World::new(Faults::default());
    let client = || Endpoint::client(world.now, key(7), Settings::default(), vec![address(SERVER)]);
    let (first, second) = (client(), client());
    world.sides[CLIENT].endpoint = first;
    world.run(Span::from_millis(41));
    assert_eq!(world.state(CLIENT), State::Established, "it was answered");
    let withheld: Vec<_> = std::mem::take(&mut world.air).into_values().collect();
    assert!(withheld.iter().any(|&(receiver, ..)| receiver == THE_SERVER));
    assert_eq!(world.state(THE_SERVER), State::Waiting);
    world.sides[CLIENT].endpoint = second;
    world.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    world.run(secs(2));
    let (sessions, before) =
        (world.sides[THE_SERVER].endpoint.counters().sessions, world.delivered(CLIENT));
    assert!(sessions == 1 && before > 20);
    for (receiver, _, datagram) in withheld {
        world.deliver(receiver, address(AWAY), datagram);
    }
    world.run(secs(1));
    let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
    assert_eq!((stats.counters.sessions, stats.peer), (sessions, Some(address(HOME))));
    assert!(world.delivered(CLIENT) > before + 10, "data flow on");
}

#[test]
fn the_server_follows_its_client() {
    let mut world = talking();
    let before = world.delivered(CLIENT);
    world.sides[CLIENT].address = address(AWAY);
    world.run(secs(1));
    let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
    assert_eq!((stats.peer, stats.counters.moves), (Some(address(AWAY)), 1));
    assert_eq!(stats.counters.sessions, 1);
    assert!(world.delivered(CLIENT) > before + 10);
}

#[test]
fn the_server_follows_within_a_round_trip_or_so() {
    let mut world = talking();
    world.sides[CLIENT].address = address(AWAY);
    // Of 40 ms, and one datagram at least in each 20 ms, behind up to 50 ms of queue.
    world.run(Span::from_millis(130));
    let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
    assert_eq!((stats.peer, stats.counters.moves), (Some(address(AWAY)), 1));
    let astray = world.astray;
    world.run(secs(1));
    assert_eq!(world.astray, astray, "nothing goes to where it was");
}

/// Somebody copies all that the client sends, and is always first.
#[test]
fn copies_from_elsewhere_redirect_and_amplify_nothing() {
    for length in [0, 1000] {
        let mut world = talking();
        world.sides[CLIENT].traffic.length = length;
        let delivered_in = |world: &mut World| {
            let before = world.delivered(CLIENT);
            world.run(secs(5));
            world.delivered(CLIENT) - before
        };
        world.copied_from = Some(address(HOME));
        let undisturbed = delivered_in(&mut world);
        world.copies = 0;
        world.copied_from = Some(address(AWAY));
        let disturbed = delivered_in(&mut world);
        let World { copies, astray, .. } = world;
        assert!(0 < astray && astray <= 3 * copies, "{astray} bytes for {copies}");
        assert!(disturbed * 100 > undisturbed * 95, "{disturbed} of {undisturbed} datagrams");
        let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
        assert_eq!((stats.peer, stats.counters.moves), (Some(address(HOME)), 0));
        // The honest client roams all the same once some of its datagrams are first.
        world.copied_from = None;
        world.sides[CLIENT].address = "203.0.113.77:50000".parse().expect("an address");
        world.run(secs(1));
        let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
        assert_eq!((stats.peer, stats.counters.moves), (Some(world.sides[CLIENT].address), 1));
    }
}

#[test]
fn ten_minutes_of_nothing_end_no_session() {
    let mut world = talking();
    world.faults.down = true;
    world.run(secs(20));
    assert!((0..2).all(|index| world.state(index) == State::Silent));
    let before = world.sides.each_ref().map(|side| side.sent);
    world.run(secs(580));
    let said = [0, 1].map(|index| world.sides[index].sent - before[index]);
    // The client tries every two seconds, the server waits for it.
    assert!((280..=300).contains(&said[CLIENT]) && said[THE_SERVER] == 0, "{said:?}");
    let carried = world.sides[CLIENT].traffic.next;
    world.faults.down = false;
    let before = [0, 1].map(|index| world.delivered(index));
    world.run(secs(3));
    for (index, before) in before.into_iter().enumerate() {
        assert_eq!(world.state(index), State::Established);
        assert!(world.delivered(index) > before + 10, "data flow again");
    }
    let lost = carried as usize - before[THE_SERVER];
    assert!(lost < 1000, "{lost} were sent into nothing");
}

#[test]
fn an_end_that_starts_again_is_met_again() {
    for (index, patience) in [(CLIENT, secs(1)), (THE_SERVER, secs(14))] {
        let mut world = talking();
        let endpoint = match index {
            CLIENT => {
                Endpoint::client(world.now, key(7), Settings::default(), vec![address(SERVER)])
            }
            _ => Endpoint::server(key(7), Settings::default()),
        };
        world.sides[index].endpoint = endpoint;
        world.air.clear();
        world.sides.iter_mut().for_each(|side| side.traffic.delivered.clear());
        world.run(patience);
        assert!((0..2).all(|index| world.state(index) == State::Established));
        assert!((0..2).all(|index| world.delivered(index) > 10), "data flow");
        let sessions = world.sides[1 - index].endpoint.counters().sessions;
        assert_eq!(sessions, 2);
    }
}

#[test]
fn what_was_recorded_is_of_no_use() {
    let mut world = talking();
    world.sides[CLIENT].endpoint =
        Endpoint::client(world.now, key(7), Settings::default(), vec![address(SERVER)]);
    world.run(secs(2));
    world.sides.iter_mut().for_each(|side| side.traffic.length = 0);
    world.run(secs(2));
    // All of it has arrived once already.
    let recorded = world.recorded.clone();
    world.run(secs(1));
    let (state, peer) =
        (world.state(THE_SERVER), world.sides[THE_SERVER].endpoint.stats(world.now).peer);
    let before = [0, 1].map(|index| world.delivered(index));
    // From elsewhere, all that ever was sent, to whom it was sent to and back.
    for (receiver, datagram) in recorded {
        for receiver in [receiver, 1 - receiver] {
            world.deliver(receiver, address(AWAY), datagram.clone());
        }
    }
    assert_eq!([0, 1].map(|index| world.delivered(index)), before);
    assert!(world.sides.iter().all(|side| side.traffic.delivered.values().all(|&n| n <= 2)));
    let stats = world.sides[THE_SERVER].endpoint.stats(world.now);
    assert_eq!((stats.state, stats.peer), (state, peer));
    world.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    world.run(secs(1));
    assert!((0..2).all(|index| world.delivered(index) > before[index]), "data flow all the same");
}

#[test]
fn a_clock_that_jumps_stops_nothing() {
    for jump in [Span::from_millis(300), secs(5), secs(600), secs(86_400 * 30)] {
        let mut world = talking();
        // Both ends slept, and what was under way is long gone.
        world.now += jump;
        world.run(secs(15));
        let before = [0, 1].map(|index| world.delivered(index));
        world.run(secs(1));
        for (index, before) in before.into_iter().enumerate() {
            assert_eq!(world.state(index), State::Established, "after {jump}");
            assert!(world.delivered(index) > before + 10, "after {jump}");
        }
    }
}

#[test]
fn what_no_packet_carries_is_dropped_and_counted() {
    let mut world = talking();
    let largest = Settings::default().max_payload();
    let traffic = &mut world.sides[CLIENT].traffic;
    traffic.first = vec![8, largest + 1, 0, largest, 100_000];
    let next = traffic.next;
    world.run(secs(2));
    let Side { endpoint, traffic, .. } = &world.sides[CLIENT];
    assert_eq!((traffic.first.len(), endpoint.counters().unsendable), (0, 3));
    let delivered = &world.sides[THE_SERVER].traffic.delivered;
    let came = (next..next + 5).filter(|number| delivered.contains_key(number));
    assert_eq!(came.collect::<Vec<_>>(), [next + 1, next + 4], "the two that fit");
}

#[test]
fn endless_datagrams_that_no_packet_carries_stop_nothing() {
    let mut world = talking();
    world.sides[CLIENT].traffic.length = Settings::default().max_payload() + 1;
    world.run(secs(1));
    let (unsendable, before) =
        (world.sides[CLIENT].endpoint.counters().unsendable, world.delivered(CLIENT));
    assert!((50..=100_000).contains(&unsendable), "{unsendable} were dropped");
    world.run(secs(1));
    assert!(world.delivered(CLIENT) > before + 20, "the other end's data flow");
    world.sides[CLIENT].traffic.length = 1000;
    let before = world.delivered(THE_SERVER);
    world.run(secs(1));
    assert!(world.delivered(THE_SERVER) > before + 20, "and so does what fits");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the network does, what is delivered was sent, is delivered once, and is counted; and
    /// the session goes on.
    #[test]
    fn any_network_delivers_each_datagram_once_or_not_at_all(
        loss in 0.0..0.6f64,
        duplication in 0.0..0.5f64,
        corruption in 0.0..0.3f64,
        jitter in 0u64..200,
        length in 8..=Settings::default().max_payload(),
    ) {
        let jitter = Span::from_millis(jitter);
        let mut world = World::new(Faults { loss, duplication, corruption, jitter, down: false });
        world.sides.iter_mut().for_each(|side| side.traffic.length = length);
        world.run(secs(8));
        for index in 0..2 {
            let traffic = &world.sides[index].traffic;
            let counters = world.sides[index].endpoint.counters();
            prop_assert!(traffic.delivered.values().all(|&times| times == 1));
            prop_assert_eq!(counters.delivered, traffic.delivered.len() as u64);
            let sent = world.sides[1 - index].traffic.next;
            prop_assert!(traffic.delivered.keys().all(|&number| number < sent));
            prop_assert!(counters.received >= counters.delivered);
        }
        let end = world.now;
        world.faults = Faults::default();
        world.run(secs(15));
        prop_assert!(world.sides.iter().all(|side| side.traffic.delivered_at > end));
    }
}
