//! What must hold of controllers and the gate whatever events come.

use exm_cc::{Ack, Aimd, Congestion, CongestionKind, Controller, Decision, Gate, Start};
use exm_units::{Instant, Packets, Span};
use proptest::prelude::*;

const KINDS: [CongestionKind; 4] = [
    CongestionKind::Lost,
    CongestionKind::Marked,
    CongestionKind::Timeout,
    CongestionKind::Spurious,
];

#[derive(Clone, Debug)]
enum Event {
    Start(u64),
    Ack { now: u64, sent: u64, acked: u64, stale: bool },
    Congestion { now: u64, sent: u64, kind: usize },
    Tick(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let acked = prop_oneof![6 => Just(1_u64), 2 => 0..100_u64, 1 => any::<u64>()];
    let ack = (any::<u64>(), any::<u64>(), acked, any::<bool>());
    let congestion = (0_u64..1000, 0_u64..1000, 0_usize..4);
    prop_oneof![
        1 => any::<u64>().prop_map(Event::Start),
        12 => ack.prop_map(|(now, sent, acked, stale)| Event::Ack { now, sent, acked, stale }),
        4 => congestion.prop_map(|(now, sent, kind)| Event::Congestion { now, sent, kind }),
        1 => any::<u64>().prop_map(Event::Tick),
    ]
}

fn tell(cc: &mut impl Controller, event: &Event) -> Decision {
    match *event {
        Event::Start(now) => cc.on_start(&Start::new(Instant::from_nanos(now))),
        Event::Ack { now, sent, acked, stale } => {
            let mut ack = Ack::new(0, Instant::from_nanos(sent), Instant::from_nanos(now));
            ack.acked = Packets::new(acked);
            ack.stale = stale;
            cc.on_ack(&ack)
        }
        Event::Congestion { now, sent, kind } => {
            let (sent, now) = (Instant::from_nanos(sent), Instant::from_nanos(now));
            cc.on_congestion(&Congestion::new(KINDS[kind], sent, now))
        }
        Event::Tick(now) => cc.on_tick(Instant::from_nanos(now)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn aimd_never_closes_its_window(events in prop::collection::vec(event(), 0..200)) {
        let mut cc = Aimd::new();
        let mut window = cc.on_start(&Start::new(Instant::ZERO)).cwnd;
        for event in &events {
            let next = tell(&mut cc, event).cwnd;
            prop_assert!(next >= Packets::new(1));
            match event {
                Event::Ack { stale: false, .. } => prop_assert!(next >= window),
                Event::Ack { stale: true, .. } | Event::Tick(_) => prop_assert_eq!(next, window),
                Event::Congestion { .. } => prop_assert!(next <= window.max(Packets::new(2))),
                Event::Start(_) => prop_assert_eq!(next, Packets::new(10)),
            }
            window = next;
        }
    }

    #[test]
    fn aimd_grows_by_no_more_than_was_acknowledged(
        acked in prop::collection::vec(0_u64..1000, 0..100),
    ) {
        let mut cc = Aimd::new();
        cc.on_start(&Start::new(Instant::ZERO));
        for &acked in &acked {
            tell(&mut cc, &Event::Ack { now: 1, sent: 0, acked, stale: false });
        }
        let window = cc.on_tick(Instant::ZERO).cwnd;
        prop_assert_eq!(window, Packets::new(10 + acked.iter().sum::<u64>()));
    }

    #[test]
    fn the_gate_keeps_to_the_window_and_the_pace(
        cwnd in 0_u64..10,
        intersend in any::<u64>(),
        sent in prop::option::of(any::<u64>()),
        now in any::<u64>(),
        in_flight in 0_u64..12,
    ) {
        let (cwnd, intersend) = (Packets::new(cwnd), Span::from_nanos(intersend));
        let mut gate = Gate::new(Decision { cwnd, intersend, wake_at: None });
        if let Some(sent) = sent {
            gate.sent(Instant::from_nanos(sent));
        }
        let (now, in_flight) = (Instant::from_nanos(now), Packets::new(in_flight));
        let next = gate.next_send(now, in_flight);
        prop_assert_eq!(next.is_some(), in_flight < cwnd);
        if let Some(next) = next {
            let paced = sent.map(|sent| Instant::from_nanos(sent).saturating_add(intersend));
            prop_assert!(next >= now && paced.is_none_or(|paced| next >= paced));
            prop_assert!(next == now || paced == Some(next), "no later than it must");
        }
        prop_assert_eq!((gate.cwnd(), gate.intersend()), (cwnd, intersend));
    }
}

#[test]
fn a_spurious_sign_changes_nothing() {
    let mut cc = Aimd::new();
    let before = cc.on_start(&Start::new(Instant::ZERO));
    assert_eq!(tell(&mut cc, &Event::Congestion { now: 2, sent: 1, kind: 3 }), before);
}

#[test]
fn an_ack_is_in_order_unless_told() {
    let ack = Ack::new(7, Instant::from_nanos(10), Instant::from_nanos(25));
    assert_eq!(ack.rtt(), Span::from_nanos(15));
    assert_eq!(ack.largest_acked, Some(6));
    assert_eq!(Ack::new(0, Instant::ZERO, Instant::ZERO).largest_acked, None);
    let backwards = Ack::new(0, Instant::from_nanos(9), Instant::ZERO);
    assert_eq!(backwards.rtt(), Span::ZERO);
}
