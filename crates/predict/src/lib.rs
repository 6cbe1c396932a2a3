#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | word | meaning |
//! |---|---|
//! | frame | a state of the keystrokes that is sent to the host; it has a number |
//! | echoed | the newest frame whose keystrokes the host's programs have had time to answer (50 ms) |
//! | prediction | what a cell, or the cursor, will be once a frame is echoed |
//! | epoch | predictions that stand or fall together: those after a key whose effect is unknown, such as Return |
//! | tentative | of an epoch none of whose predictions was confirmed: it is not shown |
//!
//! Nothing here reads a clock: times are handed in.

mod cells;
mod cursor;
mod display;
mod keys;
mod predictor;

pub use display::Display;
pub use predictor::{Frames, Predictor};

#[cfg(test)]
mod tests;
