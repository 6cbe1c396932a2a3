//! What a RemyCC is (Winstein & Balakrishnan, SIGCOMM 2013, section 4): a [`Memory`] of what a
//! sender observed, a [`RuleTable`] that maps it to an [`Action`], and the files of such tables.

mod action;
mod canonical;
mod diff;
pub mod dna;
pub mod file;
mod grid;
mod json;
mod memory;
mod project;
mod provenance;
mod runner;
mod show;
mod signal;
mod stats;
mod table;
mod text;

pub use action::{Action, CompiledAction, MAX_WINDOW};
pub use diff::{ActionChange, CellDifference, NumberedRule, TableDiff, diff};
pub use file::{LoadError, SaveError, TableFile};
pub use grid::{Grid, Lookup, Work};
pub use json::JsonError;
pub use memory::Memory;
pub use project::SignalsInUse;
pub use provenance::{ArrivalTimes, Provenance, Score};
pub use runner::RemyCc;
pub use show::{Show, ShowTree, show, show_tree};
pub use signal::{Signal, SignalSet, UnknownSignal};
pub use stats::{ActionCount, AxisStats, Spread, TableStats, stats};
pub use table::{Cuboid, MAX_DEPTH, MAX_RULES, Node, Rule, RuleTable, TableError};
pub use text::counted;
