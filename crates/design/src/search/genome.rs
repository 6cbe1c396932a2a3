//! [`Genome`]: how a point of the search becomes a table.

use super::genes;
use crate::model::ActionPart;
use exm_remy::{RuleTable, Signal};

/// A rule that was cut in two: the part above the cut became a new rule, the last.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Cut {
    rule: usize,
    signal: Signal,
}

/// A first table and the cuts made since. Where the cuts are and what the rules do is up to genes:
/// one for each part of each action of the first table, then for each cut one for its place and
/// those of the rule it made.
#[derive(Clone, Debug)]
pub(crate) struct Genome {
    first: RuleTable,
    cuts: Vec<Cut>,
    parts: Vec<ActionPart>,
}

impl Genome {
    /// The genome of `first` and `cuts`, of which `parts` of the actions evolve.
    pub(crate) fn new(first: RuleTable, cuts: Vec<Cut>, parts: Vec<ActionPart>) -> Genome {
        Genome { first, cuts, parts }
    }

    pub(crate) fn first(&self) -> &RuleTable {
        &self.first
    }

    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// The signals it may look at.
    pub(crate) fn signals(&self) -> impl Iterator<Item = Signal> {
        self.first.signals().iter()
    }

    /// How many rules its tables have.
    pub(crate) fn rules(&self) -> usize {
        self.first.rules().len() + self.cuts.len()
    }

    /// How many genes it has.
    pub(crate) fn genes(&self) -> usize {
        self.rules() * self.parts.len() + self.cuts.len()
    }

    /// The genes of the first table.
    pub(crate) fn first_genes(&self) -> Vec<f64> {
        let rules = self.first.rules().iter();
        rules.flat_map(|rule| genes::of_action(rule.action, &self.parts)).collect()
    }

    /// Where the genes of a rule's action are.
    pub(crate) fn genes_of_rule(&self, rule: usize) -> std::ops::Range<usize> {
        let cuts_before = (rule + 1).saturating_sub(self.first.rules().len());
        let start = rule * self.parts.len() + cuts_before;
        start..start + self.parts.len()
    }

    /// Cuts `rule` along `signal`. The new genes, those of the cut's place and of the new rule,
    /// follow the present ones.
    pub(crate) fn cut(&mut self, rule: usize, signal: Signal) {
        self.cuts.push(Cut { rule, signal });
    }

    /// The table of `genes`. A cut that has moved out of its rule stands at the rule's edge, so
    /// that one part of the rule is next to nothing.
    pub(crate) fn express(&self, genes: &[f64]) -> RuleTable {
        let mut table = self.first.clone();
        for (made, cut) in (self.first.rules().len()..).zip(&self.cuts) {
            let domain = &table.rules()[cut.rule].domain;
            let axis = cut.signal.index();
            let (lower, upper) = (domain.lower[axis], domain.upper[axis]);
            let gene = genes[self.genes_of_rule(made).start - 1];
            let at = genes::cut(cut.signal, gene).min(upper.next_down()).max(lower.next_up());
            table.split(cut.rule, cut.signal, at);
        }
        for rule in 0..table.rules().len() {
            let genes = &genes[self.genes_of_rule(rule)];
            let action = genes::action(table.rules()[rule].action, &self.parts, genes);
            table.set_action(rule, action);
        }
        table
    }

    /// Whether a genome read from a file can be expressed: each cut is of a rule that is there, and
    /// along a signal of the table.
    pub(crate) fn is_sound(&self) -> bool {
        let first = self.first.rules().len();
        let exists = |(i, cut): (usize, &Cut)| {
            cut.rule < first + i && self.first.signals().contains(cut.signal)
        };
        self.cuts.iter().enumerate().all(exists)
    }
}
