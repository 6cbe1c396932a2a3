//! The default search: the actions of all rules evolve together, and the table grows.
//!
//! Rules depend on each other: what one should do while queues build depends on what another does
//! when they drain. A search that improves one rule at a time, such as the papers', soon reaches a point
//! where no single change helps. Here an evolution strategy moves all actions together. At the end of a
//! stage, the rules that fire most are split in two, and the next stage starts with more rules.
//! Only the order of candidates counts. They run on the same specimens with the same traffic; every generation has new
//! ones, so that no table can overfit to a few.
//!
//! If a model designs several tables, each has its own genome, and they take turns in each
//! generation: the candidates of one run with the current tables of the others, and are ranked by the score of
//! all senders.

use super::cma::{Draw, Strategy};
use super::genome::{Cut, Genome};
use super::precision::Precision;
use super::start::from_nothing;
use super::{JUDGING_BLOCK, Progress, genes};
use crate::evaluate::{Prepared, Samples, means};
use crate::model::{ActionPart, Model};
use crate::round::{Block, Evaluate, Local, Round};
use crate::specimen::Specimen;
use exm_random::{Purpose, Stream};
use exm_remy::{RuleTable, Signal};
use exm_store::counted;
use rayon::prelude::*;

/// The initial step of a strategy.
const FIRST_STEP: f64 = 1.0;
/// The step after growth, at most, and its length over all genes: children start at their parent's position.
const GROWN_STEP: f64 = 0.4;
const GROWN_LENGTH: f64 = 2.2;
/// Generations of a stage: this many, plus this many per rule.
const STAGE: u64 = 10;
const STAGE_PER_RULE: u64 = 3;
/// How often a new table is split before it evolves. A single rule learns to rely
/// on its window, and its descendants never unlearn it; eight rules learn to pace.
const FIRST_GROWTHS: u64 = 3;
/// The number of parallel runs of the first stage, of which the best is kept: the quality of a table depends
/// on luck in its first generations.
const LINES: usize = 3;
/// The axes in the order in which rules are split where all have been split as often.
const AXES: [Signal; Signal::COUNT] = [
    Signal::RttRatio,
    Signal::Ecn,
    Signal::Loss,
    Signal::SlowAckEwma,
    Signal::AckEwma,
    Signal::SendEwma,
    Signal::RttDiff,
    Signal::QueueingDelay,
    Signal::ReceiveRate,
];
/// A rule is split only if this many of its memories were seen.
const ENOUGH_MEMORIES: usize = 16;
/// The number of specimens that evaluate the final table of a stage, as a multiple of a generation's.
const JUDGES: usize = 4;

/// The state of the search.
#[derive(Clone, Debug)]
pub(crate) struct Evolution {
    /// One line; in the first stage several, which differ in their random streams.
    lines: Vec<Line>,
    clock: Clock,
    precision: Precision,
    /// The best final tables of a stage, and their score on the evaluation specimens.
    best: Option<(Vec<RuleTable>, f64)>,
    /// How many stages have ended since without a better one.
    stale: u32,
}

/// Counts generations.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    generation: u64,
    stage_ends: u64,
}

/// Species that evolve together: one for each designed table.
#[derive(Clone, Debug)]
struct Line {
    species: Vec<Species>,
}

/// A genome and what is known of the best place for its genes.
#[derive(Clone, Debug)]
struct Species {
    genome: Genome,
    strategy: Strategy,
    /// How often each rule's ancestors were split along each signal.
    halvings: Vec<[u8; Signal::COUNT]>,
}

/// The state in a checkpoint, except the tables.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    clock: Clock,
    precision: Precision,
    lines: Vec<SavedLine>,
    best_score: Option<f64>,
    #[serde(default)]
    stale: u32,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLine {
    #[serde(flatten)]
    first: SavedSpecies,
    /// Those of the other tables, if several are designed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<SavedSpecies>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct SavedSpecies {
    cuts: Vec<Cut>,
    strategy: Strategy,
    /// Along the signals of [`Signal::ALL`] as far as the table's signals go: always Remy's, and the others
    /// only if it uses one.
    halvings: Vec<Vec<u8>>,
}

impl Clock {
    /// A stage of `rules` rules that begins at `generation`.
    fn stage(generation: u64, rules: usize) -> Clock {
        let length = STAGE + STAGE_PER_RULE * rules as u64;
        Clock { generation, stage_ends: generation + length }
    }
}

impl Line {
    fn new(tables: Vec<RuleTable>, parts: &[ActionPart]) -> Line {
        let genome = |table| Genome::new(table, Vec::new(), parts.to_vec());
        let species = tables.into_iter().map(|table| Species::new(genome(table)));
        Line { species: species.collect() }
    }

    fn tables(&self) -> Vec<RuleTable> {
        self.species.iter().map(Species::table).collect()
    }

    /// How many rules its tables have in all.
    fn rules(&self) -> usize {
        self.species.iter().map(|species| species.genome.rules()).sum()
    }

    /// Its tables with each of `draws` for species number `index`. The others are as they are.
    fn candidates(&self, index: usize, draws: &[Draw]) -> Vec<Vec<RuleTable>> {
        let (species, present) = (&self.species[index], self.tables());
        let candidate = |draw: &Draw| {
            let mut tables = present.clone();
            tables[index] = species.genome.express(&species.strategy.place(draw));
            tables
        };
        draws.par_iter().map(candidate).collect()
    }

    /// Splits in two each rule that fires enough, along the signal it was split by least.
    fn grow(&mut self, model: &Model, specimens: &[Specimen]) {
        let present = Prepared::all(model, &self.tables());
        for (index, species) in self.species.iter_mut().enumerate() {
            species.grow(&Samples::collect(model, specimens, &present, index));
        }
    }

    /// Begins anew with steps of `step` on every gene.
    fn restart(&mut self, step: f64) {
        self.species.iter_mut().for_each(|species| species.strategy.restart(step));
    }

    /// A line from a checkpoint; `None` if its parts are inconsistent.
    fn restore(model: &Model, first: &[RuleTable], saved: SavedLine) -> Option<Line> {
        let SavedLine { first: saved, others } = saved;
        if others.len() + 1 != first.len() {
            return None;
        }
        let saved = std::iter::once(saved).chain(others);
        let species = saved.zip(first).map(|(saved, table)| Species::restore(model, table, saved));
        Some(Line { species: species.collect::<Option<_>>()? })
    }
}

impl Species {
    fn new(genome: Genome) -> Species {
        let strategy = Strategy::new(genome.first_genes(), grown_step(genome.genes()));
        let halvings = vec![[0; Signal::COUNT]; genome.rules()];
        Species { genome, strategy, halvings }
    }

    fn table(&self) -> RuleTable {
        self.genome.express(&self.strategy.mean)
    }

    /// Moves towards the best of `draws`, which have these `scores`.
    fn learn(&mut self, draws: &[Draw], scores: &[f64]) {
        let mut order: Vec<usize> = (0..draws.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let ranked = order.iter().map(|&i| &draws[i]).collect::<Vec<_>>();
        self.strategy.learn(&ranked);
    }

    /// Splits in two each rule that fires enough in `samples`, along the signal it was split by least.
    fn grow(&mut self, samples: &Samples) {
        for rule in 0..self.genome.rules() {
            let used: Vec<Signal> = self.genome.signals().collect();
            let mut axes: Vec<Signal> = AXES.into_iter().filter(|s| used.contains(s)).collect();
            axes.sort_by_key(|signal| self.halvings[rule][signal.index()]);
            self.split(rule, &axes, samples);
        }
        self.strategy.restart(grown_step(self.genome.genes()));
    }

    /// Splits a rule at the median of its memories along the first of `axes` that has one.
    fn split(&mut self, rule: usize, axes: &[Signal], samples: &Samples) {
        if !self.genome.can_cut(rule) {
            return;
        }
        for &signal in axes {
            let values = samples.values(rule, signal);
            let median = values.get(values.len() / 2).copied().unwrap_or(0.0);
            if values.len() < ENOUGH_MEMORIES || median <= values[0] {
                continue;
            }
            self.halvings[rule][signal.index()] += 1;
            self.halvings.push(self.halvings[rule]);
            self.strategy.add(genes::of_cut(signal, median));
            self.strategy.repeat(self.genome.genes_of_rule(rule));
            self.genome.cut(rule, signal);
            return;
        }
    }

    fn save(&self) -> SavedSpecies {
        let is_extended = self.genome.signals().any(Signal::is_extended);
        let counted = if is_extended { Signal::COUNT } else { Signal::REMYS };
        SavedSpecies {
            cuts: self.genome.cuts().to_vec(),
            strategy: self.strategy.clone(),
            halvings: self.halvings.iter().map(|counts| counts[..counted].to_vec()).collect(),
        }
    }

    /// A species from a checkpoint; `None` if its parts are inconsistent.
    fn restore(model: &Model, first: &RuleTable, saved: SavedSpecies) -> Option<Species> {
        let genome = Genome::new(first.clone(), saved.cuts, model.design().action.clone());
        let fits = genome.is_sound()
            && saved.strategy.is_sound(genome.genes())
            && saved.halvings.len() == genome.rules()
            && saved.halvings.iter().all(|counts| counts.len() <= Signal::COUNT);
        let SavedSpecies { strategy, halvings, .. } = saved;
        let padded = |counts: Vec<u8>| {
            std::array::from_fn(|signal| counts.get(signal).copied().unwrap_or_default())
        };
        let halvings = halvings.into_iter().map(padded).collect();
        fits.then_some(Species { genome, strategy, halvings })
    }
}

impl Evolution {
    /// A search that starts from `table`, if given.
    pub(crate) fn new(model: &Model, seed: u64, tables: Option<Vec<RuleTable>>) -> Evolution {
        let parts = &model.design().action;
        let line = tables.map_or_else(
            || {
                let tables = 0..model.tables().len();
                let specimens = rehearsal(model, seed, 0).specimens(model);
                let tables = tables.map(|table| from_nothing(model, &specimens, table)).collect();
                let mut line = Line::new(tables, parts);
                for block in 0..FIRST_GROWTHS {
                    line.grow(model, &rehearsal(model, seed, block).specimens(model));
                }
                line.restart(FIRST_STEP);
                line
            },
            |tables| Line::new(tables, parts),
        );
        let clock = Clock::stage(0, line.rules());
        let precision = Precision::new(model.design().specimens);
        Evolution { lines: vec![line; LINES], clock, precision, best: None, stale: 0 }
    }

    /// The current tables: those of the first line.
    pub(crate) fn current(&self) -> Vec<RuleTable> {
        self.lines[0].tables()
    }

    /// How many stages have ended since the best table was found.
    pub(crate) fn stages_without_gain(&self) -> u32 {
        self.stale
    }

    /// The best tables so far: the final ones of earlier stages, or the current ones if they have a better
    /// evaluated score.
    pub(crate) fn finish(&self, model: &Model, seed: u64) -> Vec<RuleTable> {
        let current = self.current();
        match &self.best {
            // A table that has just grown does as before with twice the rules: keep the smaller.
            Some((best, score)) => {
                let Ok(judged) = judge(model, seed, std::slice::from_ref(&current), &Local);
                if judged[0] <= *score { best.clone() } else { current }
            }
            None => current,
        }
    }

    /// One generation of each line. At the end of a stage the best line is kept, and grows.
    pub(crate) fn step<E: Evaluate>(
        &mut self,
        model: &Model,
        seed: u64,
        evaluator: &E,
    ) -> Result<Progress, E::Error> {
        let score = self.evolve(model, seed, evaluator)?;
        self.clock.generation += 1;
        let rules = self.lines[0].rules();
        let (before, lines) = (counted(rules, "rule", "rules"), self.lines.len());
        let mut progress = Progress {
            score,
            judged: None,
            rules,
            what: match lines {
                1 => format!("evolving {before} together"),
                _ => format!("evolving {before} together, in {lines} ways"),
            },
            left_in_stage: self.clock.stage_ends - self.clock.generation,
        };
        if self.clock.generation == self.clock.stage_ends {
            progress.judged = Some(self.end_stage(model, seed, evaluator)?);
            let grown = self.lines[0].rules();
            progress.what = format!("{before} became {grown}");
        }
        Ok(progress)
    }

    /// One generation of each species of each line; returns the mean score of the candidates of the best line. The
    /// candidates of all lines are evaluated together, so that they fill more cores.
    fn evolve<E: Evaluate>(
        &mut self,
        model: &Model,
        seed: u64,
        evaluator: &E,
    ) -> Result<f64, E::Error> {
        let generation = self.clock.generation;
        let count = self.precision.specimens();
        let block = Block { count, ..rehearsal(model, seed, generation) };
        let specimens = block.specimens(model);
        let numbers = 0..self.lines.len();
        let mut random: Vec<Stream> = numbers.map(|line| stream(seed, generation, line)).collect();
        let mut sums = vec![0.0; self.lines.len()];
        let species = self.lines[0].species.len();
        for index in 0..species {
            let strategies = self.lines.iter().map(|line| &line.species[index].strategy);
            let draws: Vec<Vec<Draw>> = strategies
                .zip(&mut random)
                .map(|(strategy, random)| strategy.draw(strategy.population(), random))
                .collect();
            let of_line = |(line, draws): (&Line, &Vec<Draw>)| line.candidates(index, draws);
            let candidates: Vec<_> = self.lines.iter().zip(&draws).flat_map(of_line).collect();
            let round = Round { model, block, specimens: &specimens, candidates: &candidates };
            let scores = evaluator.scores(&round)?;
            // The lines are of one age: the first tells enough of all. All tables of a generation have the same
            // specimens.
            if index + 1 == species {
                self.precision.learn(&scores[..draws[0].len() * count], model.design().specimens);
            }
            let scores = means(&scores, count);
            let mut rest = scores.as_slice();
            for ((line, draws), sum) in self.lines.iter_mut().zip(&draws).zip(&mut sums) {
                let (own, others) = rest.split_at(draws.len());
                line.species[index].learn(draws, own);
                *sum += own.iter().sum::<f64>() / own.len() as f64;
                rest = others;
            }
        }
        let means = sums.into_iter().map(|sum| sum / species as f64);
        Ok(means.fold(f64::NEG_INFINITY, f64::max))
    }

    /// Keeps the line with the best evaluated score and lets it grow; returns the score.
    fn end_stage<E: Evaluate>(
        &mut self,
        model: &Model,
        seed: u64,
        evaluator: &E,
    ) -> Result<f64, E::Error> {
        let tables: Vec<Vec<RuleTable>> = self.lines.iter().map(Line::tables).collect();
        let scores = judge(model, seed, &tables, evaluator)?;
        // Of equals the first.
        let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let best = best.expect("there is a line");
        if self.best.as_ref().is_none_or(|(_, score)| scores[best] > *score) {
            self.best = Some((tables[best].clone(), scores[best]));
            self.stale = 0;
        } else {
            self.stale += 1;
        }
        self.lines.swap(0, best);
        self.lines.truncate(1);
        let line = &mut self.lines[0];
        let specimens = rehearsal(model, seed, self.clock.generation).specimens(model);
        line.grow(model, &specimens);
        self.clock = Clock::stage(self.clock.generation, line.rules());
        Ok(scores[best])
    }

    /// The state for a checkpoint: the tables, first those that all lines began with, and all else.
    pub(crate) fn save(&self) -> (Vec<RuleTable>, Saved) {
        let best = self.best.iter().flat_map(|(tables, _)| tables.clone());
        let first = self.lines[0].species.iter().map(|species| species.genome.first().clone());
        let tables = first.chain(best).collect();
        let lines = self.lines.iter().map(|line| {
            let mut species = line.species.iter().map(Species::save);
            let first = species.next().expect("a model designs one table at least");
            SavedLine { first, others: species.collect() }
        });
        let saved = Saved {
            clock: self.clock,
            precision: self.precision,
            lines: lines.collect(),
            best_score: self.best.as_ref().map(|(_, score)| *score),
            stale: self.stale,
        };
        (tables, saved)
    }

    /// The state of a checkpoint; `None` if its parts are inconsistent.
    pub(crate) fn restore(model: &Model, tables: &[RuleTable], saved: Saved) -> Option<Evolution> {
        let designed = model.tables().len();
        let (first, best) = tables.split_at_checked(designed)?;
        let restore = |line| Line::restore(model, first, line);
        let lines = saved.lines.into_iter().map(restore).collect::<Option<Vec<Line>>>()?;
        let Clock { generation, stage_ends, .. } = saved.clock;
        let precision = saved.precision;
        let is_sound = precision.is_sound(model.design().specimens) && generation < stage_ends;
        if lines.is_empty() || lines.len() > LINES || !is_sound {
            return None;
        }
        let best = match saved.best_score {
            Some(score) if best.len() == designed => Some((best.to_vec(), score)),
            None if best.is_empty() => None,
            _ => return None,
        };
        Some(Evolution { lines, clock: saved.clock, precision, best, stale: saved.stale })
    }
}

/// The step of each of so many `genes` after growth. The more there are, the smaller: the length of a step over all of
/// them grows with the root of their number.
fn grown_step(genes: usize) -> f64 {
    (GROWN_LENGTH / (genes as f64).sqrt()).min(GROWN_STEP)
}

/// The random stream of a line in a generation.
fn stream(seed: u64, generation: u64, line: usize) -> Stream {
    Stream::new(seed, Purpose::Search, generation as usize * LINES + line)
}

/// The specimens of a generation at its most precise, half as long as the model's: more candidates are worth more than
/// longer specimens.
fn rehearsal(model: &Model, seed: u64, generation: u64) -> Block {
    Block { seed, number: generation, count: model.design().specimens, is_halved: true }
}

/// The scores of `candidates` on the specimens that no search draws.
fn judge<E: Evaluate>(
    model: &Model,
    seed: u64,
    candidates: &[Vec<RuleTable>],
    evaluator: &E,
) -> Result<Vec<f64>, E::Error> {
    let count = JUDGES * model.design().specimens;
    let block = Block { seed, number: JUDGING_BLOCK, count, is_halved: false };
    let specimens = block.specimens(model);
    Round { model, block, specimens: &specimens, candidates }.mean_scores(evaluator)
}
