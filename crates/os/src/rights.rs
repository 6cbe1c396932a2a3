//! [`Rights`]: the privileges to create devices and namespaces, as root or in a user namespace.

use crate::remedy::namespace_remedy;
use crate::sys;
use rustix::process::{
    DumpableBehavior, getegid, geteuid, set_dumpable_behavior, setpriority_process,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, set_capabilities, set_no_new_privs,
};
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
    #[error("this user may not create namespaces ({0}): {remedy}", remedy = namespace_remedy())]
    Refused(io::Error),
    /// A user namespace was created, but cannot be set up.
    #[error("the user namespace cannot be set up: {what}: {source}; {}", namespace_remedy())]
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

    /// Gives up all capabilities but those to administer networks and to open raw sockets (`CAP_NET_ADMIN` and
    /// `CAP_NET_RAW`), for the calling thread and all threads and programs that it starts; those cannot regain
    /// any, not even as root (`PR_SET_NO_NEW_PRIVS`).
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn keep_network_only() -> io::Result<()> {
        Rights::keep(CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW)
    }

    /// The same, and keeps the right to read all files (`CAP_DAC_READ_SEARCH`): for a process that reads a file
    /// again which may belong to another user.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn keep_network_and_reading() -> io::Result<()> {
        let network = CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
        Rights::keep(network | CapabilitySet::DAC_READ_SEARCH)
    }

    /// Gives up all capabilities but `kept`.
    fn keep(kept: CapabilitySet) -> io::Result<()> {
        let held = capabilities(None)?;
        set_no_new_privs(true)?;
        let (effective, permitted) = (held.effective & kept, held.permitted & kept);
        let inheritable = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
        Ok(())
    }

    /// Whether the process may administer the network that it is in (`CAP_NET_ADMIN`).
    pub fn has_network() -> bool {
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::NET_ADMIN))
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

/// Gives back the memory of code and constants that were only needed so far: for small programs in a large one, before they
/// begin to work for long. What is needed later comes back.
pub fn release_code() {
    // Without it, nothing is different but the memory.
    let _ = sys::release_code();
}

/// No memory of this process is dumped when it crashes, and other programs of its user cannot read it (`PR_SET_DUMPABLE`,
/// prctl(2)): it holds keys. Programs that it starts are not affected.
pub fn keep_memory_private() {
    // The keys are as safe as elsewhere if the kernel refuses.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn programs_started_later_have_network_rights_only() {
        if !exm_testing::is_root() {
            return exm_testing::skip("without root privileges");
        }
        // The rights of a thread: other tests need theirs.
        let status = std::thread::spawn(|| {
            Rights::keep_network_only()?;
            Command::new("cat").arg("/proc/self/status").output()
        });
        let output = status.join().unwrap().unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        // The bits 12 and 13 (`capability.h`).
        for line in ["CapPrm:\t0000000000003000", "CapEff:\t0000000000003000", "NoNewPrivs:\t1"] {
            assert!(status.lines().any(|found| found == line), "{line}: {status}");
        }
    }
}
