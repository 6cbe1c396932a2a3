#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Files of rule tables.
//!
//! A [`TableFile`] is an [`exm_remy::RuleTable`] with its [`Provenance`]: what it was designed for, by
//! which program, and its score. It is read from and written to JSON, our own format, and [`dna`],
//! Remy's. [`show`] and [`show_tree`] print a table, [`stats`] summarises it and [`diff`] compares
//! two.

mod diff;
pub mod dna;
mod fields;
mod file;
mod json;
mod provenance;
mod robustness;
mod show;
mod stats;
mod table_file;
mod text;

pub use diff::{ActionChange, CellDifference, NumberedRule, TableDiff, diff};
pub use file::{LoadError, SaveError};
pub use json::JsonError;
pub use provenance::{ArrivalTimes, Pending, Provenance, Score};
pub use robustness::{Cost, ForeignDelayResults, Robustness, StressResults, Verdict};
pub use show::{RuleListing, RuleTree, show, show_tree};
pub use stats::{ActionCount, AxisStats, Spread, TableStats, stats};
pub use table_file::TableFile;
