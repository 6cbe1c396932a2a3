//! [`Namespace`]: network namespaces, and the settings under `/proc/sys/net`.

use crate::remedy::setting_remedy;
use crate::sys;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

/// A reference to a network namespace. The kernel removes the namespace with its devices once all references
/// are dropped and no thread, process or socket is in it.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Creates a namespace that contains only a loopback device, which is down.
    ///
    /// # Errors
    /// This process lacks the privileges; see [`Rights`](crate::Rights).
    pub fn new() -> io::Result<Namespace> {
        on_a_thread(|| {
            sys::unshare(UnshareFlags::NEWNET)?;
            Namespace::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn current() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(Namespace)
    }

    /// The namespace at `path`, which is one of [`Namespace::path`] or in `/run/netns`, where `ip netns add`
    /// creates them.
    ///
    /// # Errors
    /// There is no such file.
    pub fn at(path: &Path) -> io::Result<Namespace> {
        File::open(path).map(Namespace)
    }

    /// Runs `work` in this namespace, on a thread of its own; the caller's namespace does not change. Devices
    /// and sockets belong to the namespace in which they are created, whichever thread uses them later.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` fails.
    pub fn run<T: Send, E: From<io::Error> + Send>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread into this namespace permanently.
    ///
    /// # Errors
    /// This process lacks the privileges.
    pub fn enter(&self) -> io::Result<()> {
        enter_network(self.as_fd())
    }

    /// A duplicate of its file descriptor.
    pub(crate) fn fd(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }

    /// Its path for other programs while this process lives, as `--netns` of `pasta` and `nsenter --net=`
    /// take it.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the sysctl `net.NAME` of the calling thread's network namespace. `name` is a path such as
/// `ipv4/tcp_ecn`.
///
/// # Errors
/// There is no such setting, or the value is not allowed; the error names the file.
pub fn set_net_sysctl(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{name}");
    fs::write(&path, value).map_err(|error| {
        let remedy = setting_remedy(&error);
        io::Error::new(error.kind(), format!("{path} cannot be set to {value}: {error}{remedy}"))
    })
}

/// Reads the sysctl that [`set_net_sysctl`] sets, without the line break.
///
/// # Errors
/// There is no such setting; the error names the file.
pub fn read_net_sysctl(name: &str) -> io::Result<String> {
    let path = format!("/proc/sys/net/{name}");
    let text = fs::read_to_string(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} cannot be read: {error}")))?;
    Ok(text.trim_end().to_owned())
}

/// Moves the calling thread into the network namespace `namespace`.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

/// Runs `work` on a new thread. Namespaces are per thread, so that of the caller does not change.
fn on_a_thread<T: Send, E: Send>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
