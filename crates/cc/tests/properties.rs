//! Properties of controllers and the gate that hold for every sequence of events.

use exm_cc::{
    Abc, Ack, Aimd, Bbr, Bbr1, Compound, Congestion, CongestionKind, Controller, Cubic, Dctcp,
    Decision, Delivery, Gate, Ledbat, Reno, Scream, SlowStart, Start, Vegas, Verus, Vivace, Xcp,
};
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

fn deliver(cc: &mut impl Controller, event: &Event) -> Decision {
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

/// No window is larger than this.
const MAX_WINDOW: u64 = 1_000_000_000;

/// Any event, with all fields random.
#[derive(Clone, Debug)]
enum Anything {
    Start(Start),
    Ack(Box<Ack>),
    Congestion(Congestion),
    Tick(Instant),
}

/// Typical numbers, the limits, and any others.
fn number() -> impl Strategy<Value = u64> {
    let edges = prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 63)];
    prop_oneof![6 => 0..2_000_u64, 2 => edges, 2 => any::<u64>()]
}

/// Typical times of a test of some seconds, or any others.
fn time() -> impl Strategy<Value = Instant> {
    prop_oneof![6 => 0..30_000_000_000_u64, 1 => number()].prop_map(Instant::from_nanos)
}

fn feedback() -> impl Strategy<Value = Option<f64>> {
    let odd = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-f64::INFINITY)];
    prop::option::of(prop_oneof![4 => -20.0..20.0, 1 => any::<f64>(), 1 => odd])
}

fn delivery() -> impl Strategy<Value = Option<Delivery>> {
    let numbers = (number(), number(), number(), number(), number(), number());
    prop::option::of((numbers, any::<bool>()).prop_map(|(n, app_limited)| {
        let mut delivery = Delivery::new(n.0, Span::from_nanos(n.1));
        (delivery.total_at_send, delivery.lost, delivery.lost_at_send) = (n.2, n.3, n.4);
        delivery.in_flight_at_send = Packets::new(n.5);
        delivery.app_limited = app_limited;
        delivery
    }))
}

fn any_ack() -> impl Strategy<Value = Anything> {
    let times = (time(), time(), prop::option::of(time()));
    let counts = (number(), number(), number(), number());
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (times, counts, flags, feedback(), delivery()).prop_map(|(t, n, f, feedback, delivery)| {
        let mut ack = Ack::new(n.0, t.0, t.1);
        ack.received_at = t.2;
        (ack.acked, ack.marked) = (Packets::new(n.1), Packets::new(n.2));
        ack.in_flight = Packets::new(n.3);
        (ack.stale, ack.recovering, ack.app_limited) = f;
        (ack.feedback, ack.delivery) = (feedback, delivery);
        Anything::Ack(Box::new(ack))
    })
}

fn anything() -> impl Strategy<Value = Anything> {
    let start = (time(), number(), prop::option::of(number())).prop_map(|(now, window, rtt)| {
        let mut start = Start::new(now);
        start.initial_window = Packets::new(window);
        start.rtt = rtt.map(Span::from_nanos);
        Anything::Start(start)
    });
    let congestion = (time(), time(), 0_usize..4, number()).prop_map(|(sent, now, kind, count)| {
        let mut congestion = Congestion::new(KINDS[kind], sent, now);
        congestion.packets = Packets::new(count);
        congestion.in_flight = Packets::new(count);
        Anything::Congestion(congestion)
    });
    prop_oneof![
        1 => start,
        30 => any_ack(),
        6 => congestion,
        1 => time().prop_map(Anything::Tick),
    ]
}

fn deliver_any(cc: &mut impl Controller, event: &Anything) -> Decision {
    match event {
        Anything::Start(start) => cc.on_start(start),
        Anything::Ack(ack) => cc.on_ack(ack),
        Anything::Congestion(congestion) => cc.on_congestion(congestion),
        Anything::Tick(now) => cc.on_tick(*now),
    }
}

/// The window stays within bounds, stale ACKs and ticks change nothing, the needs stay the same, and
/// the same events give the same decisions, also after another flow.
fn behaves(mut cc: impl Controller, events: &[Anything]) -> Result<(), TestCaseError> {
    let (mut twin, needs) = (cc.clone(), cc.needs());
    let mut last = None;
    for event in events {
        let decision = deliver_any(&mut cc, event);
        prop_assert_eq!(decision, deliver_any(&mut twin, event));
        prop_assert_eq!(cc.needs(), needs);
        let window = decision.cwnd.get();
        prop_assert!((1..=MAX_WINDOW).contains(&window), "a window of {window} after {event:?}");
        let idle = match event {
            Anything::Ack(ack) => ack.stale,
            Anything::Tick(_) => true,
            _ => false,
        };
        prop_assert!(!idle || last.is_none_or(|last| last == decision), "changed by {event:?}");
        last = Some(decision);
    }
    Ok(())
}

/// A controller forgets all of a flow when the next one starts. `Bbr` and `Bbr1` are not tested
/// here: their random streams continue.
fn forgets(mut cc: impl Controller, events: &[Anything]) -> Result<(), TestCaseError> {
    let mut fresh = cc.clone();
    let half = events.len() / 2;
    for event in &events[..half] {
        deliver_any(&mut cc, event);
    }
    let start = Anything::Start(Start::new(Instant::ZERO));
    for event in std::iter::once(&start).chain(&events[half..]) {
        prop_assert_eq!(deliver_any(&mut cc, event), deliver_any(&mut fresh, event));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_controller_behaves_whatever_comes(
        events in prop::collection::vec(anything(), 0..200),
    ) {
        behaves(Reno::new(), &events)?;
        behaves(Reno::new().with_slow_start(SlowStart::HyStartPlusPlus), &events)?;
        behaves(Cubic::new(), &events)?;
        behaves(Cubic::new().with_slow_start(SlowStart::HyStartPlusPlus), &events)?;
        behaves(Vegas::new(), &events)?;
        behaves(Compound::new(), &events)?;
        behaves(Dctcp::new(), &events)?;
        behaves(Ledbat::new(), &events)?;
        behaves(Ledbat::new().with_target(Span::ZERO), &events)?;
        behaves(Ledbat::new().with_slow_start(), &events)?;
        behaves(Vivace::new().scavenger(), &events)?;
        behaves(Verus::new(), &events)?;
        behaves(Scream::new(), &events)?;
        behaves(Scream::new().classic(), &events)?;
        behaves(Xcp::new(), &events)?;
        behaves(Abc::new(), &events)?;
        behaves(Bbr::default(), &events)?;
        behaves(Bbr1::default(), &events)?;
    }

    #[test]
    fn every_controller_forgets_its_last_flow(
        events in prop::collection::vec(anything(), 0..100),
    ) {
        forgets(Reno::new().with_slow_start(SlowStart::HyStartPlusPlus), &events)?;
        forgets(Cubic::new(), &events)?;
        forgets(Vegas::new(), &events)?;
        forgets(Compound::new(), &events)?;
        forgets(Dctcp::new(), &events)?;
        forgets(Ledbat::new(), &events)?;
        forgets(Vivace::new().scavenger(), &events)?;
        forgets(Verus::new(), &events)?;
        forgets(Scream::new(), &events)?;
        forgets(Scream::new().classic(), &events)?;
        forgets(Xcp::new(), &events)?;
        forgets(Abc::new(), &events)?;
    }

    #[test]
    fn nothing_makes_a_window_grow_in_recovery(
        acks in prop::collection::vec(any_ack(), 0..100),
        lost in time(),
    ) {
        recovers(Reno::new(), &acks, lost)?;
        recovers(Cubic::new(), &acks, lost)?;
        recovers(Vegas::new(), &acks, lost)?;
        recovers(Compound::new(), &acks, lost)?;
        recovers(Dctcp::new(), &acks, lost)?;
        recovers(Ledbat::new(), &acks, lost)?;
        recovers(Ledbat::new().with_slow_start(), &acks, lost)?;
        recovers(Xcp::new(), &acks, lost)?;
    }
}

/// The window does not exceed what the loss left of it until recovery ends.
fn recovers(
    mut cc: impl Controller,
    acks: &[Anything],
    lost: Instant,
) -> Result<(), TestCaseError> {
    cc.on_start(&Start::new(Instant::ZERO));
    let sign = Congestion::new(CongestionKind::Lost, lost, lost);
    let mut window = cc.on_congestion(&sign).cwnd;
    for event in acks {
        let Anything::Ack(ack) = event else { continue };
        let mut ack = ack.clone();
        ack.recovering = true;
        let next = cc.on_ack(&ack).cwnd;
        prop_assert!(next <= window, "{next} after {window}: {ack:?}");
        window = next;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn aimd_never_closes_its_window(events in prop::collection::vec(event(), 0..200)) {
        let mut cc = Aimd::new();
        let mut window = cc.on_start(&Start::new(Instant::ZERO)).cwnd;
        for event in &events {
            let next = deliver(&mut cc, event).cwnd;
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
            deliver(&mut cc, &Event::Ack { now: 1, sent: 0, acked, stale: false });
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
            prop_assert!(next == now || paced == Some(next), "no later than necessary");
        }
        prop_assert_eq!((gate.cwnd(), gate.intersend()), (cwnd, intersend));
    }
}

#[test]
fn a_spurious_event_changes_nothing() {
    let mut cc = Aimd::new();
    let before = cc.on_start(&Start::new(Instant::ZERO));
    assert_eq!(deliver(&mut cc, &Event::Congestion { now: 2, sent: 1, kind: 3 }), before);
}

#[test]
fn an_ack_is_in_order_by_default() {
    let ack = Ack::new(7, Instant::from_nanos(10), Instant::from_nanos(25));
    assert_eq!(ack.rtt(), Span::from_nanos(15));
    assert_eq!(ack.largest_acked, Some(6));
    assert_eq!(Ack::new(0, Instant::ZERO, Instant::ZERO).largest_acked, None);
    let backwards = Ack::new(0, Instant::from_nanos(9), Instant::ZERO);
    assert_eq!(backwards.rtt(), Span::ZERO);
}
