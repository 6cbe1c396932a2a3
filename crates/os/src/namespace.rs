//! [`Namespace`]: a network of its own, for threads and programs that enter it.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

/// A network namespace, and what holds it: when it is dropped and no thread, program or socket is in
/// it any more, it is gone with all that was in it.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new one, with nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// Where this process may not make any; see [`Rights`](crate::Rights).
    pub fn new() -> io::Result<Namespace> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Namespace::current()
        })
    }

    /// The one that the calling thread is in.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn current() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(Namespace)
    }

    /// The one that is found at `path`: what [`Namespace::path`] tells, or `ip netns add` makes in
    /// `/run/netns`.
    ///
    /// # Errors
    /// There is nothing there.
    pub fn at(path: &Path) -> io::Result<Namespace> {
        File::open(path).map(Namespace)
    }

    /// Does `work` inside, on a thread of its own: the caller stays where it is. Devices and sockets
    /// belong to the network in which they were made, whoever uses them later.
    ///
    /// # Errors
    /// The namespace cannot be entered, or what `work` gives.
    pub fn run<T: Send, E: From<io::Error> + Send>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread inside, for the rest of its life.
    ///
    /// # Errors
    /// Where this process may not.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// A file descriptor of its own for whoever enters it later.
    pub(crate) fn fd(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }

    /// Where other programs find it as long as this process lives: what `--netns` of `pasta` and
    /// `nsenter --net=` take.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets what the kernel calls `net.NAME`, its name in the form `ipv4/tcp_ecn`, of the network that
/// this thread is in.
///
/// # Errors
/// There is no such setting, or it cannot have that value; the error names it.
pub fn set_net(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{name}");
    fs::write(&path, value).map_err(|error| {
        io::Error::new(error.kind(), format!("{path} cannot be set to {value}: {error}"))
    })
}

/// Reads what [`set_net`] sets, without the end of the line.
///
/// # Errors
/// There is no such setting; the error names it.
pub fn read_net(name: &str) -> io::Result<String> {
    let path = format!("/proc/sys/net/{name}");
    let text = fs::read_to_string(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} cannot be read: {error}")))?;
    Ok(text.trim_end().to_owned())
}

/// Threads change namespaces one by one, so the caller's own stays what it is.
fn on_a_thread<T: Send, E: Send>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
