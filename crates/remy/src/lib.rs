//! What a RemyCC is (Winstein & Balakrishnan, SIGCOMM 2013, section 4): a [`Memory`] of what a
//! sender observed, a [`RuleTable`] that maps it to an [`Action`], and the files of such tables.

mod action;
mod grid;
mod memory;
mod runner;
mod signal;
mod table;

pub use action::{Action, CompiledAction, MAX_WINDOW};
pub use grid::Grid;
pub use memory::Memory;
pub use runner::RemyCc;
pub use signal::{Signal, SignalSet};
pub use table::{Cuboid, Node, Rule, RuleTable, TableError};
