//! The search the papers describe (SIGCOMM 2013, section 4.3), for comparison with the default.
//!
//! Every rule has an epoch. The most used rule of the current epoch is improved until
//! no better action is found. All senders run the candidate, and the specimens and their
//! seeds stay the same meanwhile (thesis, section 3.5.3). Then the rule's epoch ends, and new specimens are drawn. When no rule
//! of the current epoch fires any more, the next one begins; at
//! every fourth the most used rule is split at the median of its memories on every axis.

use super::Progress;
use crate::evaluate::{Prepared, Samples};
use crate::model::{ActionPart, Model};
use crate::round::{Block, Evaluate, Round};
use exm_remy::{Action, RuleTable, Signal};

/// The number of epochs between splits: the papers' K.
const EPOCHS_PER_SPLIT: u32 = 4;
/// Steps of each part of an action; all combinations make "about a hundred" candidates.
const MULTIPLES: [f64; 5] = [0.0, 0.01, -0.01, 0.08, -0.08];
const INCREMENTS: [i32; 5] = [0, 1, -1, 8, -8];
const INTERSENDS_MS: [f64; 5] = [0.0, 0.01, -0.01, 0.08, -0.08];

/// The state of the search.
#[derive(Clone, Debug)]
pub(crate) struct PaperSearch {
    table: RuleTable,
    saved: Saved,
}

/// The state in a checkpoint, except the table.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    epochs: Vec<u32>,
    epoch: u32,
    /// Counts the draws of specimens.
    draw: u64,
    /// The rule that is being improved on the specimens of the last draw.
    improving: Option<usize>,
}

impl PaperSearch {
    /// A search that starts from `table`, or from the papers' one rule.
    pub(crate) fn new(model: &Model, table: Option<RuleTable>) -> PaperSearch {
        let signals = model.design().signals;
        let table =
            table.unwrap_or_else(|| RuleTable::single(signals, super::DOMAIN, Action::INITIAL));
        let epochs = vec![0; table.rules().len()];
        PaperSearch { table, saved: Saved { epochs, epoch: 0, draw: 0, improving: None } }
    }

    /// The current table.
    pub(crate) fn current(&self) -> &RuleTable {
        &self.table
    }

    /// Tries the candidates around one rule, or ends an epoch.
    pub(crate) fn step<E: Evaluate>(
        &mut self,
        model: &Model,
        seed: u64,
        evaluator: &E,
    ) -> Result<Progress, E::Error> {
        if let Some(rule) = self.saved.improving {
            return self.improve(model, seed, rule, evaluator);
        }
        self.saved.draw += 1;
        let specimens = self.block(model, seed).specimens(model);
        let present = vec![Prepared::of(model, &self.table)];
        let samples = Samples::collect(model, &specimens, &present, 0);
        let fired = |rule: &usize| samples.fired(*rule);
        let due = |rule: &usize| fired(rule) > 0 && self.saved.epochs[*rule] <= self.saved.epoch;
        let rules = self.table.rules().len();
        // Of equals the first.
        let rule = (0..rules).rev().filter(due).max_by_key(fired);
        if let Some(rule) = rule {
            return self.improve(model, seed, rule, evaluator);
        }
        let score = self.scores(model, seed, &[vec![self.table.clone()]], evaluator)?[0];
        self.saved.epoch += 1;
        if !self.saved.epoch.is_multiple_of(EPOCHS_PER_SPLIT) {
            return Ok(self.progress(score, format!("beginning epoch {}", self.saved.epoch)));
        }
        let most = (0..rules).rev().max_by_key(fired).expect("a table has a rule");
        self.split(most, &samples);
        let what = format!("split rule {most} after epoch {}", self.saved.epoch);
        Ok(Progress { rules, ..self.progress(score, what) })
    }

    /// The specimens of the last draw.
    fn block(&self, model: &Model, seed: u64) -> Block {
        let count = model.design().specimens;
        Block { seed, number: self.saved.draw, count, is_halved: false }
    }

    /// The scores of `candidates` on these specimens.
    fn scores<E: Evaluate>(
        &self,
        model: &Model,
        seed: u64,
        candidates: &[Vec<RuleTable>],
        evaluator: &E,
    ) -> Result<Vec<f64>, E::Error> {
        let block = self.block(model, seed);
        let specimens = block.specimens(model);
        Round { model, block, specimens: &specimens, candidates }.mean_scores(evaluator)
    }

    fn progress(&self, score: f64, what: String) -> Progress {
        Progress { score, judged: None, rules: self.table.rules().len(), what, left_in_stage: 0 }
    }

    /// Replaces `rule` by the best candidate around it, or ends its epoch if none is better.
    fn improve<E: Evaluate>(
        &mut self,
        model: &Model,
        seed: u64,
        rule: usize,
        evaluator: &E,
    ) -> Result<Progress, E::Error> {
        let action = self.table.rules()[rule].action;
        let candidates = around(action, &model.design().action);
        let table = |&candidate: &Action| {
            let mut table = self.table.clone();
            table.set_action(rule, candidate);
            vec![table]
        };
        let tables: Vec<Vec<RuleTable>> = candidates.iter().map(table).collect();
        let scores = self.scores(model, seed, &tables, evaluator)?;
        // The first is the present action: it stays unless another is truly better.
        let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let best = best.expect("the present action is a candidate");
        let epoch = self.saved.epoch;
        if best == 0 {
            self.saved.improving = None;
            self.saved.epochs[rule] = epoch + 1;
            return Ok(self.progress(scores[best], format!("rule {rule} is done in epoch {epoch}")));
        }
        self.saved.improving = Some(rule);
        self.table.set_action(rule, candidates[best]);
        Ok(self.progress(scores[best], format!("improving rule {rule} in epoch {epoch}")))
    }

    /// Splits a rule in two on every axis on which its memories differ.
    fn split(&mut self, rule: usize, samples: &Samples) {
        let signals: Vec<Signal> = self.table.signals().iter().collect();
        let mut parts = vec![rule];
        for signal in signals {
            let values = samples.values(rule, signal);
            let Some(&median) = values.get(values.len() / 2) else { continue };
            for part in parts.clone() {
                if median > values[0] && self.table.split(part, signal, median) {
                    parts.push(self.table.rules().len() - 1);
                    self.saved.epochs.push(self.saved.epochs[rule]);
                }
            }
        }
    }

    /// The state for a checkpoint.
    pub(crate) fn save(&self) -> (Vec<RuleTable>, Saved) {
        (vec![self.table.clone()], self.saved.clone())
    }

    /// The state of a checkpoint, or `None` if its parts are inconsistent.
    pub(crate) fn restore(tables: Vec<RuleTable>, saved: Saved) -> Option<PaperSearch> {
        let table = tables.into_iter().next()?;
        let rules = table.rules().len();
        let fits = saved.epochs.len() == rules && saved.improving.is_none_or(|rule| rule < rules);
        fits.then_some(PaperSearch { table, saved })
    }
}

/// `action`, and all combinations of steps of its `parts`.
fn around(action: Action, parts: &[ActionPart]) -> Vec<Action> {
    let may = |part: ActionPart, step: usize| step == 0 || parts.contains(&part);
    let mut candidates = Vec::new();
    for (i, multiple) in MULTIPLES.iter().enumerate() {
        for (j, increment) in INCREMENTS.iter().enumerate() {
            for (k, intersend_ms) in INTERSENDS_MS.iter().enumerate() {
                let candidate = Action {
                    multiple: (action.multiple + multiple).max(0.0),
                    increment: (action.increment + increment).max(0),
                    intersend_ms: (action.intersend_ms + intersend_ms).max(0.001),
                };
                let allowed = may(ActionPart::WindowMultiple, i)
                    && may(ActionPart::WindowIncrement, j)
                    && may(ActionPart::Intersend, k);
                if allowed && !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate;
    use crate::round::Local;

    const MODEL: &str = r#"
        [network]
        rate = "5..20 Mbps"
        rtt = "50..150 ms"
        senders = "1..4"
        [traffic]
        on = "exp 1 s"
        off = "exp 1 s"
        [design]
        duration = "4 s"
        specimens = 4
    "#;

    #[test]
    fn specimens_stay_until_no_candidate_is_better() {
        let model = Model::parse(MODEL, "test").unwrap();
        let mut search = PaperSearch::new(&model, None);
        let (mut scores, mut improved) = (Vec::new(), 0);
        for _ in 0..60 {
            let (before, draw) = (search.current().clone(), search.saved.draw);
            let Ok(progress) = search.step(&model, 1, &Local);
            if search.saved.draw != draw {
                assert!(
                    search.saved.draw == draw + 1 && scores.is_empty(),
                    "drawn while improving"
                );
            }
            // The reported score is that of the table on the specimens that are kept.
            let prepared = [vec![Prepared::new(search.current())]];
            let specimens = search.block(&model, 1).specimens(&model);
            if search.saved.improving.is_some() {
                let score = evaluate::mean_scores(&model, &specimens, &prepared)[0];
                assert_eq!(score, progress.score);
                assert!(scores.last().is_none_or(|last| score > *last), "{scores:?}");
                assert_ne!(&before, search.current());
                scores.push(score);
                improved += 1;
            } else {
                scores.clear();
            }
        }
        assert!(improved > 20, "{improved}");
        assert!(search.current().rules().len() > 1, "no rule was ever left, so none was split");
    }
}
