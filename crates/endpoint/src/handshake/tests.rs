use super::*;

const TWO: Handshake = Handshake::new("test 1", 2);

fn shared() -> Key {
    Key::from_bytes([1; 16])
}

fn at(secs: u64) -> Instant {
    Instant::ZERO + Span::from_secs(secs)
}

fn from(host: u8) -> SocketAddr {
    ([192, 0, 2, host], 40_000).into()
}

fn initiator() -> Initiator {
    TWO.initiate(&shared()).expect("randomness")
}

fn responder() -> Responder {
    Responder::new(TWO, shared())
}

/// The reply to `initiator`'s initiation.
fn reply(responder: &mut Responder, secs: u64, host: u8, initiator: &Initiator) -> Reply {
    let reply = responder.reply(at(secs), from(host), initiator.initiation());
    reply.expect("it has the key").expect("randomness")
}

fn expect_response(reply: Reply) -> Vec<u8> {
    let Reply::Response(response) = reply else { panic!("a cookie was sent") };
    response
}

fn cookie(reply: Reply) -> Vec<u8> {
    let Reply::Cookie(cookie) = reply else { panic!("a response was sent") };
    cookie
}

#[test]
fn using_a_response_validates_its_address() {
    for (sources, expected) in [(&[1, 1][..], Some(1)), (&[1, 2], None), (&[2, 1, 1], None)] {
        let (mut initiator, mut responder) = (initiator(), responder());
        let replies =
            sources.iter().map(|&port| expect_response(reply(&mut responder, 0, port, &initiator)));
        let response = replies.last().expect("there is one");
        let keys = initiator.finish(&response).expect("its response");
        let accepted = responder.accept(at(1), |pending| (pending == keys).then_some(()));
        assert_eq!(accepted, Some(((), expected.map(from))));
    }
}

/// Begins the session with `keys`, if it is pending.
fn accept(responder: &mut Responder, secs: u64, keys: &[Key]) -> bool {
    responder.accept(at(secs), |pending| (pending == keys).then_some(())).is_some()
}

#[test]
fn both_ends_get_the_same_new_keys() {
    let (mut initiator, mut responder) = (initiator(), responder());
    let response = expect_response(reply(&mut responder, 0, 1, &initiator));
    assert_eq!((response.len(), initiator.initiation().len()), (TWO.length(), TWO.length()));
    let keys = initiator.finish(&response).expect("its response");
    assert_eq!(initiator.finish(&response), None, "once");
    assert_eq!(
        expect_response(reply(&mut responder, 29, 1, &initiator)),
        response,
        "it may have been lost"
    );
    assert!(accept(&mut responder, 29, &keys) && !accept(&mut responder, 29, &keys), "once");
    let again = expect_response(reply(&mut responder, 29, 1, &initiator));
    let mut others = Vec::new();
    responder.accept::<()>(at(29), |keys| {
        others = keys.to_vec();
        None
    });
    assert!(others != keys && again != response && keys[0] != keys[1]);
}

#[test]
fn senders_without_the_key_get_no_reply() {
    let (mut ours, mut theirs) = (initiator(), responder());
    let mut other_key = Responder::new(TWO, Key::from_bytes([2; 16]));
    let mut other_purpose = Responder::new(Handshake::new("test 2", 2), shared());
    for responder in [&mut other_key, &mut other_purpose] {
        assert_eq!(responder.reply(at(0), from(1), ours.initiation()), Err(Unauthenticated));
    }
    let response = expect_response(reply(&mut theirs, 0, 1, &ours));
    for place in 0..TWO.length() {
        let mut changed = response.clone();
        changed[place] ^= 4;
        assert_eq!(ours.finish(&changed), None, "byte {place}");
        assert_eq!(ours.finish(&changed[..place]), None, "cut at {place}");
        let mut changed = ours.initiation().to_vec();
        changed[place] ^= 4;
        assert_eq!(theirs.reply(at(0), from(1), &changed), Err(Unauthenticated), "byte {place}");
        assert_eq!(
            theirs.reply(at(0), from(1), &changed[..place]),
            Err(Unauthenticated),
            "{place}"
        );
    }
    assert!(ours.finish(&response).is_some(), "forgeries do no harm");
}

#[test]
fn a_session_voids_older_responses_only() {
    let mut responder = responder();
    let mut keys = Vec::new();
    for host in 1..=3 {
        let mut initiator = initiator();
        if let Reply::Cookie(cookie) = reply(&mut responder, 0, host, &initiator) {
            assert!(initiator.retry(&cookie));
        }
        let response = expect_response(reply(&mut responder, 0, host, &initiator));
        keys.push(initiator.finish(&response).expect("its response"));
    }
    assert!(accept(&mut responder, 1, &keys[1]));
    assert!(!accept(&mut responder, 1, &keys[0]), "it was older");
    assert!(accept(&mut responder, 1, &keys[2]), "it was newer");
}

#[test]
fn a_response_is_pending_for_half_a_minute() {
    for (secs, waits) in [(29, true), (30, false)] {
        let (mut initiator, mut responder) = (initiator(), responder());
        let response = expect_response(reply(&mut responder, 0, 1, &initiator));
        let keys = initiator.finish(&response).expect("its response");
        assert_eq!(accept(&mut responder, secs, &keys), waits, "after {secs} s");
    }
}

#[test]
fn concurrent_initiators_must_validate_their_address() {
    let mut responder = responder();
    let recorded = initiator();
    let response = expect_response(reply(&mut responder, 0, 9, &recorded));
    let mut honest = initiator();
    let challenge = cookie(reply(&mut responder, 0, 1, &honest));
    assert!(challenge.len() < honest.initiation().len());
    for place in 0..challenge.len() {
        let mut changed = challenge.clone();
        changed[place] ^= 4;
        assert!(!honest.retry(&changed) && !honest.retry(&challenge[..place]), "byte {place}");
    }
    assert!(!initiator().retry(&challenge), "it replies to another initiation");
    assert!(honest.retry(&challenge) && !honest.retry(&challenge), "once");
    // The cookie is valid at its destination, until a session begins or it is too old.
    cookie(reply(&mut responder, 1, 2, &honest));
    let proven = expect_response(reply(&mut responder, 1, 1, &honest));
    let keys = honest.finish(&proven).expect("its response");
    assert_ne!(proven, response);
    assert!(accept(&mut responder, 2, &keys));
    expect_response(reply(&mut responder, 2, 9, &recorded));
    cookie(reply(&mut responder, 2, 1, &honest));
}

#[test]
fn cookies_expire() {
    for (secs, is_good) in [(59, true), (61, false)] {
        let mut responder = responder();
        expect_response(reply(&mut responder, 0, 9, &initiator()));
        let mut honest = initiator();
        assert!(honest.retry(&cookie(reply(&mut responder, 0, 1, &honest))));
        // Another response is pending meanwhile, so a cookie is required.
        expect_response(reply(&mut responder, 40, 9, &initiator()));
        let reply = reply(&mut responder, secs, 1, &honest);
        assert_eq!(matches!(reply, Reply::Response(_)), is_good, "after {secs} s");
    }
}

#[test]
fn a_flood_of_replayed_initiations_does_not_block_clients() {
    let mut responder = responder();
    let recorded: Vec<Initiator> = (0..8).map(|_| initiator()).collect();
    let mut responses = 0;
    for round in 0..100u64 {
        for recorded in &recorded {
            let reply = reply(&mut responder, round, 9, recorded);
            responses += usize::from(matches!(reply, Reply::Response(_)));
        }
        assert!(responder.pending.len() <= 2);
        let mut honest = initiator();
        assert!(honest.retry(&cookie(reply(&mut responder, round, 1, &honest))));
        let response = expect_response(reply(&mut responder, round, 1, &honest));
        let keys = honest.finish(&response).expect("its response");
        assert!(accept(&mut responder, round, &keys), "in round {round}");
    }
    // One of the eight each round, after the last session began.
    assert_eq!(responses, 100);
}
