//! Simulating tables on specimens.

use crate::objective::Objective;
use crate::specimen::Specimen;
use exm_remy::{CompiledAction, Grid, RuleTable, Signal};
use exm_sim::dumbbell::{self, Observer, Rules};
use rayon::prelude::*;
use std::sync::Arc;

/// A table made ready for simulation. Candidates that differ in actions alone share the grid.
#[derive(Clone, Debug)]
pub struct Prepared {
    grid: Arc<Grid>,
    actions: Vec<CompiledAction>,
}

impl Prepared {
    /// Makes `table` ready.
    pub fn new(table: &RuleTable) -> Prepared {
        let actions = table.rules().iter().map(|rule| rule.action.compile()).collect();
        Prepared { grid: Arc::new(Grid::new(table)), actions }
    }

    /// The same table with other actions.
    pub fn with_actions(&self, actions: Vec<CompiledAction>) -> Prepared {
        Prepared { grid: self.grid.clone(), actions }
    }

    /// What the simulator wants.
    pub fn rules(&self) -> Rules<'_> {
        Rules { grid: &self.grid, actions: &self.actions }
    }
}

/// The mean score of each table over all specimens.
pub fn mean_scores(specimens: &[Specimen], objective: &Objective, tables: &[Prepared]) -> Vec<f64> {
    // All pairs at once: tables are few and specimens unlike in cost, but all of them fill any
    // number of cores.
    let pair = |i: usize| (&tables[i / specimens.len()], &specimens[i % specimens.len()]);
    let scores: Vec<f64> = (0..tables.len() * specimens.len())
        .into_par_iter()
        .map(pair)
        .map(|(table, specimen)| score(specimen, objective, table))
        .collect();
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    scores.chunks(specimens.len()).map(mean).collect()
}

fn score(specimen: &Specimen, objective: &Objective, table: &Prepared) -> f64 {
    let Specimen { network, seed } = specimen;
    objective.score(network, &dumbbell::run(network, table.rules(), *seed))
}

/// How many memories of a rule are kept of each specimen, at least, where it fires as often.
const SAMPLES: usize = 256;

/// Memories that made rules fire.
#[derive(Clone, Debug)]
pub struct Samples {
    rules: Vec<RuleSamples>,
}

#[derive(Clone, Debug, Default)]
struct RuleSamples {
    /// Keep one firing of this many; doubles whenever there are too many.
    stride: u32,
    skipped: u32,
    memories: Vec<[f64; 6]>,
    fired: u64,
}

impl Observer for Samples {
    #[inline]
    fn fired(&mut self, rule: usize, signals: &[f64; 6]) {
        self.rules[rule].add(signals);
    }
}

impl RuleSamples {
    fn add(&mut self, signals: &[f64; 6]) {
        self.fired += 1;
        self.skipped += 1;
        if self.skipped <= self.stride {
            return;
        }
        self.skipped = 0;
        self.memories.push(*signals);
        if self.memories.len() == 2 * SAMPLES {
            let mut keep = false;
            self.memories.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride * 2 + 1;
        }
    }
}

impl Samples {
    /// Runs `table` on `specimens` and keeps memories that its rules met, evenly over time.
    pub fn collect(specimens: &[Specimen], table: &Prepared) -> Samples {
        let each: Vec<Samples> = specimens
            .par_iter()
            .map(|Specimen { network, seed }| {
                let rules = vec![RuleSamples::default(); table.actions.len()];
                let mut samples = Samples { rules };
                dumbbell::run_observed(network, table.rules(), *seed, &mut samples);
                samples
            })
            .collect();
        let mut all = Samples { rules: vec![RuleSamples::default(); table.actions.len()] };
        for (index, rule) in all.rules.iter_mut().enumerate() {
            // Each memory stands for as many firings as its specimen skipped between two.
            let finest = each.iter().map(|s| s.rules[index].stride).max().unwrap_or(0) + 1;
            for samples in &each {
                rule.fired += samples.rules[index].fired;
                let step = finest / (samples.rules[index].stride + 1);
                let memories = samples.rules[index].memories.iter();
                rule.memories.extend(memories.step_by(step as usize));
            }
        }
        all
    }

    /// How often rule `index` fired.
    pub fn fired(&self, index: usize) -> u64 {
        self.rules[index].fired
    }

    /// The values of one signal, ascending, that made rule `index` fire.
    pub fn values(&self, index: usize, signal: Signal) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.rules[index].memories.iter().map(|memory| memory[signal.index()]).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}
