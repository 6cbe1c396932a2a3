#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Cellsim: an emulated link in real time, for real programs.
//!
//! [`Ends`] are two networks, [`emulate`] runs the link between them, an [`Observer`] receives what happens to
//! each packet, and a [`Report`] summarises it. Each direction is a [`Path`], which does no I/O and has the
//! queues and services of the simulator.
//!
//! A packet is read from the TUN device of one network, passes its path, and is written to the device of the
//! other. Its departure time depends on its arrival time only, not on when the forwarding thread runs:
//! scheduling makes it late, as [`Delivery::lateness`] reports, but does not change the queue. Every loss is
//! counted, by its [`Cause`] or as missed before it could be read.
//!
//! Linux only.
#![cfg(target_os = "linux")]

mod direction_stats;
mod drive;
mod ends;
mod fingerprint;
mod frame;
mod lane;
#[cfg(feature = "live")]
pub mod live;
mod log;
mod observer;
mod path;
mod port;
mod relay;
mod report;
mod session;
mod uplink;

pub use direction_stats::{DirectionStats, Lateness, Tally};
pub use ends::{End, Ends, EndsError, MTU, OutsideNetwork};
pub use exm_packet::Flow;
pub use fingerprint::fingerprint;
#[doc(hidden)]
pub use frame::check_frame;
pub use log::{Log, LogError, MahimahiLog, Origin, RowLog, Unlogged};
pub use observer::{Delivery, Direction, Observer, PacketInfo};
pub use path::{
    Bursts, Cause, Outcome, Path, PathSpec, Propagation, Reordering, Schedule, ScheduleError,
};
pub use port::Port;
pub use report::{Lost, OneWay, Report};
pub use session::{EmulateError, Emulated, RunningLink, Setup, emulate};
pub use uplink::{InternetAccess, Uplink};

use exm_units::{Instant, Span};

/// The precision at which packets are released, and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The longest time before a packet is due that the thread busy-waits, since the kernel wakes a sleeping
    /// thread some tens of microseconds late. It busy-waits for as long as it measures to be necessary, at
    /// most half of the time left, and not at all while packets are batched.
    pub spin: Span,
    /// The least time between two releases, so that several packets are written at once on a fast link.
    pub gather: Span,
    /// Whether the thread has real-time priority and CPUs are kept out of idle states while packets are
    /// expected, if the system allows it.
    pub urgent: bool,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { spin: Span::from_micros(100), gather: Span::from_micros(30), urgent: true }
    }
}

/// The state of one direction at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The time.
    pub at: Instant,
    /// Packets that have arrived.
    pub arrived: Tally,
    /// Packets that have crossed the link.
    pub delivered: Tally,
    /// Packets that were lost.
    pub lost: Tally,
    /// Packets in the queue.
    pub queue: Tally,
    /// The end-to-end delay of the last packet.
    pub total: Span,
}
