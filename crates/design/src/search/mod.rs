//! Searches for the best table.

mod cma;
mod evolve;
mod genes;
mod genome;
mod paper;

pub(crate) use cma::Strategy;
pub(crate) use evolve::{Evolution, Saved as SavedEvolution};
pub(crate) use paper::{PaperSearch, Saved as SavedPaperSearch};

/// Where the memory of a designed table ends on every axis, as in the first published tables:
/// larger values count as this.
pub(crate) const DOMAIN: f64 = 16_384.0;

/// The blocks of specimens from this number on are never drawn for candidates: one judges tables
/// at the end of a stage, the next scores finished ones.
pub(crate) const JUDGING_BLOCK: u64 = 1 << 40;

/// What a step of a search did.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The mean score of what was tried, or of the table it led to, on specimens of the search.
    pub score: f64,
    /// The table's score on specimens that no candidate was chosen by, where it was judged.
    pub judged: Option<f64>,
    /// How many rules the table had.
    pub rules: usize,
    /// What was done.
    pub what: String,
    /// Steps until the table is judged and grows.
    pub left_in_stage: u64,
}
