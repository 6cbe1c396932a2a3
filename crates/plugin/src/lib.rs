#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - [`Module`] compiles a module, and [`Module::controller`] is a controller from it; [`abi`] is the interface.
//! - [`Program`] starts programs (not in browsers). [`Outside`] finds either by its name.
//! - [`script`] has event scripts, by which controllers are compared; [`check()`] runs a controller through them and
//!   says what is wrong with it.
//! - [`skeletons`] are controllers to start from.

pub mod abi;
mod check;
mod decide;
mod failures;
mod module;
pub mod outside;
#[cfg(not(target_family = "wasm"))]
mod program;
pub mod script;
pub mod skeletons;
mod wasm;

pub use check::{Finding, Severity, check};
pub use decide::{MAX_INTERSEND, MAX_WINDOW};
pub use module::{Limits, Module, ModuleError};
pub use outside::Outside;
#[cfg(not(target_family = "wasm"))]
pub use program::{Program, ProgramController, ProgramError};
pub use wasm::WasmController;
