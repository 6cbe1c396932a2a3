//! The loop of a design, with its checkpoint and log.

use super::budget::{Budget, CpuClock, End};
use super::display::Display;
use super::files::Files;
use super::log::{HeldOutLine, Log, Step};
use super::watch::Watch;
use crate::interrupt;
use crate::outputs::write_file;
use crate::outside;
use crate::shell::Failure;
use exm_design::Designer;
use exm_store::counted;
use exm_store::remove_regular;
use std::path::PathBuf;

/// A checkpoint is written when so much CPU time has passed since the last, in seconds: no more is
/// ever lost, and steps that are quick do not wait for the disk.
const KEEP_EVERY: f64 = 1.0;

/// A design that is going on.
pub(crate) struct Run {
    designer: Designer,
    budget: Budget,
    checkpoint: PathBuf,
    /// The steps that the checkpoint holds.
    kept_steps: u64,
    log: Log,
    /// None where none was taken, or the log has none.
    last: Option<Step>,
    display: Display,
    watch: Watch,
}

impl Run {
    /// Goes on with `designer`, or begins; the files are written at once, so that what cannot be
    /// written is known before the work.
    pub(crate) fn new(
        designer: Designer,
        budget: Budget,
        files: &Files,
        quiet: bool,
    ) -> Result<Run, Failure> {
        let checkpoint = files.checkpoint.clone();
        let kept_steps = designer.steps();
        write_file(&checkpoint, designer.checkpoint().as_bytes())?;
        let (log, steps) = Log::open(&files.log, kept_steps).inspect_err(|_| {
            if kept_steps == 0 {
                // Nothing is begun: nothing is to be gone on with.
                let _ = remove_regular(&checkpoint);
            }
        })?;
        let scores = steps.iter().map(|step| (step.cpu_seconds, step.score)).collect();
        let display = Display::new(quiet, budget.clone(), scores);
        let last = steps.last().filter(|step| step.step == kept_steps).cloned();
        Ok(Run {
            designer,
            budget,
            checkpoint,
            kept_steps,
            log,
            last,
            display,
            watch: Watch::default(),
        })
    }

    /// The same, reporting each step to `watch`.
    pub(super) fn watched_by(self, watch: Watch) -> Run {
        Run { watch, ..self }
    }

    /// Takes steps until the budget is spent or the user interrupts. Then everything is kept.
    pub(crate) fn go(&mut self) -> Result<End, Failure> {
        let clock = CpuClock::from(self.designer.cpu_seconds());
        let mut kept_at = clock.seconds();
        interrupt::heed();
        let end = loop {
            if interrupt::asked() {
                break End::Interrupted;
            }
            if let Some(end) = self.budget.spent(&self.designer, self.last.as_ref()) {
                break end;
            }
            let progress = self.designer.step();
            outside::check().inspect_err(|_| self.display.finish())?;
            self.designer.set_cpu_seconds(clock.seconds());
            let step = Step::of(&self.designer, &progress);
            self.log.add(&step).map_err(|failure| self.stuck(failure))?;
            self.display.step(&self.designer, &progress);
            self.watch.step(&self.designer);
            if clock.seconds() - kept_at >= KEEP_EVERY {
                self.keep()?;
                kept_at = clock.seconds();
            }
            self.last = Some(step);
        };
        self.keep()?;
        self.display.finish();
        interrupt::heed_no_more();
        Ok(end)
    }

    /// The design as it stands.
    pub(crate) fn designer(&self) -> &Designer {
        &self.designer
    }

    /// Ends the log with the score of the finished tables.
    pub(super) fn log_held_out(&mut self, line: &HeldOutLine) -> Result<(), Failure> {
        self.log.add(line)
    }

    fn keep(&mut self) -> Result<(), Failure> {
        write_file(&self.checkpoint, self.designer.checkpoint().as_bytes())
            .map_err(|failure| self.stuck(failure))?;
        self.kept_steps = self.designer.steps();
        Ok(())
    }

    /// Tells what is not lost by a failure to write.
    fn stuck(&self, failure: Failure) -> Failure {
        self.display.finish();
        if self.kept_steps == 0 {
            return failure;
        }
        failure.with_tip(format!(
            "{} holds the design after {}: when there is room again, go on with --resume",
            self.checkpoint.display(),
            counted(self.kept_steps, "step", "steps")
        ))
    }
}
