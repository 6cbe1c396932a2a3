//! Statistics of measurements, and figures of them.
//!
//! Figures are functions from numbers to the text of an SVG file: the same numbers give the same
//! bytes. They are drawn to be read in black and white too: what colour tells, shapes and labels
//! tell as well.

pub mod figure;
mod stats;
mod svg;

pub use stats::{Estimate, quantile};
