#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Benchmarks of Sprout sessions and tunnels, by which `exm sprout bench` and `exm tunnel bench` measure.
//!
//! | module | measures |
//! |---|---|
//! | [`session`] | throughput, delay, loss and CPU time of a session between two ends |
//! | [`tunnel`] | a call beside a download over an emulated link, with and without a tunnel |
#![cfg(target_os = "linux")]

pub mod session;
pub mod tunnel;
