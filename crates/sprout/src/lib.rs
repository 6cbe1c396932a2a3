#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Sprout (Winstein, Sivaraman & Balakrishnan, NSDI 2013; Winstein's thesis, chapter 2): a transport
//! for links with an unpredictable rate, such as cellular ones.
//!
//! The receiver infers the link's rate from the packets that arrive in each tick ([`Filter`]), and
//! makes a cautious forecast of how much the link will deliver over the next eight ticks
//! ([`Forecaster`]). It sends the forecast to the sender, which sends no more than will have left the
//! link's queue within 100 ms by that forecast ([`Sender`]). Sprout carries datagrams: it retransmits
//! nothing, and loss is not a congestion signal.
//!
//! Nothing here reads a clock or a socket: an [`Endpoint`], which is a sender and a receiver, is given
//! the time and the packets that arrived. So the same code runs in the simulator and over UDP.

mod bank;
mod belief;
mod crowding;
mod endpoint;
mod exposure;
mod filter;
mod forecast;
mod forecaster;
mod header;
mod least;
mod model;
mod predicted;
mod receiver;
mod regularity;
mod sender;

pub use belief::Belief;
pub use endpoint::{Endpoint, Settings};
pub use filter::Filter;
pub use forecast::{Counts, Forecast};
pub use forecaster::{Forecaster, Method, Observation};
pub use header::{Echo, Header, Malformed};
pub use model::{LEAST_RATE, Model, RATES, REFERENCE_RATE, TOP_RATE};
pub use predicted::Predicted;
pub use receiver::Receiver;
pub use sender::Sender;

use exm_units::Span;

/// The length of a tick, Sprout's unit of time (thesis, section 2.3.2).
pub const TICK: Span = Span::from_millis(20);
/// How many ticks a forecast covers (thesis, section 2.3.3).
pub const HORIZON: usize = 8;

#[cfg(test)]
mod tests;
