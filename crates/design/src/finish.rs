//! The end of a design: hardens its tables, if the model requests that, and checks them.

use crate::check::{around, check};
use crate::harden::{self, Hardened, Hardening, Tried};
use crate::model::Model;
use crate::score::ScoreError;
use crate::stress::HELD_OUT_SEED;
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
    tried: &dyn Fn(Tried) -> ControlFlow<()>,
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
    let finished = |(index, one): (usize, Hardened)| {
        let mut finished = checked(model, index, &one.table);
        finished.generations = one.generations;
        if let Some(foreign) = &mut finished.robustness.foreign {
            foreign.kept = Some((one.kept * 1e3).round() / 1e3);
        }
        finished.robustness.far_before = Some(around(&one.before));
        finished.robustness.guards = one.guards.map(|guards| guards.to_string());
        finished.robustness.cost = cost;
        finished
    };
    Ok(hardened.into_iter().enumerate().map(finished).collect())
}

fn checked(model: &Model, index: usize, table: &RuleTable) -> Finished {
    let robustness = check(model, index, table, HELD_OUT_SEED).robustness(table);
    Finished { table: table.clone(), robustness, generations: 0 }
}
