#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A deterministic simulator of congestion control.
//!
//! [`dumbbell`] is the fast path that the designer uses: RemyCCs that share one link of fixed rate,
//! simulated without events. [`engine`] simulates any [`network`] by events, with any of the
//! [`controllers`], of which those built in have names and parameters ([`builtin`]), and any queue discipline; a [`scenario`] describes such a network in a file,
//! [`metrics`] are the results, [`series`] record them over time, [`capture`], [`mod@qlog`] and [`mahimahi`] record the packets;
//! [`fluid`] tells what omniscient senders would get. Both simulators draw [`traffic`] and losses from random streams of their own; [`video`] is the traffic of a live encoder.

mod active;
pub mod builtin;
pub mod capture;
pub mod controllers;
pub mod dumbbell;
pub mod engine;
pub mod fluid;
pub mod mahimahi;
pub mod metrics;
pub mod network;
pub mod qlog;
pub mod scenario;
pub mod series;
pub mod traffic;
pub mod video;

pub use active::{MeasuredOver, Periods, Times, times};
