#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A RemyCC at run time (Winstein & Balakrishnan, SIGCOMM 2013, section 4): a [`Memory`] of what a
//! sender observed, a [`RuleTable`] that maps it to an [`Action`], and [`RemyCc`], the controller that
//! follows the table.
//!
//! The crate needs no operating system: `no_std` with `alloc`. The crate `exm-table` reads and writes
//! files of tables.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod action;
mod canonical;
mod cuts;
mod extended;
pub mod fixed;
mod grid;
mod lookup;
mod memory;
mod project;
mod runner;
mod signal;
mod table;

pub use action::{Action, CompiledAction, MAX_WINDOW};
pub use extended::ExtendedMemory;
pub use grid::{Grid, GridVisitor};
pub use lookup::Lookup;
pub use memory::Memory;
pub use project::SignalsInUse;
pub use runner::RemyCc;
pub use signal::{Point, Signal, SignalSet, UnknownSignal};
pub use table::{Cuboid, MAX_DEPTH, MAX_RULES, Node, Rule, RuleTable, TableError};
