//! [`show`] and [`show_tree`]: tables as readable text.

use crate::text::{action_words, short, window_words};
use exm_remy::{Cuboid, Node, Rule, RuleTable, Signal};
use exm_store::Columns;
use std::fmt;

/// A table as a list of rules: the result of [`show`].
#[derive(Clone, Copy, Debug)]
pub struct RuleListing<'a>(&'a RuleTable);

/// A table as a tree: the result of [`show_tree`].
#[derive(Clone, Copy, Debug)]
pub struct RuleTree<'a>(&'a RuleTable);

/// Prints one rule per line, sorted by box. Bounds equal to the whole table's are left out; numbers
/// have at most six digits. Rules with empty boxes are only counted.
pub fn show(table: &RuleTable) -> RuleListing<'_> {
    RuleListing(table)
}

/// Prints the tree, one node per line, each with the bounds in which it differs from its parent.
pub fn show_tree(table: &RuleTable) -> RuleTree<'_> {
    RuleTree(table)
}

/// The bounds of `domain` on `signal` that differ from those of `whole`; `any` if none does.
fn range(domain: &Cuboid, whole: &Cuboid, signal: Signal) -> String {
    let i = signal.index();
    let unless = |bound: f64, whole: f64| if bound == whole { String::new() } else { short(bound) };
    let lower = unless(domain.lower[i], whole.lower[i]);
    let upper = unless(domain.upper[i], whole.upper[i]);
    if lower.is_empty() && upper.is_empty() {
        "any".to_owned()
    } else {
        format!("{lower}..{upper}")
    }
}

impl fmt::Display for RuleListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fitted(usize::MAX))
    }
}

/// What a signal is, for the legend of a table.
const fn meaning(signal: Signal) -> &'static str {
    match signal {
        Signal::SendEwma => "mean time between sends of the packets that were acknowledged",
        Signal::AckEwma => "mean time between arrivals, over about 8 packets",
        Signal::RttRatio => "latest RTT / minimum RTT of the flow",
        Signal::SlowAckEwma => "mean time between arrivals, over about 256 packets",
        Signal::RttDiff => "latest RTT - minimum RTT of the flow",
        Signal::QueueingDelay => "ack_ewma times the gap in sequence numbers",
        Signal::Ecn => "share of packets that routers marked, 0 to 1",
        Signal::Loss => "share of packets that were lost, 0 to 1",
        Signal::ReceiveRate => "rate of arrivals in the last round trip",
    }
}

/// The name of a signal with its unit, if it has one.
fn with_unit(signal: Signal) -> String {
    format!("{} {}", signal.name(), signal.unit()).trim_end().to_owned()
}

impl RuleListing<'_> {
    /// The text in at most `width` characters a line, see [`Columns::fitted`].
    pub fn fitted(&self, width: usize) -> String {
        let table = self.0;
        let (signals, whole) = (table.signals(), table.domain());
        let mut rules: Vec<(usize, &Rule)> = table
            .rules()
            .iter()
            .enumerate()
            .filter(|(_, rule)| !rule.domain.is_empty(signals))
            .collect();
        rules.sort_by(|(_, a), (_, b)| {
            let lower =
                |a: &Rule, b: &Rule, i: usize| a.domain.lower[i].total_cmp(&b.domain.lower[i]);
            (0..Signal::COUNT)
                .fold(std::cmp::Ordering::Equal, |order, i| order.then_with(|| lower(a, b, i)))
        });
        let mut lines = Columns::with_words(1..2 + signals.len());
        lines.line(heading(table));
        for (number, rule) in &rules {
            let mut line = vec![number.to_string()];
            line.extend(signals.iter().map(|signal| range(&rule.domain, whole, signal)));
            line.push(window_words(&rule.action));
            line.push(short(rule.action.intersend_ms));
            lines.line(line);
        }
        let mut text = lines.fitted(width) + &format!("the whole table: {whole}\n");
        match table.rules().len() - rules.len() {
            0 => {}
            1 => text += "1 rule more has an empty box\n",
            empty => text += &format!("{empty} rules more have empty boxes\n"),
        }
        text + "\n" + &legend(table)
    }
}

/// How to read a rule, and what the signals are.
fn legend(table: &RuleTable) -> String {
    let mut text =
        "Each ACK updates the signals and fires the rule whose ranges hold them. It sets\n\
                    the window, in packets, and the minimum time between two packets.\n"
            .to_owned();
    let mut columns = Columns::new(2);
    for signal in table.signals().iter() {
        columns.line([with_unit(signal), meaning(signal).to_owned()]);
    }
    text += &columns.to_string();
    if table.signals().is_for_l4s() {
        text += "Its packets are ECT(1): queues for L4S mark them early and often.\n";
    }
    text
}

fn heading(table: &RuleTable) -> Vec<String> {
    let mut heading = vec!["rule".to_owned()];
    heading.extend(table.signals().iter().map(with_unit));
    heading.extend(["window :=", "ms between packets"].map(str::to_owned));
    heading
}

impl fmt::Display for RuleTree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.domain())?;
        self.node(f, self.0.root(), &mut String::new())
    }
}

impl RuleTree<'_> {
    /// Prints the rest of the line after the box of `node`, and its children below it.
    fn node(&self, f: &mut fmt::Formatter<'_>, node: &Node, indent: &mut String) -> fmt::Result {
        let (domain, children) = match node {
            Node::Leaf(index) => {
                let action = action_words(&self.0.rules()[*index].action);
                return writeln!(f, ": rule {index}: {action}");
            }
            Node::Split { domain, children } => (domain, children),
        };
        writeln!(f)?;
        for (i, child) in children.iter().enumerate() {
            let is_last = i + 1 == children.len();
            write!(f, "{indent}{}", if is_last { "`- " } else { "|- " })?;
            self.differences(f, self.0.domain_of(child), domain)?;
            let length = indent.len();
            indent.push_str(if is_last { "   " } else { "|  " });
            self.node(f, child, indent)?;
            indent.truncate(length);
        }
        Ok(())
    }

    fn differences(
        &self,
        f: &mut fmt::Formatter<'_>,
        domain: &Cuboid,
        parent: &Cuboid,
    ) -> fmt::Result {
        if domain.is_empty(self.0.signals()) {
            return f.write_str("empty");
        }
        let ranges = self.0.signals().iter().map(|signal| (signal, range(domain, parent, signal)));
        let words: Vec<String> = ranges
            .filter(|(_, range)| range != "any")
            .map(|(signal, range)| format!("{signal} {range}"))
            .collect();
        f.write_str(if words.is_empty() { "all of it" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, SignalSet};

    fn table() -> RuleTable {
        let signals = SignalSet::new([Signal::SendEwma, Signal::RttRatio]).expect("two signals");
        let mut table = RuleTable::single(signals, 16384.0, Action::INITIAL);
        assert!(table.split(0, Signal::SendEwma, 2.5));
        assert!(table.split(0, Signal::RttRatio, 1.1));
        table.set_action(1, Action { multiple: 0.123456789, increment: 30, intersend_ms: 0.25 });
        table
    }

    #[test]
    fn a_table_as_a_list() {
        let text = "\
rule  send_ewma ms  rtt_ratio  window :=             ms between packets
   0  ..2.5         ..1.1      1·window + 1                        0.01
   2  ..2.5         1.1..      1·window + 1                        0.01
   1  2.5..         any        0.123457·window + 30                0.25
the whole table: {send_ewma 0..16384, rtt_ratio 0..16384}

Each ACK updates the signals and fires the rule whose ranges hold them. It sets
the window, in packets, and the minimum time between two packets.
send_ewma ms  mean time between sends of the packets that were acknowledged
rtt_ratio     latest RTT / minimum RTT of the flow
";
        assert_eq!(show(&table()).to_string(), text);
    }

    #[test]
    fn a_table_as_a_tree() {
        let text = "\
{send_ewma 0..16384, rtt_ratio 0..16384}
|- send_ewma ..2.5
|  |- rtt_ratio ..1.1: rule 0: window := 1·window + 1, at least 0.01 ms between packets
|  `- rtt_ratio 1.1..: rule 2: window := 1·window + 1, at least 0.01 ms between packets
`- send_ewma 2.5..: rule 1: window := 0.123457·window + 30, at least 0.25 ms between packets
";
        assert_eq!(show_tree(&table()).to_string(), text);
    }
}
