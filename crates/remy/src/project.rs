//! Converts a table to other signals.

use crate::signal::{Signal, SignalSet};
use crate::table::{Cuboid, Node, RuleTable};
use alloc::string::String;
use alloc::vec::Vec;

/// The rules of a table depend on signals that would be removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its rules differ by {}", names(.0))]
pub struct SignalsInUse(pub Vec<Signal>);

fn names(signals: &[Signal]) -> String {
    signals.iter().map(|signal| signal.name()).collect::<Vec<_>>().join(", ")
}

impl RuleTable {
    /// An equivalent table on `signals`: those that it does not yet use range from 0 to `end`, and its
    /// rules do not depend on them; those that are removed must not be bounds of any rule.
    ///
    /// # Errors
    /// [`SignalsInUse`] if rules differ by signals that would be removed: there is no way to choose
    /// between them.
    pub fn with_signals(&self, signals: SignalSet, end: f64) -> Result<RuleTable, SignalsInUse> {
        let whole = *self.domain();
        let given_up = self.signals().iter().filter(|&signal| !signals.contains(signal));
        let in_use: Vec<Signal> =
            given_up.filter(|&signal| !self.is_alike_on(&whole, signal)).collect();
        if !in_use.is_empty() {
            return Err(SignalsInUse(in_use));
        }
        let mut replaced = Cuboid::EVERYTHING;
        for signal in signals.iter().filter(|&signal| !self.signals().contains(signal)) {
            replaced.lower[signal.index()] = 0.0;
            replaced.upper[signal.index()] = end;
        }
        let kept = |signal: Signal| signals.contains(signal) && self.signals().contains(signal);
        let project = |domain: &mut Cuboid| {
            for signal in Signal::ALL.into_iter().filter(|&signal| !kept(signal)) {
                domain.lower[signal.index()] = replaced.lower[signal.index()];
                domain.upper[signal.index()] = replaced.upper[signal.index()];
            }
        };
        let mut rules = self.rules().to_vec();
        rules.iter_mut().for_each(|rule| project(&mut rule.domain));
        let mut root = self.root().clone();
        each_split(&mut root, &project);
        Ok(RuleTable::new(signals, rules, root)
            .expect("adding or removing an axis without cuts keeps a partition"))
    }

    /// Whether every rule covers all of `whole` on the axis of `signal`.
    fn is_alike_on(&self, whole: &Cuboid, signal: Signal) -> bool {
        let axis = signal.index();
        self.rules().iter().all(|rule| {
            rule.domain.lower[axis] == whole.lower[axis]
                && rule.domain.upper[axis] == whole.upper[axis]
        })
    }
}

fn each_split(node: &mut Node, change: &impl Fn(&mut Cuboid)) {
    if let Node::Split { domain, children } = node {
        change(domain);
        children.iter_mut().for_each(|child| each_split(child, change));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;

    fn action(increment: i32) -> Action {
        Action { multiple: 1.0, increment, intersend_ms: 1.0 }
    }

    /// Of all signals, split by one.
    fn table() -> RuleTable {
        let all = SignalSet::new(Signal::ALL).unwrap();
        let mut table = RuleTable::single(all, 100.0, action(1));
        assert!(table.split(0, Signal::RttRatio, 2.0));
        table.set_action(1, action(7));
        table
    }

    #[test]
    fn signals_without_cuts_can_be_added_and_removed() {
        let one = SignalSet::new([Signal::RttRatio]).unwrap();
        let small = table().with_signals(one, 100.0).unwrap();
        assert_eq!(small.signals(), one);
        assert_eq!(small.rules()[0].domain.upper[Signal::SendEwma.index()], f64::INFINITY);
        let two = SignalSet::new([Signal::RttRatio, Signal::AckEwma]).unwrap();
        let larger = small.with_signals(two, 50.0).unwrap();
        assert_eq!(larger.domain().upper[Signal::AckEwma.index()], 50.0);
        for ratio in [0.0, 1.9, 2.0, 99.0, 1e9] {
            for other in [0.0, 60.0, 1e9] {
                let mut memory = [other; Signal::COUNT];
                memory[Signal::RttRatio.index()] = ratio;
                let rule = table().find(&memory);
                assert_eq!((small.find(&memory), larger.find(&memory)), (rule, rule));
            }
        }
        assert_eq!(table().with_signals(table().signals(), 1.0), Ok(table()));
    }

    #[test]
    fn a_signal_with_cuts_cannot_be_removed() {
        let mut table = table();
        assert!(table.split(1, Signal::SlowAckEwma, 9.0));
        let ratio = SignalSet::new([Signal::RttRatio]).unwrap();
        let error = table.with_signals(ratio, 100.0).unwrap_err();
        assert_eq!(error.to_string(), "its rules differ by slow_ack_ewma");
        let other = SignalSet::new([Signal::SendEwma]).unwrap();
        let error = table.with_signals(other, 100.0).unwrap_err();
        assert_eq!(error, SignalsInUse(vec![Signal::RttRatio, Signal::SlowAckEwma]));
    }
}
