//! Properties of lookups: each memory has exactly one rule, and the grid finds it.

mod common;

use common::{binary_table, memory, table, values};
use exm_remy::{Action, Grid, Lookup, Point, RuleTable, Signal, SignalSet};
use proptest::prelude::*;

/// The rules of `table` that hold `memory`, with its values clamped to the table's box.
fn holders(table: &RuleTable, memory: &Point) -> Vec<usize> {
    let whole = table.domain();
    let inside: Point =
        std::array::from_fn(|i| memory[i].min(whole.upper[i].next_down()).max(whole.lower[i]));
    let rules = table.rules().iter().enumerate();
    let holding = rules.filter(|(_, rule)| rule.domain.contains(table.signals(), &inside));
    holding.map(|(number, _)| number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_memory_has_exactly_one_rule(
        table in table(),
        values in prop::collection::vec(values(), 16),
    ) {
        for values in &values {
            let memory = memory(&table, values);
            prop_assert_eq!(holders(&table, &memory), [table.find(&memory)], "{:?}", memory);
        }
    }

    #[test]
    fn the_grid_finds_what_the_tree_finds(
        table in table(),
        values in prop::collection::vec(values(), 16),
    ) {
        let grid = Grid::new(&table);
        let rules = table.rules().iter().enumerate();
        let held = rules.filter(|(_, rule)| !rule.domain.is_empty(table.signals()));
        let held: Vec<usize> = held.map(|(number, _)| number).collect();
        for values in &values {
            let memory = memory(&table, values);
            let rule = table.find(&memory);
            for guess in held.iter().copied().take(8) {
                prop_assert_eq!(grid.find(&memory, guess), rule, "{:?} from {}", memory, guess);
            }
        }
    }

    #[test]
    fn a_split_moves_memories_only_to_the_new_rule(
        table in binary_table(),
        rule in any::<prop::sample::Index>(),
        signal in 0..Signal::COUNT,
        at in 0.0..20.0,
        values in prop::collection::vec(values(), 16),
    ) {
        let rule = rule.index(table.rules().len());
        let mut finer = table.clone();
        let grew = finer.split(rule, Signal::ALL[signal], at);
        prop_assert_eq!(finer.rules().len(), table.rules().len() + usize::from(grew));
        let root = finer.root().clone();
        prop_assert!(RuleTable::new(finer.signals(), finer.rules().to_vec(), root).is_ok());
        for values in &values {
            let memory = memory(&finer, values);
            let (before, after) = (table.find(&memory), finer.find(&memory));
            let moved = grew && before == rule && memory[signal] >= at;
            prop_assert_eq!(after, if moved { table.rules().len() } else { before });
        }
    }
}

/// A table with too many cells for a grid, so that cuts are used.
#[test]
fn tables_too_large_for_a_grid_are_looked_up_by_cuts() {
    let remys = SignalSet::new(Signal::ALL.into_iter().take(Signal::REMYS)).expect("six signals");
    let all = SignalSet::new(Signal::ALL).expect("all signals");
    [remys, all].into_iter().for_each(look_up_in_a_large_table);
}

fn look_up_in_a_large_table(signals: SignalSet) {
    let mut table = RuleTable::single(signals, 64.0, Action::INITIAL);
    for at in 1..=60 / signals.len() {
        for signal in signals.iter() {
            let last = table.rules().len() - 1;
            assert!(table.split(last, signal, at as f64));
        }
    }
    let grid = Grid::new(&table);
    for step in 0..4096 {
        let memory = std::array::from_fn(|i| f64::from(step >> (2 * i) & 3) * 4.0);
        assert_eq!(grid.find(&memory, 0), table.find(&memory), "{memory:?}");
    }
}
