use super::*;
use crate::{Key, Session};
use exm_units::Span;

const HOME: u16 = 1;
const AWAY: u16 = 2;

fn address(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A client and a server, whose roaming is tested; what is sent arrives at once, if at all.
struct Pair {
    client: Session,
    server: Session,
    roaming: Roaming,
}

impl Pair {
    /// The client is proven to be at home.
    fn new() -> Pair {
        let key = Key::from_bytes([5; 16]);
        let [client, server] = [Role::Client, Role::Server].map(|role| Session::new(&key, role));
        Pair { client, server, roaming: Roaming::server_of(address(HOME)) }
    }

    fn of_client(&mut self, now: Instant, length: usize) -> Vec<u8> {
        let mut datagram = Vec::new();
        self.client.seal(now, &[&vec![0; length]], &mut datagram).expect("the key is fresh");
        datagram
    }

    /// The server gets `datagram` from `port`. Whether that is where the peer is now.
    fn hear(&mut self, now: Instant, mut datagram: Vec<u8>, port: u16) -> bool {
        let opened = self.server.open(now, &mut datagram).expect("authentic");
        self.roaming.receive(now, &opened, address(port))
    }

    /// The client says something, which comes from `port`.
    fn say(&mut self, now: Instant, port: u16) -> bool {
        let datagram = self.of_client(now, 20);
        self.hear(now, datagram, port)
    }

    /// What the server sends with `mark`, and the client receives.
    fn tell(&mut self, now: Instant, mark: Option<Mark>) -> Option<Span> {
        let mut datagram = Vec::new();
        let sealed = match mark {
            Some(mark) => self.server.seal_marked(now, mark, &[], &mut datagram),
            None => self.server.seal(now, &[], &mut datagram),
        };
        sealed.expect("the key is fresh");
        self.client.open(now, &mut datagram).expect("authentic").rtt
    }

    fn challenge(&mut self, now: Instant) -> Option<(SocketAddr, Mark)> {
        self.roaming.challenge(now, OVERHEAD)
    }

    fn peer(&self) -> (Option<SocketAddr>, u64) {
        (self.roaming.peer(), self.roaming.moves())
    }
}

#[test]
fn a_server_follows_once_its_challenge_is_echoed() {
    let mut pair = Pair::new();
    assert!(!pair.say(at(0), HOME));
    assert_eq!(pair.challenge(at(0)), None, "it is proven");
    assert!(!pair.say(at(100), AWAY));
    assert_eq!(pair.peer(), (Some(address(HOME)), 0), "nothing is proven yet");
    let (to, mark) = pair.challenge(at(100)).expect("one is due");
    assert_eq!((to, pair.challenge(at(100))), (address(AWAY), None), "once");
    pair.tell(at(160), Some(mark));
    assert!(pair.say(at(220), AWAY));
    assert_eq!(pair.peer(), (Some(address(AWAY)), 1));
    assert_eq!(pair.challenge(at(220)), None);
    assert_eq!(pair.server.rtt().srtt(), None, "an echo of a mark tells no round-trip time");
    pair.tell(at(240), None);
    assert!(!pair.say(at(250), AWAY));
    assert_eq!(pair.server.rtt().srtt(), Some(Span::ZERO), "as what is sent arrives at once");
}

#[test]
fn the_first_address_is_to_be_proven_too() {
    let mut pair = Pair { roaming: Roaming::server(), ..Pair::new() };
    assert!(!pair.say(at(0), HOME));
    assert_eq!(pair.peer(), (None, 0));
    let (_, mark) = pair.challenge(at(0)).expect("one is due");
    pair.tell(at(65_000), Some(mark));
    assert!(!pair.say(at(65_000), HOME), "far too late, if with the same sixteen bits");
    let (_, mark) = pair.challenge(at(65_000)).expect("one is due");
    pair.tell(at(65_030), Some(mark));
    assert!(pair.say(at(65_060), HOME));
    assert_eq!(pair.peer(), (Some(address(HOME)), 0), "no move");
}

/// Somebody copies all that the client sends and overtakes it, each time from an address of his
/// choice, where nothing of what is sent arrives.
#[test]
fn copies_that_come_first_redirect_nothing_and_amplify_little() {
    for victims in [1, 2, 7] {
        let mut pair = Pair::new();
        let (mut received, mut sent) = (0, 0);
        for round in 0..10_000 {
            let now = at(round * 10);
            let copy = pair.of_client(now, (round % 100) as usize);
            received += copy.len();
            assert!(!pair.hear(now, copy, AWAY + (round % victims) as u16));
            while pair.roaming.challenge(now, OVERHEAD + 72).is_some() {
                sent += OVERHEAD + 72;
            }
            // The session goes on all the same, by its proven path, and is echoed.
            pair.tell(now, None);
            assert_eq!(pair.peer(), (Some(address(HOME)), 0));
        }
        assert!(0 < sent && sent <= 3 * received, "{sent} bytes for {received}");
    }
}

/// The same, of nearly all: the client, at a new address, is found by what is left.
#[test]
fn copies_from_elsewhere_displace_no_honest_client() {
    let mut pair = Pair::new();
    let mut echoes = None;
    for round in 0..100 {
        let now = at(round * 50);
        let is_copied = round % 4 != 0;
        let port = if is_copied { AWAY + 1 + (round % 3) as u16 } else { AWAY };
        if let Some(mark) = echoes.take_if(|_| !is_copied) {
            pair.tell(now, Some(mark));
        }
        if pair.say(now, port) {
            assert_eq!((port, round), (AWAY, 4));
            return;
        }
        if let Some((to, mark)) = pair.challenge(now)
            && to == address(AWAY)
        {
            echoes = Some(mark);
        }
    }
    panic!("it was never found");
}

#[test]
fn an_echo_proves_the_address_that_was_challenged_only() {
    let mut pair = Pair::new();
    assert!(!pair.say(at(0), AWAY));
    let (_, mark) = pair.challenge(at(0)).expect("one is due");
    pair.tell(at(10), Some(mark));
    assert!(!pair.say(at(20), AWAY + 1), "the echo comes from elsewhere");
    pair.tell(at(30), Some(mark));
    assert!(pair.say(at(40), AWAY), "and now from there");
}

#[test]
fn unmarked_echoes_prove_nothing() {
    for _ in 0..100 {
        let mut pair = Pair::new();
        for round in 0..100 {
            let now = at(round * 777);
            assert!(!pair.say(now, AWAY));
            pair.challenge(now);
            pair.tell(now, None);
        }
    }
}

#[test]
fn challenges_are_few_and_small() {
    let mut pair = Pair::new();
    let empty = OVERHEAD + 20;
    assert!(!pair.say(at(0), AWAY));
    assert_eq!(pair.roaming.challenge(at(0), 3 * empty + 1), None, "too long");
    assert!(pair.roaming.challenge(at(0), 3 * empty).is_some());
    assert!(!pair.say(at(10), AWAY));
    assert_eq!(pair.challenge(at(10)), None, "too soon");
    assert!(pair.challenge(at(50)).is_some());
    assert_eq!(pair.challenge(at(1049)), None, "nothing came since");
    assert!(pair.challenge(at(1050)).is_some(), "an echo of the last would come no more");
    assert_eq!(pair.challenge(at(6000)), None, "it has not answered");
    assert!(!pair.say(at(6100), HOME) && !pair.say(at(6200), AWAY) && !pair.say(at(6210), HOME));
    assert_eq!(pair.challenge(at(6210)), None, "the client is where it was");
    for port in 10..100 {
        assert!(!pair.say(at(6300), port));
        assert!(pair.roaming.candidates.len() <= MAX_CANDIDATES);
    }
}

#[test]
fn a_late_datagram_says_nothing_of_where_the_client_is() {
    let mut pair = Pair::new();
    let late = pair.of_client(at(0), 0);
    assert!(!pair.say(at(10), HOME));
    assert!(!pair.hear(at(20), late, AWAY));
    assert_eq!(pair.challenge(at(20)), None);
}

#[test]
fn a_client_stays_with_its_server() {
    let key = Key::from_bytes([5; 16]);
    let (mut client, mut server) =
        (Session::new(&key, Role::Client), Session::new(&key, Role::Server));
    let (mut roaming, mut datagram) = (Roaming::client(address(1)), Vec::new());
    server.seal(at(0), &[], &mut datagram).expect("the key is fresh");
    let opened = client.open(at(0), &mut datagram).expect("authentic");
    assert!(!roaming.receive(at(0), &opened, address(2)));
    assert_eq!((roaming.peer(), roaming.role()), (Some(address(1)), Role::Client));
    assert_eq!(roaming.challenge(at(0), 0), None);
}
