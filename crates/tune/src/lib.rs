#![doc = include_str!("../README.md")]

mod constants;
mod link;
mod score;
mod search;
mod tuning;

pub use constants::Constants;
pub use link::{Gain, Link, Outcome, population};
pub use score::{AT_LOOKAHEAD, LEVELS, LinkScores, SCORED, Score, Short, mean_scores, score};
pub use search::{Search, TuneError};
pub use tuning::{Candidate, Fold, Tuning};
