use super::*;
use crate::user::UserStream;

type End = Transport<UserStream, UserStream>;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn pair() -> (End, End) {
    let empty = UserStream::new;
    (
        Transport::new(at(0), Settings::client(1), empty(), empty()),
        Transport::new(at(0), Settings::server(2), empty(), empty()),
    )
}

fn payloads(end: &mut End, now: Instant) -> Vec<Vec<u8>> {
    let rtt = Rtt { srtt: Span::from_millis(40), timeout: Span::from_millis(50) };
    let payloads: Vec<_> =
        std::iter::from_fn(|| end.transmit(now, &rtt).expect("short enough")).collect();
    assert!(end.next_wake(now, &rtt) > now);
    payloads
}

fn wrapped(instruction: &Instruction) -> Vec<u8> {
    let compressed = compress(&instruction.encode()).expect("short enough");
    Fragment { id: 9, index: 0, last: true, data: &compressed }.encode()
}

#[test]
fn a_payload_on_the_wire() {
    let (mut client, mut server) = pair();
    client.local_mut().push_keys(b"a").expect("short");
    let payloads = payloads(&mut client, at(0));
    let [payload] = &payloads[..] else { panic!("one payload") };
    let fragment = Fragment::decode(payload).expect("a fragment");
    assert_eq!((fragment.id, fragment.index, fragment.last), (0, 0, true));
    let bytes = decompress(fragment.data).expect("zlib");
    assert_eq!(bytes[..10], [8, 2, 16, 0, 24, 1, 32, 0, 40, 0]);
    let received = Received::State { number: 1, newest: true, changed: true };
    assert_eq!(server.receive(at(5), payload), Ok(received));
    assert_eq!(server.receive(at(6), payload), Ok(Received::Known));
    assert_eq!(server.last_contact(), at(5));
    assert_eq!(server.remote(), client.local());
}

#[test]
fn a_long_difference_is_cut_into_payloads_within_the_limit() {
    let (mut client, mut server) = pair();
    client.set_payload_limit(500);
    let mut chaff = Chaff::new(1);
    // Random bytes, which cannot be compressed.
    let noise: Vec<u8> = (0..600).flat_map(|_| chaff.draw()).collect();
    client.local_mut().push_keys(&noise).expect("short");
    let payloads = payloads(&mut client, at(0));
    assert!(payloads.len() > 5 && payloads.iter().all(|payload| payload.len() <= 500));
    let (last, others) = payloads.split_last().expect("some");
    for payload in others {
        assert_eq!(server.receive(at(0), payload), Ok(Received::Fragment));
    }
    assert!(matches!(server.receive(at(0), last), Ok(Received::State { number: 1, .. })));
    assert_eq!(server.remote(), client.local());
}

#[test]
fn acknowledged_states_are_known_to_the_sender() {
    let (mut client, mut server) = pair();
    payloads(&mut client, at(0)).iter().for_each(|p| drop(server.receive(at(10), p)));
    assert_eq!((client.sent_number(), client.acknowledged_number()), (1, 0));
    assert_eq!(client.last_acknowledgement(), None);
    payloads(&mut server, at(10)).iter().for_each(|p| drop(client.receive(at(20), p)));
    assert_eq!(client.acknowledged_number(), 1);
    assert_eq!((client.last_acknowledgement(), client.last_contact()), (Some(at(20)), at(20)));
}

#[test]
fn malformed_payloads_are_refused() {
    let (mut client, _) = pair();
    let version = Instruction { version: 3, ..Instruction::default() };
    let error = client.receive(at(0), &wrapped(&version));
    assert_eq!(error, Err(ReceiveError::Version { version: 3 }));
    let diff =
        Instruction { version: VERSION, new: 1, diff: vec![10, 9], ..Instruction::default() };
    assert!(matches!(client.receive(at(0), &wrapped(&diff)), Err(ReceiveError::Diff(_))));
    assert!(matches!(client.receive(at(0), b""), Err(ReceiveError::Fragment(_))));
    let junk = Fragment { id: 1, index: 0, last: true, data: b"junk" }.encode();
    assert!(matches!(client.receive(at(0), &junk), Err(ReceiveError::Compression(_))));
    let compressed = compress(&[0x0b]).expect("short");
    let junk = Fragment { id: 1, index: 0, last: true, data: &compressed }.encode();
    assert!(matches!(client.receive(at(0), &junk), Err(ReceiveError::Decode(_))));
    assert_eq!(client.remote_number(), 0);
}

#[test]
fn a_decompression_bomb_is_refused() {
    let (mut client, _) = pair();
    let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 100 << 20], 6);
    let received = Fragment::split(1, &bomb, 1200)
        .map(|fragment| client.receive(at(0), &fragment.encode()))
        .last();
    let error = ReceiveError::Compression(CompressionError::TooLong);
    assert_eq!(received, Some(Err(error)));
}

#[test]
fn both_ends_agree_to_end_a_session() {
    let (mut client, mut server) = pair();
    client.local_mut().push_keys(b"exit").expect("short");
    client.shutdown(at(100));
    // The first announcement is lost.
    assert_eq!(payloads(&mut client, at(100)).len(), 1);
    let again = payloads(&mut client, at(120));
    assert_eq!(again.len(), 1);
    server.receive(at(130), &again[0]).expect("well-formed");
    assert!(server.peer_is_shutting_down() && !server.has_answered_shutdown());
    assert_eq!(server.remote(), client.local());
    server.shutdown(at(130));
    // The first answer is lost too, so that the client repeats its announcement.
    assert_eq!(payloads(&mut server, at(130)).len(), 1);
    assert!(server.has_answered_shutdown());
    let third = payloads(&mut client, at(140));
    assert_eq!(server.receive(at(150), &third[0]), Ok(Received::Known));
    let answer = payloads(&mut server, at(250));
    client.receive(at(260), &answer[0]).expect("well-formed");
    assert!(client.is_shutdown_acknowledged() && client.peer_is_shutting_down());
    assert!(!client.is_shutdown_expired(at(260)));
}

#[test]
fn an_end_that_stays_repeats_its_answer_to_a_shutdown() {
    let (mut client, mut server) = pair();
    client.shutdown(at(100));
    let announcement = payloads(&mut client, at(100)).remove(0);
    server.receive(at(110), &announcement).expect("well-formed");
    assert_eq!(payloads(&mut server, at(110)).len(), 1, "at once");
    assert_eq!(server.receive(at(130), &announcement), Ok(Received::Known));
    assert_eq!(payloads(&mut server, at(229)).len(), 0);
    let answer = payloads(&mut server, at(230));
    client.receive(at(240), &answer[0]).expect("well-formed");
    assert!(client.is_shutdown_acknowledged());
}

#[test]
fn a_state_that_was_overtaken_needs_no_acknowledgement() {
    let (_, mut server) = pair();
    payloads(&mut server, at(0));
    let mut typed = UserStream::new();
    typed.push_keys(b"a").expect("short");
    let mut receive = |millis, new, diff| {
        let numbers = Instruction { version: VERSION, new, ..Instruction::default() };
        let received = server.receive(at(millis), &wrapped(&Instruction { diff, ..numbers }));
        let wake = server.next_wake(at(millis), &Rtt::default());
        (received.expect("well-formed"), wake)
    };
    let state = |number, newest, changed| Received::State { number, newest, changed };
    assert_eq!(receive(10, 5, vec![]), (state(5, true, false), at(3000)));
    assert_eq!(receive(20, 4, typed.initial_diff()), (state(4, false, true), at(3000)));
    assert_eq!(receive(30, 6, typed.initial_diff()), (state(6, true, true), at(130)));
}

#[test]
fn instructions_have_chaff() {
    let (mut client, _) = pair();
    let lengths = (0..100).map(|n| {
        let payload = payloads(&mut client, at(3000 * n)).remove(0);
        let fragment = Fragment::decode(&payload).expect("our own");
        let instruction = Instruction::decode(&decompress(fragment.data).expect("our own"));
        instruction.expect("our own").chaff.len()
    });
    let lengths: std::collections::BTreeSet<_> = lengths.collect();
    assert!(lengths.len() > 10 && lengths.last() <= Some(&16), "{lengths:?}");
}
