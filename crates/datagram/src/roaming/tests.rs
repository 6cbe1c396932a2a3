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

/// A client and a server whose roaming is tested; datagrams that arrive do so at once.
struct Pair {
    client: Session,
    server: Session,
    roaming: Roaming,
}

impl Pair {
    /// The client's address HOME is validated.
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

    /// The server receives `datagram` from `port`. Returns whether the peer has moved there.
    fn receive(&mut self, now: Instant, mut datagram: Vec<u8>, port: u16) -> bool {
        let opened = self.server.open(now, &mut datagram).expect("authentic");
        self.roaming.receive(now, &opened, address(port))
    }

    /// The client sends a datagram, which arrives from `port`.
    fn client_sends(&mut self, now: Instant, port: u16) -> bool {
        let datagram = self.of_client(now, 20);
        self.receive(now, datagram, port)
    }

    /// The server sends a datagram with `mark`, which the client receives.
    fn server_sends(&mut self, now: Instant, mark: Option<Mark>) -> Option<Span> {
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

    /// From `now` on, the client at `port` echoes challenges until it is validated, each `rtt` milliseconds
    /// after it is sent. Returns how many that takes.
    fn validate(&mut self, now: u64, port: u16, rtt: u64) -> u64 {
        assert!(!self.client_sends(at(now), port), "nothing has been echoed");
        for echoes in 0..10 {
            let sent_at = now + echoes * rtt;
            let (to, mark) = self.challenge(at(sent_at)).expect("one is due");
            assert_eq!(to, address(port));
            self.server_sends(at(sent_at + rtt - (rtt / 2).min(500)), Some(mark));
            if self.client_sends(at(sent_at + rtt), port) {
                return echoes + 1;
            }
        }
        panic!("it is not validated")
    }

    fn peer(&self) -> (Option<SocketAddr>, u64) {
        (self.roaming.peer(), self.roaming.moves())
    }
}

#[test]
fn a_server_follows_once_its_challenges_are_echoed() {
    let mut pair = Pair::new();
    assert!(!pair.client_sends(at(0), HOME));
    assert_eq!(pair.challenge(at(0)), None, "it is validated");
    assert!(!pair.client_sends(at(100), AWAY));
    assert_eq!(pair.peer(), (Some(address(HOME)), 0), "not yet validated");
    let (to, mark) = pair.challenge(at(100)).expect("one is due");
    assert_eq!((to, pair.challenge(at(100))), (address(AWAY), None), "once");
    pair.server_sends(at(160), Some(mark));
    assert!(!pair.client_sends(at(220), AWAY), "one echo could fit by chance");
    let (_, next) = pair.challenge(at(220)).expect("the next is due at once");
    assert_ne!(mark, next, "the echo has spent the first mark");
    pair.server_sends(at(240), Some(next));
    pair.client_sends(at(260), AWAY);
    assert_eq!(pair.validate(261, AWAY, 40), 1, "three in all");
    assert_eq!(pair.peer(), (Some(address(AWAY)), 1));
    assert_eq!(pair.challenge(at(320)), None);
    assert_eq!(pair.server.rtt().srtt(), None, "an echo of a mark is no RTT sample");
    pair.server_sends(at(340), None);
    assert!(!pair.client_sends(at(350), AWAY));
    assert_eq!(pair.server.rtt().srtt(), Some(Span::ZERO), "datagrams arrive at once");
}

#[test]
fn longer_rtts_take_more_echoes() {
    for (rtt, echoes) in [(2, 2), (12, 2), (20, 3), (200, 3), (220, 4), (790, 4), (3000, 6)] {
        assert_eq!(Pair::new().validate(0, AWAY, rtt), echoes, "RTT {rtt} ms");
    }
}

#[test]
fn the_first_address_must_be_validated_too() {
    let mut pair = Pair { roaming: Roaming::server(), ..Pair::new() };
    assert!(!pair.client_sends(at(0), HOME));
    assert_eq!(pair.peer(), (None, 0));
    let (_, mark) = pair.challenge(at(0)).expect("one is due");
    pair.server_sends(at(65_000), Some(mark));
    assert!(!pair.client_sends(at(65_000), HOME), "far too late, although the 16 bits agree");
    assert_eq!(pair.validate(65_010, HOME, 60), 1);
    assert_eq!(pair.peer(), (Some(address(HOME)), 0), "the first address is not a move");
}

/// A relay without the key lets the client echo challenges to an address of its own, and has these echoes
/// arrive from a third party's. It also withholds echoes of other datagrams until they look like those of
/// challenges.
#[test]
fn echoes_from_elsewhere_validate_no_third_party() {
    const VICTIM: u16 = 3;
    let mut pair = Pair::new();
    let mut withheld = std::collections::VecDeque::new();
    for round in 0..200_000 {
        let now = at(round * 97);
        if let Some((to, mark)) = pair.challenge(now)
            && to == address(AWAY)
        {
            pair.server_sends(now, Some(mark));
        } else {
            pair.server_sends(now, None);
        }
        withheld.push_back(pair.of_client(now, 40));
        if withheld.len() > (round / 1000 % 600) as usize {
            let datagram = withheld.pop_front().expect("there is one");
            let from = if round % 2 == 0 { AWAY } else { VICTIM };
            pair.receive(now, datagram, from);
            assert_ne!(pair.roaming.peer(), Some(address(VICTIM)), "round {round}");
        }
    }
}

/// An attacker copies everything that the client sends and overtakes it, each time from an address
/// of his choice that receives nothing.
#[test]
fn overtaking_copies_redirect_nothing_and_amplify_little() {
    for victims in [1, 2, 7] {
        let mut pair = Pair::new();
        let (mut received, mut sent) = (0, 0);
        for round in 0..10_000 {
            let now = at(round * 10);
            let copy = pair.of_client(now, (round % 100) as usize);
            received += copy.len();
            assert!(!pair.receive(now, copy, AWAY + (round % victims) as u16));
            while pair.roaming.challenge(now, OVERHEAD + 72).is_some() {
                sent += OVERHEAD + 72;
            }
            // The session continues on its validated path, and its timestamps are echoed.
            pair.server_sends(now, None);
            assert_eq!(pair.peer(), (Some(address(HOME)), 0));
        }
        assert!(0 < sent && sent <= 3 * received, "{sent} bytes for {received}");
    }
}

/// The same for nearly all datagrams: the client, at a new address, is found by the remaining ones.
#[test]
fn copies_from_elsewhere_do_not_displace_an_honest_client() {
    let mut pair = Pair::new();
    let mut echoes = None;
    for round in 0..600 {
        let now = at(round * 50);
        let is_copied = round % 4 != 0;
        let port = if is_copied { AWAY + 1 + (round % 3) as u16 } else { AWAY };
        if let Some(mark) = echoes.take_if(|_| !is_copied) {
            pair.server_sends(now, Some(mark));
        }
        if pair.client_sends(now, port) {
            // Mostly in round 12. Marks are random: now and then an echo fits those of two addresses, and counts for
            // neither until the other address is forgotten, five seconds later.
            assert!(port == AWAY && round >= 12, "port {port}, round {round}");
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
fn an_echo_validates_only_the_challenged_address() {
    let mut pair = Pair::new();
    assert!(!pair.client_sends(at(0), AWAY));
    let (_, mark) = pair.challenge(at(0)).expect("one is due");
    pair.server_sends(at(10), Some(mark));
    assert!(!pair.client_sends(at(20), AWAY + 1), "the echo comes from elsewhere");
    let doubts = |pair: &Pair| -> Vec<f64> {
        pair.roaming.candidates.iter().map(|candidate| candidate.doubt).collect()
    };
    assert_eq!(doubts(&pair), [1.0, 1.0]);
    pair.server_sends(at(30), Some(mark));
    assert!(!pair.client_sends(at(40), AWAY));
    assert!(doubts(&pair)[1] < 1e-3, "the echo comes from there");
}

#[test]
fn unmarked_echoes_validate_nothing() {
    for _ in 0..100 {
        let mut pair = Pair::new();
        for round in 0..100 {
            let now = at(round * 777);
            assert!(!pair.client_sends(now, AWAY));
            pair.challenge(now);
            pair.server_sends(now, None);
        }
    }
}

#[test]
fn challenges_are_few_and_small() {
    let mut pair = Pair::new();
    let empty = OVERHEAD + 20;
    assert!(!pair.client_sends(at(0), AWAY));
    assert_eq!(pair.roaming.challenge(at(0), 3 * empty + 1), None, "too long");
    assert!(pair.roaming.challenge(at(0), 3 * empty).is_some());
    assert!(!pair.client_sends(at(10), AWAY));
    assert_eq!(pair.challenge(at(10)), None, "too soon");
    assert!(pair.challenge(at(50)).is_some());
    assert_eq!(pair.challenge(at(1049)), None, "nothing came since");
    assert!(pair.challenge(at(1050)).is_some(), "the last one can no longer be echoed");
    assert_eq!(pair.challenge(at(6000)), None, "it has not responded");
    assert!(
        !pair.client_sends(at(6100), HOME)
            && !pair.client_sends(at(6200), AWAY)
            && !pair.client_sends(at(6210), HOME)
    );
    assert_eq!(pair.challenge(at(6210)), None, "the client is still at its old address");
    for port in 10..100 {
        assert!(!pair.client_sends(at(6300), port));
        assert!(pair.roaming.candidates.len() <= MAX_CANDIDATES);
    }
}

#[test]
fn a_late_datagram_does_not_move_the_client() {
    let mut pair = Pair::new();
    let late = pair.of_client(at(0), 0);
    assert!(!pair.client_sends(at(10), HOME));
    assert!(!pair.receive(at(20), late, AWAY));
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
