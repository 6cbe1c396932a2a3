//! [`Work`]: executes a plan, shows its progress and writes its results.

use crate::codes::INTERRUPTED;
use crate::interrupt;
use crate::progress::Progress;
use crate::shell::{Failure, note};
use exm_experiment::{Live, Plan, Results, Rows, Store, StoreError, Watch, is_complete};
use exm_store::counted;
use std::path::Path;

/// A plan to be executed.
pub(crate) struct Work<'a> {
    pub(crate) plan: &'a Plan,
    /// The folder of the results.
    pub(crate) folder: &'a Path,
    /// The command that reproduces them.
    pub(crate) command: String,
    /// Whether finished runs are repeated.
    pub(crate) fresh: bool,
    /// The backend of the runs, if it is not the simulator.
    pub(crate) live: Option<Live<'a>>,
}

impl Work<'_> {
    /// Executes the missing runs and writes the results.
    pub(crate) fn carry_out(self) -> Result<Results, Failure> {
        let Work { plan, folder, live, .. } = self;
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::new(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        let (store, rows) = self.open()?;
        if !rows.is_empty() && !is_complete(plan, &rows) {
            let finished = counted(rows.len(), "finished run", "finished runs");
            note(&format!("going on after {finished}"));
        }
        interrupt::heed();
        let watch = Bar(Progress::new(exm_experiment::total_work(plan)));
        let rows = match live {
            None => exm_experiment::run(plan, store, rows, &watch),
            Some(live) => exm_experiment::run_live(plan, store, rows, &watch, live),
        };
        watch.0.finish();
        interrupt::heed_no_more();
        let rows = rows.map_err(|error| {
            Failure::from(error).with_tip("the runs before are kept: the same command goes on")
        })?;
        if !is_complete(plan, &rows) {
            let all = plan.runs * plan.cases.len() as u64;
            let text = format!("interrupted after {} of {all} runs, which are kept", rows.len());
            let tip = "the same command goes on with them";
            return Err(Failure::new(text).with_tip(tip).with_code(INTERRUPTED));
        }
        Ok(exm_experiment::write(folder, plan, &rows, self.command)?)
    }

    fn open(&self) -> Result<(Store, Rows), Failure> {
        match Store::open(self.folder, self.plan, self.fresh) {
            Err(error @ StoreError::Stale { .. }) => Err(Failure::from(error)
                .with_tip("make them all again by --force, or give another folder by --out")),
            opened => Ok(opened?),
        }
    }
}

/// Shows the progress of runs, and stops them when the user interrupts.
struct Bar(Progress);

impl Watch for Bar {
    fn advance(&self, work: u64) {
        self.0.advance(work);
    }

    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }
}
