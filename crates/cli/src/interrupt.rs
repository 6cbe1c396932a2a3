//! What happens when the user interrupts: nothing is left half written.

use crate::codes::INTERRUPTED;
use crate::progress;
use crate::shell::note;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Files that are to be removed when the program ends before its time.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether the first interrupt only asks, and whether it has.
static HEEDED: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the command itself answers interrupts.
static HANDED_OVER: AtomicBool = AtomicBool::new(false);

/// An interrupt so soon after another is the same: some programs pass it on to those they started, who have
/// it from the terminal already.
pub(crate) const SAME: Duration = Duration::from_millis(500);

/// Answers interrupts from now on.
pub(crate) fn watch() {
    // Where the system refuses, an interrupt ends the program all the same, if less tidily.
    let _ = ctrlc::set_handler(|| {
        if HANDED_OVER.load(Ordering::SeqCst) {
            return;
        }
        if HEEDED.load(Ordering::SeqCst) && is_first() {
            return;
        }
        let unfinished = unfinished();
        for path in unfinished.iter() {
            // It may be complete by now, and have another name.
            let _ = std::fs::remove_file(path);
        }
        progress::after_bar(|| std::process::exit(i32::from(INTERRUPTED)));
    });
}

/// Whether an interrupt is the first, or the [`SAME`].
#[expect(
    clippy::disallowed_methods,
    reason = "it tells interrupts apart, and no result depends on it"
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

/// From now on the first interrupt only asks, see [`asked`]; the second ends the program.
pub(crate) fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// From now on an interrupt ends the program again.
pub(crate) fn heed_no_more() {
    HEEDED.store(false, Ordering::SeqCst);
}

/// From now on the command answers interrupts itself: nothing is done about them here.
#[cfg(target_os = "linux")]
pub(crate) fn hand_over() {
    HANDED_OVER.store(true, Ordering::SeqCst);
}

/// Whether the user has interrupted what [`heed`]s it.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Makes something of files, and removes those that `paths` tells if the program is interrupted.
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

/// Does `work`, which is short, before any interrupt takes effect.
pub(crate) fn shielded<T>(work: impl FnOnce() -> T) -> T {
    let _guard = unfinished();
    work()
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
