//! The simulated TCP beside the kernel's.
//!
//! [`kernel::transfer`] has the kernel send over a [`Scenario`]: two network namespaces, and between
//! them the emulator's link, whose queue is the simulator's own.
//! [`simulated::transfer`] simulates the same. Both give a [`Record`], so that what is compared was
//! measured in one way; a [`Comparison`] holds the two.
//!
//! It takes the right to make namespaces (root's) and `/dev/net/tun`; where they are missing,
//! [`kernel::Unavailable`] says which.

mod bottleneck;
mod comparison;
pub(crate) mod kernel;
mod record;
pub(crate) mod simulated;

pub(crate) use comparison::{CONTROLS, Comparison, Control, SCENARIOS, SEVERAL};
pub(crate) use record::{Flow, Record, Summary, Window};

use exm_units::{Packets, Rate, Span};

/// Long flows of one controller over one bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scenario {
    /// What it is called in reports.
    pub(crate) name: &'static str,
    /// How fast the bottleneck transmits.
    pub(crate) rate: Rate,
    /// The round-trip propagation delay, half of it each way.
    pub(crate) rtt: Span,
    /// Packets that may wait at the bottleneck, besides the one in transmission.
    pub(crate) buffer: Packets,
    /// When each flow starts: as many flows as there are times.
    pub(crate) starts: &'static [Span],
    /// How long it lasts; no flow ends before.
    pub(crate) duration: Span,
    /// From when on it is compared: slow start is another matter.
    pub(crate) settled: Span,
}

/// When a flow that is alone starts.
pub(crate) const ALONE: &[Span] = &[Span::ZERO];

/// The largest packet on the path, in bytes: the MTU.
pub(crate) const MTU: u16 = 1500;
