//! [`TableFile`]: a table and where it comes from, as a file; files written whole or not at all; and
//! which files may be written.

use crate::dna::{self, DnaError};
use crate::json::JsonError;
use crate::provenance::Provenance;
use crate::table::RuleTable;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod output;

pub use output::{OutputError, check_output, remove_regular};

/// A table and where it comes from.
///
/// Its own format is JSON, which keeps everything; Remy's `.dna` keeps the table alone.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// The table.
    pub table: RuleTable,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Why a file could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The system would not give its contents.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// More than [`dna::MAX_BYTES`].
    #[error("{} is larger than the {} bytes a table may have", path.display(), dna::MAX_BYTES)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a table of Remy's.
    #[error("{} is not a table in Remy's format: {source}", path.display())]
    Dna {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: DnaError,
    },
    /// The file is not a table in JSON.
    #[error("{} is not a table in JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: JsonError,
    },
    /// A JSON file with bytes that are no text.
    #[error("{} is not a table in JSON: byte {offset} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first such byte.
        offset: usize,
    },
}

/// Why a file could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// A name that tells no format.
    #[error("cannot tell the format of {}: end its name in .json, or in .dna for Remy's own", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The system would not take it. What stood in the file before still does.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    Dna,
}

impl Format {
    fn of_name(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "json" => Some(Format::Json),
            "dna" => Some(Format::Dna),
            _ => None,
        }
    }

    fn of_content(bytes: &[u8]) -> Format {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.trim_start().starts_with('{') => Format::Json,
            _ => Format::Dna,
        }
    }
}

impl TableFile {
    /// Reads a file: JSON or Remy's format by its name, `.json` or `.dna`, and else by its
    /// content.
    ///
    /// # Errors
    /// [`LoadError`], which names the file, the place and what is wrong there.
    pub fn load(path: impl AsRef<Path>) -> Result<TableFile, LoadError> {
        let path = path.as_ref();
        let bytes = read_bounded(path)?;
        let path = || path.to_owned();
        match Format::of_name(&path()).unwrap_or_else(|| Format::of_content(&bytes)) {
            Format::Json => {
                let text = std::str::from_utf8(&bytes).map_err(|error| LoadError::NotText {
                    path: path(),
                    offset: error.valid_up_to(),
                })?;
                TableFile::from_json(text)
                    .map_err(|source| LoadError::Json { path: path(), source })
            }
            Format::Dna => {
                let (table, layout) = dna::read_with_layout(&bytes)
                    .map_err(|source| LoadError::Dna { path: path(), source })?;
                let provenance = Provenance { remy_file: Some(layout), ..Provenance::default() };
                Ok(TableFile { table, provenance })
            }
        }
    }

    /// Writes a file, JSON or Remy's format by its name, whole or not at all. Remy's format keeps
    /// of the provenance only [`Provenance::remy_file`].
    ///
    /// # Errors
    /// [`SaveError`] where the name tells no format or the system refuses; the file is then as it
    /// was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        let bytes = match Format::of_name(path) {
            Some(Format::Json) => self.to_json().into_bytes(),
            Some(Format::Dna) => match &self.provenance.remy_file {
                Some(layout) => dna::write_with_layout(&self.table, layout),
                None => dna::write(&self.table),
            },
            None => return Err(SaveError::UnknownFormat { path: path.to_owned() }),
        };
        write_atomically(path, &bytes)
            .map_err(|source| SaveError::Write { path: path.to_owned(), source })
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|f| f.take(dna::MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(count) if count > dna::MAX_BYTES => Err(LoadError::TooLarge { path: path.to_owned() }),
        Ok(_) => Ok(bytes),
        Err(source) => Err(LoadError::Read { path: path.to_owned(), source }),
    }
}

/// Writes `bytes` to the file at `path` so that at every moment it holds either all of what it
/// held before or all of `bytes`: a new file beside it is written, forced to disk and renamed.
/// A symbolic link is followed; what is no plain file, such as a pipe, is written to directly.
///
/// # Errors
/// Those of the system; the file is then as it was, and nothing is left beside it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(bytes))
}

fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return write(&mut OpenOptions::new().write(true).open(&path)?);
    }
    let (beside, mut file) = beside(&path)?;
    let written = write(&mut file)
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A new file beside `path`: its name, the number of this process and `.partial`. Those that
/// killed processes left there are removed.
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

/// So old is what a killed process left, and not what one in another container is writing now.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes what [`beside`] made for `path`, whose file is called `name`, in processes that are no more,
/// a minute before it made `new` or earlier. Where that cannot be told, or a file not be removed, it
/// stays.
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
