//! Hardening: a final pass that keeps a table from filling queues on networks outside its model.
//!
//! Inside its model a designed table is limited by pacing, not by its windows. With more senders or a slower
//! link it collapses, because its resting windows are larger than any queue. [`Guards`] limit the window
//! of each rule to what is delivered in a bounded time. Their parameters are optimised on the networks of
//! [`StressSet::NearPractice`] and [`StressSet::Practice`], with a limit on the loss of score inside the model;
//! [`crate::finish`] measures the benefit on the networks of [`StressSet::HeldOut`].

mod guards;
mod place;

pub use guards::{Brake, Guards, resting_window};

use crate::conditions::Conditions;
use crate::evaluate::{Prepared, simulate};
use crate::model::Model;
use crate::score::{self, Contender, HeldOut, Scheme, ScoreError};
use crate::search::{JUDGING_BLOCK, Strategy};
use crate::specimen::Specimen;
use crate::stress::{self, ForeignNetwork, ForeignTrial, StressNetwork, StressSet, Trial};
use exm_measure::{Estimate, mean};
use exm_random::{Purpose, Stream};
use exm_remy::RuleTable;
use exm_sim::network::Host;
use exm_units::Rate;
use place::Scale;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// The default number of generations of guards for a table.
pub const GENERATIONS: usize = 10;
/// The number of guards in a generation.
const CANDIDATES: usize = 14;
/// The block of specimens that measure the cost of guards inside the model. No search draws it; held-out scores
/// use the previous block.
const COST_BLOCK: u64 = JUDGING_BLOCK + 2;
/// The minimum number of these specimens, as a multiple of the model's. Of short specimens there are as many as carry
/// [`COST_PACKETS`]: with few of them the cost would be so uncertain that hardly any guards would pass.
const COST_SPECIMENS: usize = 2;
const COST_PACKETS: f64 = 3.5e6;
/// The maximum number of these specimens.
const MAX_COST_SPECIMENS: usize = 256;
/// A generation is ranked by its cost on one specimen in so many, the next generation on the next ones. The first of each
/// generation is judged on all.
const PORTIONS: usize = 3;
/// The weight of a point of cost above the limit, relative to the gain around the model. It is so large that the limit is
/// met if any guards meet it.
const ABOVE_LIMIT: f64 = 20.0;
/// The weight of a point lost with short flows on the model's own links. Such flows are the most common use of
/// tables, and guards slow down mainly the start of a flow.
const BRIEF_LOSS: f64 = 0.2;
/// Near the model, each octave of RTT above this ratio to the minimum possible has a weight, since it is close to a
/// collapse, and so has a collapse.
const COLLAPSING: f64 = 0.15;
const NEARLY_COLLAPSED: f64 = 3.5;
const COLLAPSED: f64 = 0.2;
/// The weight of an octave of throughput lost on networks with foreign delay.
const FOREIGN_LOSS: f64 = 0.7;
/// The minimum gain of guards, in the mean over the networks, that justifies their rules.
const LEAST_GAIN: f64 = 0.05;
/// The weight of unfairness relative to throughput and RTT: a Jain's index of 0.5 counts as much as half the throughput.
const UNFAIRNESS: f64 = 2.0;

/// How tables are hardened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardening {
    /// The maximum cost inside the model, in points.
    pub limit: f64,
    /// The random seed of the networks inside the model.
    pub seed: u64,
    /// The maximum number of generations of guards for each table.
    pub generations: usize,
}

impl Hardening {
    /// The default: [`GENERATIONS`], and the first seed.
    pub fn new(limit: f64) -> Hardening {
        Hardening { limit, seed: 1, generations: GENERATIONS }
    }
}

/// The progress of hardening several tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardeningStep {
    /// The table, by number.
    pub table: usize,
    /// How many generations have been tried for it.
    pub generations: usize,
}

/// A hardened table.
#[derive(Clone, Debug)]
pub struct Hardened {
    /// How many generations of guards were tried.
    pub generations: usize,
    /// The table with its guards, or the original table if no guards improve it.
    pub table: RuleTable,
    /// Its guards; `None` if the table is better without.
    pub guards: Option<Guards>,
}

/// Hardens `tables`, those that `model` designs, one after the other. Of all guards tried that cost at most the limit
/// inside the model, each table gets those with which it performs best on the stress networks around the model.
/// The result depends only on the tables and the number of generations, not on the number of threads.
///
/// `tried` is called after each generation of each table; if it breaks, the table gets the best guards so far.
///
/// ```
/// use exm_design::harden::{Hardening, harden};
/// use exm_design::{Model, shipped};
/// use std::ops::ControlFlow;
///
/// let model = "[network]\nrate = \"10 Mbps\"\nrtt = \"50 ms\"\nsenders = 2\n[traffic]\non = \"exp 1 s\"\n\
///              off = \"exp 1 s\"\n[design]\nduration = \"2 s\"\nspecimens = 2\n";
/// let model = Model::parse(model, "model")?;
/// let table = shipped::table("1x").unwrap().table;
/// let hardening = Hardening { generations: 2, ..Hardening::new(0.05) };
/// let hardened = harden(&model, &[table], &hardening, &|_| ControlFlow::Continue(()));
/// assert_eq!(hardened[0].generations, 2);
/// # Ok::<(), exm_grammar::FileError>(())
/// ```
pub fn harden(
    model: &Model,
    tables: &[RuleTable],
    hardening: &Hardening,
    tried: &dyn Fn(HardeningStep) -> ControlFlow<()>,
) -> Vec<Hardened> {
    let specimens = model.specimens(hardening.seed, COST_BLOCK, cost_specimens(model));
    let mut tables = tables.to_vec();
    (0..tables.len())
        .map(|index| {
            let pass = Pass::new(model, &specimens, &tables, index, hardening.limit);
            let tried = |generations| tried(HardeningStep { table: index, generations });
            let hardened = pass.run(hardening.generations, &tried);
            tables[index] = hardened.table.clone();
            hardened
        })
        .collect()
}

/// The number of specimens of `model` on which the cost is measured.
fn cost_specimens(model: &Model) -> usize {
    let (slowest, fastest) = Conditions::of_model(model).rate;
    let per_ms = |rate: Rate| rate.as_packets_per_ms(model.networks.packet);
    let middle = (per_ms(slowest) * per_ms(fastest)).sqrt();
    let packets = middle * model.design().duration.as_millis_f64();
    let enough = (COST_PACKETS / packets.max(1.0)) as usize;
    (COST_SPECIMENS * model.design().specimens)
        .max(enough.min(MAX_COST_SPECIMENS))
        .max(4 * PORTIONS)
}

/// The difference of the scores of `after` and `before` inside `model`, with tables in the order of [`Model::tables`], on
/// specimens that neither search nor hardening draws.
///
/// # Errors
/// As [`score::held_out`].
pub fn cost(
    model: &Model,
    before: &[RuleTable],
    after: &[RuleTable],
    specimens: usize,
    seed: u64,
) -> Result<Estimate, ScoreError> {
    let contender = |name: &str, tables: &[RuleTable]| Contender {
        name: name.to_owned(),
        scheme: Scheme::Tables(tables.to_vec()),
    };
    let contenders = [contender("before", before), contender("after", after)];
    let on = HeldOut { seed, specimens, host: Host::Bare };
    let scores = score::held_out(model, &on, &contenders, &|| ())?;
    let difference = scores.contenders.into_iter().nth(1).and_then(|score| score.difference);
    Ok(difference.expect("the second contender is compared with the first"))
}

/// The hardening of one table.
struct Pass<'a> {
    model: &'a Model,
    specimens: &'a [Specimen],
    /// All that the model designs.
    tables: &'a [RuleTable],
    index: usize,
    limit: f64,
    /// Networks of [`StressSet::NearPractice`].
    near: Vec<StressNetwork>,
    /// Networks of [`StressSet::Practice`].
    practice: Vec<StressNetwork>,
    /// Networks of [`StressSet::Brief`].
    brief: Vec<StressNetwork>,
    /// Networks with delay that the table's senders do not cause.
    foreign: Vec<ForeignNetwork>,
    /// The scores of the original tables on each specimen.
    plain: Vec<f64>,
    /// The mean score of the original table on the brief networks.
    plain_brief: f64,
    /// The results of its senders on the foreign networks.
    plain_foreign: Vec<ForeignTrial>,
}

/// Guards, and the misfit of the table with them.
type Judged = (Guards, f64);

/// The specimens that measure a cost: every `step`-th one, starting with number `first`.
#[derive(Clone, Copy)]
struct Portion {
    first: usize,
    step: usize,
}

impl Portion {
    const ALL: Portion = Portion { first: 0, step: 1 };

    /// That of a generation.
    fn of(generation: usize) -> Portion {
        Portion { first: generation % PORTIONS, step: PORTIONS }
    }

    fn pick<T: Clone>(self, all: &[T]) -> Vec<T> {
        all.iter().skip(self.first).step_by(self.step).cloned().collect()
    }
}

impl<'a> Pass<'a> {
    fn new(
        model: &'a Model,
        specimens: &'a [Specimen],
        tables: &'a [RuleTable],
        index: usize,
        limit: f64,
    ) -> Pass<'a> {
        let brief = stress::networks(model, index, StressSet::Brief);
        let plain = scores(model, specimens, tables);
        let plain_brief = score_on(&brief, model.objective_of(index).delta, &tables[index]);
        let foreign = stress::foreign(model, index, None);
        let plain_foreign =
            stress::run_foreign(&foreign, model.objective_of(index), &tables[index]);
        Pass {
            model,
            specimens,
            tables,
            index,
            limit,
            near: stress::networks(model, index, StressSet::NearPractice),
            practice: stress::networks(model, index, StressSet::Practice),
            brief,
            foreign,
            plain,
            plain_brief,
            plain_foreign,
        }
    }

    fn run(&self, most: usize, tried: &dyn Fn(usize) -> ControlFlow<()>) -> Hardened {
        let table = &self.tables[self.index];
        let ((guards, misfit), generations) = self.best(most, tried);
        let is_worth_it = misfit < self.misfit(table, Portion::ALL) - LEAST_GAIN;
        let guarded = guards.apply(table).ok().filter(|_| is_worth_it);
        let guards = guarded.is_some().then_some(guards);
        Hardened { generations, table: guarded.unwrap_or_else(|| table.clone()), guards }
    }

    /// The best of all guards in up to this many generations, the earliest of equals, and the number of generations run.
    fn best(&self, most: usize, tried: &dyn Fn(usize) -> ControlFlow<()>) -> (Judged, usize) {
        let scale = Scale::of(self.model);
        let mut strategy = Strategy::new(place::FIRST_PLACE.to_vec(), place::FIRST_STEP);
        let mut random = Stream::new(0, Purpose::Search, 0);
        let mut best = (scale.guards(&strategy.mean), f64::INFINITY);
        for generation in 1..=most {
            let draws = strategy.draw(CANDIDATES, &mut random);
            let guards = draws.iter().map(|draw| scale.guards(&strategy.place(draw)));
            let judged = self.judge(guards.collect(), Portion::of(generation));
            let mut order: Vec<usize> = (0..draws.len()).collect();
            order.sort_by(|&a, &b| judged[a].1.total_cmp(&judged[b].1));
            let first = self.judge(vec![judged[order[0]].0], Portion::ALL)[0];
            if first.1 < best.1 {
                best = first;
            }
            strategy.learn(&order.iter().map(|&rank| &draws[rank]).collect::<Vec<_>>());
            if tried(generation).is_break() {
                return (best, generation);
            }
        }
        (best, most)
    }

    fn judge(&self, guards: Vec<Guards>, on: Portion) -> Vec<Judged> {
        let misfit = |guards: Guards| match guards.apply(&self.tables[self.index]) {
            Ok(table) => (guards, self.misfit(&table, on)),
            Err(_) => (guards, f64::INFINITY),
        };
        guards.into_par_iter().map(misfit).collect()
    }

    /// The misfit of `table`: its distance from the best possible on the stress networks, its cost above the limit inside the
    /// model, measured on a portion of the specimens, and its loss with short flows and with foreign delay.
    fn misfit(&self, table: &RuleTable, on: Portion) -> f64 {
        let delta = self.model.objective_of(self.index).delta;
        let brief = self.plain_brief - score_on(&self.brief, delta, table);
        self.around(table)
            + ABOVE_LIMIT * (self.cost(table, on) - self.limit).max(0.0)
            + BRIEF_LOSS * brief.max(0.0)
            + FOREIGN_LOSS * self.lost_beside_others(table)
    }

    /// The distance of `table` from the best possible on the stress networks.
    fn around(&self, table: &RuleTable) -> f64 {
        let prepared = Prepared::new(table);
        let near = stress::run_all(&self.near, &prepared);
        let practice = stress::run_all(&self.practice, &prepared);
        let all = near.iter().chain(&practice);
        let around = mean(all.map(|trial| self.misfit_of(trial))).unwrap_or(0.0);
        let collapsing = |trial: &Trial| {
            let above = libm::log2((trial.rtt_over_least / NEARLY_COLLAPSED).max(1.0));
            COLLAPSING * above + if trial.collapses() { COLLAPSED } else { 0.0 }
        };
        around + near.iter().map(collapsing).sum::<f64>()
    }

    /// The upper end of the interval of the cost of `table` inside the model, since the best of many candidates has been
    /// lucky on these specimens. The interval of a portion is as wide as that of all would be.
    fn cost(&self, table: &RuleTable, on: Portion) -> f64 {
        let mut tables = self.tables.to_vec();
        tables[self.index] = table.clone();
        let scores = scores(self.model, &on.pick(self.specimens), &tables);
        let plain = on.pick(&self.plain);
        let lost: Vec<f64> =
            plain.iter().zip(&scores).map(|(plain, score)| plain - score).collect();
        let cost = Estimate::of(&lost);
        cost.mean + (cost.interval().1 - cost.mean) / (on.step as f64).sqrt()
    }

    /// The mean throughput that the guards of `table` lose with foreign delay, in octaves.
    fn lost_beside_others(&self, table: &RuleTable) -> f64 {
        let objective = self.model.objective_of(self.index);
        let trials = stress::run_foreign(&self.foreign, objective, table);
        let worth = |trial: &ForeignTrial| {
            libm::log2(trial.share) - self.delay_weight() * libm::log2(trial.rtt_ratio)
        };
        let lost =
            |(plain, trial): (&ForeignTrial, &ForeignTrial)| (worth(plain) - worth(trial)).max(0.0);
        mean(self.plain_foreign.iter().zip(&trials).map(lost)).unwrap_or(0.0)
    }

    /// The weight of delay is the fourth root of its weight in the objective: with a small weight of delay a table must still not
    /// fill queues, and with a large one it must not starve senders.
    fn delay_weight(&self) -> f64 {
        self.model.objective_of(self.index).delta.sqrt().sqrt()
    }

    /// The distance from the best possible on a network. The logarithm keeps networks on which every table is bad from
    /// outweighing the others.
    fn misfit_of(&self, trial: &Trial) -> f64 {
        let delay = self.delay_weight() * libm::log2(trial.rtt_over_least.max(1.0));
        let octaves = trial.throughput_gap + delay + UNFAIRNESS * (1.0 - trial.jain);
        libm::log2(1.0 + octaves.max(0.0))
    }
}

/// The mean of log2(throughput) - delta log2(RTT) of `table` on `networks`, up to a constant.
fn score_on(networks: &[StressNetwork], delta: f64, table: &RuleTable) -> f64 {
    let trials = stress::run_all(networks, &Prepared::new(table));
    let score = |trial: &Trial| -trial.throughput_gap - delta * libm::log2(trial.rtt_ratio);
    mean(trials.iter().map(score)).unwrap_or(0.0)
}

/// The scores of `tables` on each of `specimens`.
fn scores(model: &Model, specimens: &[Specimen], tables: &[RuleTable]) -> Vec<f64> {
    let candidate: Vec<Prepared> = tables.iter().map(|table| Prepared::of(model, table)).collect();
    let score = |specimen: &Specimen| {
        model.score(&specimen.network, &simulate(model, specimen, &candidate))
    };
    specimens.par_iter().map(score).collect()
}

#[cfg(test)]
mod tests;
