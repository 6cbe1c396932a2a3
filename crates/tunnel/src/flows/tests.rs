use super::*;
use exm_units::Span;
use proptest::prelude::*;
use std::net::IpAddr;

const PACKET: Bytes = Bytes::new(1288);
const OVERHEAD: Bytes = Bytes::new(70);
const QUANTUM: u64 = 1358;

/// An IPv4 packet of `length` bytes of the flow to `port`, ending with `number`.
fn packet(port: u16, length: usize, number: u32) -> Vec<u8> {
    let length = length.max(32);
    let mut bytes = vec![0; length];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[9] = 17;
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[22..24].copy_from_slice(&port.to_be_bytes());
    bytes[length - 4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The port and the number of a packet.
fn read(bytes: &[u8]) -> (u16, u32) {
    let end = bytes.last_chunk().expect("long enough");
    (u16::from_be_bytes([bytes[22], bytes[23]]), u32::from_be_bytes(*end))
}

fn push(queues: &mut FlowQueues, now: Instant, bytes: Vec<u8>) {
    let packet = Packet::parse(&bytes).expect("a packet");
    queues.push(now, &packet, bytes);
}

fn pull(queues: &mut FlowQueues) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = queues.next_length();
    queues.pull(Instant::ZERO, &mut bytes);
    assert_eq!(length.unwrap_or(0), bytes.len());
    length.map(|_| bytes)
}

fn queues(bound: u64) -> FlowQueues {
    let mut queues = FlowQueues::new(PACKET, OVERHEAD);
    queues.set_bound(Bytes::new(bound));
    queues
}

#[test]
fn flows_take_turns() {
    let mut queues = queues(1 << 30);
    for number in 0..3 {
        push(&mut queues, Instant::ZERO, packet(1, 1288, number));
    }
    push(&mut queues, Instant::ZERO, packet(2, 1288, 3));
    push(&mut queues, Instant::ZERO, packet(3, 1288, 4));
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut queues)).map(|p| read(&p).1).collect();
    assert_eq!(order, [0, 3, 4, 1, 2]);
    assert_eq!((queues.waiting(), queues.sent().bytes), (Tally::default(), 5 * QUANTUM));
}

#[test]
fn the_longest_queue_drops_its_head() {
    let most = LEAST as u32 + 6;
    let mut queues = queues(u64::from(most) * QUANTUM);
    push(&mut queues, Instant::ZERO, packet(1, 1288, 0));
    for number in 1..most {
        push(&mut queues, Instant::ZERO, packet(2, 1288, number));
    }
    assert_eq!(queues.dropped().packets, 0);
    push(&mut queues, Instant::ZERO, packet(1, 1288, most));
    let (dropped, waiting) = (queues.dropped().packets, queues.waiting().packets);
    assert_eq!((dropped, waiting), (1, u64::from(most)));
    let order: Vec<_> = std::iter::from_fn(|| pull(&mut queues)).map(|p| read(&p).1).collect();
    assert_eq!(order[..4], [0, 2, most, 3], "1 was the head of the longest");
}

#[test]
fn a_smaller_forecast_drops_at_once_but_leaves_some() {
    let mut queues = queues(100 * QUANTUM);
    for number in 0..100 {
        push(&mut queues, Instant::ZERO, packet(number as u16 % 3, 1288, number));
    }
    queues.set_bound(Bytes::new(50 * QUANTUM));
    assert_eq!(queues.waiting().packets, 50);
    queues.set_bound(Bytes::ZERO);
    assert_eq!((queues.waiting().packets, queues.dropped().packets), (LEAST, 100 - LEAST));
    assert_eq!(queues.bound(), Bytes::new(LEAST * QUANTUM));
}

#[test]
fn flows_are_counted() {
    let mut queues = queues(0);
    let later = Instant::ZERO + Span::from_millis(7);
    for number in 0..LEAST as u32 + 2 {
        push(&mut queues, Instant::ZERO, packet(5, 1288, number));
    }
    queues.pull(later, &mut Vec::new());
    let flows: Vec<_> = queues.flows().collect();
    assert_eq!(flows.len(), 1);
    let state = flows[0];
    assert_eq!(state.flow.map(|f| f.to_string()).as_deref(), Some("udp 10.0.0.1 > 10.0.0.2:5"));
    let counts = (state.waiting.packets, state.sent.packets, state.dropped.packets);
    assert_eq!(
        (counts, state.waited, state.used_at),
        ((LEAST - 1, 1, 2), Span::from_millis(7), later)
    );
}

#[test]
fn too_many_flows_share_a_queue_and_keep_their_order() {
    let mut queues = queues(1 << 30);
    let many = MAX_FLOWS as u16 + 10;
    for round in 0..3 {
        for port in 0..many {
            push(&mut queues, Instant::ZERO, packet(port, 100, round));
        }
    }
    assert_eq!(queues.flows().filter(|state| state.flow.is_none()).count(), 1);
    assert_eq!(queues.flows().count(), MAX_FLOWS + 1);
    let mut last = vec![None; usize::from(many)];
    while let Some(bytes) = pull(&mut queues) {
        let (port, number) = read(&bytes);
        let before = last[usize::from(port)].replace(number);
        assert!(before.is_none_or(|before| before < number));
    }
    assert!(last.iter().all(|number| *number == Some(2)));
    // Idle flows make room.
    push(&mut queues, Instant::ZERO, packet(60_000, 100, 9));
    assert!(queues.flows().any(|state| state.flow.is_some_and(|flow| flow.to.1 == 60_000)));
    assert_eq!(queues.flows().count(), MAX_FLOWS + 1);
}

#[test]
fn fragments_belong_to_their_flow() {
    let mut queues = queues(1 << 30);
    let fragment = |id: u8, place: [u8; 2], number| {
        let mut bytes = packet(if place == [0x20, 0] { 53 } else { 0 }, 200, number);
        bytes[5] = id;
        bytes[6..8].copy_from_slice(&place);
        bytes
    };
    push(&mut queues, Instant::ZERO, fragment(1, [0x20, 0], 0));
    push(&mut queues, Instant::ZERO, fragment(2, [0x20, 0], 1));
    push(&mut queues, Instant::ZERO, fragment(1, [0, 20], 2));
    push(&mut queues, Instant::ZERO, fragment(2, [0, 20], 3));
    assert_eq!(queues.flows().count(), 1, "all are to port 53");
    push(&mut queues, Instant::ZERO, fragment(3, [0, 20], 4));
    assert_eq!(queues.flows().count(), 2, "its first fragment has not arrived");
    // Only a few unfinished packets are remembered.
    for id in 0..200 {
        push(&mut queues, Instant::ZERO, fragment(id, [0x20, 0], 5));
    }
    assert_eq!(queues.flows().count(), 2);
}

/// Flow 1 is always backlogged; a packet of flow 2 arrives after every fourth that is sent. Once two
/// arrive after each, more than half, flow 2 uses its savings until they are spent; a new flow has no
/// savings.
#[test]
fn a_flow_below_its_share_saves_turns() {
    let mut queues = queues(1 << 30);
    let mut sent = [0u64; 4];
    let mut go = |queues: &mut FlowQueues, port: u16, arrivals: &dyn Fn(u32) -> u32, count: u32| {
        let before = sent;
        for number in 0..count {
            push(queues, Instant::ZERO, packet(1, 1288, number));
            (0..arrivals(number))
                .for_each(|_| push(queues, Instant::ZERO, packet(port, 1288, number)));
            let (port, _) = read(&pull(queues).expect("one waits"));
            sent[usize::from(port)] += 1;
        }
        [1, 2, 3].map(|port| sent[port] - before[port])
    };
    assert_eq!(go(&mut queues, 2, &|number| u32::from(number % 4 == 0), 400), [300, 100, 0]);
    let [first, second, _] = go(&mut queues, 2, &|_| 2, 60);
    assert!(first <= 1 && second >= 59, "{second} of 60 by what was saved");
    let [first, second, _] = go(&mut queues, 2, &|_| 2, 300);
    assert!((100..200).contains(&first), "{first} and {second} once it is spent");
    let [first, second, third] = go(&mut queues, 3, &|_| 2, 300);
    assert!(first.abs_diff(second) <= 1 && second.abs_diff(third) <= 1);
}

/// An operation on the queues: bytes of a flow arrive, packets are pulled, or the forecast changes.
#[derive(Clone, Debug)]
enum Step {
    Push(u16, usize),
    Pull(usize),
    Bound(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u16..8, 32usize..=1288).prop_map(|(port, length)| Step::Push(port, length)),
        2 => (1usize..5).prop_map(Step::Pull),
        1 => (0u64..60 * QUANTUM).prop_map(Step::Bound),
    ];
    prop::collection::vec(step, 1..400)
}

proptest! {
    /// Every packet that arrives is sent, dropped or queued; none overtakes another of its flow; the
    /// queues never exceed their limit.
    #[test]
    fn every_loss_is_counted(steps in steps()) {
        let mut queues = FlowQueues::new(PACKET, OVERHEAD);
        let (mut came, mut last) = (Tally::default(), [None; 8]);
        for step in steps {
            match step {
                Step::Push(port, length) => {
                    push(&mut queues, Instant::ZERO, packet(port, length, came.packets as u32));
                    came.add(length as u64 + OVERHEAD.get());
                }
                Step::Pull(count) => {
                    for bytes in (0..count).map_while(|_| pull(&mut queues)) {
                        let (port, number) = read(&bytes);
                        let before = last[usize::from(port)].replace(number);
                        prop_assert!(before.is_none_or(|before| before < number));
                    }
                }
                Step::Bound(bytes) => queues.set_bound(Bytes::new(bytes)),
            }
            prop_assert!(queues.waiting().bytes <= queues.bound().get());
            let ends = [queues.waiting(), queues.sent(), queues.dropped()];
            prop_assert_eq!(ends.iter().map(|t| t.packets).sum::<u64>(), came.packets);
            prop_assert_eq!(ends.iter().map(|t| t.bytes).sum::<u64>(), came.bytes);
            let of_flows: u64 = queues.flows().map(|state| state.waiting.bytes).sum();
            prop_assert_eq!(of_flows, queues.waiting().bytes);
        }
    }

    /// Two backlogged flows send equally many bytes on the link, whatever the sizes of their packets.
    #[test]
    fn backlogged_flows_get_the_same(sizes in [32usize..=1288, 32usize..=1288], pulls in 1usize..300) {
        let mut queues = queues(1 << 30);
        let mut sent = [0u64; 2];
        for number in 0..pulls {
            for (port, size) in sizes.iter().enumerate() {
                push(&mut queues, Instant::ZERO, packet(port as u16, *size, number as u32));
            }
        }
        for _ in 0..pulls {
            let bytes = pull(&mut queues).expect("enough wait");
            sent[usize::from(read(&bytes).0)] += bytes.len() as u64 + OVERHEAD.get();
            prop_assert!(sent[0].abs_diff(sent[1]) < 2 * QUANTUM, "{:?}", sent);
        }
    }

    /// A packet of a flow without backlog is sent before any other flow has sent more than a quantum and
    /// its remaining credit, which is less than a packet.
    #[test]
    fn a_sparse_flow_waits_a_turn_of_each_other(
        sizes in prop::collection::vec(32usize..=1288, 1..20),
        before in 0usize..200,
    ) {
        let mut queues = queues(1 << 30);
        for (port, size) in sizes.iter().enumerate() {
            for number in 0..100 {
                push(&mut queues, Instant::ZERO, packet(port as u16, *size, number));
            }
        }
        for _ in 0..before.min(sizes.len() * 50) {
            pull(&mut queues);
        }
        push(&mut queues, Instant::ZERO, packet(1000, 200, 0));
        let mut sent = vec![0; sizes.len()];
        while let Some(bytes) = pull(&mut queues) {
            let port = read(&bytes).0;
            if port == 1000 {
                break;
            }
            sent[usize::from(port)] += bytes.len() as u64 + OVERHEAD.get();
        }
        for (sent, size) in sent.iter().zip(&sizes) {
            prop_assert!(*sent < QUANTUM + *size as u64 + OVERHEAD.get(), "{} of {}", sent, size);
        }
    }
}

#[test]
fn both_ip_versions_have_flows() {
    let mut queues = queues(1 << 30);
    push(&mut queues, Instant::ZERO, packet(1, 100, 0));
    let mut six = vec![0; 40];
    (six[0], six[6]) = (0x60, 17);
    push(&mut queues, Instant::ZERO, six);
    let of = |state: &FlowState| state.flow.map(|flow| flow.from.0);
    let ips: Vec<_> = queues.flows().filter_map(|state| of(&state)).collect();
    assert!(matches!(ips[..], [IpAddr::V4(_), IpAddr::V6(_)]));
}
