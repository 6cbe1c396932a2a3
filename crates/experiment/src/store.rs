//! [`Store`]: finished runs, stored while others are still running.
//!
//! The file `runs.jsonl` begins with a line that identifies the experiment and its configuration; each further
//! line is a run. Each line ends with a tab and the 64-bit FNV-1a hash of the text before the tab. A run whose
//! line is truncated or damaged is executed again.

use crate::case::Case;
use crate::plan::Plan;
use crate::rows::RunRow;
use exm_store::write_atomically;
use exm_units::Fnv1a;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the file in a folder of results.
pub(crate) const FILE: &str = "runs.jsonl";
const FORMAT: &str = "exmachina-runs";
/// The version of the format.
const VERSION: u32 = 2;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    /// The version of the program, whose simulator may differ.
    program: String,
    experiment: String,
    hash: String,
}

#[derive(Serialize, Deserialize)]
struct StoredRun {
    case: String,
    hash: String,
    run: u64,
    #[serde(flatten)]
    row: RunRow,
}

/// Finished runs, by the numbers of their case and run.
pub type Rows = BTreeMap<(usize, u64), RunRow>;

/// The file of finished runs.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// Lines of cases that are not in the plan, such as those of schemes left out this time.
    others: Vec<String>,
}

/// An error in storing runs or in continuing from stored ones.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} holds {what}", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// Another process has the file open.
    #[error("{} is being written by another run of this experiment", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl Store {
    /// Opens the file in `folder`, or creates it, for the runs of `plan`, and returns the finished runs.
    /// With `fresh`, stored runs are discarded.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be used, or holds runs of something else.
    pub fn open(folder: &Path, plan: &Plan, fresh: bool) -> Result<(Store, Rows), StoreError> {
        let path = folder.join(FILE);
        let io = |what: &'static str| {
            let path = path.clone();
            move |source| StoreError::Io { what, path: path.clone(), source }
        };
        let old = match std::fs::read(&path) {
            Ok(bytes) if !fresh => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io("read")(error)),
            _ => String::new(),
        };
        let (rows, others, lines) = read(&path, &old, plan)?;
        let mut file =
            OpenOptions::new().create(true).append(true).open(&path).map_err(io("open"))?;
        lock(&file, &path)?;
        let text = lines.concat();
        if text != old || fresh {
            // Unreadable lines are removed before anything is added.
            file.set_len(0).map_err(io("write"))?;
            file.write_all(text.as_bytes()).map_err(io("write"))?;
        }
        Ok((Store { path, file, others }, rows))
    }

    /// Adds a run.
    pub(crate) fn add(&mut self, case: &Case, run: u64, row: &RunRow) -> Result<(), StoreError> {
        let line = line_of(case, run, row);
        self.file.write_all(line.as_bytes()).map_err(|source| StoreError::Io {
            what: "write",
            path: self.path.clone(),
            source,
        })
    }

    /// Sorts the stored runs after the last one, so that the file is the same in whatever order they
    /// finished.
    pub(crate) fn finish(self, plan: &Plan, rows: &Rows) -> Result<(), StoreError> {
        let mut text = header(plan);
        for (&(case, run), row) in rows {
            text += &line_of(&plan.cases[case], run, row);
        }
        self.others.iter().for_each(|line| text += line);
        write_atomically(&self.path, text.as_bytes()).map_err(|source| StoreError::Io {
            what: "write",
            path: self.path.clone(),
            source,
        })
    }
}

fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy { path: path.to_owned() }),
        // On a file system without locks, none is taken.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// A line, ended by its hash.
fn sealed(json: &str) -> String {
    format!("{json}\t{}\n", Fnv1a::of(json))
}

/// The content of a sealed line, if its hash is right.
fn unsealed(line: &str) -> Option<&str> {
    let (json, seal) = line.rsplit_once('\t')?;
    (Fnv1a::of(json).to_string() == seal).then_some(json)
}

fn header(plan: &Plan) -> String {
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: plan.experiment.name.clone(),
        hash: plan.hash.to_string(),
    };
    sealed(&serde_json::to_string(&header).expect("text and numbers are JSON"))
}

fn line_of(case: &Case, run: u64, row: &RunRow) -> String {
    let line =
        StoredRun { case: case.name.clone(), hash: case.hash.to_string(), run, row: row.clone() };
    sealed(&serde_json::to_string(&line).expect("finite numbers are JSON"))
}

/// The runs of `plan` in `text`, lines of others, and all lines worth keeping.
fn read(
    path: &Path,
    text: &str,
    plan: &Plan,
) -> Result<(Rows, Vec<String>, Vec<String>), StoreError> {
    let mut lines = text.lines();
    let ours = header(plan);
    let Some(first) = lines.next().and_then(unsealed) else {
        if text.is_empty() || !text.contains('\n') {
            return Ok((Rows::new(), Vec::new(), vec![ours]));
        }
        let what = "no runs of an experiment".to_owned();
        return Err(StoreError::Stale { path: path.to_owned(), what });
    };
    check(path, first, plan)?;
    let (mut rows, mut others, mut kept) = (Rows::new(), Vec::new(), vec![ours]);
    for line in lines {
        let parsed = unsealed(line).and_then(|json| serde_json::from_str::<StoredRun>(json).ok());
        let Some(parsed) = parsed else { continue };
        let whole = format!("{line}\n");
        kept.push(whole.clone());
        match plan.cases.iter().position(|case| case.name == parsed.case) {
            Some(case) if plan.cases[case].hash.to_string() == parsed.hash => {
                if parsed.run < plan.runs {
                    rows.insert((case, parsed.run), parsed.row);
                } else {
                    others.push(whole);
                }
            }
            Some(case) => {
                let scheme = &plan.experiment.schemes[plan.cases[case].scheme].name;
                let what = format!("runs of \"{scheme}\" with another table, trace or setting");
                return Err(StoreError::Stale { path: path.to_owned(), what });
            }
            None => others.push(whole),
        }
    }
    Ok((rows, others, kept))
}

/// Rejects runs of another experiment, configuration or version.
fn check(path: &Path, header: &str, plan: &Plan) -> Result<(), StoreError> {
    let stale = |what: String| Err(StoreError::Stale { path: path.to_owned(), what });
    let Ok(header) = serde_json::from_str::<Header>(header) else {
        return stale("no runs of an experiment, or those of another version".to_owned());
    };
    if header.format != FORMAT {
        return stale("no runs of an experiment".to_owned());
    }
    let ours = env!("CARGO_PKG_VERSION");
    if header.version != VERSION {
        return stale("runs of an older or newer format".to_owned());
    }
    if header.program != ours {
        return stale(format!("runs of exm {}, and this is exm {ours}", header.program));
    }
    if header.experiment != plan.experiment.name {
        return stale(format!("runs of another experiment, \"{}\"", header.experiment));
    }
    if header.hash != plan.hash.to_string() {
        return stale("runs of this experiment with another scenario, seed or duration".to_owned());
    }
    Ok(())
}
