//! Experiments in real time: the runs of `exm_experiment`, made by real programs on an emulated link.
//!
//! Each run has two networks of its own and `exm_emulator`'s link between them, as the scenario has
//! it. Data comes from Sprout over UDP (`exm_session`), or from the kernel's TCP with the congestion
//! control of the scheme's name. What is measured is measured where packets enter and leave the
//! link, by the same code and into the same report as in the simulator.
//!
//! It runs what is alike in both: one flow that is always on, over one link there and one back.
#![cfg(target_os = "linux")]

mod bulk;
mod lab;
mod likeness;
mod meter;
mod setup;

pub use lab::{EmulatorLab, OpenError};
