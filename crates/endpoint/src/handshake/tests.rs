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

/// The reply to what `initiator` sends.
fn reply(responder: &mut Responder, secs: u64, host: u8, initiator: &Initiator) -> Reply {
    let reply = responder.reply(at(secs), from(host), initiator.initiation());
    reply.expect("it has the key").expect("randomness")
}

fn response(reply: Reply) -> Vec<u8> {
    let Reply::Response(response) = reply else { panic!("a cookie was sent") };
    response
}

fn cookie(reply: Reply) -> Vec<u8> {
    let Reply::Cookie(cookie) = reply else { panic!("a response was sent") };
    cookie
}

#[test]
fn a_response_that_is_used_proves_where_it_was_sent() {
    for (sources, expected) in [(&[1, 1][..], Some(1)), (&[1, 2], None), (&[2, 1, 1], None)] {
        let (mut initiator, mut responder) = (initiator(), responder());
        let replies =
            sources.iter().map(|&port| response(reply(&mut responder, 0, port, &initiator)));
        let said = replies.last().expect("there is one");
        let keys = initiator.finish(&said).expect("its response");
        let accepted = responder.accept(at(1), |pending| (pending == keys).then_some(()));
        assert_eq!(accepted, Some(((), expected.map(from))));
    }
}

/// Begins the session that `keys` are of, if that is pending.
fn accept(responder: &mut Responder, secs: u64, keys: &[Key]) -> bool {
    responder.accept(at(secs), |pending| (pending == keys).then_some(())).is_some()
}

#[test]
fn both_get_the_same_keys_and_others_each_time() {
    let (mut initiator, mut responder) = (initiator(), responder());
    let said = response(reply(&mut responder, 0, 1, &initiator));
    assert_eq!((said.len(), initiator.initiation().len()), (TWO.length(), TWO.length()));
    let keys = initiator.finish(&said).expect("its response");
    assert_eq!(initiator.finish(&said), None, "once");
    assert_eq!(response(reply(&mut responder, 29, 1, &initiator)), said, "it may have been lost");
    assert!(accept(&mut responder, 29, &keys) && !accept(&mut responder, 29, &keys), "once");
    let again = response(reply(&mut responder, 29, 1, &initiator));
    let mut others = Vec::new();
    responder.accept::<()>(at(29), |keys| {
        others = keys.to_vec();
        None
    });
    assert!(others != keys && again != said && keys[0] != keys[1]);
}

#[test]
fn strangers_are_not_answered() {
    let (mut ours, mut theirs) = (initiator(), responder());
    let mut other_key = Responder::new(TWO, Key::from_bytes([2; 16]));
    let mut other_purpose = Responder::new(Handshake::new("test 2", 2), shared());
    for responder in [&mut other_key, &mut other_purpose] {
        assert_eq!(responder.reply(at(0), from(1), ours.initiation()), Err(Unauthenticated));
    }
    let said = response(reply(&mut theirs, 0, 1, &ours));
    for place in 0..TWO.length() {
        let mut changed = said.clone();
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
    assert!(ours.finish(&said).is_some(), "what was forged did no harm");
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
        let said = response(reply(&mut responder, 0, host, &initiator));
        keys.push(initiator.finish(&said).expect("its response"));
    }
    assert!(accept(&mut responder, 1, &keys[1]));
    assert!(!accept(&mut responder, 1, &keys[0]), "it was older");
    assert!(accept(&mut responder, 1, &keys[2]), "it was newer");
}

#[test]
fn a_response_waits_for_half_a_minute() {
    for (secs, waits) in [(29, true), (30, false)] {
        let (mut initiator, mut responder) = (initiator(), responder());
        let said = response(reply(&mut responder, 0, 1, &initiator));
        let keys = initiator.finish(&said).expect("its response");
        assert_eq!(accept(&mut responder, secs, &keys), waits, "after {secs} s");
    }
}

#[test]
fn whoever_is_not_alone_proves_to_be_there() {
    let mut responder = responder();
    let recorded = initiator();
    let said = response(reply(&mut responder, 0, 9, &recorded));
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
    // The cookie is good where it was sent to, until a session begins or it is too old.
    cookie(reply(&mut responder, 1, 2, &honest));
    let proven = response(reply(&mut responder, 1, 1, &honest));
    let keys = honest.finish(&proven).expect("its response");
    assert_ne!(proven, said);
    assert!(accept(&mut responder, 2, &keys));
    response(reply(&mut responder, 2, 9, &recorded));
    cookie(reply(&mut responder, 2, 1, &honest));
}

#[test]
fn cookies_grow_old() {
    for (secs, is_good) in [(59, true), (61, false)] {
        let mut responder = responder();
        response(reply(&mut responder, 0, 9, &initiator()));
        let mut honest = initiator();
        assert!(honest.retry(&cookie(reply(&mut responder, 0, 1, &honest))));
        // Somebody is answered meanwhile, so that proof is needed.
        response(reply(&mut responder, 40, 9, &initiator()));
        let reply = reply(&mut responder, secs, 1, &honest);
        assert_eq!(matches!(reply, Reply::Response(_)), is_good, "after {secs} s");
    }
}

#[test]
fn a_flood_of_recorded_initiations_keeps_nobody_out() {
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
        let said = response(reply(&mut responder, round, 1, &honest));
        let keys = honest.finish(&said).expect("its response");
        assert!(accept(&mut responder, round, &keys), "in round {round}");
    }
    // One of the eight each round, after the last session began.
    assert_eq!(responses, 100);
}
