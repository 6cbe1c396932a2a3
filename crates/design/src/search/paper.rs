//! The search the papers describe (SIGCOMM 2013, section 4.3), for comparison with the default.
//!
//! Every rule has an epoch. The rule of the present epoch that fires most is improved until
//! nothing better is found, with every candidate in all senders on the same specimens; then its
//! epoch is over. When no rule of the present epoch fires any more, the next one begins, and at
//! every fourth the rule that fires most is split at the median of its memories on every axis.

use super::Progress;
use crate::evaluate::{self, Prepared, Samples};
use crate::model::{ActionPart, Model};
use crate::specimen::Specimen;
use exm_remy::{Action, RuleTable, Signal};

/// A split follows every so many epochs: the papers' K.
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

/// What of the state a checkpoint holds beside the table.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    epochs: Vec<u32>,
    epoch: u32,
    /// Counts the draws of specimens: each step has its own.
    step: u64,
}

impl PaperSearch {
    /// A search that starts from `table`, or from the papers' one rule.
    pub(crate) fn new(model: &Model, table: Option<RuleTable>) -> PaperSearch {
        let signals = model.design().signals;
        let table =
            table.unwrap_or_else(|| RuleTable::single(signals, super::DOMAIN, Action::INITIAL));
        let epochs = vec![0; table.rules().len()];
        PaperSearch { table, saved: Saved { epochs, epoch: 0, step: 0 } }
    }

    /// The table as it is now.
    pub(crate) fn current(&self) -> &RuleTable {
        &self.table
    }

    /// Tries the candidates around one rule, or ends an epoch.
    pub(crate) fn step(&mut self, model: &Model, seed: u64) -> Progress {
        let specimens = model.specimens(seed, self.saved.step, model.design().specimens);
        self.saved.step += 1;
        let present = Prepared::new(&self.table);
        let samples = Samples::collect(&specimens, &present);
        let fired = |rule: &usize| samples.fired(*rule);
        let due = |rule: &usize| fired(rule) > 0 && self.saved.epochs[*rule] <= self.saved.epoch;
        let rules = self.table.rules().len();
        // Of equals the first.
        let rule = (0..rules).rev().filter(due).max_by_key(fired);
        let progress =
            |score, what| Progress { score, judged: None, rules, what, left_in_stage: 0 };
        if let Some(rule) = rule {
            let score = self.improve(model, &specimens, rule);
            return progress(score, format!("improving rule {rule} in epoch {}", self.saved.epoch));
        }
        let score = evaluate::mean_scores(&specimens, model.objective(), &[present])[0];
        self.saved.epoch += 1;
        if !self.saved.epoch.is_multiple_of(EPOCHS_PER_SPLIT) {
            return progress(score, format!("beginning epoch {}", self.saved.epoch));
        }
        let most = (0..rules).rev().max_by_key(fired).expect("a table has a rule");
        self.split(most, &samples);
        progress(score, format!("split rule {most} after epoch {}", self.saved.epoch))
    }

    /// Puts the best candidate around `rule` in its place, or ends its epoch where none is better;
    /// returns the score of what is there then.
    fn improve(&mut self, model: &Model, specimens: &[Specimen], rule: usize) -> f64 {
        let action = self.table.rules()[rule].action;
        let candidates = around(action, &model.design().action);
        let base = Prepared::new(&self.table);
        let compiled: Vec<_> = self.table.rules().iter().map(|r| r.action.compile()).collect();
        let tables: Vec<Prepared> = candidates
            .iter()
            .map(|candidate| {
                let mut actions = compiled.clone();
                actions[rule] = candidate.compile();
                base.with_actions(actions)
            })
            .collect();
        let scores = evaluate::mean_scores(specimens, model.objective(), &tables);
        // The first is the present action: it stays unless another is truly better.
        let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let best = best.expect("the present action is a candidate");
        if best == 0 {
            self.saved.epochs[rule] = self.saved.epoch + 1;
        } else {
            self.table.set_action(rule, candidates[best]);
        }
        scores[best]
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

    /// The state of a checkpoint, or nothing where its parts do not fit together.
    pub(crate) fn restore(tables: Vec<RuleTable>, saved: Saved) -> Option<PaperSearch> {
        let table = tables.into_iter().next()?;
        (saved.epochs.len() == table.rules().len()).then_some(PaperSearch { table, saved })
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
