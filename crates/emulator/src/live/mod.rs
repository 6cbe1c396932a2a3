//! Experiments in real time: the runs of `exm_experiment` with real programs on an emulated link.
//!
//! Each run has two networks, connected by a link as in the scenario. The sender is Sprout over UDP
//! (`exm_session`), or the kernel's TCP with the congestion control of the scheme. Packets are measured where
//! they enter and leave the link, by the same code and into the same report as in the simulator.
//!
//! Supported are scenarios that both can run: one flow that is always on, over one link in each direction.

mod backend;
mod bulk;
mod meter;
mod setup;
mod twin;

pub use backend::{EmulatorBackend, OpenError};
