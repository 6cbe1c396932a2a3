//! A progress bar with an estimate of the remaining time, and writing to the terminal while there
//! is a bar on it.

use crate::visible::visible;
use exm_design::harden::HardeningStep;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bar on the terminal, if any.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Registers `bar`, which is about to be drawn on the terminal.
pub(crate) fn shown(bar: &ProgressBar) {
    *on_terminal() = Some(bar.clone());
}

/// Removes `bar` from the terminal.
pub(crate) fn take_away(bar: &ProgressBar) {
    let mut shown = on_terminal();
    bar.finish_and_clear();
    *shown = None;
}

/// Runs `work`, which writes to the terminal, with the bar hidden.
pub(crate) fn beside_bar<T>(work: impl FnOnce() -> T) -> T {
    match on_terminal().as_ref() {
        Some(bar) => bar.suspend(work),
        None => work(),
    }
}

/// Runs `work`, which ends the program, with the bar removed.
pub(crate) fn after_bar<T>(work: impl FnOnce() -> T) -> T {
    // While this is held no other bar appears.
    let mut shown = on_terminal();
    if let Some(bar) = shown.take() {
        bar.finish_and_clear();
    }
    work()
}

fn on_terminal() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A progress bar on standard error, if that is a terminal and the work takes long.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether it may be shown and is not yet.
    waiting: AtomicBool,
}

impl Progress {
    /// The progress of `steps` steps of work.
    pub(crate) fn new(steps: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, waiting: AtomicBool::new(std::io::stderr().is_terminal()) }
    }

    /// The same with `label` before the bar, which says what the work is; [`Progress::relabel`] changes it.
    pub(crate) fn labelled(steps: u64, label: &str) -> Progress {
        let progress = Progress::new(steps);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %, {eta} left");
        progress.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        progress.relabel(label);
        progress
    }

    /// Changes the label.
    pub(crate) fn relabel(&self, label: &str) {
        self.bar.set_message(visible(label).into_owned());
    }

    /// This many more steps are done.
    pub(crate) fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        let due = self.waiting.load(Ordering::Relaxed) && self.bar.elapsed() > PATIENCE;
        if due && self.waiting.swap(false, Ordering::Relaxed) {
            shown(&self.bar);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        take_away(&self.bar);
    }
}

/// The progress of a hardening: "hardening, generation 7 of 20", with the name of the table if there are several.
pub(crate) struct HardeningProgress<'a> {
    progress: Progress,
    tables: &'a [String],
    generations: usize,
}

impl<'a> HardeningProgress<'a> {
    /// That of the tables with these names, in up to so many generations each.
    pub(crate) fn new(tables: &'a [String], generations: usize) -> HardeningProgress<'a> {
        let progress = Progress::labelled((generations * tables.len()) as u64, "hardening");
        HardeningProgress { progress, tables, generations }
    }

    /// A generation has been tried.
    pub(crate) fn tried(&self, tried: HardeningStep) {
        let name = match self.tables {
            [_] => String::new(),
            tables => format!(" {}", tables[tried.table]),
        };
        let next = (tried.generations + 1).min(self.generations);
        self.progress
            .relabel(&format!("hardening{name}, generation {next} of {}", self.generations));
        self.progress.advance(1);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }
}
