//! The canonical text of a table, for hashing.

use crate::table::RuleTable;
use core::fmt;

impl RuleTable {
    /// Writes the table's rules as text that is the same for equal tables, whatever file they come from:
    /// for hashes that are stored.
    ///
    /// The grammar is part of those hashes. Each rule is a line, in the order of their numbers: for each
    /// signal that the table uses, in the order of [`Signal::ALL`](crate::Signal::ALL), its name, a space,
    /// the lower bound, `..`, the upper bound, and a space; then the multiple, the increment and the
    /// intersend in ms, separated by spaces. Numbers are the shortest decimals that parse as the same
    /// number.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_canonical(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for rule in self.rules() {
            for signal in self.signals().iter() {
                let (lower, upper) =
                    (rule.domain.lower[signal.index()], rule.domain.upper[signal.index()]);
                write!(out, "{} {lower}..{upper} ", signal.name())?;
            }
            let action = &rule.action;
            writeln!(out, "{} {} {}", action.multiple, action.increment, action.intersend_ms)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, RuleTable, Signal, SignalSet};

    #[test]
    fn the_text_is_pinned() {
        let signals = SignalSet::new([Signal::SendEwma, Signal::RttRatio]).expect("two");
        let mut table = RuleTable::single(signals, 16_384.0, Action::INITIAL);
        assert!(table.split(0, Signal::RttRatio, 1.5));
        table.set_action(1, Action { multiple: 0.75, increment: -3, intersend_ms: 0.1 });
        let mut text = String::new();
        table.write_canonical(&mut text).expect("memory takes it");
        let expected = "send_ewma 0..16384 rtt_ratio 0..1.5 1 1 0.01\n\
                        send_ewma 0..16384 rtt_ratio 1.5..16384 0.75 -3 0.1\n";
        assert_eq!(text, expected);
    }
}
