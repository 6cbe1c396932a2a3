#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Statistics of measurements, figures of them, and reports.
//!
//! Figures and reports are pure functions from numbers to the text of a file: the same numbers give
//! the same bytes.

mod escape;
pub mod figure;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "png")]
mod png;
pub mod report;
pub mod stats;
mod svg;

#[cfg(feature = "pdf")]
pub use pdf::{PdfError, pdf};
#[cfg(feature = "png")]
pub use png::{PngError, png};

pub use stats::*;
