//! The default search: the actions of all rules evolve together, and the table grows.
//!
//! Rules depend on each other: what one should do while queues build depends on what another does
//! when they drain. A search that improves one rule at a time, as the papers' does, soon stands
//! where no single change helps. Here an evolution strategy moves all actions at once; when it has
//! had its time, the rules that fire most are split in two, and it starts again with more of them.
//! What counts of candidates is their order on the same specimens with the same traffic, new ones
//! in every generation, so that no table can fit itself to a few.

use super::cma::Strategy;
use super::{DOMAIN, JUDGING_BLOCK, Progress, genes};
use crate::evaluate::{self, Prepared, Samples};
use crate::model::Model;
use crate::specimen::Specimen;
use exm_remy::{Action, RuleTable, Signal};
use exm_sim::random::{Purpose, Stream};

/// The step of a strategy that knows nothing.
const FIRST_STEP: f64 = 1.0;
/// The step after growth: children start where their parent was.
const GROWN_STEP: f64 = 0.4;
/// Generations of a stage: these, and so many for each rule.
const STAGE: u64 = 10;
const STAGE_PER_RULE: u64 = 5;
/// The axes in the order in which rules are split where all have been split as often.
const AXES: [Signal; 6] = [
    Signal::RttRatio,
    Signal::SlowAckEwma,
    Signal::AckEwma,
    Signal::SendEwma,
    Signal::RttDiff,
    Signal::QueueingDelay,
];
/// A rule is split only where this many of its memories were seen.
const ENOUGH_MEMORIES: usize = 16;
/// How many times the specimens of a generation judge the table a stage ends with.
const JUDGES: usize = 4;

/// The state of the search.
#[derive(Clone, Debug)]
pub(crate) struct Evolution {
    /// The table; its actions are those the stage began with.
    table: RuleTable,
    strategy: Strategy,
    /// How often each rule's ancestors were split along each signal.
    halvings: Vec<[u8; 6]>,
    generation: u64,
    stage_ends: u64,
    /// The best table that a stage ended with, and its judges' score.
    best: Option<(RuleTable, f64)>,
}

/// What of the state a checkpoint holds beside the tables.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    strategy: Strategy,
    halvings: Vec<[u8; 6]>,
    generation: u64,
    stage_ends: u64,
    best_score: Option<f64>,
}

impl Evolution {
    /// A search that starts from `table`, or from nothing.
    pub(crate) fn new(model: &Model, seed: u64, table: Option<RuleTable>) -> Evolution {
        let table = table.unwrap_or_else(|| from_nothing(model, seed));
        let parts = &model.design().action;
        let mean = table.rules().iter().flat_map(|rule| genes::of_rule(rule, parts)).collect();
        let step = if table.rules().len() == 1 { FIRST_STEP } else { GROWN_STEP };
        let halvings = vec![[0; 6]; table.rules().len()];
        let stage_ends = stage_length(&table);
        let strategy = Strategy::new(mean, step);
        Evolution { table, strategy, halvings, generation: 0, stage_ends, best: None }
    }

    /// The table as it is now.
    pub(crate) fn current(&self, model: &Model) -> RuleTable {
        let actions = genes::actions(&self.table, &model.design().action, &self.strategy.mean);
        with_actions(&self.table, &actions)
    }

    /// The best table so far: what the last stages ended with, or the present one where it is
    /// judged better.
    pub(crate) fn finish(&self, model: &Model, seed: u64) -> RuleTable {
        let current = self.current(model);
        match &self.best {
            Some((best, score)) if judge(model, seed, &current) < *score => best.clone(),
            _ => current,
        }
    }

    /// One generation; at the end of a stage the table is judged and grows.
    pub(crate) fn step(&mut self, model: &Model, seed: u64) -> Progress {
        let score = self.evolve(model, seed);
        let mut progress = Progress {
            score,
            judged: None,
            rules: self.table.rules().len(),
            what: format!("evolving {} rules together", self.table.rules().len()),
            left_in_stage: self.stage_ends - self.generation,
        };
        if self.generation == self.stage_ends {
            let current = self.current(model);
            let score = judge(model, seed, &current);
            progress.judged = Some(score);
            if self.best.as_ref().is_none_or(|(_, best)| score > *best) {
                self.best = Some((current, score));
            }
            let grown = self.grow(model, seed);
            progress.what = format!("split {grown} of {} rules", progress.rules);
        }
        progress
    }

    fn evolve(&mut self, model: &Model, seed: u64) -> f64 {
        let specimens = rehearsal(model, seed, self.generation);
        let mut chance = Stream::new(seed, Purpose::Search, self.generation as usize);
        let draws = self.strategy.draw(self.strategy.population(), &mut chance);
        let base = Prepared::new(&self.table);
        let tables: Vec<Prepared> = draws
            .iter()
            .map(|draw| {
                let place = self.strategy.place(draw);
                let actions = genes::actions(&self.table, &model.design().action, &place);
                base.with_actions(actions.iter().map(Action::compile).collect())
            })
            .collect();
        let scores = evaluate::mean_scores(&specimens, model.objective(), &tables);
        let mut order: Vec<usize> = (0..draws.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        self.strategy.learn(&order.iter().map(|&i| &draws[i]).collect::<Vec<_>>());
        self.generation += 1;
        scores.iter().sum::<f64>() / scores.len() as f64
    }

    /// Splits the rules that fire most in two, as many as there are rules; returns how many were.
    fn grow(&mut self, model: &Model, seed: u64) -> usize {
        self.table = self.current(model);
        let specimens = rehearsal(model, seed, self.generation);
        let samples = Samples::collect(&specimens, &Prepared::new(&self.table));
        let before = self.table.rules().len();
        for rule in 0..before {
            self.split(rule, &samples, model.design().action.len());
        }
        self.strategy.restart(GROWN_STEP);
        self.stage_ends = self.generation + stage_length(&self.table);
        self.table.rules().len() - before
    }

    /// Splits a rule at the median of its memories, along the signal it was split by least.
    fn split(&mut self, rule: usize, samples: &Samples, parts: usize) {
        let mut axes: Vec<Signal> =
            AXES.into_iter().filter(|&s| self.table.signals().contains(s)).collect();
        axes.sort_by_key(|signal| self.halvings[rule][signal.index()]);
        for signal in axes {
            let values = samples.values(rule, signal);
            let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
            if values.len() < ENOUGH_MEMORIES || median <= values[0] {
                continue;
            }
            if self.table.split(rule, signal, median) {
                self.halvings[rule][signal.index()] += 1;
                self.halvings.push(self.halvings[rule]);
                self.strategy.repeat(rule * parts..(rule + 1) * parts);
                return;
            }
        }
    }

    /// The state for a checkpoint: the tables, first the present one, and all else.
    pub(crate) fn save(&self) -> (Vec<RuleTable>, Saved) {
        let best = self.best.iter().map(|(table, _)| table.clone());
        let tables = std::iter::once(self.table.clone()).chain(best).collect();
        let saved = Saved {
            strategy: self.strategy.clone(),
            halvings: self.halvings.clone(),
            generation: self.generation,
            stage_ends: self.stage_ends,
            best_score: self.best.as_ref().map(|(_, score)| *score),
        };
        (tables, saved)
    }

    /// The state of a checkpoint, or nothing where its parts do not fit together.
    pub(crate) fn restore(
        model: &Model,
        tables: Vec<RuleTable>,
        saved: Saved,
    ) -> Option<Evolution> {
        let mut tables = tables.into_iter();
        let table = tables.next()?;
        let rules = table.rules().len();
        let fits = saved.strategy.is_sound(rules * model.design().action.len())
            && saved.halvings.len() == rules
            && saved.generation < saved.stage_ends;
        let best = tables.next().zip(saved.best_score);
        fits.then_some(Evolution {
            table,
            strategy: saved.strategy,
            halvings: saved.halvings,
            generation: saved.generation,
            stage_ends: saved.stage_ends,
            best,
        })
    }
}

fn stage_length(table: &RuleTable) -> u64 {
    STAGE + STAGE_PER_RULE * table.rules().len() as u64
}

fn with_actions(table: &RuleTable, actions: &[Action]) -> RuleTable {
    let mut table = table.clone();
    for (rule, action) in actions.iter().enumerate() {
        table.set_action(rule, *action);
    }
    table
}

/// The specimens of a generation, half as long as the model's: what more length tells of a
/// candidate is worth less than more candidates.
fn rehearsal(model: &Model, seed: u64, generation: u64) -> Vec<Specimen> {
    let mut specimens = model.specimens(seed, generation, model.design().specimens);
    for specimen in &mut specimens {
        specimen.network.duration = specimen.network.duration / 2;
    }
    specimens
}

fn judge(model: &Model, seed: u64, table: &RuleTable) -> f64 {
    let specimens = model.specimens(seed, JUDGING_BLOCK, JUDGES * model.design().specimens);
    evaluate::mean_scores(&specimens, model.objective(), &[Prepared::new(table)])[0]
}

/// One rule that holds about a sender's share of a typical network in flight, at twice its rate.
fn from_nothing(model: &Model, seed: u64) -> RuleTable {
    let specimens = rehearsal(model, seed, 0);
    let mean_log = |value: &dyn Fn(&Specimen) -> f64| {
        let logs: f64 = specimens.iter().map(|s| libm::log(value(s))).sum();
        libm::exp(logs / specimens.len() as f64)
    };
    let rtt_ms = mean_log(&|s| s.network.delays[0].as_millis_f64().max(0.001));
    let rate = mean_log(&|s| s.network.rate.as_packets_per_ms(s.network.packet));
    let senders = mean_log(&|s| s.network.delays.len() as f64);
    let share = (rate * rtt_ms / senders).max(1.0);
    let action = Action {
        multiple: 0.9,
        increment: (0.1 * share).ceil() as i32,
        intersend_ms: 0.5 * rtt_ms / share,
    };
    RuleTable::single(model.design().signals, DOMAIN, action)
}
