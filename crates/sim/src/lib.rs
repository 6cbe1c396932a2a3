#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A deterministic simulator of senders on networks.
//!
//! [`dumbbell`] is the fast path that design lives on: RemyCCs that share one link of fixed rate,
//! simulated without events. [`engine`] simulates any [`network`] by events, with any of the
//! [`controllers`] and any queue discipline; a [`scenario`] describes such a network in a file,
//! [`metrics`] are what comes out, and [`series`] are what happened on the way. Both draw their
//! [`traffic`] and losses from streams of their own.

pub mod controllers;
pub mod dumbbell;
pub mod engine;
pub mod metrics;
pub mod network;
pub mod scenario;
pub mod series;
pub mod traffic;
