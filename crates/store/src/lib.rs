#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Writes results to files.
//!
//! - [`write_atomically`] replaces a file in one step; [`PartialFile`] does so for a file that is
//!   written in parts. [`check_output`] decides whether a file may be replaced at all.
//! - [`RowWriter`] writes rows and columns as CSV or Parquet, with a header that states their origin.
//! - [`Columns`] aligns text for people; [`counted`] is a number with its noun.

mod columns;
mod file;
mod output;
mod rows;
mod words;

pub use columns::Columns;
pub use file::{PartialFile, write_atomically};
pub use output::{OutputError, check_output, remove_regular};
pub use rows::{Cell, Column, ColumnType, Format, Header, RowWriter};
pub use words::counted;
