//! The end of a design: hardens its tables, if the model requests that, and checks them.

use crate::check::{around, check};
use crate::evaluate::Prepared;
use crate::harden::{self, Hardened, Hardening, HardeningStep};
use crate::model::Model;
use crate::score::ScoreError;
use crate::stress::{self, ForeignTrial, HELD_OUT_SEED, StressSet, Summary};
use exm_remy::RuleTable;
use exm_table::{Cost, Robustness};
use std::ops::ControlFlow;

/// A table, and the robustness that its file records.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its rules.
    pub table: RuleTable,
    /// Its behaviour around its model.
    pub robustness: Robustness,
    /// How many generations of guards were tried; 0 without hardening.
    pub generations: usize,
}

/// How tables are finished.
#[derive(Clone, Copy, Debug)]
pub struct Finishing {
    /// How tables are hardened; `None` for no hardening.
    pub hardening: Option<Hardening>,
    /// The number of held-out networks on which its cost is measured; fewer than two count as none.
    pub specimens: usize,
    /// The random seed of these networks.
    pub seed: u64,
}

/// Hardens `tables`, those that `model` designs, if requested, and checks them. The result is the same on any
/// number of threads. `tried` is called as by [`harden::harden`].
///
/// # Errors
/// As [`crate::score::held_out`].
pub fn finish(
    model: &Model,
    tables: &[RuleTable],
    finishing: Finishing,
    tried: &dyn Fn(HardeningStep) -> ControlFlow<()>,
) -> Result<Vec<Finished>, ScoreError> {
    let Finishing { hardening, specimens, seed } = finishing;
    let Some(hardening) = hardening else {
        return Ok((0..).zip(tables).map(|(index, table)| checked(model, index, table)).collect());
    };
    let hardened = harden::harden(model, tables, &hardening, tried);
    let after: Vec<RuleTable> = hardened.iter().map(|one| one.table.clone()).collect();
    let cost = match specimens {
        0 | 1 => None,
        count => Some(harden::cost(model, tables, &after, count, seed)?),
    };
    let cost = cost.map(|cost| Cost { mean: cost.mean, interval: cost.interval() });
    let finished = |(index, (one, before)): (usize, (Hardened, &RuleTable))| {
        let check = check(model, index, &one.table, HELD_OUT_SEED);
        let mut robustness = check.robustness(&one.table);
        if let Some(foreign) = &mut robustness.foreign {
            let kept = kept(model, index, before, &check.foreign_trials);
            foreign.kept = Some((kept * 1e3).round() / 1e3);
        }
        robustness.far_before = Some(around(&far(model, index, before)));
        robustness.guards = one.guards.map(|guards| guards.to_string());
        robustness.cost = cost;
        Finished { table: one.table, robustness, generations: one.generations }
    };
    Ok(hardened.into_iter().zip(tables).enumerate().map(finished).collect())
}

/// The behaviour of `table` on the held-out stress networks.
fn far(model: &Model, index: usize, table: &RuleTable) -> Summary {
    let networks = stress::networks(model, index, StressSet::HeldOut(HELD_OUT_SEED));
    Summary::of(&stress::run_all(&networks, &Prepared::new(table)))
}

/// The throughput in `trials` on the held-out networks with foreign delay over that of the table `before`: the geometric
/// mean.
fn kept(model: &Model, index: usize, before: &RuleTable, trials: &[ForeignTrial]) -> f64 {
    let networks = stress::foreign(model, index, Some(HELD_OUT_SEED));
    let plain = stress::run_foreign(&networks, model.objective_of(index), before);
    stress::throughput_ratio(trials, &plain)
}

fn checked(model: &Model, index: usize, table: &RuleTable) -> Finished {
    let robustness = check(model, index, table, HELD_OUT_SEED).robustness(table);
    Finished { table: table.clone(), robustness, generations: 0 }
}
