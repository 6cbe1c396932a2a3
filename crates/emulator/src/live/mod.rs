//! Experiments in real time: the runs of `exm_experiment` with real programs on an emulated link.
//!
//! Each run has two networks, connected by a link as in the scenario. The sender is Sprout over UDP
//! (`exm_session`), or the kernel's TCP with the congestion control of the scheme. Packets are measured where
//! they enter and leave the link, by the same code and into the same report as in the simulator.
//!
//! Supported are scenarios that both can run: Sprout, always on; or flows of TCP that cross the same link and go
//! on and off, each time with a new connection, which is made beforehand.

mod backend;
mod bulk;
mod meter;
mod setup;
mod tcp;
mod twin;

pub use backend::{EmulatorBackend, OpenError};
