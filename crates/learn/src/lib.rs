#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Environment`] simulates one network at a time and stops whenever a learning flow is due to act. [`Vector`] steps
//! many environments on all cores.

mod agent;
mod environment;
mod episode;
mod reward;
mod source;
mod vector;

#[cfg(test)]
mod tests;

pub use environment::Environment;
pub use episode::{ActionError, Status};
pub use reward::Reward;
pub use source::{Learners, ResetError, Settings, Source};
pub use vector::{Results, StepError, Vector};
