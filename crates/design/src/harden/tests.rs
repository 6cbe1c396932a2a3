use super::*;
use crate::shipped;
use exm_remy::{Action, SignalSet};

/// A model of short networks, so that a test takes little time.
fn model() -> Model {
    let text = "[network]\nrate = \"10 Mbps\"\nrtt = \"50 ms\"\nsenders = \"1..4\"\n[traffic]\n\
                on = \"exp 1 s\"\noff = \"exp 1 s\"\n[design]\nduration = \"5 s\"\nspecimens = 4\n";
    Model::parse(text, "test").unwrap()
}

/// A table that only its pace holds back: with more senders than the link has room for, queues grow.
fn greedy() -> RuleTable {
    let action = Action { multiple: 1.0, increment: 1, intersend_ms: 2.0 };
    RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action)
}

#[test]
fn a_table_that_collapses_does_not_when_it_is_hardened() {
    let hardened =
        &harden(&model(), &[greedy()], &Hardening::new(0.05), &|_| ControlFlow::Continue(()))[0];
    let held_out = stress::networks(&model(), 0, StressSet::HeldOut(1));
    let on = |table| stress::Summary::of(&stress::run_all(&held_out, &Prepared::new(table)));
    let (before, after) = (on(&greedy()), on(&hardened.table));
    assert!(after.shortfall < 0.75 * before.shortfall, "{before:?} became {after:?}");
    assert!(after.collapses < before.collapses, "{before:?} became {after:?}");
    assert!(hardened.guards.is_some());
}

#[test]
fn hardening_is_the_same_on_any_number_of_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            harden(&model(), &[greedy()], &Hardening::new(0.05), &|_| ControlFlow::Continue(()))[0]
                .table
                .clone()
        })
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn what_nothing_makes_better_stays_as_it_is() {
    // One packet at a time is as safe as can be.
    let action = Action { multiple: 0.0, increment: 1, intersend_ms: 0.0 };
    let table = RuleTable::single(SignalSet::FIRST_FOUR, 16384.0, action);
    let hardened = &harden(&model(), std::slice::from_ref(&table), &Hardening::new(0.05), &|_| {
        ControlFlow::Continue(())
    })[0];
    assert_eq!((hardened.guards, &hardened.table), (None, &table));
}

#[test]
fn the_cost_of_no_change_is_none() {
    let table = shipped::table("1x").unwrap().table;
    let tables = [table];
    let cost = cost(&model(), &tables, &tables, 8, 1).unwrap();
    assert_eq!(cost.mean, 0.0);
}
