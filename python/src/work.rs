//! Computations without the GIL, which Ctrl-C ends.

use crate::controller::Stop;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often signals are looked for.
const PERIOD: Duration = Duration::from_millis(20);

/// What unwinds a computation that was asked to stop.
struct Stopped;

/// Ends the computation if `stop` says so. To be called after each simulation, as the library's searches do.
pub(crate) fn heed(stop: &Stop) {
    if stop.is_stopped() {
        // It reports nothing, other than a panic.
        resume_unwind(Box::new(Stopped));
    }
}

/// The result of `work` in a thread of its own. An interrupt is raised here at once; the thread then ends at its
/// next simulation, where it calls [`heed`]. `calls_python` is whether controllers are written in Python.
///
/// # Errors
/// The exception of a controller, an interrupt, or what else a signal raises.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<Stop>,
    calls_python: bool,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    thread::spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| {
            if calls_python { on_attached_threads(work) } else { work() }
        }));
        // None receives it after an interrupt.
        let _ = sender.send(done);
    });
    loop {
        let (back, got) = py.detach(move || {
            let got = receiver.recv_timeout(PERIOD);
            (receiver, got)
        });
        receiver = back;
        if let Err(interrupt) = py.check_signals() {
            stop.stop();
            return Err(interrupt);
        }
        match got {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
            Ok(Ok(result)) => {
                stop.check()?;
                return result;
            }
            Ok(Err(payload)) => {
                stop.check()?;
                resume_unwind(payload);
            }
        }
    }
}

/// Runs `work` on threads that stay attached to the interpreter between calls: to attach a thread anew costs 10 us,
/// several times as much as a controller's method.
fn on_attached_threads<T: Send>(work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let built = ThreadPoolBuilder::new().build_scoped(
        |thread| Python::attach(|py| py.detach(|| thread.run())),
        |pool| pool.install(work),
    );
    built.map_err(|problem| crate::error::error(format!("cannot start threads: {problem}")))?
}
