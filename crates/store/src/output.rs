//! Which files a command may write: no existing file is lost without the user's consent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file may not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The file exists, and replacing it was not requested.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// A directory is never replaced by a file.
    #[error("{} is a folder, not a file", .0.display())]
    Folder(PathBuf),
    /// Devices and sockets are never written to, replaced or removed.
    #[error("{} is a device or a socket, not a regular file", .0.display())]
    Special(PathBuf),
    /// It is also another input or output of the command.
    #[error("{}", same_file(path, other))]
    InUse {
        /// The file.
        path: PathBuf,
        /// The same file under the other path that the command was given.
        other: PathBuf,
    },
}

/// States that `path` and `other`, which may be the same path, are one file.
fn same_file(path: &Path, other: &Path) -> String {
    match path == other {
        true => format!("{} is used twice", path.display()),
        false => format!("{} and {} are the same file", path.display(), other.display()),
    }
}

impl OutputError {
    /// Whether [`check_output`] with `replace` would have succeeded.
    pub fn can_be_forced(&self) -> bool {
        matches!(self, OutputError::Exists(_))
    }
}

/// Whether a command may write the file at `path`; to be checked before the work begins. Allowed are
/// a file that does not exist; a regular file if `replace` is set (the user's `--force`); and a
/// pipe, in which nothing is lost. Never a directory, a device, a socket, or one of `others`: the
/// command's inputs and other outputs. Symbolic links are followed, and a dangling one counts as
/// existing, since its target would be created.
///
/// # Errors
/// [`OutputError`] if it may not.
pub fn check_output(path: &Path, others: &[&Path], replace: bool) -> Result<(), OutputError> {
    if let Some(other) = others.iter().find(|other| is_same_file(path, other)) {
        return Err(OutputError::InUse { path: path.to_owned(), other: (*other).to_owned() });
    }
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => Err(OutputError::Folder(path.to_owned())),
        Ok(old) if is_pipe(&old) => Ok(()),
        Ok(old) if !old.is_file() => Err(OutputError::Special(path.to_owned())),
        _ if !replace => Err(OutputError::Exists(path.to_owned())),
        _ => Ok(()),
    }
}

/// Removes the file at `path`, which must be a regular file, or a symbolic link to one.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn remove_regular(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_file() {
        let error = OutputError::Special(path.to_owned());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    fs::remove_file(path)
}

/// Whether two paths lead to the same file, through any links, or would once it is created.
fn is_same_file(a: &Path, b: &Path) -> bool {
    resolved(a).is_some_and(|a| resolved(b).is_some_and(|b| a == b)) || is_hard_link(a, b)
}

/// The path of the file at `path`, or where it would be created.
fn resolved(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().or_else(|| {
        let folder = match path.parent()? {
            folder if folder.as_os_str().is_empty() => Path::new("."),
            folder => folder,
        };
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    })
}

#[cfg(unix)]
fn is_hard_link(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    inode(a).is_some_and(|a| inode(b) == Some(a))
}

#[cfg(not(unix))]
fn is_hard_link(_: &Path, _: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_pipe(file: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests;
