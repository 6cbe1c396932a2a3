//! [`run`]: makes the runs of a plan that are still to be made.

use crate::lab::{Lab, LabError};
use crate::plan::Plan;
use crate::rows::RunRow;
use crate::store::{Rows, Store, StoreError};
use rayon::prelude::*;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};

/// Watches over runs as they are made, from several threads at once.
pub trait Watch: Sync {
    /// So much more work is done, in the measure of [`Plan::work`].
    fn advance(&self, work: u64);

    /// Whether no further run is to begin.
    fn is_stopped(&self) -> bool;
}

/// All work of `plan`, in the measure of [`Plan::work`].
pub fn total_work(plan: &Plan) -> u64 {
    plan.cases.iter().map(|case| plan.work(case) * plan.runs).sum()
}

/// Makes the runs of `plan` that are not among `rows`, on all threads, and adds each to `store` as it
/// is finished. Returns all that are finished: fewer than planned only where `watch` stopped it.
///
/// # Errors
/// [`StoreError`] where a run cannot be kept.
pub fn run(plan: &Plan, store: Store, rows: Rows, watch: &dyn Watch) -> Result<Rows, StoreError> {
    // Run by run, all cases of each: whatever is finished when it is stopped is a fair picture, and
    // the work that is left is like that which is done.
    let jobs = (0..plan.runs).flat_map(|run| (0..plan.cases.len()).map(move |case| (case, run)));
    let (done, jobs): (Vec<_>, Vec<_>) = jobs.partition(|job| rows.contains_key(job));
    done.iter().for_each(|&(case, _)| watch.advance(plan.work(&plan.cases[case])));
    let kept = Mutex::new((store, rows));
    let make = |&(case, run): &(usize, u64)| {
        if watch.is_stopped() {
            return Ok(());
        }
        let of_plan = &plan.cases[case];
        let row = RunRow::made(of_plan, plan.seed_of(run), plan.asked);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.add(of_plan, run, &row)?;
        kept.1.insert((case, run), row);
        watch.advance(plan.work(of_plan));
        Ok(())
    };
    jobs.par_iter().with_max_len(1).try_for_each(make)?;
    let (store, rows) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    if is_complete(plan, &rows) {
        store.finish(plan, &rows)?;
    }
    Ok(rows)
}

/// Why a live run ended all of them.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// It could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be made.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// As [`run`], one run after the other, made by `lab`.
///
/// # Errors
/// [`LiveError`] where a run cannot be made or kept; those before it are kept.
pub fn run_live(
    plan: &Plan,
    mut store: Store,
    mut rows: Rows,
    watch: &dyn Watch,
    lab: &dyn Lab,
) -> Result<Rows, LiveError> {
    for (run, (index, case)) in
        (0..plan.runs).flat_map(|run| plan.cases.iter().enumerate().map(move |case| (run, case)))
    {
        if watch.is_stopped() {
            break;
        }
        if let Entry::Vacant(vacant) = rows.entry((index, run)) {
            let (seed, step) = (plan.seed_of(run), plan.asked.step());
            let Some(measured) = lab.run(case, seed, step, &|| watch.is_stopped())? else { break };
            let row = RunRow::measured(case, measured, plan.asked);
            store.add(case, run, &row)?;
            vacant.insert(row);
        }
        watch.advance(plan.work(case));
    }
    if is_complete(plan, &rows) {
        store.finish(plan, &rows)?;
    }
    Ok(rows)
}

/// Whether `rows` are all that `plan` asks for.
pub fn is_complete(plan: &Plan, rows: &Rows) -> bool {
    rows.len() as u64 == plan.runs * plan.cases.len() as u64
}
