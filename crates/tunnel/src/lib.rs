//! SproutTunnel (K. Winstein, *Transport architectures for an evolving Internet*, MIT 2014, section
//! 2.4.7; Winstein, Sivaraman & Balakrishnan, NSDI 2013, section 4.3): all traffic of a machine over a
//! Sprout session, flow by flow, so that none waits for what another sends.
//!
//! The packets of a machine are read from a network device, put into a queue for each flow
//! ([`FlowQueues`]), and sent in turn as the session has room for them. At the other end they are
//! given to another such device, and go on from there as that machine's own.
//!
//! [`FlowQueues`] does no I/O. [`Server`] and [`Client`] are errands of a
//! [`Session`](exm_session::Session): each reads and writes a device, and does nothing by itself.

#[cfg(target_os = "linux")]
pub mod bench;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod dns;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod exit;
pub mod flows;
#[cfg(target_os = "linux")]
mod ledger;
mod network;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod unreachable;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use client::{Client, ClientPlan};
#[cfg(target_os = "linux")]
pub use error::TunnelError;
pub use exm_packet::Flow;
pub use flows::{FlowQueues, FlowState, Tally};
#[cfg(target_os = "linux")]
pub use ledger::{Ledger, Received};
pub use network::{Cidr, Network, NoCidr};
#[cfg(target_os = "linux")]
pub use pipe::{Counters, Pipe};
#[cfg(target_os = "linux")]
pub use server::{Server, ServerPlan};
#[cfg(target_os = "linux")]
pub use wire::{Message, NoMessage};
