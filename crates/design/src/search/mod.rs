//! Searches for the best table.

mod cma;
mod evolve;
mod genes;
mod genome;
mod paper;
mod precision;
mod start;

pub(crate) use cma::Strategy;
pub(crate) use evolve::{Evolution, Saved as SavedEvolution};
pub(crate) use paper::{PaperSearch, Saved as SavedPaperSearch};

/// Where the memory of a designed table ends on every axis, as in the first published tables:
/// larger values count as this.
pub(crate) const DOMAIN: f64 = 16_384.0;

/// Blocks of specimens from this number on are never drawn for candidates: the first evaluates tables
/// at the end of a stage, the next one scores finished tables.
pub(crate) const JUDGING_BLOCK: u64 = 1 << 40;

/// The result of a step of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The mean score of the candidates, or of the resulting table, on specimens of the search.
    pub score: f64,
    /// The table's score on separate specimens that selected no candidate, if it was evaluated.
    pub judged: Option<f64>,
    /// How many rules the table had.
    pub rules: usize,
    /// What was done.
    pub what: String,
    /// Steps until the table is evaluated and grows.
    pub left_in_stage: u64,
}
