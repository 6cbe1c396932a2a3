//! Files written whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Writes `bytes` to the file at `path` so that at every moment it holds either all of what it
/// held before or all of `bytes`: a new file beside it is written, forced to disk and renamed.
/// A symbolic link is followed; what is no regular file, such as a pipe, is written to directly.
///
/// # Errors
/// Those of the system; the file is then as it was, and nothing is left beside it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = PartialFile::create(path)?;
    file.file().write_all(bytes)?;
    file.commit()
}

/// A file that is being written, under a preliminary name beside the one that it will have.
///
/// [`PartialFile::commit`] gives it that name. One that is dropped before is removed, and the file
/// that was there stays as it is.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    file: File,
    /// The preliminary name; none where `path` is no regular file and is written to directly.
    partial: Option<PathBuf>,
    /// Those of the file that will be replaced.
    permissions: Option<Permissions>,
}

impl PartialFile {
    /// Creates the file that will be at `path`. A symbolic link is followed; what is no regular
    /// file, such as a pipe, is written to directly.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(path: &Path) -> io::Result<PartialFile> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let old = fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            let file = OpenOptions::new().write(true).open(&path)?;
            return Ok(PartialFile { path, file, partial: None, permissions: None });
        }
        let (partial, file) = beside(&path)?;
        let permissions = old.map(|old| old.permissions());
        Ok(PartialFile { path, file, partial: Some(partial), permissions })
    }

    /// The file to write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where the file is until it is committed; none where it is written to directly. A program
    /// that ends without dropping its files has to remove it.
    pub fn partial_path(&self) -> Option<&Path> {
        self.partial.as_deref()
    }

    /// Forces what was written to disk and gives the file its name.
    ///
    /// # Errors
    /// Those of the system; the file that was there is then as it was.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(partial) = &self.partial else { return Ok(()) };
        if let Some(permissions) = self.permissions.take() {
            self.file.set_permissions(permissions)?;
        }
        self.file.sync_all()?;
        fs::rename(partial, &self.path)?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // Whatever kept it from being committed is the error to report, not this one.
            let _ = fs::remove_file(partial);
        }
    }
}

/// A new file beside `path`: its name, the number of this process, a counter and `.partial`. Those
/// that killed processes left there are removed.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    loop {
        let mut partial = name.to_owned();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        partial.push(format!(".{}-{count}.partial", std::process::id()));
        let beside = path.with_file_name(partial);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => {
                remove_abandoned(path, name, &file);
                return Ok((beside, file));
            }
            // Left there by a process of the same number that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// A partial file of another process is removed only when it is at least this old: a process in
/// another container has a number that is unknown here, and may be writing.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes the files that [`beside`] made for `path`, whose file is called `name`, in processes that
/// no longer run, [`ABANDONED`] or longer before it made `new`. Where that cannot be determined, or a
/// file cannot be removed, it stays.
fn remove_abandoned(path: &Path, name: &OsStr, new: &File) {
    let Ok(now) = new.metadata().and_then(|new| new.modified()) else { return };
    if !Path::new("/proc/self").exists() {
        return;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    let is_abandoned = |entry: &DirEntry| {
        let file = entry.file_name();
        let middle = file.as_encoded_bytes().strip_prefix(name.as_encoded_bytes())?;
        let middle = middle.strip_prefix(b".")?.strip_suffix(b".partial")?;
        let (process, count) = std::str::from_utf8(middle).ok()?.split_once('-')?;
        let (process, _) = (process.parse::<u32>().ok()?, count.parse::<u64>().ok()?);
        let age = now.duration_since(entry.metadata().ok()?.modified().ok()?).ok()?;
        Some(age >= ABANDONED && !Path::new("/proc").join(process.to_string()).exists())
    };
    for entry in entries.flatten().filter(|entry| is_abandoned(entry) == Some(true)) {
        let _ = fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests;
