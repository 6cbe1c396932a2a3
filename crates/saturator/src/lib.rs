//! Recording what a real link can deliver (K. Winstein's thesis, MIT 2014, section 2.3.1; NSDI 2013,
//! section 4.1).
//!
//! Both ends send at once, so much that the queue at the link's bottleneck never runs empty: then
//! every packet that arrives was a delivery opportunity, and the times of arrival are the trace. That
//! can only be told where the acknowledgements take another way than the data: a *client* has two
//! paths to its *server*, one over the device under test for the data, both ways, and an unloaded one
//! for all else.
//!
//! | module | what |
//! |---|---|
//! | [`Window`] | how much is kept in flight |
//! | [`Message`] | what the two ends tell each other |
//! | [`ArrivalLog`], [`Collector`] | arrivals at the server, told to the client without gaps |
//! | [`Saturation`] | how saturated each second was |
//! | [`Recorder`] | the trace, written as it is recorded |
//! | [`Client`], [`Server`] | the two ends, which neither read a clock nor own a socket |
//! | `net` | both with sockets, on Linux |
//!
//! The paths are authenticated and encrypted, each by a key of its own, agreed on anew for each
//! recording (`exm_datagram`). A stranger gets no answer; what a client can make a server send it is
//! bounded by what it acknowledges.

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

pub use arrivals::{Arrival, ArrivalLog, Collector};
pub use client::{Client, Event};
pub use message::{Malformed, Message};
pub use recorder::{Precision, Recorder};
pub use saturation::{Saturation, Second};
pub use server::Server;
pub use window::Window;
pub use wire::{Path, Settings, SettingsError};
