#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The designer of RemyCCs: computes a table of rules for a model of networks and an objective.

pub mod check;
pub mod conditions;
mod designer;
mod evaluate;
pub mod falsify;
mod finish;
pub mod harden;
mod model;
mod network_score;
mod objective;
mod outside;
mod ranges;
mod record;
mod round;
pub mod rule_map;
pub mod score;
mod search;
pub mod shipped;
mod specimen;
pub mod stress;

pub use conditions::{Conditions, OutOfRange};
pub use designer::{CheckpointError, Designer, SearchKind, SeveralTables, StartError};
pub use evaluate::{Candidate, Prepared, Samples, mean_scores, outcomes, simulate};
pub use finish::{Finished, Finishing, finish};
pub use model::{ActionPart, Class, Design, Model, Role};
pub use objective::{Objective, Performance, Throughput, Units};
pub use outside::{OutsideLoader, use_outside_loader};
pub use ranges::{DesignRanges, model_of};
pub use round::{Block, Evaluate, Local, Round, RoundError, SharedRound};
pub use search::Progress;
pub use specimen::{Bottleneck, DrawnLink, DrawnSender, Layout, Mixed, Specimen};

#[cfg(test)]
mod tests;
