//! The simulated TCP compared with the kernel's.
//!
//! [`kernel::transfer`] lets the kernel send over a [`Scenario`]: two network namespaces with the
//! emulator's link between them, whose queue is the simulator's. [`simulated::transfer`] simulates
//! the same. Both return a [`Record`], measured in the same way; a [`Comparison`] holds the two.
//!
//! It needs the privilege to create namespaces and `/dev/net/tun`; if they are missing,
//! [`kernel::Unavailable`] names them.

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
    /// Its name in reports.
    pub(crate) name: &'static str,
    /// The rate of the bottleneck.
    pub(crate) rate: Rate,
    /// The round-trip propagation delay, half of it in each direction.
    pub(crate) rtt: Span,
    /// The bottleneck's buffer in packets, not counting the one in transmission.
    pub(crate) buffer: Packets,
    /// When each flow starts.
    pub(crate) starts: &'static [Span],
    /// The duration; no flow ends before.
    pub(crate) duration: Span,
    /// The time from which it is compared, which excludes slow start.
    pub(crate) settled: Span,
}

/// When a single flow starts.
pub(crate) const ALONE: &[Span] = &[Span::ZERO];

/// The largest packet on the path, in bytes: the MTU.
pub(crate) const MTU: u16 = 1500;
