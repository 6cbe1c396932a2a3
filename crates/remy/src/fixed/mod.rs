//! RemyCCs in integers, for hosts without floating point, such as a kernel: [`FixedTable`] and [`FixedRemyCc`].
//!
//! The C code that `exm-kernel` writes, and its program for the Linux kernel, compute the same numbers.

mod memory;
mod runner;
mod table;

pub use memory::FixedMemory;
pub use runner::FixedRemyCc;
pub use table::{FixedAction, FixedCut, FixedError, FixedNext, FixedTable};

/// Times are counted in so many parts of a nanosecond: 2^16.
pub const TIME_BITS: u32 = 16;
/// Ratios are counted in 2^-46.
pub const RATIO_BITS: u32 = 46;

#[cfg(test)]
mod tests;
