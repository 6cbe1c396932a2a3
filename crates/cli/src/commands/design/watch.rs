//! [`Watch`]: what running designs report for a page about them.

use super::Files;
use exm_design::{Designer, Model};
use exm_remy::RuleTable;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A design as its page shows it.
#[derive(Clone)]
pub(super) struct Watched {
    /// Its log, which has the scores of all steps.
    pub(super) log: PathBuf,
    pub(super) model: Arc<Model>,
    pub(super) seed: u64,
    pub(super) search: &'static str,
    /// Its tables as they are now.
    pub(super) tables: Vec<RuleTable>,
    pub(super) steps: u64,
    pub(super) cpu_seconds: f64,
    /// What it is doing: "searching".
    pub(super) phase: String,
}

/// The designs of a command, in the order in which they began. Without a page there is nothing to report to.
#[derive(Clone, Default)]
pub(super) struct Watch(Option<Arc<Mutex<Vec<Watched>>>>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(on)" } else { "Watch(off)" })
    }
}

impl Watch {
    /// One to report to.
    pub(super) fn on() -> Watch {
        Watch(Some(Arc::default()))
    }

    /// `designer` begins or goes on; what is reported next is about it.
    pub(super) fn begin(&self, designer: &Designer, files: &Files) {
        let Some(mut designs) = self.locked() else { return };
        designs.push(Watched {
            log: files.log.clone(),
            model: Arc::new(designer.model().clone()),
            seed: designer.seed(),
            search: designer.search().name(),
            tables: designer.current(),
            steps: designer.steps(),
            cpu_seconds: designer.cpu_seconds(),
            phase: "searching".to_owned(),
        });
    }

    /// `designer` has taken a step.
    pub(super) fn step(&self, designer: &Designer) {
        self.change(|design| {
            design.tables = designer.current();
            design.steps = designer.steps();
            design.cpu_seconds = designer.cpu_seconds();
        });
    }

    /// What the design does now.
    pub(super) fn phase(&self, phase: &str) {
        self.change(|design| phase.clone_into(&mut design.phase));
    }

    /// The design has finished tables.
    pub(super) fn tables<'a>(&self, tables: impl Iterator<Item = &'a RuleTable>) {
        self.change(|design| design.tables = tables.cloned().collect());
    }

    /// All designs that have begun.
    pub(super) fn designs(&self) -> Vec<Watched> {
        self.locked().map(|designs| designs.clone()).unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Watched)) {
        if let Some(mut designs) = self.locked() {
            designs.last_mut().map(change);
        }
    }

    fn locked(&self) -> Option<MutexGuard<'_, Vec<Watched>>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
