use super::*;
use crate::{Action, MAX_WINDOW, RemyCc, RuleTable, Signal, SignalSet};
use exm_cc::{Ack, Controller, Start};
use exm_units::Instant;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// A table of `rules` rules on Remy's signals, with bounds where [`both_follow`]'s ACKs lie.
fn table(rules: usize, random: &mut Random) -> RuleTable {
    let signals = SignalSet::new(Signal::ALL.into_iter().take(Signal::REMYS)).expect("six");
    let mut table = RuleTable::single(signals, 16_384.0, Action::INITIAL);
    while table.rules().len() < rules {
        let rule = random.below(table.rules().len() as u64) as usize;
        let signal = Signal::ALL[random.below(Signal::REMYS as u64) as usize];
        let at = match signal {
            Signal::RttRatio => 1.0 + random.below(1000) as f64 / 300.0,
            Signal::RttDiff => random.below(200_000) as f64 / 1000.0,
            _ => random.below(1_000_000) as f64 / 77_777.0,
        };
        table.split(rule, signal, at);
        let action = Action {
            multiple: random.below(200) as f64 / 100.0,
            increment: random.below(20) as i32 - 4,
            intersend_ms: random.below(1000) as f64 / 100.0,
        };
        table.set_action(rule, action);
    }
    table
}

/// Runs both over `events` ACKs with packets lost, reordered and late, and expects the same of both.
fn both_follow(table: &RuleTable, events: usize, random: &mut Random) {
    let fixed = FixedTable::new(table, MAX_WINDOW).expect("six signals");
    let mut ours = FixedRemyCc::new(&fixed);
    let mut reference = RemyCc::new(table);
    reference.on_start(&Start::new(Instant::ZERO));
    let (mut sent, mut received, mut sequence) = (0, 0, 0);
    for _ in 0..events {
        let gap = 1 + random.below(50) / 45;
        sent += random.below(8_000_000);
        received =
            (received + random.below(6_000_000)).max(sent + 20_000_000 + random.below(90_000_000));
        let mut ack =
            Ack::new(sequence + gap, Instant::from_nanos(sent), Instant::from_nanos(received));
        ack.largest_acked = Some(sequence);
        sequence += gap;
        let decision = reference.on_ack(&ack);
        ours.on_ack(sent as i64, received as i64, received - sent, gap as u32);
        assert_eq!(ours.rule(), reference.rule(), "{:?}", reference.signals());
        assert_eq!(u64::from(ours.window()), decision.cwnd.get());
        assert_eq!(ours.intersend_ns(), decision.intersend.as_nanos());
    }
}

#[test]
fn integers_follow_the_same_rules_to_the_same_windows() {
    let mut random = Random(1);
    for rules in [1, 2, 20, 200] {
        let table = table(rules, &mut random);
        both_follow(&table, 50_000, &mut random);
    }
}

#[test]
fn windows_are_those_of_floating_point() {
    let mut random = Random(2);
    for _ in 0..100_000 {
        let multiple = match random.below(4) {
            0 => random.below(300) as f64 / 100.0,
            1 => random.below(1 << 30) as f64 / f64::from(1 << 28),
            2 => random.below(1 << 30) as f64 / (1_u64 << 40) as f64,
            _ => random.below(1 << 20) as f64,
        };
        let action = Action {
            multiple,
            increment: random.below(600) as i32 * random.below(100) as i32 - 300,
            intersend_ms: 0.0,
        };
        let bits = random.below(20);
        let window = random.below(1 << bits) as u32;
        let fixed = FixedAction::new(&action).expect("no less than 0").window(window, MAX_WINDOW);
        assert_eq!(fixed, action.compile().window(window), "{multiple} x {window}");
    }
}

#[test]
fn extreme_times_do_not_overflow() {
    let mut memory = FixedMemory::default();
    for (sent, received, rtt, gap) in [
        (0, 0, 0, 0),
        (i64::MAX, i64::MAX, u64::MAX, u32::MAX),
        (i64::MIN, i64::MIN, 1, 1),
        (i64::MAX, 0, u64::MAX, u32::MAX),
    ] {
        for _ in 0..1000 {
            memory.on_ack(sent, received, rtt, gap);
            memory.signals();
        }
    }
}

#[test]
fn a_table_with_a_signal_of_floating_point_is_refused() {
    let signals = SignalSet::new([Signal::Loss]).expect("one");
    let table = RuleTable::single(signals, 1.0, Action::INITIAL);
    let error = FixedTable::new(&table, MAX_WINDOW).expect_err("loss is no integer");
    assert_eq!(
        error.to_string(),
        "it looks at loss, which is not measured in fixed point: design a table without that signal"
    );
}

#[test]
fn a_window_stays_below_its_bound() {
    let table =
        RuleTable::single(SignalSet::FIRST_FOUR, 1.0, Action { multiple: 2.0, ..Action::INITIAL });
    let fixed = FixedTable::new(&table, 100).expect("four signals");
    let mut sender = FixedRemyCc::new(&fixed);
    (1..20).for_each(|ack| sender.on_ack(ack, ack, 1, 1));
    assert_eq!((sender.window(), fixed.depth()), (100, 0));
}
