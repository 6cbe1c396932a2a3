//! Computations without the GIL, which Ctrl-C ends.

use crate::controller::Stop;
use crate::error::error;
use pyo3::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often signals are looked for.
const PERIOD: Duration = Duration::from_millis(10);

/// What unwinds a computation that was asked to stop.
struct Stopped;

/// Ends the computation if `stop` says so. To be called after each simulation, as the library's searches do.
pub(crate) fn heed(stop: &Stop) {
    if stop.is_stopped() {
        // It reports nothing, other than a panic.
        resume_unwind(Box::new(Stopped));
    }
}

/// How much of a computation is done.
pub(crate) struct Progress {
    done: AtomicU64,
    total: u64,
}

impl Progress {
    /// That of `total` parts, of which none is done.
    pub(crate) fn of(total: u64) -> Arc<Progress> {
        Arc::new(Progress { done: AtomicU64::new(0), total })
    }

    /// So many more parts are done.
    pub(crate) fn advance(&self, parts: u64) {
        self.done.fetch_add(parts, Ordering::Relaxed);
    }

    /// The part that is done, from 0 to 1.
    fn part(&self) -> f64 {
        (self.done.load(Ordering::Relaxed) as f64 / self.total.max(1) as f64).min(1.0)
    }
}

/// As [`interruptible`], and calls `shown`, if there is one, with the part of the work that is done, from 0 to 1.
///
/// # Errors
/// Those of [`interruptible`], and what `shown` raises, which ends the work.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    (stop, calls_python): (&Arc<Stop>, bool),
    (progress, shown): (&Progress, Option<&Py<PyAny>>),
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let mut last = 0.0;
    let show = |py: Python<'_>| -> PyResult<()> {
        let part = progress.part();
        match shown {
            Some(shown) if part > last => {
                last = part;
                shown.call1(py, (part,)).map(drop)
            }
            _ => Ok(()),
        }
    };
    let result = supervised(py, stop, calls_python, show, work)?;
    if let Some(shown) = shown {
        shown.call1(py, (1.0,))?;
    }
    Ok(result)
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
    supervised(py, stop, calls_python, |_| Ok(()), work)
}

/// As [`interruptible`]; an error of `look`, which is called about every [`PERIOD`], ends the work as an interrupt
/// does.
fn supervised<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<Stop>,
    calls_python: bool,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
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
        if let Err(interrupt) = py.check_signals().and_then(|()| look(py)) {
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

/// Runs `work` on so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|problem| no_threads(&problem))?;
    Ok(pool.install(work))
}

/// Runs `work` on threads that stay attached to the interpreter between calls: to attach a thread anew costs 10 us,
/// several times as much as a controller's method.
fn on_attached_threads<T: Send>(work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let built = ThreadPoolBuilder::new().build_scoped(
        |thread| Python::attach(|py| py.detach(|| thread.run())),
        |pool| pool.install(work),
    );
    built.map_err(|problem| no_threads(&problem))?
}

fn no_threads(problem: &ThreadPoolBuildError) -> PyErr {
    error(format!("cannot start threads: {problem}"))
}
