//! The default search: the actions of all rules evolve together, and the table grows.
//!
//! Rules depend on each other: what one should do while queues build depends on what another does
//! when they drain. A search that improves one rule at a time, as the papers' does, soon stands
//! where no single change helps. Here an evolution strategy moves all actions at once; when it has
//! had its time, the rules that fire most are split in two, and it starts again with more of them.
//! What counts of candidates is their order on the same specimens with the same traffic, new ones
//! in every generation, so that no table can fit itself to a few.

use super::cma::Strategy;
use super::genome::{Cut, Genome};
use super::{DOMAIN, JUDGING_BLOCK, Progress, genes};
use crate::evaluate::{self, Prepared, Samples};
use crate::model::Model;
use crate::specimen::Specimen;
use exm_random::{Purpose, Stream};
use exm_remy::{Action, RuleTable, Signal, counted};
use rayon::prelude::*;

/// The step of a strategy that knows nothing.
const FIRST_STEP: f64 = 1.0;
/// The step after growth: children start where their parent was.
const GROWN_STEP: f64 = 0.4;
/// Generations of a stage: these, and so many for each rule.
const STAGE: u64 = 10;
const STAGE_PER_RULE: u64 = 3;
/// How often a table from nothing is split before anything evolves. One rule alone learns to make
/// do with its window, and its descendants never unlearn it; eight learn to pace.
const FIRST_GROWTHS: u64 = 3;
/// How many times the first stage is gone through, side by side: how good a table becomes depends
/// on luck in its first generations, and the best is kept.
const LINES: usize = 3;
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
    /// One line; in the first stage several, which differ in their chance.
    lines: Vec<Line>,
    clock: Clock,
    /// The best table that a stage ended with, and its judges' score.
    best: Option<(RuleTable, f64)>,
}

/// Counts generations.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    generation: u64,
    stage_ends: u64,
}

/// A genome and what is known of the best place for its genes.
#[derive(Clone, Debug)]
struct Line {
    genome: Genome,
    strategy: Strategy,
    /// How often each rule's ancestors were split along each signal.
    halvings: Vec<[u8; 6]>,
}

/// What of the state a checkpoint holds beside the tables.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    clock: Clock,
    lines: Vec<SavedLine>,
    best_score: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLine {
    cuts: Vec<Cut>,
    strategy: Strategy,
    halvings: Vec<[u8; 6]>,
}

impl Clock {
    /// A stage of `rules` rules that begins at `generation`.
    fn stage(generation: u64, rules: usize) -> Clock {
        let length = STAGE + STAGE_PER_RULE * rules as u64;
        Clock { generation, stage_ends: generation + length }
    }
}

impl Line {
    fn new(genome: Genome, step: f64) -> Line {
        let strategy = Strategy::new(genome.first_genes(), step);
        let halvings = vec![[0; 6]; genome.rules()];
        Line { genome, strategy, halvings }
    }

    fn table(&self) -> RuleTable {
        self.genome.express(&self.strategy.mean)
    }

    /// One generation on `specimens`; returns the candidates' mean score.
    fn evolve(&mut self, model: &Model, specimens: &[Specimen], chance: &mut Stream) -> f64 {
        let draws = self.strategy.draw(self.strategy.population(), chance);
        let tables: Vec<Prepared> = draws
            .par_iter()
            .map(|draw| Prepared::new(&self.genome.express(&self.strategy.place(draw))))
            .collect();
        let scores = evaluate::mean_scores(specimens, model.objective(), &tables);
        let mut order: Vec<usize> = (0..draws.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        self.strategy.learn(&order.iter().map(|&i| &draws[i]).collect::<Vec<_>>());
        scores.iter().sum::<f64>() / scores.len() as f64
    }

    /// Splits in two each rule that fires enough, along the signal it was split by least.
    fn grow(&mut self, specimens: &[Specimen], step: f64) {
        let samples = Samples::collect(specimens, &Prepared::new(&self.table()));
        for rule in 0..self.genome.rules() {
            let used: Vec<Signal> = self.genome.signals().collect();
            let mut axes: Vec<Signal> = AXES.into_iter().filter(|s| used.contains(s)).collect();
            axes.sort_by_key(|signal| self.halvings[rule][signal.index()]);
            self.split(rule, &axes, &samples);
        }
        self.strategy.restart(step);
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

    /// A line as a checkpoint has it, or nothing where its parts do not fit together.
    fn restore(model: &Model, first: &RuleTable, saved: SavedLine) -> Option<Line> {
        let genome = Genome::new(first.clone(), saved.cuts, model.design().action.clone());
        let fits = genome.is_sound()
            && saved.strategy.is_sound(genome.genes())
            && saved.halvings.len() == genome.rules();
        let SavedLine { strategy, halvings, .. } = saved;
        fits.then_some(Line { genome, strategy, halvings })
    }
}

impl Evolution {
    /// A search that starts from `table`, or from nothing.
    pub(crate) fn new(model: &Model, seed: u64, table: Option<RuleTable>) -> Evolution {
        let parts = &model.design().action;
        let line = |table| Line::new(Genome::new(table, Vec::new(), parts.clone()), GROWN_STEP);
        let line = table.map_or_else(
            || {
                let mut line = line(from_nothing(model, seed));
                for block in 0..FIRST_GROWTHS {
                    line.grow(&rehearsal(model, seed, block), FIRST_STEP);
                }
                line
            },
            line,
        );
        let clock = Clock::stage(0, line.genome.rules());
        Evolution { lines: vec![line; LINES], clock, best: None }
    }

    /// The table as it is now: that of the first line.
    pub(crate) fn current(&self) -> RuleTable {
        self.lines[0].table()
    }

    /// The best table so far: what the last stages ended with, or the present one where it is
    /// judged better.
    pub(crate) fn finish(&self, model: &Model, seed: u64) -> RuleTable {
        let current = self.current();
        match &self.best {
            // A table that has just grown does as before with twice the rules: keep the smaller.
            Some((best, score)) if judge(model, seed, &current) <= *score => best.clone(),
            _ => current,
        }
    }

    /// One generation of each line. At the end of a stage the best line is kept, and grows.
    pub(crate) fn step(&mut self, model: &Model, seed: u64) -> Progress {
        let generation = self.clock.generation;
        let specimens = rehearsal(model, seed, generation);
        let mut score = f64::NEG_INFINITY;
        for (number, line) in self.lines.iter_mut().enumerate() {
            let mut chance = chance(seed, generation, number);
            score = score.max(line.evolve(model, &specimens, &mut chance));
        }
        self.clock.generation += 1;
        let rules = self.lines[0].genome.rules();
        let (told, lines) = (counted(rules, "rule", "rules"), self.lines.len());
        let mut progress = Progress {
            score,
            judged: None,
            rules,
            what: match lines {
                1 => format!("evolving {told} together"),
                _ => format!("evolving {told} together, in {lines} ways"),
            },
            left_in_stage: self.clock.stage_ends - self.clock.generation,
        };
        if self.clock.generation == self.clock.stage_ends {
            progress.judged = Some(self.end_stage(model, seed));
            let grown = self.lines[0].genome.rules();
            progress.what = format!("{told} became {grown}");
        }
        progress
    }

    /// Keeps the line that is judged best and lets it grow; returns its score.
    fn end_stage(&mut self, model: &Model, seed: u64) -> f64 {
        let tables: Vec<RuleTable> = self.lines.iter().map(Line::table).collect();
        let scores: Vec<f64> = tables.iter().map(|table| judge(model, seed, table)).collect();
        // Of equals the first.
        let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let best = best.expect("there is a line");
        if self.best.as_ref().is_none_or(|(_, score)| scores[best] > *score) {
            self.best = Some((tables[best].clone(), scores[best]));
        }
        self.lines.swap(0, best);
        self.lines.truncate(1);
        let line = &mut self.lines[0];
        line.grow(&rehearsal(model, seed, self.clock.generation), GROWN_STEP);
        self.clock = Clock::stage(self.clock.generation, line.genome.rules());
        scores[best]
    }

    /// The state for a checkpoint: the tables, first the one all lines began with, and all else.
    pub(crate) fn save(&self) -> (Vec<RuleTable>, Saved) {
        let best = self.best.iter().map(|(table, _)| table.clone());
        let tables = std::iter::once(self.lines[0].genome.first().clone()).chain(best).collect();
        let lines = self.lines.iter().map(|line| SavedLine {
            cuts: line.genome.cuts().to_vec(),
            strategy: line.strategy.clone(),
            halvings: line.halvings.clone(),
        });
        let saved = Saved {
            clock: self.clock,
            lines: lines.collect(),
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
        let first = tables.next()?;
        let restore = |line| Line::restore(model, &first, line);
        let lines = saved.lines.into_iter().map(restore).collect::<Option<Vec<Line>>>()?;
        let Clock { generation, stage_ends, .. } = saved.clock;
        if lines.is_empty() || lines.len() > LINES || generation >= stage_ends {
            return None;
        }
        let best = tables.next().zip(saved.best_score);
        Some(Evolution { lines, clock: saved.clock, best })
    }
}

/// The chance of a line in a generation.
fn chance(seed: u64, generation: u64, line: usize) -> Stream {
    Stream::new(seed, Purpose::Search, generation as usize * LINES + line)
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

/// One rule that sends at a sender's share of a typical network; its window, of four times the
/// packets that are in flight then, only limits the harm on others.
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
        increment: (0.1 * 4.0 * share).ceil() as i32,
        intersend_ms: rtt_ms / share,
    };
    RuleTable::single(model.design().signals, DOMAIN, action)
}
