//! What a design does after its search: hardening, checking and scoring, within the budget of CPU time.

use super::args::DesignArgs;
use super::budget::{CpuClock, spoken};
use crate::interrupt;
use crate::progress::HardeningProgress;
use crate::shell::Failure;
use exm_design::harden::{GENERATIONS, Hardening, HardeningStep};
use exm_design::{Designer, Finished, Finishing, Prepared, finish, mean_scores};
use exm_remy::RuleTable;
use serde::Serialize;
use std::cell::Cell;
use std::ops::ControlFlow;

/// The part of a budget of CPU time that is kept for what follows the search: hardening, if there is one, takes more.
const KEPT: f64 = 0.25;
const KEPT_WITHOUT_HARDENING: f64 = 0.15;
/// But no more than this for each table, in seconds: it does not grow with the budget.
const MOST_KEPT: f64 = 300.0;
/// The part of what is kept that hardening may take; the rest is for scores.
const HARDENING: f64 = 0.8;
/// The number of networks on which tables are scored if there is time, and the minimum.
const SPECIMENS: usize = 256;
const LEAST_SPECIMENS: usize = 32;
/// How many networks tell what one takes.
const TIMED: usize = 4;
/// Networks are run by the finished table twice, and by the one before it was hardened.
const SCORINGS: f64 = 3.0;

/// The CPU time of a design by phase, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Phases {
    pub(super) search: f64,
    /// Hardening and checking.
    pub(super) hardening: f64,
    pub(super) scoring: f64,
}

impl Phases {
    pub(super) fn sum(&self) -> f64 {
        self.search + self.hardening + self.scoring
    }
}

/// As people write it: "search 42 s, hardening and checks 12 s, scores 5.0 s".
impl std::fmt::Display for Phases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Phases { search, hardening, scoring } = *self;
        let [search, hardening, scoring] = [search, hardening, scoring].map(spoken);
        write!(f, "search {search}, hardening and checks {hardening}, scores {scoring}")
    }
}

impl DesignArgs {
    /// How the tables of `designer` are hardened; `None` if the model or the papers' search disables hardening.
    pub(super) fn hardening(&self, designer: &Designer) -> Option<Hardening> {
        designer.hardening(self.hardening.map_or(GENERATIONS, |count| count as usize))
    }

    /// The budget of CPU time, and how much of it is reserved for the work after the search, in seconds; `None` without such
    /// a budget.
    fn reserved(&self, designer: &Designer) -> Option<(f64, f64)> {
        let cpu = self.budget.clone().or_default().cpu?.as_secs_f64();
        let is_hardened = self.hardening(designer).is_some();
        let part = if is_hardened { KEPT } else { KEPT_WITHOUT_HARDENING };
        let most = MOST_KEPT * designer.model().tables().len() as f64;
        Some((cpu, (part * cpu).min(most)))
    }

    /// The CPU time that the search may take, in seconds.
    pub(super) fn searching(&self, designer: &Designer) -> Option<f64> {
        self.reserved(designer).map(|(cpu, kept)| cpu - kept)
    }

    /// The CPU time that is left after the search, in seconds; `None` without a budget of CPU time.
    fn left(&self, designer: &Designer) -> Option<f64> {
        // A design that is resumed may have spent the budget, and is finished all the same.
        self.reserved(designer).map(|(cpu, kept)| (cpu - designer.cpu_seconds()).max(0.5 * kept))
    }

    /// On how many networks the design is scored.
    pub(super) fn scored_on(&self, designer: &Designer, tables: &[RuleTable]) -> usize {
        if let Some(asked) = self.specimens {
            return asked as usize;
        }
        let Some(left) = self.left(designer) else { return SPECIMENS };
        let model = designer.model();
        let specimens = model.specimens(designer.seed(), 0, TIMED);
        let candidate = tables.iter().map(|table| Prepared::of(model, table)).collect();
        let clock = CpuClock::from(0.0);
        mean_scores(model, &specimens, &[candidate]);
        let each = clock.seconds() / TIMED as f64;
        let affordable = (1.0 - HARDENING) * left / (SCORINGS * each.max(1e-9));
        (affordable as usize).clamp(LEAST_SPECIMENS, SPECIMENS)
    }

    /// The `tables` of `designer` as the model wants them in the end: hardened and checked. None where the user
    /// interrupts that.
    pub(super) fn finished(
        &self,
        designer: &Designer,
        tables: &[RuleTable],
        specimens: usize,
    ) -> Result<Option<Vec<Finished>>, Failure> {
        let hardening = self.hardening(designer);
        let generations = hardening.map_or(0, |hardening| hardening.generations);
        let names = designer.model().tables();
        let progress = (!self.quiet && hardening.is_some())
            .then(|| HardeningProgress::new(names, generations));
        // Without --hardening, CPU time limits the generations too.
        let left = self.hardening.is_none().then(|| self.left(designer)).flatten();
        let each = left.map(|left| HARDENING * left / tables.len() as f64);
        let (clock, started) = (CpuClock::from(0.0), Cell::new(0.0));
        let tried = |tried: HardeningStep| {
            progress.iter().for_each(|progress| progress.tried(tried));
            let phase = format!("hardening, generation {} of {generations}", tried.generations);
            self.watch.phase(&phase);
            let now = clock.seconds();
            let taken = now - started.get();
            let next = taken / tried.generations as f64;
            let is_spent = each.is_some_and(|each| taken + next > each);
            if is_spent || tried.generations == generations {
                started.set(now);
            }
            let ends = interrupt::asked() || is_spent;
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        interrupt::heed();
        let finishing = Finishing { hardening, specimens, seed: designer.seed() };
        let finished = finish(designer.model(), tables, finishing, &tried);
        interrupt::heed_no_more();
        progress.iter().for_each(HardeningProgress::finish);
        Ok((!interrupt::asked()).then_some(finished?))
    }
}
