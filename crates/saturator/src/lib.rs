#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Recording what a real link can deliver (K. Winstein's thesis, MIT 2014, section 2.3.1; NSDI 2013,
//! section 4.1).
//!
//! Both ends send at once, and so much that the queue at the bottleneck never runs empty. Then every arriving
//! packet was a delivery opportunity, and the arrival times are the trace. Acknowledgements must not take the
//! loaded path: a *client* has two paths to its *server*, one through the device under test for the data of
//! both directions, and an unloaded one for everything else.
//!
//! | module | what |
//! |---|---|
//! | [`Window`] | the number of packets in flight |
//! | [`Message`] | the protocol of the two ends |
//! | [`ArrivalLog`], [`Collector`] | the reliable report of arrivals at the server to the client |
//! | [`Saturation`] | for how much of each second the link was saturated |
//! | [`Recorder`] | writes the trace while it is recorded |
//! | [`Client`], [`Server`] | the two ends, without sockets and clocks |
//! | `net` | both with sockets, on Linux |
//!
//! Each path is encrypted and authenticated with its own key, which is new for each recording
//! (`exm_endpoint::Handshake`). Senders without the shared key get no reply; a server sends a client no more than
//! that acknowledges.

mod arrivals;
mod client;
mod message;
#[cfg(target_os = "linux")]
pub mod net;
mod recorder;
mod saturation;
mod sending;
mod server;
mod window;
mod wire;

pub use arrivals::{ArrivalLog, Collector};
pub use client::{Client, Event};
pub use message::{Arrival, Malformed, Message};
pub use recorder::{Precision, Recorder};
pub use saturation::{Saturation, Second};
pub use server::Server;
pub use window::Window;
pub use wire::{Path, Settings, SettingsError};
