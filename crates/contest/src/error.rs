//! [`ContestError`]: what can go wrong with a contest.

use crate::entrant::EntrantError;
use exm_grammar::FileError;
use exm_trace::{SyntheticError, TraceError};
use std::io;
use std::path::PathBuf;

/// Why something about a contest failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContestError {
    /// A folder for a new contest has files.
    #[error("{} is not empty: give a new folder, so that no contest is overwritten", .0.display())]
    NotEmpty(PathBuf),
    /// A folder holds no contest.
    #[error("{} holds no contest: there is no contest.toml in it", .0.display())]
    NoContest(PathBuf),
    /// The rules are wrong.
    #[error(transparent)]
    Rules(#[from] FileError),
    /// A trace is not the one of the rules.
    #[error(
        "{} is not the trace that the contest's rules name: its SHA-256 is {found}, and should be {expected}",
        path.display()
    )]
    WrongTrace {
        /// The file.
        path: PathBuf,
        /// Its hash.
        found: String,
        /// The hash in the rules.
        expected: String,
    },
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace cannot be generated.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the store is damaged.
    #[error("{}: {problem}: restore it, or move it out of the folder", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A file of scores is of something else.
    #[error("{} holds scores of another pair, setting or version: remove it, or give another folder", .0.display())]
    OtherScores(PathBuf),
    /// The system has no random numbers.
    #[error("no random token can be made: {0}")]
    Random(String),
    /// A name that participants cannot have.
    #[error("\"{0}\" cannot be a participant's name: give 1 to 40 letters, digits, - and _")]
    Name(String),
    /// A participant has the name of a baseline.
    #[error("\"{0}\" is a baseline of this contest: choose another name")]
    Reserved(String),
    /// A submission cannot be used.
    #[error(transparent)]
    Entrant(#[from] EntrantError),
    /// The network cannot be simulated.
    #[error("the contest's link cannot be simulated: {0}")]
    Network(String),
    /// The rules have no hash of a final pair, and none was given.
    #[error("the rules commit to no final pair: give the files of one")]
    NoFinal,
}

impl ContestError {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ContestError {
        move |source| ContestError::Read { path: path.into(), source }
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ContestError {
        move |source| ContestError::Write { path: path.into(), source }
    }
}
