#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Sender`] is the host of a controller as every QUIC stack needs it: it turns the stack's events into those of a
//! [`Controller`](exm_cc::Controller), keeps packets conserved while losses are repaired, and answers with a window in
//! bytes and a pace. [`Factory`] gives it to quinn and noq; for another stack, call it from there.

mod factory;
#[cfg(feature = "noq")]
mod noq;
#[cfg(feature = "quinn")]
mod quinn;
mod sender;

pub use factory::Factory;
pub use sender::{Acked, Lost, Sender, Unsupported};
