//! What stands behind a link: its queue and its service.
//!
//! A link takes packets into its [`Queue`], serves one at a time as its [`Service`] allows, loses
//! some at random, and delivers the rest after its propagation delay. Nothing here reads a clock or
//! a socket: the simulator and the emulator tell what time it is.

mod drop_tail;
mod packet;
mod queue;
mod service;

pub use drop_tail::{DropTail, DropTailSettings};
pub use packet::{Ecn, Packet, XcpHeader};
pub use queue::{Discipline, Limit, Queue, QueueKind, Site, Verdict};
pub use service::{Server, Service};
