//! [`Rights`]: the privileges to create devices and namespaces, as root or in a user namespace.

use crate::sys;
use rustix::process::{getegid, geteuid, setpriority_process};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::io;

/// The user and group of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user ID.
    pub user: u32,
    /// The group ID.
    pub group: u32,
}

impl Identity {
    /// Those of this process.
    pub fn current() -> Identity {
        Identity { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// The privileges by which this process may create devices and namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It is root, or has root's capabilities.
    Root,
    /// It is root only in a user namespace of its own; the identity is the one that it had before. It
    /// controls the network namespaces that it creates, but not the machine's own.
    OwnNamespace(Identity),
}

/// Why privileges cannot be acquired.
#[derive(Debug, thiserror::Error)]
pub enum RightsError {
    /// The system does not let users create namespaces.
    #[error(
        "this user may not create namespaces ({0}): run it as root, or have the system allow it \
         (sysctl kernel.unprivileged_userns_clone=1, or \
         kernel.apparmor_restrict_unprivileged_userns=0, or user.max_user_namespaces above 0)"
    )]
    Refused(io::Error),
    /// A user namespace was created, but cannot be set up.
    #[error("the user namespace cannot be set up: {what}: {source}")]
    SetUp {
        /// The file that cannot be written.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Rights {
    /// Acquires privileges: root's if the process has them, otherwise those of a new user namespace, which
    /// the process enters permanently.
    ///
    /// A process that is not root must call this before it starts its first thread.
    ///
    /// # Errors
    /// User namespaces are not allowed, or the process has threads already.
    pub fn acquire() -> Result<Rights, RightsError> {
        if has_capabilities() {
            return Ok(Rights::Root);
        }
        let identity = Identity::current();
        sys::unshare(UnshareFlags::NEWUSER).map_err(RightsError::Refused)?;
        write_id_maps(identity, Identity { user: 0, group: 0 })?;
        Ok(Rights::OwnNamespace(identity))
    }

    /// Whether the process is privileged already, so that [`Rights::acquire`] changes nothing.
    pub fn already_held() -> bool {
        has_capabilities()
    }
}

/// Whether this thread has the capabilities to administer networks and to create namespaces.
fn has_capabilities() -> bool {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Maps `outside`, the identity of this process before it created its user namespace, to `inside`.
fn write_id_maps(outside: Identity, inside: Identity) -> Result<(), RightsError> {
    let write = |what, text: String| {
        fs::write(what, text).map_err(|source| RightsError::SetUp { what, source })
    };
    // An unprivileged process may map only itself, and must give up setgroups(2) first.
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/gid_map", format!("{} {} 1", inside.group, outside.group))?;
    write("/proc/self/uid_map", format!("{} {} 1", inside.user, outside.user))
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`) if that is allowed, and otherwise a nice value
/// of -20. Its child processes inherit neither. Returns whether it has real-time priority.
///
/// A busy real-time thread starves all others on its CPU, so a thread whose load remote hosts control
/// should not have it.
pub fn set_realtime_priority() -> bool {
    if sys::set_fifo_priority(1).is_ok() {
        return true;
    }
    let _ = setpriority_process(None, -20);
    false
}
