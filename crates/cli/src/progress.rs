//! A bar that tells how far a long computation is and how long it will still take.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on the standard error, where that is a terminal and the work takes long.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether it may be shown and is not yet.
    waiting: AtomicBool,
}

impl Progress {
    /// The progress of work that takes `steps`.
    pub(crate) fn new(steps: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, waiting: AtomicBool::new(std::io::stderr().is_terminal()) }
    }

    /// So many steps more are done.
    pub(crate) fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        let due = self.waiting.load(Ordering::Relaxed) && self.bar.elapsed() > PATIENCE;
        if due && self.waiting.swap(false, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
