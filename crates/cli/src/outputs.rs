//! The files that commands write: which may be written, and how.

use crate::interrupt;
use crate::shell::Failure;
use exm_remy::file::{self, write_atomically};
use std::path::Path;

/// Refuses to write `path` where something would be lost, see [`file::check_output`]: `others` are
/// the files that the command reads or writes besides, `force` is its `--force`.
pub(crate) fn check_output(path: &Path, others: &[&Path], force: bool) -> Result<(), Failure> {
    file::check_output(path, others, force).map_err(|error| {
        let tip = if error.can_be_forced() {
            "give --force to overwrite it"
        } else {
            "name another file"
        };
        Failure::from(error).with_tip(tip)
    })
}

/// Writes a whole file or none, whatever the user interrupts.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    interrupt::shielded(|| write_atomically(path, bytes))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
