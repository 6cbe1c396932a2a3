use super::*;
use crate::user::UserStream;

const RTT: Rtt = Rtt { srtt: Span::from_millis(100), timeout: Span::from_millis(200) };
/// Half of the RTT.
const INTERVAL: u64 = 50;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A server that keeps to the interval.
fn server() -> Sender<UserStream> {
    let longest = Span::from_millis(8);
    let settings = Settings { budget: 0, pause: longest, ..Settings::server(0) };
    Sender::new(at(0), UserStream::new(), &settings)
}

/// A server whose first packet, state 1 at 0 ms, has been acknowledged at 20 ms.
fn settled() -> Sender<UserStream> {
    let mut sender = server();
    sender.tick(at(0), &RTT).expect("the first packet");
    sender.acknowledge(at(20), 1);
    sender
}

fn type_keys(sender: &mut Sender<UserStream>, keys: &[u8]) {
    sender.current.push_keys(keys).expect("short");
}

/// The numbers of the states of what is sent at `millis`, and whether there is a difference.
fn sent(sender: &mut Sender<UserStream>, millis: u64) -> Option<(u64, u64, bool)> {
    let instruction = sender.tick(at(millis), &RTT)?;
    Some((instruction.old, instruction.new, !instruction.diff.is_empty()))
}

fn due(sender: &mut Sender<UserStream>, millis: u64) -> (Instant, Option<Instant>) {
    let due = sender.due(at(millis), &RTT);
    (due.ack, due.data)
}

#[test]
fn the_first_packet_goes_out_at_once_and_empty_ones_every_three_seconds() {
    let mut sender = server();
    assert_eq!(sent(&mut sender, 0), Some((0, 1, false)));
    assert_eq!(due(&mut sender, 0), (at(3000), None));
    assert_eq!(sent(&mut sender, 2999), None);
    assert_eq!(sent(&mut sender, 3000), Some((0, 2, false)));
}

#[test]
fn changes_are_collected_for_8_ms_and_sent_once_an_interval() {
    let mut sender = settled();
    type_keys(&mut sender, b"a");
    assert_eq!(due(&mut sender, 30), (at(3000), Some(at(INTERVAL))));
    type_keys(&mut sender, b"b");
    assert_eq!(sent(&mut sender, 49), None);
    assert_eq!(sent(&mut sender, 50), Some((1, 2, true)));
    // Long after the last one, only the 8 ms since the first change count.
    type_keys(&mut sender, b"c");
    assert_eq!(due(&mut sender, 120).1, Some(at(128)));
    type_keys(&mut sender, b"d");
    assert_eq!(due(&mut sender, 125).1, Some(at(128)));
    assert_eq!(sent(&mut sender, 128), Some((1, 3, true)));
}

#[test]
fn what_is_not_acknowledged_is_sent_again_after_the_timeout() {
    let mut sender = settled();
    type_keys(&mut sender, b"a");
    assert_eq!(sent(&mut sender, 30), None);
    assert_eq!(sent(&mut sender, 50), Some((1, 2, true)));
    // 50 + 200 + 100.
    assert_eq!(due(&mut sender, 60).1, Some(at(350)));
    assert_eq!(sent(&mut sender, 349), None);
    assert_eq!(sent(&mut sender, 350), Some((1, 2, true)));
    assert_eq!(due(&mut sender, 351).1, Some(at(650)));
    sender.acknowledge(at(400), 2);
    assert_eq!(due(&mut sender, 400), (at(3350), None));
    assert!(sender.current.is_empty(), "what the peer has is forgotten");
}

#[test]
fn a_state_assumed_lost_is_sent_again_after_an_interval() {
    let mut sender = settled();
    type_keys(&mut sender, b"a");
    assert_eq!(due(&mut sender, 40).1, Some(at(50)));
    assert_eq!(sent(&mut sender, 50), Some((1, 2, true)));
    type_keys(&mut sender, b"b");
    assert_eq!(due(&mut sender, 330).1, Some(at(338)));
    assert_eq!(sent(&mut sender, 340), Some((1, 3, true)));
    // At 350 ms state 2 is 300 ms old and assumed lost, and state 3 after it with it.
    assert_eq!(due(&mut sender, 349).1, Some(at(640)));
    assert_eq!(due(&mut sender, 350).1, Some(at(390)));
    assert_eq!(sent(&mut sender, 389), None);
    assert_eq!(sent(&mut sender, 390), Some((1, 3, true)));
}

#[test]
fn a_peer_that_is_silent_for_10_s_gets_empty_packets_only() {
    let mut sender = settled();
    type_keys(&mut sender, b"a");
    due(&mut sender, 30);
    assert_eq!(sent(&mut sender, 50), Some((1, 2, true)));
    sender.heard(at(100));
    assert!(due(&mut sender, 10_099).1.is_some());
    assert_eq!(due(&mut sender, 10_100).1, None);
    // New data is sent all the same.
    type_keys(&mut sender, b"b");
    assert_eq!(due(&mut sender, 10_200).1, Some(at(10_208)));
    sender.heard(at(10_300));
    assert!(due(&mut sender, 10_300).1.is_some());
}

#[test]
fn an_acknowledgement_of_data_waits_100_ms_for_data() {
    let mut sender = settled();
    sender.acknowledge_within(at(100), ACK_DELAY);
    assert_eq!(due(&mut sender, 100).0, at(200));
    sender.acknowledge_within(at(150), ACK_DELAY);
    assert_eq!(sent(&mut sender, 199), None);
    assert_eq!(sent(&mut sender, 200), Some((1, 2, false)));
    assert_eq!(due(&mut sender, 200).0, at(3200));
    // Data takes it along.
    sender.acknowledge_within(at(300), ACK_DELAY);
    type_keys(&mut sender, b"a");
    due(&mut sender, 320);
    assert_eq!(sent(&mut sender, 328), Some((1, 3, true)));
    assert_eq!(due(&mut sender, 328).0, at(3328));
}

/// The base of a difference of 1 key, if `waiting` keys before it were sent and not acknowledged.
fn base_after(waiting: usize) -> u64 {
    let mut sender = settled();
    type_keys(&mut sender, &vec![b'x'; waiting]);
    due(&mut sender, 40);
    assert_eq!(sent(&mut sender, 50), Some((1, 2, true)));
    type_keys(&mut sender, b"y");
    due(&mut sender, 90);
    sent(&mut sender, 100).expect("an interval has passed").0
}

#[test]
fn a_short_difference_is_made_from_the_acknowledged_state() {
    // The assumed state is 2, the acknowledged one 1. One key takes 7 bytes; 101 take 6 more than themselves.
    assert_eq!([1, 50, 99, 100, 500, 2000].map(base_after), [1, 1, 1, 2, 2, 2]);
}

#[test]
fn at_most_32_states_are_kept() {
    let mut sender = server();
    for number in 1..=33 {
        type_keys(&mut sender, b"a");
        due(&mut sender, number * 60);
        let sent = sent(&mut sender, number * 60 + 8);
        assert_eq!(sent.map(|(_, new, changed)| (new, changed)), Some((number, true)));
    }
    // When 32 and 33 were sent, the 16th from the end was forgotten.
    let numbers: Vec<_> = sender.sent.iter().map(|sent| sent.number).collect();
    let expected: Vec<_> = (0..=33).filter(|number| ![17, 18].contains(number)).collect();
    assert_eq!((numbers.len(), numbers), (MAX_SENT, expected));
}

#[test]
fn acknowledgements_of_unknown_states_are_ignored() {
    let mut sender = settled();
    for number in [0, 1, 2, 99, SHUTDOWN] {
        sender.acknowledge(at(30), number);
        assert_eq!((sender.acknowledged_number(), sender.acknowledged), (1, Some(at(20))));
    }
}

#[test]
fn a_shutdown_is_announced_every_interval() {
    let mut sender = settled();
    type_keys(&mut sender, b"a");
    sender.begin_shutdown(at(100));
    assert_eq!(sent(&mut sender, 100), Some((1, SHUTDOWN, true)));
    // Changes come too late.
    type_keys(&mut sender, b"b");
    let mut tries = 1;
    for millis in 101.. {
        if let Some(what) = sent(&mut sender, millis) {
            tries += 1;
            assert_eq!((what, millis), ((1, SHUTDOWN, true), 100 + INTERVAL * (tries - 1)));
        }
        if sender.shutdown_expired(at(millis)) {
            break;
        }
    }
    assert_eq!(tries, 16);
    sender.acknowledge(at(2000), SHUTDOWN);
    assert_eq!(sender.acknowledged_number(), SHUTDOWN);
    assert_eq!(due(&mut sender, 2000).0, at(100 + 15 * INTERVAL + 3000));
}

#[test]
fn a_shutdown_without_packets_expires_after_10_s() {
    let mut sender = settled();
    assert!(!sender.shutdown_expired(at(99_999)));
    sender.begin_shutdown(at(100));
    sender.begin_shutdown(at(5000));
    assert!(!sender.shutdown_expired(at(10_099)) && sender.shutdown_expired(at(10_100)));
}

#[test]
fn what_was_announced_as_the_last_state_does_not_change() {
    let mut sender = settled();
    // Too long to be preferred from the acknowledged state because it is short.
    type_keys(&mut sender, &[b'a'; 2000]);
    sender.begin_shutdown(at(100));
    let mut announce = |millis| {
        let sent = sender.tick(at(millis), &RTT).expect("an interval has passed");
        type_keys(&mut sender, b"b");
        (sent.old, sent.new, sent.diff.len())
    };
    let first = announce(100);
    assert_eq!((first.0, first.1), (1, SHUTDOWN));
    assert_eq!([announce(150), announce(200)], [first, first]);
}

/// A server with a budget whose first packet has been acknowledged, as the peer does within 20 ms.
fn early() -> Sender<UserStream> {
    let mut sender = Sender::new(at(0), UserStream::new(), &Settings::server(0));
    sender.tick(at(0), &RTT).expect("the first packet");
    sender.acknowledge(at(20), 1);
    sender
}

/// When each instruction with a difference is sent from `begin` to `end`, each of `bytes` bytes.
fn times(sender: &mut Sender<UserStream>, begin: u64, end: u64, bytes: usize) -> Vec<u64> {
    let mut times = Vec::new();
    for millis in begin..end {
        if sent(sender, millis).is_some_and(|(_, _, changed)| changed) {
            sender.charge(at(millis), bytes);
            times.push(millis);
        }
    }
    times
}

#[test]
fn small_changes_do_not_wait_for_the_interval() {
    let mut sender = early();
    type_keys(&mut sender, b"a");
    sender.touch();
    assert_eq!(times(&mut sender, 30, 40, 100), [32]);
    type_keys(&mut sender, b"b");
    sender.touch();
    assert_eq!(times(&mut sender, 33, 40, 100), [35]);
}

#[test]
fn changes_are_collected_until_they_pause() {
    let mut sender = early();
    let mut first = None;
    for millis in 30..50 {
        type_keys(&mut sender, b"a");
        sender.touch();
        if sent(&mut sender, millis).is_some() {
            first.get_or_insert(millis);
        }
    }
    assert_eq!(first, Some(38), "8 ms are the longest");
    // A change that is announced is collected before it is made.
    let mut sender = early();
    sender.touch();
    assert_eq!(sender.change_due(at(30), &RTT), at(30) + Span::from_micros(1500));
    type_keys(&mut sender, b"a");
    assert_eq!(sent(&mut sender, 31), None);
    assert_eq!(sent(&mut sender, 32), Some((1, 2, true)));
}

#[test]
fn large_changes_keep_to_the_interval() {
    let mut sender = early();
    let mut sent_at = Vec::new();
    for millis in 30..300 {
        type_keys(&mut sender, b"a");
        sent_at.extend(times(&mut sender, millis, millis + 1, 3000));
    }
    let gaps: Vec<u64> = sent_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(sent_at.len() == 6 && gaps.iter().all(|gap| *gap == INTERVAL), "{sent_at:?}");
}

#[test]
fn nothing_is_early_while_there_is_a_queue() {
    let mut sender = early();
    let queued = Rtt { srtt: Span::from_millis(200), ..RTT };
    type_keys(&mut sender, b"a");
    assert_eq!(sender.due(at(30), &queued).data, Some(at(100)));
    sender.set_early(false);
    assert_eq!(sender.due(at(30), &RTT).data, Some(at(50)));
}

#[test]
fn small_changes_are_repeated_on_a_lossy_path() {
    let mut sender = early();
    type_keys(&mut sender, b"a");
    assert_eq!(times(&mut sender, 30, 332, 100), [32], "nothing is lost");
    let mut sender = early();
    sender.set_lossy(true);
    type_keys(&mut sender, b"a");
    assert_eq!(times(&mut sender, 30, 600, 100), [32, 52, 92, 172, 332]);
    sender.acknowledge(at(600), 2);
    assert!(times(&mut sender, 600, 2000, 100).is_empty());
    // Long ones are not.
    type_keys(&mut sender, &[b'a'; 1000]);
    assert_eq!(times(&mut sender, 2000, 2290, 1100), [2002]);
}

#[test]
fn a_timeout_makes_a_path_lossy() {
    let mut sender = early();
    type_keys(&mut sender, b"a");
    assert_eq!(times(&mut sender, 30, 400, 100), [32, 332, 372]);
}

#[test]
fn a_late_copy_is_acknowledged_again() {
    let mut sender = early();
    // The last packet went at 0 ms, and an answer is due after 145 ms.
    sender.due(at(20), &RTT);
    sender.heard_copy(at(140));
    assert_eq!(due(&mut sender, 140).0, at(3000));
    sender.heard_copy(at(150));
    assert_eq!(due(&mut sender, 150).0, at(250));
}
