//! [`Namespace`]: a network of its own, for threads that enter it.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::thread;

/// A network namespace, and what holds it: when it is dropped and no thread or socket is in it any
/// more, it is gone.
#[derive(Debug)]
pub(crate) struct Namespace(File);

impl Namespace {
    /// A new one, with nothing in it.
    ///
    /// # Errors
    /// Where this process may not make any.
    pub(crate) fn new() -> io::Result<Namespace> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net").map(Namespace)
        })
    }

    /// Does `work` inside, on a thread of its own.
    ///
    /// # Errors
    /// Where the namespace cannot be entered, or what `work` gives.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread inside, for the rest of its life.
    ///
    /// # Errors
    /// Where this process may not.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }
}

/// Threads change namespaces one by one, so the caller's own stays what it is.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
