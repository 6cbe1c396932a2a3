#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Quantities as types, so that a span is never mistaken for an instant, nor bits for bytes.
//!
//! Times are whole nanoseconds in 64 bits (584 years), rates whole bits per second, so every
//! computation on them is exact and the same on every machine. Each type reads and prints the
//! way people write it: `"150 ms"`, `"15 Mbps"`, `"64 kB"`. With the feature `serde` they are
//! read from and written to files as such strings.
//!
//! [`Fnv1a`] is the one hash that the program uses to identify its files.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod hash;
mod parse;
mod quantity;
mod time;

pub use hash::Fnv1a;
pub use parse::ParseUnitError;
pub use quantity::{Bytes, Packets, Probability, Rate, RateText};
pub use time::{Instant, Span};
