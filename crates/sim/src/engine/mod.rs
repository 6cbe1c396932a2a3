//! The event engine: any number of senders on any directed graph of links.
//!
//! Because a link's propagation delay is fixed and its transmissions end one after the other, the
//! packets it has sent arrive in the order they left: of all that is under way on a link only the
//! first can be the next event. So the engine has a fixed set of *sources* of events, its links and
//! its flows; each knows the next event of each of its kinds, and the agenda the earliest of them. No
//! event or packet is ever allocated by itself.
//!
//! When a link of fixed rate has transmitted a packet is known when it takes it up, and of a drop-tail
//! queue when it comes (`ahead.rs`); so packets are handed on then, with the time at which they leave.
//!
//! What happens at one and the same instant takes turns in this order (`Turn`): transmissions end (by
//! link), packets arrive at further links (by link), packets arrive at receivers (by flow), ACKs that
//! crossed links arrive at senders (by flow), timers run out (by flow), senders switch on or off (by
//! flow), senders send, each all it may at that instant (by flow); last, the observer looks. A sender
//! that switches off at an instant sends nothing at it.
//!
//! Results depend on the network and the seed alone. Memory grows with the packets under way, never
//! with the time simulated.

mod agenda;
mod ahead;
mod event_loop;
mod host;
mod observer;
mod share;
mod simulation;
mod transmitter;

pub use event_loop::omniscient;
pub use observer::{Event, EventKind, FlowSample, Limited, LinkSample, Observer, Pace, PacketId};
pub use simulation::{ChangeError, Simulation};

use crate::metrics::Report;
use crate::network::Network;
use event_loop::Engine;
use exm_units::Instant;

/// Simulates `network` from start to end, its random numbers drawn from `seed`.
pub fn run(network: &Network, seed: u64) -> Report {
    run_observed(network, seed, &mut ())
}

/// As [`run`], with an observer.
pub fn run_observed(network: &Network, seed: u64, observer: &mut impl Observer) -> Report {
    let mut engine = Engine::<_, false>::new(network, seed, observer);
    engine.run_until(Instant::ZERO + network.duration());
    engine.report(network, seed)
}

#[cfg(test)]
mod tests;
