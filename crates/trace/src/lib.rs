#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Delivery-opportunity traces: when a link of varying rate could deliver packets.
//!
//! Cellular links are recorded and replayed as lists of *delivery opportunities*, each a moment at
//! which [`OPPORTUNITY`] bytes could cross (Winstein, Sivaraman & Balakrishnan, NSDI 2013, section
//! 4.2). A [`Trace`] is such a list, repeated endlessly; [`Opportunities`] iterates over it;
//! [`Synthetic`] generates one; [`Statistics`] describe it; [`delay`] scores the packets that
//! crossed it. Byte accounting is the link's task (`exm_link::TraceServer`).

pub mod delay;
mod file;
mod opportunities;
mod statistics;
mod synthetic;
mod trace;

pub use file::{Import, Imported, MAX_FILE, MAX_OPPORTUNITIES, Origin, TraceError};
pub use opportunities::Opportunities;
pub use statistics::{InterArrivalBin, InterArrivals, Outages, PowerLaw, Rates, Statistics};
pub use synthetic::{BlockErrors, Cox, Frames, Interruption, Regime, Synthetic, SyntheticError};
pub use trace::{MAX_TIME, OPPORTUNITY, Summary, Trace};
