//! Interrupts by the user: no file is left half written.

use crate::codes::INTERRUPTED;
use crate::progress;
use crate::shell::note;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Files to remove if the program exits early.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether the first interrupt is only a request to stop, and whether it has happened.
static HEEDED: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the command handles interrupts itself.
static HANDED_OVER: AtomicBool = AtomicBool::new(false);

/// A second interrupt this soon after the first counts as the same: some programs forward it to their
/// children, which have received it from the terminal already.
pub(crate) const SAME: Duration = Duration::from_millis(500);

/// Installs the interrupt handler.
pub(crate) fn watch() {
    // If the system refuses, an interrupt ends the program anyway, without cleaning up.
    let _ = ctrlc::set_handler(|| {
        if HANDED_OVER.load(Ordering::SeqCst) {
            return;
        }
        if HEEDED.load(Ordering::SeqCst) && is_first() {
            return;
        }
        let unfinished = unfinished();
        for path in unfinished.iter() {
            // It may be complete by now, and have its final name.
            let _ = std::fs::remove_file(path);
        }
        progress::after_bar(|| std::process::exit(i32::from(INTERRUPTED)));
    });
}

/// Whether an interrupt is the first, or the [`SAME`].
#[expect(
    clippy::disallowed_methods,
    reason = "it distinguishes interrupts, and no result depends on it"
)]
fn is_first() -> bool {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = FIRST.get_or_init(Instant::now);
    if !ASKED.swap(true, Ordering::SeqCst) {
        progress::beside_bar(|| {
            note("ending after the present step; interrupt again to end at once");
        });
    }
    first.elapsed() < SAME
}

/// From now on the first interrupt only requests a stop, see [`asked`]; the second ends the program.
pub(crate) fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// From now on an interrupt ends the program again.
pub(crate) fn heed_no_more() {
    HEEDED.store(false, Ordering::SeqCst);
}

/// From now on the command handles interrupts itself: nothing is done here.
#[cfg(target_os = "linux")]
pub(crate) fn hand_over() {
    HANDED_OVER.store(true, Ordering::SeqCst);
}

/// Whether the user has interrupted a command that called [`heed`].
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Runs `make`, which creates files, and removes those that `paths` returns if the program is interrupted.
/// They may be finished or removed meanwhile.
pub(crate) fn remove_if_interrupted<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    paths: impl FnOnce(&T) -> Vec<PathBuf>,
) -> Result<T, E> {
    let mut unfinished = unfinished();
    let made = make()?;
    unfinished.extend(paths(&made));
    Ok(made)
}

/// Runs `work`, which is short, before any interrupt takes effect.
pub(crate) fn shielded<T>(work: impl FnOnce() -> T) -> T {
    let _guard = unfinished();
    work()
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
