//! [`run`]: executes the remaining runs of a plan.

use crate::backend::{Backend, BackendError};
use crate::case::Case;
use crate::plan::Plan;
use crate::rows::RunRow;
use crate::store::{Rows, Store, StoreError};
use exm_cc::Failure;
use rayon::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Monitors runs, from several threads at once.
pub trait Watch: Sync {
    /// Called when this much more work is done, in the units of [`Plan::work`].
    fn advance(&self, work: u64);

    /// Whether no further run should start.
    fn is_stopped(&self) -> bool;
}

/// The work of all runs of `plan`, in the units of [`Plan::work`].
pub fn total_work(plan: &Plan) -> u64 {
    plan.cases.iter().map(|case| plan.work(case) * plan.runs).sum()
}

/// Executes the runs of `plan` that are not among `rows`, on all threads, and stores each in `store` when it
/// finishes. Returns all finished runs: fewer than planned only if `watch` stopped it.
///
/// # Errors
/// [`RunError`] if a run cannot be stored, or its controller failed.
pub fn run(plan: &Plan, store: Store, rows: Rows, watch: &dyn Watch) -> Result<Rows, RunError> {
    let make = |case: &Case, seed| {
        if watch.is_stopped() {
            return Ok(None);
        }
        let row = RunRow::made(case, seed, plan.asked);
        row.map(Some)
            .map_err(|failure| RunError::Controller { scheme: case.scheme_name.clone(), failure })
    };
    make_all(plan, store, rows, watch, make)
}

/// An error that stops all runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A controller from outside failed.
    #[error("{failure}, in a run of {scheme}")]
    Controller {
        /// The scheme.
        scheme: String,
        /// What happened.
        failure: Failure,
    },
    /// A run could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The system refused this many threads.
    #[error("cannot make so many runs at once: {0}")]
    Threads(#[from] ThreadPoolBuildError),
}

/// How live runs are executed.
#[derive(Clone, Copy)]
pub struct Live<'a> {
    /// The backend.
    pub backend: &'a dyn Backend,
    /// The number of simultaneous runs.
    pub at_once: NonZeroUsize,
}

/// As [`run`], in real time. A run that fails stops the others.
///
/// # Errors
/// [`RunError`] if a run fails or cannot be stored; the runs before it stay stored.
pub fn run_live(
    plan: &Plan,
    store: Store,
    rows: Rows,
    watch: &dyn Watch,
    live: Live<'_>,
) -> Result<Rows, RunError> {
    let has_failed = AtomicBool::new(false);
    let is_stopped = || watch.is_stopped() || has_failed.load(Ordering::Relaxed);
    let make = |case: &Case, seed| {
        if is_stopped() {
            return Ok(None);
        }
        let measured = live.backend.run(case, seed, plan.asked.step(), &is_stopped);
        let measured = measured.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        Ok(measured.map(|measured| RunRow::measured(case, measured, plan.asked)))
    };
    let all = plan.cases.len().saturating_mul(plan.runs as usize);
    let threads = ThreadPoolBuilder::new().num_threads(live.at_once.get().min(all)).build()?;
    threads.install(|| make_all(plan, store, rows, watch, make))
}

/// Executes the runs of `plan` that are not among `rows` by calling `make` with a case and a seed, on all
/// threads; none from `make` means that it was stopped.
fn make_all<E: From<StoreError> + Send>(
    plan: &Plan,
    store: Store,
    rows: Rows,
    watch: &dyn Watch,
    make: impl Fn(&Case, u64) -> Result<Option<RunRow>, E> + Sync,
) -> Result<Rows, E> {
    // Run by run, all cases of each: if it is stopped, the finished runs are representative, and the
    // remaining work resembles the work done.
    let jobs = (0..plan.runs).flat_map(|run| (0..plan.cases.len()).map(move |case| (case, run)));
    let (done, jobs): (Vec<_>, Vec<_>) = jobs.partition(|job| rows.contains_key(job));
    done.iter().for_each(|&(case, _)| watch.advance(plan.work(&plan.cases[case])));
    let kept = Mutex::new((store, rows));
    let keep = |&(index, run): &(usize, u64)| -> Result<(), E> {
        let case = &plan.cases[index];
        let Some(row) = make(case, plan.seed_of(run))? else { return Ok(()) };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.add(case, run, &row)?;
        kept.1.insert((index, run), row);
        watch.advance(plan.work(case));
        Ok(())
    };
    jobs.par_iter().with_max_len(1).try_for_each(keep)?;
    let (store, rows) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    if is_complete(plan, &rows) {
        store.finish(plan, &rows)?;
    }
    Ok(rows)
}

/// Whether `rows` has all runs of `plan`.
pub fn is_complete(plan: &Plan, rows: &Rows) -> bool {
    rows.len() as u64 == plan.runs * plan.cases.len() as u64
}
