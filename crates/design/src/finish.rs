//! The end of a design: its tables hardened, where the model wants that, and checked.

use crate::check::{around, check};
use crate::harden::{self, Hardened};
use crate::model::Model;
use crate::score::ScoreError;
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

/// Checks `tables`, those that `model` designs, and, where there is a `limit`, hardens them before that, so that
/// they lose at most so many points inside the model, measured on specimens drawn from `seed`. What they lost on
/// `specimens` held-out networks stands in the result; fewer than two are none. The result is the same on any
/// number of threads.
///
/// # Errors
/// As [`crate::score::held_out`].
pub fn finish(
    model: &Model,
    tables: &[RuleTable],
    limit: Option<f64>,
    specimens: usize,
    seed: u64,
) -> Result<Vec<Finished>, ScoreError> {
    let Some(limit) = limit else {
        return Ok((0..).zip(tables).map(|(index, table)| checked(model, index, table)).collect());
    };
    let hardened = harden::harden(model, tables, limit, seed);
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
    let robustness = check(model, index, table).robustness(table);
    Finished { table: table.clone(), robustness }
}
