//! A client and a server in virtual time, with a network between them whose faults are set by the
//! test.

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

/// An endless source of numbered datagrams, and a sink that counts those of the peer.
#[derive(Default)]
struct Numbered {
    /// The length of a datagram; zero for none.
    length: usize,
    /// The lengths of the first datagrams, in reverse order.
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
    /// Each is delayed by up to this much.
    jitter: Span,
    down: bool,
}

struct Side {
    endpoint: Endpoint,
    traffic: Numbered,
    /// The source address of its datagrams.
    address: SocketAddr,
    sent: u64,
}

struct TestNetwork {
    now: Instant,
    /// The client, and the server.
    sides: [Side; 2],
    /// Datagrams in flight: arrival time and a sequence number; destination side, source address,
    /// contents.
    air: BTreeMap<(Instant, u64), (usize, SocketAddr, Vec<u8>)>,
    /// All datagrams ever sent.
    recorded: Vec<(usize, Vec<u8>)>,
    count: u64,
    /// When the link to each side becomes idle.
    free_at: [Instant; 2],
    faults: Faults,
    random: Stream,
    /// The source address of an attacker who copies and overtakes the client's datagrams, if there is
    /// one.
    copied_from: Option<SocketAddr>,
    /// The bytes of the copies, and of what the server sends to that address.
    copies: usize,
    astray: usize,
}

const CLIENT_SIDE: usize = 0;
const SERVER_SIDE: usize = 1;

impl TestNetwork {
    fn new(faults: Faults) -> TestNetwork {
        let now = Instant::ZERO + secs(1);
        let client = || Endpoint::client(now, key(7), Settings::default(), vec![address(SERVER)]);
        let side = |endpoint, at| Side {
            endpoint,
            traffic: Numbered::default(),
            address: address(at),
            sent: 0,
        };
        let server = Endpoint::server(key(7), Settings::default());
        TestNetwork {
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
        panic!("it sends without end");
    }

    /// A datagram enters the network, which applies its faults.
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
            if let Some(thief) = self.copied_from.filter(|_| receiver == SERVER_SIDE) {
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

    /// Advances the time by `span`.
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

/// A network with an established session and data in both directions.
fn talking() -> TestNetwork {
    let mut net = TestNetwork::new(Faults::default());
    net.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    net.run(secs(2));
    assert!((0..2).all(|index| net.state(index) == State::Established));
    assert!((0..2).all(|index| net.delivered(index) > 20), "data flow");
    net
}

#[test]
fn a_session_begins_within_two_round_trips() {
    let mut net = TestNetwork::new(Faults::default());
    net.run(Span::from_millis(81));
    assert!((0..2).all(|index| net.state(index) == State::Established));
    let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
    assert_eq!((stats.peer, stats.counters.sessions), (Some(address(HOME)), 1));
    assert!(stats.window > Bytes::ZERO);
    net.run(secs(1));
    let srtt = net.sides[CLIENT_SIDE].endpoint.stats(net.now).srtt;
    assert!(
        srtt.is_some_and(|srtt| (40..=42).contains(&(srtt.as_nanos() / 1_000_000))),
        "{srtt:?}"
    );
}

#[test]
fn an_idle_session_sends_few_heartbeats() {
    let mut net = TestNetwork::new(Faults::default());
    let mut said_in = |time| {
        let before = net.sides.each_ref().map(|side| side.sent);
        net.run(time);
        [0, 1].map(|side| net.sides[side].sent - before[side])
    };
    // Heartbeats: at most one per tick, enough to notice an outage; then at most two per second.
    let (first, later) = (said_in(secs(4)), {
        said_in(secs(6));
        said_in(secs(10))
    });
    assert!(first.iter().all(|count| (80..=200).contains(count)), "{first:?}");
    assert!(later.iter().all(|count| (15..=25).contains(count)), "{later:?}");
}

#[test]
fn senders_without_the_key_get_no_reply() {
    let mut server = Endpoint::server(key(7), Settings::default());
    let mut stranger =
        Endpoint::client(Instant::ZERO, key(8), Settings::default(), vec![address(SERVER)]);
    let mut nothing = Numbered::default();
    let path = Path { remote: address(AWAY), local: None };
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        now += secs(3);
        stranger.transmit(now, &mut nothing).expect("it sends initiations");
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

/// The initiations of `count` clients that got no reply.
fn recorded_initiations(count: usize) -> Vec<Vec<u8>> {
    let initiate = |_| HANDSHAKE.initiate(&key(7)).expect("randomness");
    (0..count).map(|index| framed(INITIATION, initiate(index).initiation())).collect()
}

/// Delivers `datagrams` to the server from [`AWAY`], and counts the bytes that are sent there.
fn replay(net: &mut TestNetwork, datagrams: &[Vec<u8>]) -> usize {
    let (now, path) = (net.now, Path { remote: address(AWAY), local: None });
    let Side { endpoint, traffic, .. } = &mut net.sides[SERVER_SIDE];
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
    let mut net = talking();
    let recorded = recorded_initiations(100);
    let before = net.sides[SERVER_SIDE].endpoint.counters().sessions;
    let replied = replay(&mut net, &recorded);
    assert!(0 < replied && replied <= recorded.concat().len() * 2 / 3, "cookies are short");
    net.run(secs(1));
    assert_eq!(net.sides[SERVER_SIDE].endpoint.counters().sessions, before, "none was begun");
    assert_eq!(net.sides[SERVER_SIDE].endpoint.stats(net.now).peer, Some(address(HOME)));
}

#[test]
fn clients_connect_under_a_flood_of_replayed_initiations() {
    let recorded = recorded_initiations(8);
    let mut net = TestNetwork::new(Faults::default());
    for client in 1..=20 {
        net.sides[CLIENT_SIDE].endpoint =
            Endpoint::client(net.now, key(7), Settings::default(), vec![address(SERVER)]);
        // 3000 a second from a spoofed source; a cookie costs one round trip of 40 ms.
        for _ in 0..50 {
            replay(&mut net, &recorded[..3]);
            net.run(Span::from_millis(1));
            replay(&mut net, &recorded[5..]);
            net.run(Span::from_millis(1));
        }
        net.run(Span::from_millis(22));
        let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
        assert_eq!((stats.counters.sessions, stats.peer), (client, Some(address(HOME))));
        assert_eq!(net.state(CLIENT_SIDE), State::Established);
    }
}

/// A client begins a session whose datagrams are all withheld, and then another one.
#[test]
fn a_withheld_first_datagram_does_not_disturb_a_newer_session() {
    let mut net = TestNetwork::new(Faults::default());
    let client = || Endpoint::client(net.now, key(7), Settings::default(), vec![address(SERVER)]);
    let (first, second) = (client(), client());
    net.sides[CLIENT_SIDE].endpoint = first;
    net.run(Span::from_millis(41));
    assert_eq!(net.state(CLIENT_SIDE), State::Established, "it got a response");
    let withheld: Vec<_> = std::mem::take(&mut net.air).into_values().collect();
    assert!(withheld.iter().any(|&(receiver, ..)| receiver == SERVER_SIDE));
    assert_eq!(net.state(SERVER_SIDE), State::Waiting);
    net.sides[CLIENT_SIDE].endpoint = second;
    net.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    net.run(secs(2));
    let (sessions, before) =
        (net.sides[SERVER_SIDE].endpoint.counters().sessions, net.delivered(CLIENT_SIDE));
    assert!(sessions == 1 && before > 20);
    for (receiver, _, datagram) in withheld {
        net.deliver(receiver, address(AWAY), datagram);
    }
    net.run(secs(1));
    let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
    assert_eq!((stats.counters.sessions, stats.peer), (sessions, Some(address(HOME))));
    assert!(net.delivered(CLIENT_SIDE) > before + 10, "data flow on");
}

/// A response that is genuine, but comes from an address that is none of the server's, is not adopted.
#[test]
fn a_client_keeps_to_the_addresses_of_its_server() {
    let mut net = talking();
    let (now, client) = (net.now, &mut net.sides[CLIENT_SIDE].endpoint);
    let before = client.stats(now).peer;
    let path = Path { remote: address(AWAY), local: None };
    assert!(client.receive(now, path, &mut [super::RESPONSE; 64]).is_none());
    assert_eq!((client.stats(now).peer, client.counters().unauthenticated), (before, 1));
}

#[test]
fn the_server_follows_its_client() {
    let mut net = talking();
    let before = net.delivered(CLIENT_SIDE);
    net.sides[CLIENT_SIDE].address = address(AWAY);
    net.run(secs(1));
    let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
    assert_eq!((stats.peer, stats.counters.moves), (Some(address(AWAY)), 1));
    assert_eq!(stats.counters.sessions, 1);
    assert!(net.delivered(CLIENT_SIDE) > before + 10);
}

#[test]
fn the_server_follows_within_three_round_trips_or_so() {
    let mut net = talking();
    net.sides[CLIENT_SIDE].address = address(AWAY);
    // The RTT is 40 ms, and there is at least one datagram in each 20 ms, behind up to 50 ms of queue. Three
    // challenges in turn are echoed.
    net.run(Span::from_millis(3 * 110 + 20));
    let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
    assert_eq!((stats.peer, stats.counters.moves), (Some(address(AWAY)), 1));
    let astray = net.astray;
    net.run(secs(1));
    assert_eq!(net.astray, astray, "nothing is sent to the old address");
}

/// An attacker copies everything that the client sends, and always arrives first.
#[test]
fn copies_from_elsewhere_redirect_and_amplify_nothing() {
    for length in [0, 1000] {
        let mut net = talking();
        net.sides[CLIENT_SIDE].traffic.length = length;
        let delivered_in = |net: &mut TestNetwork| {
            let before = net.delivered(CLIENT_SIDE);
            net.run(secs(5));
            net.delivered(CLIENT_SIDE) - before
        };
        net.copied_from = Some(address(HOME));
        let undisturbed = delivered_in(&mut net);
        net.copies = 0;
        net.copied_from = Some(address(AWAY));
        let disturbed = delivered_in(&mut net);
        let TestNetwork { copies, astray, .. } = net;
        assert!(0 < astray && astray <= 3 * copies, "{astray} bytes for {copies}");
        assert!(disturbed * 100 > undisturbed * 95, "{disturbed} of {undisturbed} datagrams");
        let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
        assert_eq!((stats.peer, stats.counters.moves), (Some(address(HOME)), 0));
        // The honest client can still roam once some of its datagrams arrive first.
        net.copied_from = None;
        net.sides[CLIENT_SIDE].address = "203.0.113.77:50000".parse().expect("an address");
        net.run(secs(1));
        let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
        assert_eq!((stats.peer, stats.counters.moves), (Some(net.sides[CLIENT_SIDE].address), 1));
    }
}

#[test]
fn ten_minutes_of_silence_do_not_end_a_session() {
    let mut net = talking();
    net.faults.down = true;
    net.run(secs(20));
    assert!((0..2).all(|index| net.state(index) == State::Silent));
    let before = net.sides.each_ref().map(|side| side.sent);
    net.run(secs(580));
    let counts = [0, 1].map(|index| net.sides[index].sent - before[index]);
    // The client sends an initiation every two seconds, the server waits for it.
    assert!((280..=300).contains(&counts[CLIENT_SIDE]) && counts[SERVER_SIDE] == 0, "{counts:?}");
    let carried = net.sides[CLIENT_SIDE].traffic.next;
    net.faults.down = false;
    let before = [0, 1].map(|index| net.delivered(index));
    net.run(secs(3));
    for (index, before) in before.into_iter().enumerate() {
        assert_eq!(net.state(index), State::Established);
        assert!(net.delivered(index) > before + 10, "data flow again");
    }
    let lost = carried as usize - before[SERVER_SIDE];
    assert!(lost < 1000, "{lost} were lost");
}

#[test]
fn a_restarted_end_is_reconnected() {
    for (index, patience) in [(CLIENT_SIDE, secs(1)), (SERVER_SIDE, secs(14))] {
        let mut net = talking();
        let endpoint = match index {
            CLIENT_SIDE => {
                Endpoint::client(net.now, key(7), Settings::default(), vec![address(SERVER)])
            }
            _ => Endpoint::server(key(7), Settings::default()),
        };
        net.sides[index].endpoint = endpoint;
        net.air.clear();
        net.sides.iter_mut().for_each(|side| side.traffic.delivered.clear());
        net.run(patience);
        assert!((0..2).all(|index| net.state(index) == State::Established));
        assert!((0..2).all(|index| net.delivered(index) > 10), "data flow");
        let sessions = net.sides[1 - index].endpoint.counters().sessions;
        assert_eq!(sessions, 2);
    }
}

#[test]
fn recorded_datagrams_are_useless() {
    let mut net = talking();
    net.sides[CLIENT_SIDE].endpoint =
        Endpoint::client(net.now, key(7), Settings::default(), vec![address(SERVER)]);
    net.run(secs(2));
    net.sides.iter_mut().for_each(|side| side.traffic.length = 0);
    net.run(secs(2));
    // All of them have already arrived once.
    let recorded = net.recorded.clone();
    net.run(secs(1));
    let (state, peer) =
        (net.state(SERVER_SIDE), net.sides[SERVER_SIDE].endpoint.stats(net.now).peer);
    let before = [0, 1].map(|index| net.delivered(index));
    // From another address, everything ever sent, to its destination and back to its source.
    for (receiver, datagram) in recorded {
        for receiver in [receiver, 1 - receiver] {
            net.deliver(receiver, address(AWAY), datagram.clone());
        }
    }
    assert_eq!([0, 1].map(|index| net.delivered(index)), before);
    assert!(net.sides.iter().all(|side| side.traffic.delivered.values().all(|&n| n <= 2)));
    let stats = net.sides[SERVER_SIDE].endpoint.stats(net.now);
    assert_eq!((stats.state, stats.peer), (state, peer));
    net.sides.iter_mut().for_each(|side| side.traffic.length = 1000);
    net.run(secs(1));
    assert!((0..2).all(|index| net.delivered(index) > before[index]), "data still flow");
}

#[test]
fn a_clock_that_jumps_does_not_stop_a_session() {
    for jump in [Span::from_millis(300), secs(5), secs(600), secs(86_400 * 30)] {
        let mut net = talking();
        // Both ends slept, and all datagrams in flight are long gone.
        net.now += jump;
        net.run(secs(15));
        let before = [0, 1].map(|index| net.delivered(index));
        net.run(secs(1));
        for (index, before) in before.into_iter().enumerate() {
            assert_eq!(net.state(index), State::Established, "after {jump}");
            assert!(net.delivered(index) > before + 10, "after {jump}");
        }
    }
}

#[test]
fn datagrams_that_fit_no_packet_are_dropped_and_counted() {
    let mut net = talking();
    let largest = Settings::default().max_payload();
    let traffic = &mut net.sides[CLIENT_SIDE].traffic;
    traffic.first = vec![8, largest + 1, 0, largest, 100_000];
    let next = traffic.next;
    net.run(secs(2));
    let Side { endpoint, traffic, .. } = &net.sides[CLIENT_SIDE];
    assert_eq!((traffic.first.len(), endpoint.counters().unsendable), (0, 3));
    let delivered = &net.sides[SERVER_SIDE].traffic.delivered;
    let came = (next..next + 5).filter(|number| delivered.contains_key(number));
    assert_eq!(came.collect::<Vec<_>>(), [next + 1, next + 4], "the two that fit");
}

#[test]
fn endless_unsendable_datagrams_do_not_stop_a_session() {
    let mut net = talking();
    net.sides[CLIENT_SIDE].traffic.length = Settings::default().max_payload() + 1;
    net.run(secs(1));
    let (unsendable, before) =
        (net.sides[CLIENT_SIDE].endpoint.counters().unsendable, net.delivered(CLIENT_SIDE));
    assert!((50..=100_000).contains(&unsendable), "{unsendable} were dropped");
    net.run(secs(1));
    assert!(net.delivered(CLIENT_SIDE) > before + 20, "the other end's data flow");
    net.sides[CLIENT_SIDE].traffic.length = 1000;
    let before = net.delivered(SERVER_SIDE);
    net.run(secs(1));
    assert!(net.delivered(SERVER_SIDE) > before + 20, "and so do those that fit");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the network does, every delivered datagram was sent, is delivered once, and is
    /// counted; and the session continues.
    #[test]
    fn any_network_delivers_each_datagram_once_or_not_at_all(
        loss in 0.0..0.6f64,
        duplication in 0.0..0.5f64,
        corruption in 0.0..0.3f64,
        jitter in 0u64..200,
        length in 8..=Settings::default().max_payload(),
    ) {
        let jitter = Span::from_millis(jitter);
        let mut net = TestNetwork::new(Faults { loss, duplication, corruption, jitter, down: false });
        net.sides.iter_mut().for_each(|side| side.traffic.length = length);
        net.run(secs(8));
        for index in 0..2 {
            let traffic = &net.sides[index].traffic;
            let counters = net.sides[index].endpoint.counters();
            prop_assert!(traffic.delivered.values().all(|&times| times == 1));
            prop_assert_eq!(counters.delivered, traffic.delivered.len() as u64);
            let sent = net.sides[1 - index].traffic.next;
            prop_assert!(traffic.delivered.keys().all(|&number| number < sent));
            prop_assert!(counters.received >= counters.delivered);
        }
        let end = net.now;
        net.faults = Faults::default();
        net.run(secs(15));
        prop_assert!(net.sides.iter().all(|side| side.traffic.delivered_at > end));
    }
}
