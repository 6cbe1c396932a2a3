//! Random tables and memories for the property tests.

#![allow(dead_code, reason = "each test uses its part of this")]

use exm_remy::{Action, Cuboid, Node, Point, Rule, RuleTable, Signal, SignalSet};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::PathBuf;

/// The folder of the published tables, if this machine has them.
#[track_caller]
pub(crate) fn published() -> Option<Vec<PathBuf>> {
    let folder = exm_testing::reference("remycc")?;
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "dna"));
    files.sort();
    assert!(!files.is_empty(), "no tables in the reference data");
    Some(files)
}

/// One or more of the first `count` signals.
fn signals_of(count: usize) -> impl Strategy<Value = SignalSet> {
    (1_u32..1 << count).prop_map(|bits| {
        let wanted = Signal::ALL.into_iter().filter(move |s| bits & 1 << s.index() != 0);
        SignalSet::new(wanted).expect("one bit is set at least")
    })
}

/// Actions that a file may hold.
pub(crate) fn action() -> impl Strategy<Value = Action> {
    (-1e3..1e3, any::<i32>(), 0.0..1e4).prop_map(|(multiple, increment, intersend_ms)| Action {
        multiple,
        increment,
        intersend_ms,
    })
}

/// Where to split a box, as a fraction: occasionally its very edge.
fn share() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 0.0..1.0, 2 => 1e-12..1e-6, 1 => Just(0.0), 1 => Just(1.0)]
}

/// Tables on any signals made by splitting rules in two, as the designer does.
pub(crate) fn binary_table() -> impl Strategy<Value = RuleTable> {
    prop_oneof![binary_table_on(Signal::REMYS), binary_table_on(Signal::COUNT)]
}

fn binary_table_on(count: usize) -> impl Strategy<Value = RuleTable> {
    let split = (any::<Index>(), any::<Index>(), share(), action());
    let ends = prop_oneof![Just(16384.0), Just(163_840.0), Just(1.0)];
    (signals_of(count), ends, prop::collection::vec(split, 0..40)).prop_map(
        |(signals, end, splits)| {
            let mut table = RuleTable::single(signals, end, Action::INITIAL);
            for (rule, signal, share, action) in splits {
                let rule = rule.index(table.rules().len());
                let signal =
                    signals.iter().nth(signal.index(signals.len())).expect("an index of it");
                let Cuboid { lower, upper } = table.rules()[rule].domain;
                let (lower, upper) = (lower[signal.index()], upper[signal.index()]);
                table.split(rule, signal, lower + (upper - lower) * share);
                table.set_action(rule, action);
            }
            table
        },
    )
}

/// Tables with nodes split at one point on every axis at once, as Remy makes them of its signals: some
/// parts are empty, some axes unbounded, and some of the memory negative.
pub(crate) fn remy_table() -> impl Strategy<Value = RuleTable> {
    let split = (any::<Index>(), prop::array::uniform6(share()), action());
    let whole = prop::array::uniform6(prop_oneof![
        3 => Just((0.0, 16384.0)),
        1 => Just((-100.0, 100.0)),
        1 => Just((f64::NEG_INFINITY, f64::INFINITY)),
        1 => Just((0.0, f64::INFINITY)),
    ]);
    let signals = signals_of(Signal::REMYS);
    (signals, whole, prop::collection::vec(split, 0..6)).prop_map(|(signals, whole, splits)| {
        let mut domain = Cuboid::EVERYTHING;
        for i in signals.iter().map(Signal::index) {
            (domain.lower[i], domain.upper[i]) = whole[i];
        }
        let mut grower = Grower { signals, rules: vec![Rule { domain, action: Action::INITIAL }] };
        let mut root = Node::Leaf(0);
        for (rule, shares, action) in splits {
            let rule = rule.index(grower.rules.len());
            grower.rules[rule].action = action;
            root = grower.grow(root, rule, shares);
        }
        RuleTable::new(signals, grower.rules, root).expect("a partition by construction")
    })
}

struct Grower {
    signals: SignalSet,
    rules: Vec<Rule>,
}

impl Grower {
    fn grow(&mut self, node: Node, rule: usize, shares: [f64; 6]) -> Node {
        match node {
            Node::Leaf(index) if index == rule => self.split(index, shares),
            Node::Leaf(index) => Node::Leaf(index),
            Node::Split { domain, children } => {
                let grown = |child| self.grow(child, rule, shares);
                Node::Split { domain, children: children.into_iter().map(grown).collect() }
            }
        }
    }

    fn split(&mut self, index: usize, shares: [f64; 6]) -> Node {
        let Rule { domain, action } = self.rules[index];
        let mut parts = vec![domain];
        for signal in self.signals.iter() {
            let i = signal.index();
            let lower = domain.lower[i].max(-50.0);
            let upper = domain.upper[i].min(lower + 1e5);
            let at = (lower + (upper - lower) * shares[i]).clamp(domain.lower[i], domain.upper[i]);
            parts = parts.iter().flat_map(|part| part.split(signal, at)).collect();
        }
        let mut children = vec![Node::Leaf(index)];
        self.rules[index].domain = parts[0];
        for &part in &parts[1..] {
            children.push(Node::Leaf(self.rules.len()));
            self.rules.push(Rule { domain: part, action });
        }
        Node::Split { domain, children }
    }
}

/// Tables of both kinds on Remy's signals.
pub(crate) fn remys_table() -> impl Strategy<Value = RuleTable> {
    prop_oneof![binary_table_on(Signal::REMYS), remy_table()]
}

/// Tables of both kinds.
pub(crate) fn table() -> impl Strategy<Value = RuleTable> {
    prop_oneof![binary_table(), remy_table()]
}

/// One value of a memory: a number, or a bound of a table, by its index.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(f64),
    Bound(Index, i8),
}

/// Values of which half lie on, just below or just above a bound of a table.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => (any::<Index>(), -1_i8..=1).prop_map(|(bound, side)| Value::Bound(bound, side)),
        2 => (0.0..20.0).prop_map(Value::Number),
        2 => (-10.0..2e5).prop_map(Value::Number),
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY
        ])
        .prop_map(Value::Number),
    ]
}

/// Such values of all signals.
pub(crate) fn values() -> impl Strategy<Value = [Value; Signal::COUNT]> {
    prop::array::uniform9(value())
}

/// The memory that `values` describe in `table`.
pub(crate) fn memory(table: &RuleTable, values: &[Value; Signal::COUNT]) -> Point {
    std::array::from_fn(|i| match &values[i] {
        Value::Number(number) => *number,
        Value::Bound(bound, side) => {
            let bounds: Vec<f64> = table
                .rules()
                .iter()
                .flat_map(|rule| [rule.domain.lower[i], rule.domain.upper[i]])
                .collect();
            let bound = bounds[bound.index(bounds.len())];
            match side {
                -1 => bound.next_down(),
                0 => bound,
                _ => bound.next_up(),
            }
        }
    })
}
