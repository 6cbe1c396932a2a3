//! [`Rights`]: being allowed to make devices and namespaces, as root or without.

use crate::sys;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::io;

/// Who a process is to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

impl Identity {
    /// Who this process is.
    pub fn current() -> Identity {
        Identity { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// By what right this process may make devices and namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It is root, or has root's capabilities.
    Root,
    /// It is root only within a user namespace of its own, where it was somebody else before. It may
    /// do as it likes in network namespaces that it makes, and nothing to the machine's own.
    OwnNamespace(Identity),
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum RightsError {
    /// The system does not let users make namespaces.
    #[error(
        "this user may make no namespaces ({0}): run it as root, or have the system allow it \
         (sysctl kernel.unprivileged_userns_clone=1, or \
         kernel.apparmor_restrict_unprivileged_userns=0, or user.max_user_namespaces above 0)"
    )]
    Refused(io::Error),
    /// A user namespace was made, but it cannot be worked in.
    #[error("the user namespace cannot be set up: {what}: {source}")]
    SetUp {
        /// The file that cannot be written.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Rights {
    /// Takes the rights there are: root's or, where this process is not root, those of a user
    /// namespace of its own, which it enters for good.
    ///
    /// Without root's rights it must be called before the process starts its first thread.
    ///
    /// # Errors
    /// The process may not, or has threads already.
    pub fn take() -> Result<Rights, RightsError> {
        if has_capabilities() {
            return Ok(Rights::Root);
        }
        let identity = Identity::current();
        unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| RightsError::Refused(error.into()))?;
        become_in_new_namespace(identity, Identity { user: 0, group: 0 })?;
        Ok(Rights::OwnNamespace(identity))
    }

    /// Whether the process has rights already, so that [`Rights::take`] would change nothing.
    pub fn are_there() -> bool {
        has_capabilities()
    }
}

/// Whether this process has the two capabilities that matter: to administer networks, and to make
/// namespaces.
fn has_capabilities() -> bool {
    const NET_ADMIN: u32 = 12;
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    [NET_ADMIN, SYS_ADMIN].iter().all(|capability| effective >> capability & 1 == 1)
}

/// Has the process, which was `outside` before it made the user namespace it is in, be `inside` there.
fn become_in_new_namespace(outside: Identity, inside: Identity) -> Result<(), RightsError> {
    let write = |what, text: String| {
        fs::write(what, text).map_err(|source| RightsError::SetUp { what, source })
    };
    // Without root's rights a process may map only itself, and only once it may not drop groups.
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/gid_map", format!("{} {} 1", inside.group, outside.group))?;
    write("/proc/self/uid_map", format!("{} {} 1", inside.user, outside.user))
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`) where that is allowed, and otherwise the
/// largest share of the processor (a nice value of -20). What it starts has neither. Returns whether
/// it has real-time priority.
///
/// A thread with real-time priority takes a whole processor if it has enough to do: none should have it
/// whose work strangers can make by sending packets.
pub fn set_realtime_priority() -> bool {
    if sys::be_urgent(1).is_ok() {
        return true;
    }
    let _ = sys::be_nice(-20);
    false
}
