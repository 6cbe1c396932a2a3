//! Output files: which may be written, and how.

use crate::shell::{Failure, write_out};
use crate::{interrupt, outside};
use exm_qlog::Form;
use exm_store::write_atomically;
use std::path::Path;

/// Whether `output` is standard output, written `-`. Summaries are then left out.
pub(crate) fn is_stdout(output: &Path) -> bool {
    output == Path::new("-")
}

/// As [`check_output`], for a command's only output, which may be standard output.
pub(crate) fn check_only_output(path: &Path, others: &[&Path], force: bool) -> Result<(), Failure> {
    if is_stdout(path) { Ok(()) } else { check_output(path, others, force) }
}

/// Writes `bytes` to the file or to standard output.
pub(crate) fn write_output(output: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if is_stdout(output) { write_out(bytes) } else { write_file(output, bytes) }
}

/// Rejects writing `path` if something would be lost, see [`exm_store::check_output`]: `others` are the
/// command's inputs and other outputs, `force` is its `--force`.
pub(crate) fn check_output(path: &Path, others: &[&Path], force: bool) -> Result<(), Failure> {
    if is_stdout(path) {
        let problem = "this cannot be written to the standard output: name a file";
        return Err(Failure::usage(problem).with_tip("a file of this name is written ./-"));
    }
    exm_store::check_output(path, others, force).map_err(|error| {
        let tip = if error.can_be_forced() {
            "give --force to overwrite it"
        } else {
            "name another file"
        };
        Failure::from(error).with_tip(tip)
    })
}

/// Writes a file completely or not at all, also if the user interrupts.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    outside::check()?;
    interrupt::shielded(|| write_atomically(path, bytes))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// The form of a qlog.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum QlogForm {
    /// That of the present drafts
    Current,
    /// Version 0.3, which the viewer qvis reads
    #[value(name = "0.3")]
    Older,
}

impl From<QlogForm> for Form {
    fn from(form: QlogForm) -> Form {
        match form {
            QlogForm::Current => Form::Current,
            QlogForm::Older => Form::Older,
        }
    }
}
