#![doc = include_str!("../README.md")]

mod constants;
mod link;
mod search;
mod tuning;

pub use constants::Constants;
pub use link::{Gain, Link, Outcome, population};
pub use search::{Search, TuneError};
pub use tuning::{Candidate, Fold, Tuning};
