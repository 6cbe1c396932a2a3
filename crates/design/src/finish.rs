//! The end of a design: its tables hardened, where the model wants that, and checked.

use crate::check::{around, check};
use crate::harden::{self, Hardened};
use crate::model::Model;
use crate::score::ScoreError;
use crate::stress::HELD_OUT_SEED;
use exm_remy::RuleTable;
use exm_table::{Cost, Robustness};

/// A table, and the robustness that its file records.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its rules.
    pub table: RuleTable,
    /// What it does around its model.
    pub robustness: Robustness,
}

/// How tables are finished.
#[derive(Clone, Copy, Debug)]
pub struct Finishing {
    /// The most points that hardening may cost inside the model; none for no hardening.
    pub limit: Option<f64>,
    /// On how many held-out networks that cost is measured; fewer than two are none.
    pub specimens: usize,
    /// What networks inside the model are drawn from.
    pub seed: u64,
}

/// Hardens `tables`, those that `model` designs, where that is wanted, and checks them. The result is the same on any
/// number of threads. `tried` is called after each of the [`harden::GENERATIONS`] of guards that are tried for each table.
///
/// # Errors
/// As [`crate::score::held_out`].
pub fn finish(
    model: &Model,
    tables: &[RuleTable],
    finishing: Finishing,
    tried: &dyn Fn(),
) -> Result<Vec<Finished>, ScoreError> {
    let Finishing { limit, specimens, seed } = finishing;
    let Some(limit) = limit else {
        return Ok((0..).zip(tables).map(|(index, table)| checked(model, index, table)).collect());
    };
    let hardened = harden::harden(model, tables, limit, seed, tried);
    let after: Vec<RuleTable> = hardened.iter().map(|one| one.table.clone()).collect();
    let cost = match specimens {
        0 | 1 => None,
        count => Some(harden::cost(model, tables, &after, count, seed)?),
    };
    let cost = cost.map(|cost| Cost { mean: cost.mean, interval: cost.interval() });
    let finished = |(index, one): (usize, Hardened)| {
        let mut finished = checked(model, index, &one.table);
        finished.robustness.far_before = Some(around(&one.before));
        finished.robustness.guards = one.guards.map(|guards| guards.to_string());
        finished.robustness.cost = cost;
        finished
    };
    Ok(hardened.into_iter().enumerate().map(finished).collect())
}

fn checked(model: &Model, index: usize, table: &RuleTable) -> Finished {
    let robustness = check(model, index, table, HELD_OUT_SEED).robustness(table);
    Finished { table: table.clone(), robustness }
}
