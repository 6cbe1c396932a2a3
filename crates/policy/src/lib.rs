#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`Policy`] is a multilayer perceptron with its [`Interface`]: what it observes, what it decides, and how often.
//! [`PolicyController`] runs it as a congestion controller. [`ControlLoop`] is what that controller and a learning
//! environment have in common, so a policy does in one what it learnt in the other.

mod action;
mod control;
mod file;
mod interface;
mod layers;
mod monitor;
mod observation;
mod policy;

pub use action::{ActionSpace, Actuator};
pub use control::ControlLoop;
pub use file::PolicyError;
pub use interface::{Interface, InterfaceError, Interval};
pub use layers::{Activation, Layer, Mlp, MlpError};
pub use monitor::{Measurement, Monitor};
pub use observation::Observation;
pub use policy::{Policy, PolicyController};
