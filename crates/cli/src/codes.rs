//! The exit codes of the program.

#[cfg(target_os = "linux")]
use exm_datagram::KeyError;
#[cfg(target_os = "linux")]
use exm_emulator::ScheduleError;
#[cfg(target_os = "linux")]
use exm_endpoint::OpenError;
use exm_experiment::{PlanError, ResultsError, ShowError, TracesError};
use exm_grammar::FileError;
#[cfg(target_os = "linux")]
use exm_kernel::KernelError;
#[cfg(target_os = "linux")]
use exm_saturator::net::NetError;
use exm_table::LoadError;
use exm_trace::TraceError;
use std::error::Error;
use std::io;

/// The work failed.
pub(crate) const FAILED: u8 = 1;
/// The request is invalid: something is unknown, missing or impossible.
pub(crate) const USAGE: u8 = 2;
/// `exm table check`: the table collapses near its model.
pub(crate) const COLLAPSES: u8 = 3;
/// The user interrupted it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The codes, as `exm --help` and the README list them.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    the work is done
  1    it failed
  2    usage error: an unknown option, value or name, or an input file that does
       not exist; also for the contents of a scenario, experiment or model
  130  interrupted
Commands with other codes list them in their help.";

/// The exit code after `error`.
pub(crate) fn of(error: &(dyn Error + 'static)) -> u8 {
    if is_usage(error) { USAGE } else { FAILED }
}

/// Whether `error` is in the request: in a file that describes a network, or a file to read that does
/// not exist.
fn is_usage(error: &(dyn Error + 'static)) -> bool {
    error.is::<FileError>()
        || error.is::<PlanError>()
        || matches!(error.downcast_ref(), Some(TracesError::NoPair { .. } | TracesError::Count(_)))
        || is_of_no_key(error)
        || is_of_no_device(error)
        || is_of_no_name(error)
        || of_reading(error).is_some_and(is_absent)
}

/// Whether `error` is a name that the kernel does not know or take.
fn is_of_no_name(error: &(dyn Error + 'static)) -> bool {
    #[cfg(target_os = "linux")]
    return matches!(
        error.downcast_ref(),
        Some(KernelError::Name(_) | KernelError::Taken(_) | KernelError::Unknown(_))
    );
    #[cfg(not(target_os = "linux"))]
    {
        let _ = error;
        false
    }
}

/// Whether `error` is a missing environment variable of the key.
fn is_of_no_key(error: &(dyn Error + 'static)) -> bool {
    #[cfg(target_os = "linux")]
    return matches!(error.downcast_ref(), Some(KeyError::Unset { .. }));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = error;
        false
    }
}

/// Whether `error` is a missing network device.
fn is_of_no_device(error: &(dyn Error + 'static)) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// Linux's error for a missing device.
        const ENODEV: i32 = 19;
        let Some(NetError::Interface(OpenError::Socket { source, .. })) = error.downcast_ref()
        else {
            return false;
        };
        source.raw_os_error() == Some(ENODEV)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = error;
        false
    }
}

/// The system's error about a file to read, if `error` is one.
fn of_reading<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    if let Some(LoadError::Read { source, .. }) = error.downcast_ref() {
        return Some(source);
    }
    if let Some(TraceError::Read { source, .. }) = error.downcast_ref() {
        return Some(source);
    }
    if let Some(TracesError::Read { source, .. }) = error.downcast_ref() {
        return Some(source);
    }
    if let Some(ResultsError::Read { source, .. }) = error.downcast_ref() {
        return Some(source);
    }
    if let Some(ShowError::Results(ResultsError::Read { source, .. })) = error.downcast_ref() {
        return Some(source);
    }
    #[cfg(target_os = "linux")]
    {
        if let Some(ScheduleError::Read { source, .. }) = error.downcast_ref() {
            return Some(source);
        }
        if let Some(KeyError::Read { source, .. }) = error.downcast_ref() {
            return Some(source);
        }
    }
    None
}

/// The exit code if a requested file cannot be read because of `error`.
pub(crate) fn of_input(error: &io::Error) -> u8 {
    if is_absent(error) { USAGE } else { FAILED }
}

/// Whether the system reported that something does not exist.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
