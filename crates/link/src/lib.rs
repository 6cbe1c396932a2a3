#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The queue and the service of a link.
//!
//! A link puts packets into its [`Queue`], serves one at a time as its [`Service`] allows, loses
//! some at random, and delivers the rest after its propagation delay. Nothing here reads a clock or
//! a socket: the simulator or the emulator passes the time.

mod abc;
mod aggregation;
mod backlog;
mod bins;
mod block_errors;
mod codel;
mod drop_head;
mod drop_tail;
mod dropper;
mod dual_pi2;
mod fair_codel;
mod fifo;
mod mahimahi;
mod packet;
mod parameters;
mod pie;
mod policer;
mod queue;
mod red;
mod reordering;
mod service;
mod setting;
mod slab;
mod step;
#[cfg(test)]
mod tests;
mod thinning;
mod timing;
mod xcp;

pub use abc::{Abc, AbcSettings};
pub use aggregation::{Aggregation, FrameServer};
pub use block_errors::BlockErrors;
pub use codel::{CoDel, CoDelSettings};
pub use drop_head::{DropHead, DropHeadSettings};
pub use drop_tail::{DropTail, DropTailSettings};
pub use dual_pi2::{DualPi2, DualPi2Settings};
pub use fair_codel::{
    FairCoDel, FairCoDelSettings, FqCoDel, FqCoDelSettings, SfqCoDel, SfqCoDelSettings,
};
pub use fifo::Fifo;
pub use mahimahi::MahimahiWriter;
pub use packet::{Ecn, Packet, XcpHeader};
pub use parameters::{Parameters, QueueError, parameter_pairs};
pub use pie::{Pie, PieSettings};
pub use policer::{Policer, PolicerSettings};
pub use queue::{Discipline, Limit, Queue, QueueActions, QueueConfig, QueueKind};
pub use red::{Red, RedSettings};
pub use reordering::Reordering;
pub use service::{Server, Service, TraceServer};
pub use setting::ImpossibleSetting;
pub use step::{Step, StepSettings};
pub use thinning::{Thinner, Thinning};
pub use timing::{Clockwork, Conditions, Slots, TimedStep, Timing};
pub use xcp::{Xcp, XcpSettings};
