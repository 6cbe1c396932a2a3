#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Delivery-opportunity traces: when a link of varying rate could deliver a packet.
//!
//! Cellular links are recorded and replayed as lists of *delivery opportunities*, each a moment at
//! which [`OPPORTUNITY`] bytes could cross (Winstein, Sivaraman & Balakrishnan, NSDI 2013,
//! section 4.2). A [`Trace`] is such a list, which repeats for ever; [`Opportunities`] walks along
//! it; [`Synthetic`] makes one up; [`Statistics`] say what it is like; [`delay`] scores what went
//! over it. Accounting by the byte is the link's (`exm_link::TraceServer`).

pub mod delay;
mod file;
mod opportunities;
mod statistics;
mod synthetic;
mod trace;

pub use file::{MAX_FILE, MAX_OPPORTUNITIES, Origin, TraceError};
pub use opportunities::Opportunities;
pub use statistics::{InterArrivalBin, InterArrivals, Outages, PowerLaw, Rates, Statistics};
pub use synthetic::{Cox, Interruption, Regime, Synthetic, SyntheticError};
pub use trace::{MAX_TIME, OPPORTUNITY, Summary, Trace};
