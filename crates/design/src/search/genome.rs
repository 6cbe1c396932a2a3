//! [`Genome`]: maps a point of the search space to a table.

use super::genes;
use crate::model::ActionPart;
use exm_remy::{MAX_DEPTH, MAX_RULES, RuleTable, Signal};

/// A rule that was cut in two: the part above the cut became a new rule, the last.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Cut {
    rule: usize,
    signal: Signal,
}

/// An initial table and the cuts made since. Genes determine the positions of cuts and the actions of rules:
/// one for each part of each action of the initial table, then for each cut one for its position and
/// those of the rule that it created.
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

    /// The signals that it may use.
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

    /// The table of `genes`. A cut that has moved out of its rule is placed at the rule's edge, so
    /// that one part of the rule is almost empty.
    pub(crate) fn express(&self, genes: &[f64]) -> RuleTable {
        let mut table = self.first.clone();
        for (made, cut) in (self.first.rules().len()..).zip(&self.cuts) {
            let domain = &table.rules()[cut.rule].domain;
            let axis = cut.signal.index();
            let (lower, upper) = (domain.lower[axis], domain.upper[axis]);
            let gene = genes[self.genes_of_rule(made).start - 1];
            let inside = genes::cut(cut.signal, gene).min(upper.next_down()).max(lower.next_up());
            // A box with nothing inside has an empty part.
            let made = table.split(cut.rule, cut.signal, inside.min(upper));
            debug_assert!(made, "a sound genome can make all of its cuts");
        }
        for rule in 0..table.rules().len() {
            let genes = &genes[self.genes_of_rule(rule)];
            let action = genes::action(table.rules()[rule].action, &self.parts, genes);
            table.set_action(rule, action);
        }
        table
    }

    /// Whether `rule` can be cut once more.
    pub(crate) fn can_cut(&self, rule: usize) -> bool {
        self.rules() < MAX_RULES && self.depths().is_some_and(|depths| depths[rule] < MAX_DEPTH)
    }

    /// Whether a genome read from a file is valid: each cut is of an existing rule
    /// along a signal of the table, and there are not too many.
    pub(crate) fn is_sound(&self) -> bool {
        let used = |cut: &Cut| self.first.signals().contains(cut.signal);
        self.rules() <= MAX_RULES && self.cuts.iter().all(used) && self.depths().is_some()
    }

    /// The maximum depth of each rule in the tree; `None` if a cut has no rule or is too deep.
    fn depths(&self) -> Option<Vec<usize>> {
        let mut depths = vec![self.first.depth(); self.first.rules().len()];
        for cut in &self.cuts {
            let depth = *depths.get(cut.rule).filter(|&&depth| depth < MAX_DEPTH)? + 1;
            depths[cut.rule] = depth;
            depths.push(depth);
        }
        Some(depths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, SignalSet};
    use proptest::prelude::*;

    /// A genome of one rule with `cuts`, wrapped around to those possible.
    fn genome(cuts: &[(usize, usize)]) -> Genome {
        let first = RuleTable::single(SignalSet::FIRST_FOUR, 16_384.0, Action::INITIAL);
        let mut genome = Genome::new(first, Vec::new(), ActionPart::ALL.to_vec());
        for &(rule, signal) in cuts {
            genome.cut(rule % genome.rules(), Signal::ALL[signal % 4]);
        }
        genome
    }

    proptest! {
        /// Wherever the genes put the cuts, the rules partition memory.
        #[test]
        fn any_genes_make_a_sound_table(
            cuts in prop::collection::vec((0..100usize, 0..4usize), 0..30),
            seed in prop::collection::vec(-20.0..20.0f64, 1..40),
        ) {
            let genome = genome(&cuts);
            let genes: Vec<f64> = seed.iter().copied().cycle().take(genome.genes()).collect();
            let table = genome.express(&genes);
            prop_assert_eq!(table.rules().len(), genome.rules());
            let checked =
                RuleTable::new(table.signals(), table.rules().to_vec(), table.root().clone());
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }

        /// The genes of rules and cuts neither overlap nor leave one out.
        #[test]
        fn every_gene_is_of_one_thing(cuts in prop::collection::vec((0..100usize, 0..4usize), 0..30)) {
            let genome = genome(&cuts);
            let mut used = vec![0; genome.genes()];
            for rule in 0..genome.rules() {
                let genes = genome.genes_of_rule(rule);
                genes.clone().for_each(|gene| used[gene] += 1);
                if rule > 0 {
                    used[genes.start - 1] += 1;
                }
            }
            prop_assert!(used.iter().all(|&times| times == 1), "{:?}", used);
        }
    }

    #[test]
    fn a_cut_stands_where_its_gene_says() {
        let genome = genome(&[(0, Signal::AckEwma.index())]);
        let mut genes = genome.first_genes();
        genes.push(genes::of_cut(Signal::AckEwma, 2.5));
        genes.extend(genome.first_genes());
        let table = genome.express(&genes);
        let cut = table.rules()[0].domain.upper[Signal::AckEwma.index()];
        assert!((cut - 2.5).abs() < 1e-12, "{cut}");
        assert_eq!(table.rules()[1].domain.lower[Signal::AckEwma.index()], cut);
    }

    #[test]
    fn cuts_of_rules_that_are_not_there_are_unsound() {
        let mut genome = genome(&[(0, 0)]);
        assert!(genome.is_sound());
        genome.cut(5, Signal::SendEwma);
        assert!(!genome.is_sound());
        let mut other = self::genome(&[]);
        other.cut(0, Signal::RttDiff);
        assert!(!other.is_sound(), "the table does not use this signal");
    }
}
