//! The event engine: any number of senders on any directed graph of links.
//!
//! Because a link's transmissions end one after the other and its propagation delay is fixed, packets
//! arrive in the order in which the link sent them (`pipe.rs` inserts those that jitter and reordering
//! delay where they belong): of all the packets in flight on a link only the first can be the next event. So the engine has a fixed set of *sources* of events, its links and
//! its flows; each knows its next event of each kind, and the agenda knows the earliest of them. No
//! event or packet is ever allocated individually.
//!
//! A link of fixed rate knows the end of a packet's transmission when it takes the packet, and a
//! drop-tail queue even when the packet arrives (`ahead.rs`); so packets are handed on at that point,
//! with the time at which they leave.
//!
//! Events at the same instant are processed in this order (`Turn`): transmissions end (by link),
//! packets arrive at further links (by link), packets arrive at receivers (by flow), ACKs that crossed
//! links arrive at senders (by flow), timers expire (by flow), senders switch on or off (by flow),
//! senders send, each all it may at that instant (by flow); last, the observer takes its samples. A
//! sender that switches off at an instant sends nothing at it.
//!
//! Results depend only on the network and the seed. Memory grows with the packets in flight
//! and, by a few bytes each, with the on-periods.

mod agenda;
mod ahead;
mod event_loop;
mod host;
mod links;
mod observer;
mod packets;
mod pipe;
mod simulation;
mod transmitter;
mod variation;

pub use event_loop::omniscient;
pub use observer::{
    AckContents, Event, EventKind, FlowSample, Limited, LinkSample, Observer, Pace, PacketId,
    ReceivedAck, SproutSample,
};
pub use packets::{PacketSample, Whereabouts};
pub use simulation::{ChangeError, Simulation};

use crate::metrics::Report;
use crate::network::Network;
use event_loop::Engine;
use exm_units::Instant;

/// Simulates `network` from start to end, with random numbers drawn from `seed`.
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
