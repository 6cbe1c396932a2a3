//! Whatever a peer with the key sends, an end neither panics nor grows without bound.

use exm_ssp::{
    Fragment, Instruction, MAX_STATES, MAX_WEIGHT, Received, Rtt, Settings, State, Transport,
    UserStream, VERSION, compress,
};
use exm_units::{Instant, Span};
use proptest::prelude::*;

type End = Transport<UserStream, UserStream>;

fn end() -> End {
    Transport::new(Instant::ZERO, Settings::server(1), UserStream::new(), UserStream::new())
}

fn payload(id: u64, instruction: &Instruction) -> Vec<u8> {
    let compressed = compress(&instruction.encode()).expect("short enough");
    Fragment { id, index: 0, last: true, data: &compressed }.encode()
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..6, Just(u64::MAX), Just(u64::MAX - 1), any::<u64>()]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let mut typed = UserStream::new();
    typed.push_keys(b"typed").expect("short");
    let diff = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        Just(typed.initial_diff()),
        Just(vec![])
    ];
    (number(), number(), number(), number(), diff).prop_map(
        |(old, new, acknowledged, throwaway, diff)| Instruction {
            version: VERSION,
            old,
            new,
            acknowledged,
            throwaway,
            diff,
            chaff: vec![],
        },
    )
}

proptest! {
    #[test]
    fn any_payloads_are_processed_or_refused(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
    ) {
        let mut end = end();
        for payload in payloads {
            let _ = end.receive(Instant::ZERO, &payload);
        }
    }

    #[test]
    fn any_instructions_are_processed_or_refused(
        instructions in prop::collection::vec((instruction(), 0u64..4000), 0..60),
        shutdown: bool,
    ) {
        let (mut end, mut now, rtt) = (end(), Instant::ZERO, Rtt::default());
        if shutdown {
            end.shutdown(now);
        }
        for (id, (instruction, wait)) in instructions.iter().enumerate() {
            now += Span::from_millis(*wait);
            let newest = end.remote_number();
            let _ = end.receive(now, &payload(id as u64, instruction));
            prop_assert!(end.remote_number() >= newest);
            end.local_mut().push_keys(b"k").expect("short");
            let mut sent = 0;
            while end.transmit(now, &rtt).expect("short enough").is_some() {
                sent += 1;
            }
            prop_assert!(sent <= 1, "{sent} payloads at once");
            prop_assert!(end.next_wake(now, &rtt) > now);
            end.take_remote_diff();
        }
    }
}

#[test]
fn states_that_are_never_thrown_away_are_bounded() {
    let mut end = end();
    let accepted = (1..3000).filter(|&new| {
        let instruction = Instruction { version: VERSION, new, ..Instruction::default() };
        let received = end.receive(Instant::ZERO, &payload(new, &instruction));
        matches!(received, Ok(Received::State { .. }))
    });
    assert_eq!(accepted.count(), MAX_STATES - 1);
}

#[test]
fn a_log_that_is_never_taken_is_bounded() {
    let mut end = end();
    let mut typed = UserStream::new();
    typed.push_keys(&[b'x'; 1 << 20]).expect("short");
    let mut refused = 0;
    for old in 0..200 {
        let instruction = Instruction {
            version: VERSION,
            old: old - refused,
            new: old - refused + 1,
            throwaway: old - refused,
            diff: typed.initial_diff(),
            ..Instruction::default()
        };
        let received = end.receive(Instant::ZERO, &payload(old, &instruction));
        refused += u64::from(received == Ok(Received::Quenched));
        assert!(end.remote().weight() <= MAX_WEIGHT + (2 << 20));
    }
    assert!(refused > 100, "{refused}");
}
