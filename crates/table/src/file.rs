//! Loading and saving a [`TableFile`].

use crate::dna::{self, DnaError, ExtendedSignals};
use crate::json::JsonError;
use crate::provenance::Provenance;
use crate::table_file::TableFile;
use exm_store::write_atomically;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The system could not read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// More than [`dna::MAX_BYTES`].
    #[error("{} is larger than the {} bytes a table may have", path.display(), dna::MAX_BYTES)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a table in Remy's format.
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
    /// A JSON file with bytes that are not UTF-8.
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
    /// The file extension is not that of a format.
    #[error("the format of {} is unknown: end its name in .json, or in .dna for Remy's own", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Remy's format cannot hold the table.
    #[error("cannot write {}: {source}: end its name in .json", path.display())]
    NotRemys {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ExtendedSignals,
    },
    /// The system could not write it. The old file is unchanged.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// Loads a file: JSON or Remy's format by its extension, `.json` or `.dna`, otherwise by its
    /// contents.
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

    /// Saves a file, in JSON or Remy's format by its extension, completely or not at all. Remy's
    /// format keeps only [`Provenance::remy_file`] of the provenance.
    ///
    /// # Errors
    /// [`SaveError`] if the extension is unknown, the format cannot hold the table or the system fails;
    /// the old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let path = path.as_ref();
        let bytes = match Format::of_name(path) {
            Some(Format::Json) => self.to_json().into_bytes(),
            Some(Format::Dna) => match &self.provenance.remy_file {
                Some(layout) => dna::write_with_layout(&self.table, layout),
                None => dna::write(&self.table),
            }
            .map_err(|source| SaveError::NotRemys { path: path.to_owned(), source })?,
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

#[cfg(test)]
mod tests;
