//! Properties of a RemyCC for every sequence of events.

mod common;

use common::table;
use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Start};
use exm_remy::{Action, MAX_WINDOW, RemyCc};
use exm_units::{Instant, Packets};
use proptest::prelude::*;

/// Half the range of 64 bits of nanoseconds: 292 years.
const LATEST: u64 = u64::MAX / 2;

#[derive(Clone, Debug)]
enum Event {
    Start(u64),
    Ack {
        now: u64,
        sent: u64,
        received: Option<u64>,
        sequence: u64,
        largest: Option<u64>,
        stale: bool,
        marked: u64,
    },
    Congestion(u64, usize),
    Tick(u64),
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..10_000_000_000_u64, 1 => 0..=LATEST]
}

fn event() -> impl Strategy<Value = Event> {
    let ack = (time(), time(), prop::option::of(time()), any::<u64>(), any::<Option<u64>>());
    prop_oneof![
        1 => time().prop_map(Event::Start),
        12 => (ack, any::<bool>(), 0..3_u64).prop_map(|(ack, stale, marked)| {
            let (now, sent, received, sequence, largest) = ack;
            Event::Ack { now, sent, received, sequence, largest, stale, marked }
        }),
        1 => (time(), 0_usize..4).prop_map(|(now, kind)| Event::Congestion(now, kind)),
        1 => time().prop_map(Event::Tick),
    ]
}

fn deliver(cc: &mut RemyCc, event: &Event) -> Decision {
    match *event {
        Event::Start(now) => cc.on_start(&Start::new(Instant::from_nanos(now))),
        Event::Ack { now, sent, received, sequence, largest, stale, marked } => {
            let (sent, now) = (Instant::from_nanos(sent), Instant::from_nanos(now));
            let mut ack = Ack::new(sequence, sent, now);
            ack.received_at = received.map(Instant::from_nanos);
            ack.largest_acked = largest;
            ack.stale = stale;
            ack.marked = Packets::new(marked);
            cc.on_ack(&ack)
        }
        Event::Congestion(now, kind) => {
            let kinds = [
                CongestionKind::Lost,
                CongestionKind::Marked,
                CongestionKind::Timeout,
                CongestionKind::Spurious,
            ];
            cc.on_congestion(&Congestion::new(kinds[kind], Instant::ZERO, Instant::from_nanos(now)))
        }
        Event::Tick(now) => cc.on_tick(Instant::from_nanos(now)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_window_stays_in_bounds_whatever_happens(
        table in table(),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut cc = RemyCc::new(&table);
        for event in &events {
            let decision = deliver(&mut cc, event);
            prop_assert!(decision.cwnd <= Packets::new(u64::from(MAX_WINDOW)));
            prop_assert_eq!(decision.wake_at, None);
            prop_assert!(cc.rule() < table.rules().len());
            prop_assert!(cc.signals().iter().all(|signal| signal.is_finite()));
        }
    }

    #[test]
    fn the_same_events_give_the_same_decisions(
        table in table(),
        events in prop::collection::vec(event(), 0..50),
    ) {
        let (mut a, mut b) = (RemyCc::new(&table), RemyCc::new(&table));
        b.on_start(&Start::new(Instant::ZERO));
        for event in [Event::Start(1)].iter().chain(&events) {
            prop_assert_eq!(deliver(&mut a, event), deliver(&mut b, event));
        }
    }

    /// As TCP's and QUIC's receivers send them.
    #[test]
    fn an_ack_of_several_packets_is_one_ack_for_each(
        table in table(),
        acks in prop::collection::vec((1u64..6, 1u64..4, 0u64..3), 1..50),
    ) {
        // A rate over a round trip needs the ACKs' own times.
        prop_assume!(!table.signals().is_extended());
        let (mut together, mut each) = (RemyCc::new(&table), RemyCc::new(&table));
        let (mut number, mut now) = (0_u64, 1_000_000);
        for (acked, apart, lost) in acks {
            let step = apart * 1000;
            let rtt = 500_000;
            let largest = number.checked_sub(1);
            let mut decision = None;
            for packet in 0..acked {
                now += step;
                let gap = if packet == 0 { lost } else { 0 };
                let sequence = number + gap;
                let (sent_at, at) = (Instant::from_nanos(now - rtt), Instant::from_nanos(now));
                let mut ack = Ack::new(sequence, sent_at, at);
                ack.largest_acked = number.checked_sub(1);
                // Of the first ACK nothing but its end is known.
                if largest.is_some() {
                    decision = Some(each.on_ack(&ack));
                }
                number = sequence + 1;
            }
            let mut ack = Ack::new(number - 1, Instant::from_nanos(now - rtt), Instant::from_nanos(now));
            (ack.largest_acked, ack.acked) = (largest, Packets::new(acked));
            let followed = together.on_ack(&ack);
            match decision {
                Some(decision) => prop_assert_eq!(followed, decision),
                None => each = together.clone(),
            }
            prop_assert_eq!(together.signals(), each.signals());
        }
    }

    #[test]
    fn an_action_truncates_and_clamps(
        multiple in any::<f64>(),
        increment in any::<i32>(),
        window in 0..=MAX_WINDOW,
    ) {
        let next = Action { multiple, increment, intersend_ms: 0.0 }.compile().window(window);
        let exact = multiple * f64::from(window) + f64::from(increment);
        prop_assert_eq!(f64::from(next), exact.trunc().clamp(0.0, f64::from(MAX_WINDOW)) + 0.0);
    }
}
