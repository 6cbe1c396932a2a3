//! [`diff`]: how two tables differ, as rules and in their actions.

use crate::text::{self, action_words};
use exm_remy::{Action, Cuboid, Rule, RuleTable, Signal, SignalSet};
use exm_store::counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many of the largest differences are printed.
const BIGGEST: usize = 10;
/// How many rules of each kind are printed.
const PRINTED: usize = 10;
/// The windows, in packets, at which two actions are compared.
const WINDOWS: [f64; 3] = [1.0, 10.0, 100.0];

/// The differences between two tables. Rules whose boxes are empty are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableDiff {
    /// The signals of both tables.
    pub signals: [Vec<Signal>; 2],
    /// The number of rules in each table.
    pub rules: [usize; 2],
    /// The number of rules in both, with equal box and action.
    pub equal_rules: usize,
    /// Boxes of both tables with different actions.
    pub changed_actions: Vec<ActionChange>,
    /// Rules of the first table whose boxes the second does not have.
    pub only_in_first: Vec<NumberedRule>,
    /// Rules of the second table whose boxes the first does not have.
    pub only_in_second: Vec<NumberedRule>,
    /// The number of cells into which the boxes of both together divide the memory.
    pub cells: u64,
    /// The number of cells in which the two tables act differently.
    pub differing_cells: u64,
    /// The cells in which they differ most.
    pub biggest: Vec<CellDifference>,
}

/// A box with a different action in each table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionChange {
    /// The numbers of the rules in their tables.
    pub rules: [usize; 2],
    /// Their box.
    #[serde(rename = "box", serialize_with = "text::cuboid")]
    pub domain: Cuboid,
    /// The first table's action.
    #[serde(serialize_with = "text::action")]
    pub first: Action,
    /// The second table's action.
    #[serde(serialize_with = "text::action")]
    pub second: Action,
}

/// A rule and its number in its table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberedRule {
    /// Its number.
    pub rule: usize,
    /// Its box.
    #[serde(rename = "box", serialize_with = "text::cuboid")]
    pub domain: Cuboid,
    /// Its action.
    #[serde(serialize_with = "text::action")]
    pub action: Action,
}

/// A cell of memory in which two tables act differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellDifference {
    /// The size of the difference, from 0 to 2: the relative difference of their windows, at the
    /// worst of 1, 10 and 100 packets, plus that of their times between sends.
    pub size: f64,
    /// The cell, and both actions.
    #[serde(flatten)]
    pub change: ActionChange,
}

/// Compares two tables, rule by rule and cell by cell. As in lookups, the outermost rules of each
/// table extend beyond its box.
pub fn diff(first: &RuleTable, second: &RuleTable) -> TableDiff {
    let tables = [first, second];
    let mut diff = TableDiff {
        signals: tables.map(|table| table.signals().iter().collect()),
        rules: tables.map(|table| present(table).count()),
        equal_rules: 0,
        changed_actions: Vec::new(),
        only_in_first: Vec::new(),
        only_in_second: Vec::new(),
        cells: 0,
        differing_cells: 0,
        biggest: Vec::new(),
    };
    diff.compare_rules(first, second);
    diff.compare_cells(first, second);
    diff
}

/// The rules of `table` whose boxes are not empty, with their numbers.
fn present(table: &RuleTable) -> impl Iterator<Item = (usize, &Rule)> {
    let signals = table.signals();
    table.rules().iter().enumerate().filter(move |(_, rule)| !rule.domain.is_empty(signals))
}

/// A key by which boxes are compared; zero and minus zero are the same bound.
fn key(domain: &Cuboid) -> [[u64; Signal::COUNT]; 2] {
    [domain.lower, domain.upper].map(|side| side.map(|bound| (bound + 0.0).to_bits()))
}

/// `domain` with the sides that it shares with its table moved to infinity.
fn reach(domain: &Cuboid, table: &RuleTable) -> Cuboid {
    let whole = table.domain();
    let beyond = |bound: f64, whole: f64, far: f64| if bound == whole { far } else { bound };
    Cuboid {
        lower: std::array::from_fn(|i| beyond(domain.lower[i], whole.lower[i], f64::NEG_INFINITY)),
        upper: std::array::from_fn(|i| beyond(domain.upper[i], whole.upper[i], f64::INFINITY)),
    }
}

/// The size of the difference between two actions: see [`CellDifference::size`].
fn size(first: &Action, second: &Action) -> f64 {
    let share = |a: f64, b: f64| {
        let larger = a.abs().max(b.abs());
        if larger > 0.0 { ((a - b).abs() / larger).min(1.0) } else { 0.0 }
    };
    let next =
        |action: &Action, w: f64| (action.multiple * w + f64::from(action.increment)).max(0.0);
    let windows = WINDOWS.map(|w| share(next(first, w), next(second, w)));
    windows.into_iter().fold(0.0, f64::max) + share(first.intersend_ms, second.intersend_ms)
}

impl TableDiff {
    /// Whether both tables have the same actions everywhere.
    pub fn acts_alike(&self) -> bool {
        self.differing_cells == 0
    }

    fn compare_rules(&mut self, first: &RuleTable, second: &RuleTable) {
        let numbered = |(rule, &Rule { domain, action }): (usize, &Rule)| NumberedRule {
            rule,
            domain,
            action,
        };
        let mut unmatched: BTreeMap<_, NumberedRule> = present(second)
            .map(|(number, rule)| (key(&rule.domain), numbered((number, rule))))
            .collect();
        for (number, rule) in present(first) {
            match unmatched.remove(&key(&rule.domain)) {
                None => self.only_in_first.push(numbered((number, rule))),
                Some(other) if other.action == rule.action => self.equal_rules += 1,
                Some(other) => self.changed_actions.push(ActionChange {
                    rules: [number, other.rule],
                    domain: rule.domain,
                    first: rule.action,
                    second: other.action,
                }),
            }
        }
        self.only_in_second = unmatched.into_values().collect();
        self.only_in_second.sort_by_key(|rule| rule.rule);
    }

    fn compare_cells(&mut self, first: &RuleTable, second: &RuleTable) {
        let signals = SignalSet::new(first.signals().iter().chain(second.signals().iter()))
            .expect("the union of two non-empty sets is not empty");
        let reaching = |table| -> Vec<(usize, Cuboid, Action)> {
            present(table).map(|(i, rule)| (i, reach(&rule.domain, table), rule.action)).collect()
        };
        // The intersection of both tables' boxes, bounded where possible, to print cells without
        // infinities.
        let (a, b) = (first.domain(), second.domain());
        let hull = Cuboid {
            lower: std::array::from_fn(|i| finite(a.lower[i], b.lower[i], f64::min)),
            upper: std::array::from_fn(|i| finite(a.upper[i], b.upper[i], f64::max)),
        };
        let others = reaching(second);
        for (i, domain, action) in reaching(first) {
            for (j, other, other_action) in &others {
                if !domain.overlaps(other, signals) {
                    continue;
                }
                self.cells += 1;
                if action == *other_action {
                    continue;
                }
                self.differing_cells += 1;
                let size = size(&action, other_action);
                if self.biggest.len() < BIGGEST || self.biggest[BIGGEST - 1].size < size {
                    let domain = domain.intersection(other).intersection(&hull);
                    let (first, second) = (action, *other_action);
                    let change = ActionChange { rules: [i, *j], domain, first, second };
                    let place = self.biggest.partition_point(|known| known.size >= size);
                    self.biggest.insert(place, CellDifference { size, change });
                    self.biggest.truncate(BIGGEST);
                }
            }
        }
    }
}

/// `pick` of two bounds, or the finite one if only one is.
fn finite(a: f64, b: f64, pick: fn(f64, f64) -> f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, false) => a,
        (false, true) => b,
        _ => pick(a, b),
    }
}

impl fmt::Display for TableDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |signals: &[Signal]| {
            signals.iter().map(|signal| signal.name()).collect::<Vec<_>>().join(", ")
        };
        if self.signals[0] != self.signals[1] {
            writeln!(
                f,
                "signals: {} against {}",
                names(&self.signals[0]),
                names(&self.signals[1])
            )?;
        }
        let [first, second] = self.rules;
        let first = counted(first, "rule", "rules");
        writeln!(f, "{first} against {second}, {} of them the same", self.equal_rules)?;
        let share = 100.0 * self.differing_cells as f64 / self.cells.max(1) as f64;
        writeln!(
            f,
            "they act differently in {} of {} of memory ({share:.1} %)",
            self.differing_cells,
            counted(self.cells, "cell", "cells")
        )?;
        listed(f, ["box has another action", "boxes have other actions"], &self.changed_actions)?;
        listed(f, ["box only in the first", "boxes only in the first"], &self.only_in_first)?;
        listed(f, ["box only in the second", "boxes only in the second"], &self.only_in_second)?;
        if !self.biggest.is_empty() {
            writeln!(f, "the biggest differences:")?;
        }
        self.biggest.iter().try_for_each(|cell| writeln!(f, "  {cell}"))
    }
}

/// Prints `items` under a heading, singular or plural.
fn listed(
    f: &mut fmt::Formatter<'_>,
    [one, many]: [&str; 2],
    items: &[impl fmt::Display],
) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(f, "{}:", counted(items.len(), one, many))?;
    for item in items.iter().take(PRINTED) {
        writeln!(f, "  {item}")?;
    }
    match items.len().saturating_sub(PRINTED) {
        0 => Ok(()),
        more => writeln!(f, "  and {more} more"),
    }
}

impl fmt::Display for ActionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (action_words(&self.first), action_words(&self.second));
        write!(f, "{}: {first} -> {second}", Brief(&self.domain))
    }
}

impl fmt::Display for NumberedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} {}: {}", self.rule, Brief(&self.domain), action_words(&self.action))
    }
}

impl fmt::Display for CellDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.change.rules;
        write!(f, "{:.3} rules {first} and {second}, {}", self.size, self.change)
    }
}

/// A box with rounded bounds.
struct Brief<'a>(&'a Cuboid);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = Signal::ALL
            .into_iter()
            .map(|signal| (signal, self.0.lower[signal.index()], self.0.upper[signal.index()]))
            .filter(|(_, lower, upper)| lower.is_finite() || upper.is_finite())
            .map(|(signal, lower, upper)| {
                format!("{signal} {}..{}", text::short(lower), text::short(upper))
            })
            .collect();
        write!(f, "{{{}}}", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> RuleTable {
        let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
        let mut table = RuleTable::single(signals, 16.0, Action::INITIAL);
        assert!(table.split(0, Signal::SendEwma, 4.0));
        table
    }

    #[test]
    fn a_table_does_not_differ_from_itself() {
        let diff = diff(&table(), &table());
        assert!(diff.acts_alike());
        assert_eq!((diff.equal_rules, diff.cells), (2, 2));
        assert!(diff.biggest.is_empty() && diff.changed_actions.is_empty());
    }

    #[test]
    fn a_split_alone_changes_no_action() {
        let mut finer = table();
        assert!(finer.split(1, Signal::SendEwma, 8.0));
        let diff = diff(&table(), &finer);
        assert!(diff.acts_alike());
        assert_eq!((diff.equal_rules, diff.cells), (1, 3));
        assert_eq!((diff.only_in_first.len(), diff.only_in_second.len()), (1, 2));
    }

    #[test]
    fn tables_with_different_domains_and_signals_are_compared() {
        let signals = SignalSet::new([Signal::SendEwma, Signal::RttRatio]).expect("two signals");
        let mut wide = RuleTable::single(signals, 160.0, Action::INITIAL);
        assert!(wide.split(0, Signal::SendEwma, 100.0));
        let other = Action { multiple: 0.0, increment: 0, intersend_ms: 0.01 };
        wide.set_action(1, other);
        let diff = diff(&table(), &wide);
        assert_eq!((diff.cells, diff.differing_cells), (3, 1));
        let [cell] = diff.biggest.as_slice() else { panic!("{diff}") };
        assert_eq!(cell.size, 1.0);
        assert_eq!(cell.change.rules, [1, 1]);
        assert_eq!((cell.change.domain.lower[0], cell.change.domain.upper[0]), (100.0, 160.0));
        let text = diff.to_string();
        assert!(text.contains("in 1 of 3 cells of memory (33.3 %)"), "{text}");
        assert!(text.contains("window := 1·window + 1, at least 0.01 ms between packets -> window := 0·window + 0, at least 0.01 ms between packets"), "{text}");
    }

    #[test]
    fn single_items_have_singular_headings() {
        let signals = SignalSet::new([Signal::SendEwma]).expect("one signal");
        let single = RuleTable::single(signals, 16.0, Action::INITIAL);
        let mut other = single.clone();
        other.set_action(0, Action { increment: 2, ..Action::INITIAL });
        let text = diff(&single, &other).to_string();
        let expected = "1 rule against 1, 0 of them the same\n\
                    they act differently in 1 of 1 cell of memory (100.0 %)\n\
                    1 box has another action:\n";
        assert!(text.starts_with(expected), "{text}");
        let text = diff(&single, &table()).to_string();
        assert!(text.contains("\n1 box only in the first:\n"), "{text}");
        assert!(text.contains("\n2 boxes only in the second:\n"), "{text}");
    }

    #[test]
    fn the_largest_differences_come_first() {
        let (mut a, mut b) = (table(), table());
        a.set_action(0, Action { intersend_ms: 1.0, ..Action::INITIAL });
        b.set_action(0, Action { intersend_ms: 2.0, ..Action::INITIAL });
        b.set_action(1, Action { multiple: 0.1, increment: 1, intersend_ms: 0.04 });
        let diff = diff(&a, &b);
        assert_eq!(diff.changed_actions.len(), 2);
        let sizes: Vec<f64> = diff.biggest.iter().map(|cell| cell.size).collect();
        assert_eq!(sizes, [1.0 - 11.0 / 101.0 + 0.75, 0.5]);
    }
}
