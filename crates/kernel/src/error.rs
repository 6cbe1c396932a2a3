//! [`KernelError`]: why the kernel does not run a table.

use crate::image::TooLarge;
use exm_remy::fixed::FixedError;
use std::fs;
use std::io;

/// The first kernel with links for operations of congestion control.
const OLDEST: (u32, u32) = (6, 4);

/// The error for missing rights.
const EPERM: i32 = 1;

/// Why the kernel does not run a table, or tells nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The table has no form in integers.
    #[error(transparent)]
    Table(#[from] FixedError),
    /// The table is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A name that the kernel does not take.
    #[error("'{0}' is no name for a congestion control: it takes 1 to 15 letters, digits or '_'")]
    Name(String),
    /// The name is in use.
    #[error(
        "the kernel has a congestion control called '{0}': choose another name, or unload that one"
    )]
    Taken(String),
    /// Nothing of that name was loaded.
    #[error("no RemyCC called '{0}' is in the kernel: exm kernel list shows those that are")]
    Unknown(String),
    /// The kernel has no type information.
    #[error(
        "this kernel does not say how its structures look (no /sys/kernel/btf/vmlinux): it takes one \
         that was built with CONFIG_DEBUG_INFO_BTF, as those of Debian, Ubuntu, Fedora and Arch are"
    )]
    NoTypes,
    /// The kernel is too old.
    #[error(
        "this kernel is Linux {0}: it takes 6.4, the first that lets congestion control be loaded and taken away"
    )]
    Old(String),
    /// The kernel was built without something.
    #[error(
        "this kernel has no {0}: it was built without BPF congestion control (CONFIG_BPF_JIT, CONFIG_NET)"
    )]
    Missing(&'static str),
    /// Rights are missing.
    #[error("{what} is not allowed: it takes the capabilities {needed}, so run it as root")]
    Rights {
        /// What was tried.
        what: &'static str,
        /// The capabilities.
        needed: &'static str,
    },
    /// The kernel is locked down.
    #[error(
        "{0} is not allowed: the kernel is locked down (/sys/kernel/security/lockdown says confidentiality)"
    )]
    Lockdown(&'static str),
    /// The system's error.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl KernelError {
    /// Whether it is for want of rights, or of what the kernel has, that no table runs here.
    pub fn is_of_the_machine(&self) -> bool {
        use KernelError::{Lockdown, Missing, NoTypes, Old, Rights};
        matches!(self, NoTypes | Old(_) | Missing(_) | Rights { .. } | Lockdown(_))
    }
}

/// The error of the system in trying `what`, with the way out where it is known.
pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> KernelError {
    move |source| {
        if source.raw_os_error() != Some(EPERM) {
            return KernelError::System { what, source };
        }
        let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
        if lockdown.contains("[confidentiality]") {
            return KernelError::Lockdown(what);
        }
        let needed =
            "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and, to find what others loaded, CAP_SYS_ADMIN";
        KernelError::Rights { what, needed }
    }
}

/// An error if this kernel is older than the first that can.
pub(crate) fn check_version() -> Result<(), KernelError> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < OLDEST => {
            Err(KernelError::Old(release))
        }
        _ => Ok(()),
    }
}
