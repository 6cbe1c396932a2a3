//! [`stats`]: a summary of a table.

use crate::text::{self, action_words, short};
use exm_remy::{Action, Node, RuleTable, Signal};
use exm_store::counted;
use serde::Serialize;
use std::fmt;

/// How many of the most common actions are listed.
const COMMONEST: usize = 5;

/// A summary of a table. Rules whose boxes are empty are counted, but otherwise ignored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableStats {
    /// All rules.
    pub rules: usize,
    /// Rules whose boxes are empty, so that no memory matches them.
    pub empty_rules: usize,
    /// Boxes that are split.
    pub splits: usize,
    /// How deep the tree is: 1 for a single rule.
    pub depth: usize,
    /// The signals the table uses.
    pub axes: Vec<AxisStats>,
    /// The factors of the window, m.
    pub multiple: Spread,
    /// The packets added to the window, b.
    pub increment: Spread,
    /// The least times between sends, r, ms.
    pub intersend_ms: Spread,
    /// The number of different actions.
    pub distinct_actions: usize,
    /// The most common of them.
    pub commonest_actions: Vec<ActionCount>,
}

/// One signal of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisStats {
    /// The signal.
    pub signal: Signal,
    /// The lower bound of the whole table.
    #[serde(with = "text::number")]
    pub lower: f64,
    /// The upper bound of the whole table.
    #[serde(with = "text::number")]
    pub upper: f64,
    /// The number of different bounds of rules strictly inside those.
    pub cuts: usize,
    /// The least of them.
    pub least_cut: Option<f64>,
    /// The greatest of them.
    pub greatest_cut: Option<f64>,
}

/// The range of one parameter of the actions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// The greatest.
    pub greatest: f64,
    /// The number of different values.
    pub distinct: usize,
}

/// An action, and the number of rules that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionCount {
    /// The action.
    #[serde(serialize_with = "text::action")]
    pub action: Action,
    /// The number of rules.
    pub rules: usize,
}

/// Summarises `table`.
pub fn stats(table: &RuleTable) -> TableStats {
    let signals = table.signals();
    let rules = table.rules().iter().filter(|rule| !rule.domain.is_empty(signals));
    let mut actions: Vec<Action> = rules.map(|rule| rule.action).collect();
    actions.sort_by(|a, b| {
        let by_multiple = a.multiple.total_cmp(&b.multiple).then(a.increment.cmp(&b.increment));
        by_multiple.then(a.intersend_ms.total_cmp(&b.intersend_ms))
    });
    let mut counts: Vec<ActionCount> = actions
        .chunk_by(|a, b| a == b)
        .map(|equal| ActionCount { action: equal[0], rules: equal.len() })
        .collect();
    let distinct_actions = counts.len();
    counts.sort_by_key(|count| std::cmp::Reverse(count.rules));
    counts.truncate(COMMONEST);
    TableStats {
        rules: table.rules().len(),
        empty_rules: table.rules().len() - actions.len(),
        splits: splits(table.root()),
        depth: table.depth(),
        axes: signals.iter().map(|signal| axis(table, signal)).collect(),
        multiple: spread(actions.iter().map(|action| action.multiple)),
        increment: spread(actions.iter().map(|action| f64::from(action.increment))),
        intersend_ms: spread(actions.iter().map(|action| action.intersend_ms)),
        distinct_actions,
        commonest_actions: counts,
    }
}

fn splits(node: &Node) -> usize {
    match node {
        Node::Leaf(_) => 0,
        Node::Split { children, .. } => 1 + children.iter().map(splits).sum::<usize>(),
    }
}

fn axis(table: &RuleTable, signal: Signal) -> AxisStats {
    let i = signal.index();
    let (lower, upper) = (table.domain().lower[i], table.domain().upper[i]);
    let mut cuts: Vec<f64> = table
        .rules()
        .iter()
        .filter(|rule| !rule.domain.is_empty(table.signals()))
        .flat_map(|rule| [rule.domain.lower[i], rule.domain.upper[i]])
        .filter(|&bound| lower < bound && bound < upper)
        .collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let (least_cut, greatest_cut) = (cuts.first().copied(), cuts.last().copied());
    AxisStats { signal, lower, upper, cuts: cuts.len(), least_cut, greatest_cut }
}

fn spread(values: impl Iterator<Item = f64>) -> Spread {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (least, median) = (values[0], values[values.len() / 2]);
    let greatest = values[values.len() - 1];
    values.dedup();
    Spread { least, median, greatest, distinct: values.len() }
}

impl fmt::Display for TableStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableStats { empty_rules, depth, .. } = self;
        let rules = counted(self.rules, "rule", "rules");
        let splits = counted(self.splits, "split", "splits");
        writeln!(f, "{rules}, {empty_rules} of them empty; {splits}, {depth} deep")?;
        for axis in &self.axes {
            let (lower, upper) = (short(axis.lower), short(axis.upper));
            write!(f, "{:<14} {lower}..{upper}, ", axis.signal.name())?;
            match (axis.cuts, axis.least_cut, axis.greatest_cut) {
                (1, Some(at), _) => writeln!(f, "1 cut at {}", short(at))?,
                (cuts, Some(least), Some(greatest)) => {
                    writeln!(f, "{cuts} cuts from {} to {}", short(least), short(greatest))?;
                }
                _ => writeln!(f, "not cut")?,
            }
        }
        let spreads = [
            ("multiple", &self.multiple, ""),
            ("increment", &self.increment, " packets"),
            ("intersend", &self.intersend_ms, " ms"),
        ];
        for (name, Spread { least, median, greatest, distinct }, unit) in spreads {
            let (least, median, greatest) = (short(*least), short(*median), short(*greatest));
            let distinct = match distinct {
                1 => "all the same".to_owned(),
                _ => format!("{distinct} different"),
            };
            writeln!(f, "{name:<14} {least}..{greatest}{unit}, median {median}, {distinct}")?;
        }
        match self.distinct_actions {
            1 => writeln!(f, "all have the same action:")?,
            distinct => writeln!(f, "{distinct} different actions, the commonest:")?,
        }
        for ActionCount { action, rules } in &self.commonest_actions {
            writeln!(f, "  {rules:>4} x {}", action_words(action))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::SignalSet;

    #[test]
    fn a_table_in_numbers() {
        let signals = SignalSet::new([Signal::SendEwma, Signal::RttRatio]).expect("two signals");
        let mut table = RuleTable::single(signals, 16384.0, Action::INITIAL);
        assert!(table.split(0, Signal::SendEwma, 2.5));
        assert!(table.split(0, Signal::RttRatio, 1.1));
        table.set_action(2, Action { multiple: 0.5, increment: 30, intersend_ms: 0.25 });
        let stats = stats(&table);
        assert_eq!((stats.rules, stats.empty_rules, stats.splits, stats.depth), (3, 0, 2, 3));
        assert_eq!((stats.axes[1].cuts, stats.axes[1].least_cut), (1, Some(1.1)));
        assert_eq!(stats.distinct_actions, 2);
        assert_eq!(stats.commonest_actions[0].rules, 2);
        assert_eq!(
            stats.to_string(),
            "3 rules, 0 of them empty; 2 splits, 3 deep\n\
             send_ewma      0..16384, 1 cut at 2.5\n\
             rtt_ratio      0..16384, 1 cut at 1.1\n\
             multiple       0.5..1, median 1, 2 different\n\
             increment      1..30 packets, median 1, 2 different\n\
             intersend      0.01..0.25 ms, median 0.01, 2 different\n\
             2 different actions, the commonest:\n\
             \x20    2 x window := 1·window + 1, at least 0.01 ms between packets\n\
             \x20    1 x window := 0.5·window + 30, at least 0.25 ms between packets\n"
        );
        assert!(serde_json::to_string(&stats).unwrap().starts_with("{\"rules\":3,"));
    }

    #[test]
    fn a_single_rule_in_numbers() {
        let signals = SignalSet::new([Signal::RttRatio]).expect("one signal");
        let table = RuleTable::single(signals, 16384.0, Action::INITIAL);
        assert_eq!(
            stats(&table).to_string(),
            "1 rule, 0 of them empty; 0 splits, 1 deep\n\
             rtt_ratio      0..16384, not cut\n\
             multiple       1..1, median 1, all the same\n\
             increment      1..1 packets, median 1, all the same\n\
             intersend      0.01..0.01 ms, median 0.01, all the same\n\
             all have the same action:\n\
             \x20    1 x window := 1·window + 1, at least 0.01 ms between packets\n"
        );
    }
}
