//! Files written completely or not at all.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Writes `bytes` to the file at `path` atomically: at every moment the file has either all of its
/// old contents or all of `bytes`. A new file beside it is written, synced and renamed. A symbolic
/// link is followed; anything but a regular file, such as a pipe, is written to directly.
///
/// # Errors
/// Those of the system; the old file is then unchanged, and no other is left beside it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = PartialFile::create(path)?;
    file.file().write_all(bytes)?;
    file.commit()
}

/// A file being written, under a preliminary name beside its final one.
///
/// [`PartialFile::commit`] gives it the final name. If it is dropped before that, it is removed, and
/// the old file stays unchanged.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    file: File,
    /// The preliminary name; none if `path` is not a regular file and is written to directly.
    partial: Option<PathBuf>,
    /// The permissions of the file that will be replaced.
    permissions: Option<Permissions>,
}

impl PartialFile {
    /// Creates the file that will be at `path`. A symbolic link is followed; anything but a regular
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

    /// The path of the file until it is committed; none if it is written to directly. A program that
    /// exits without dropping its files must remove it.
    pub fn partial_path(&self) -> Option<&Path> {
        self.partial.as_deref()
    }

    /// Syncs the file and gives it its final name.
    ///
    /// # Errors
    /// Those of the system; the old file is then unchanged.
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
            // The error to report is the one that prevented the commit, not this one.
            let _ = fs::remove_file(partial);
        }
    }
}

/// A new file beside `path`: its name, the process ID, a counter and `.partial`. Such files left by
/// killed processes are removed.
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
            // Left by a killed process with the same ID.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The minimum age at which a partial file of another process is removed: the ID of a process in
/// another container is unknown here, and it may still be writing.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes the files that [`beside`] made for `path`, whose file is called `name`, if their processes
/// no longer run and they are [`ABANDONED`] or more older than `new`. A file for which this cannot be
/// determined, or that cannot be removed, stays.
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
