//! Cellsim: an emulated link in real time, for real programs.
//!
//! [`Ends`] are two networks, [`emulate`] is the link between them for as long as something is done,
//! and [`Watch`] is told what becomes of each packet; a [`Report`] sums it up. What a link does to
//! packets is a [`Path`] each way, which does no I/O: the same queues and services as the simulator's.
//!
//! A packet is read from the device by which it leaves one network, goes along its path, and is written
//! to the device of the other. When it is to leave follows from when it came, never from when the
//! thread that moves it gets to run: that only makes it late, by as much as [`Delivery::lateness`]
//! says. Nothing is lost that is not counted, by its [`Cause`] or as missed before it could be read.
//!
//! All of it is Linux's.
#![cfg(target_os = "linux")]

mod account;
mod drive;
mod ends;
mod fingerprint;
mod frame;
mod lane;
mod log;
mod outside;
mod path;
mod port;
mod relay;
mod report;
mod session;
mod watch;

pub use account::{Account, Lateness, Tally};
pub use ends::{End, Ends, EndsError, MTU, World};
pub use exm_packet::Flow;
pub use fingerprint::fingerprint;
#[doc(hidden)]
pub use frame::check_frame;
pub use log::{Log, LogError, MahimahiLog, Origin, Rest, RowLog};
pub use outside::{Outside, Reach};
pub use path::{
    Bursts, Cause, Outcome, Path, PathSpec, Propagation, Reordering, Schedule, ScheduleError,
};
pub use port::Port;
pub use report::{Lost, OneWay, Report};
pub use session::{EmulateError, Emulated, Live, Setup, emulate};
pub use watch::{Delivery, Direction, Passage, Watch};

use exm_units::{Instant, Span};

/// How precisely packets are released, at what cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// For how long before a packet is due the emulator stays awake at most, and for half the time
    /// until then at most: the kernel wakes a sleeper some tens of microseconds late. Within that it
    /// stays awake for as long as it learns to be needed, and not at all where packets are gathered.
    pub spin: Span,
    /// How long at least it waits from one release to the next, so that on a fast link several
    /// packets are written at once.
    pub gather: Span,
    /// Whether it runs before other programs, and processors stay awake while packets are waited for,
    /// where the system allows it.
    pub urgent: bool,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { spin: Span::from_micros(100), gather: Span::from_micros(30), urgent: true }
    }
}

/// How a direction is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// When.
    pub at: Instant,
    /// What came so far.
    pub arrived: Tally,
    /// What crossed the link so far.
    pub delivered: Tally,
    /// What was lost so far.
    pub lost: Tally,
    /// What waits in the queue.
    pub queue: Tally,
    /// How long the packet took in all that crossed last.
    pub total: Span,
}
