use super::*;
use crate::shipped;
use exm_remy::Point;
use proptest::prelude::*;
use std::sync::OnceLock;

fn guards() -> Guards {
    let brake = Brake { ratio: 1.5, from_ms: 2.0, horizon_ms: 50.0, window: 6.0, pace: 0.8 };
    Guards {
        start_window: 16.0,
        growth: 8.0,
        horizon_ms: 300.0,
        reference_ms: 10.0,
        equality: 0.0,
        least_window: 3.0,
        youth: 0.5,
        brakes: [
            brake,
            Brake { ratio: 2.0, window: 4.0, ..brake },
            Brake { ratio: 3.0, window: 3.0, from_ms: 1.0, ..brake },
        ],
    }
}

fn action(multiple: f64, increment: i32, intersend_ms: f64) -> Action {
    Action { multiple, increment, intersend_ms }
}

#[test]
fn windows_rest_where_their_rule_leads() {
    assert_eq!(resting_window(&action(0.5, 10, 0.0)), 20.0);
    assert_eq!(resting_window(&action(1.0, 1, 0.0)), 1e6);
    assert_eq!(resting_window(&action(1.0, 0, 0.0)), 0.0);
    assert_eq!(resting_window(&action(0.5, -3, 0.0)), 0.0);
}

#[test]
fn a_braking_sender_keeps_what_its_horizon_brings_in_flight() {
    let before = shipped::table("general-delta1").unwrap().table;
    let table = guards().apply(&before).unwrap();
    let at = |table: &RuleTable, ack: f64, ratio: f64| {
        table.rules()[table.find(&point([ack, ack, ratio, ack]))].action
    };
    // 3 ms lie on the rung from 2 to 4 ms: 50 ms / 4 ms, and 6 packets more.
    assert_eq!(at(&table, 3.0, 1.6), action(0.0, 18, 0.8 * 2.0));
    assert_eq!(at(&table, 100.0, 1.6), action(0.0, 6, 0.8 * 64.0));
    assert_eq!(at(&table, 3.0, 2.5), action(0.0, 16, 0.8 * 2.0));
    assert_eq!(at(&table, 1.5, 3.5), action(0.0, 28, 0.8));
    // Where ACKs come faster than on the slowest share of the model, only the last brake is on.
    let greedy = RuleTable::single(exm_remy::SignalSet::FIRST_FOUR, 16384.0, action(1.0, 1, 0.0));
    let window = resting_window(&at(&guards().apply(&greedy).unwrap(), 1.5, 1.6));
    assert!(window > 100.0, "{window}");
}

/// A brake does not feed itself. A sender whose RTT is long through others has an ACK for each packet of its window in an
/// RTT: it sends as many again, and keeps at least its window's packets however long that lasts.
#[test]
fn a_brake_does_not_feed_itself() {
    let greedy = RuleTable::single(exm_remy::SignalSet::FIRST_FOUR, 16384.0, action(1.0, 1, 0.0));
    let table = guards().apply(&greedy).unwrap();
    for (rtt, min_rtt) in [(60.0, 20.0), (300.0, 150.0), (2000.0, 200.0)] {
        let (mut ack, mut window) = (2.0, 0.0);
        for _ in 0..200 {
            let memory = point([ack, ack, rtt / min_rtt, ack]);
            let action = table.rules()[table.find(&memory)].action;
            window = resting_window(&action);
            ack = f64::max(rtt / window, action.intersend_ms);
        }
        assert!(window >= 3.0, "{window} packets at {rtt} ms");
        assert!(ack <= rtt / 3.0, "a packet every {ack} ms at an RTT of {rtt} ms");
    }
}

/// With a power above 0, who gets half as much keeps more than half as much in flight.
#[test]
fn equality_lengthens_the_horizon_of_those_that_get_less() {
    let equal = Guards { equality: 0.5, ..guards() };
    assert_eq!(equal.limit(300.0, 0.5, 10.0), 30.0);
    assert_eq!(equal.limit(300.0, 0.5, 40.0), 15.0);
    assert!((equal.interval_of(15.0) - 40.0).abs() < 1e-9);
}

/// A flow whose slow average is still low keeps less in flight than one whose averages have settled.
#[test]
fn a_young_flow_gets_part_of_the_horizon() {
    let greedy = RuleTable::single(exm_remy::SignalSet::FIRST_FOUR, 16384.0, action(1.0, 1, 0.0));
    let table = guards().apply(&greedy).unwrap();
    let window = |slow: f64| {
        resting_window(&table.rules()[table.find(&point([5.0, 5.0, 1.0, slow]))].action)
    };
    assert!(window(0.01) <= 0.5 * window(5.0), "{} of {}", window(0.01), window(5.0));
}

/// A memory whose first signals have these values.
fn point(first: [f64; 4]) -> Point {
    std::array::from_fn(|signal| first.get(signal).copied().unwrap_or(0.0))
}

/// Memories within the domain of designed tables.
fn memories() -> impl Strategy<Value = Point> {
    let ms = || prop_oneof![0.0..2.0, 0.0..100.0, 0.0..16_000.0];
    (ms(), ms(), prop_oneof![0.0..1.4, 1.0..50.0], ms())
        .prop_map(|(send, ack, ratio, slow)| point([send, ack, ratio, slow]))
}

/// Shipped tables and what they are with guards.
fn tables() -> &'static [[RuleTable; 2]] {
    static TABLES: OnceLock<Vec<[RuleTable; 2]>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let both = |name: &&str| {
            let table = shipped::table(name).unwrap().table;
            [guards().apply(&table).unwrap(), table]
        };
        ["general-delta1", "general-delta0.1", "10x"].iter().map(both).collect()
    })
}

proptest! {
    /// What guards are for: however many senders there are, none keeps more in flight than was delivered to it in
    /// twice the horizon (a rung's width), or the least window, which is larger for a braking sender.
    #[test]
    fn no_window_rests_above_what_is_delivered_in_the_horizon(
        memory in memories(),
        [table, _] in prop::sample::select(tables()),
    ) {
        let rule = table.rules()[table.find(&memory)];
        let window = resting_window(&rule.action);
        let ack = memory[Signal::AckEwma.index()];
        let delivered = RUNG * 300.0 / ack.max(1e-3);
        prop_assert!(window <= delivered.max(6.0) + 1.0, "{window} packets at {ack} ms, {rule:?}");
    }

    /// Below the brake a guarded table paces as the table does.
    #[test]
    fn below_the_brake_the_pace_stays(
        memory in memories(),
        [guarded, table] in prop::sample::select(tables()),
    ) {
        let pace = |table: &RuleTable| table.rules()[table.find(&memory)].action.intersend_ms;
        if memory[Signal::RttRatio.index()] < 1.5 {
            prop_assert_eq!(pace(&guarded), pace(&table));
        }
    }
}

#[test]
fn a_table_without_the_signals_is_guarded_as_far_as_it_goes() {
    let signals = exm_remy::SignalSet::new([Signal::SendEwma]).unwrap();
    let table = RuleTable::single(signals, 16384.0, action(1.0, 1, 2.0));
    let guarded = guards().apply(&table).unwrap();
    assert_eq!(guarded.rules().len(), 1);
    // The start rule is the only one: its window is set at once.
    assert_eq!(guarded.rules()[0].action, action(0.0, 1, 2.0));
}
