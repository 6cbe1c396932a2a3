#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! SproutTunnel (K. Winstein, *Transport architectures for an evolving Internet*, MIT 2014, section
//! 2.4.7; Winstein, Sivaraman & Balakrishnan, NSDI 2013, section 4.3): all traffic of a machine over a
//! Sprout session, with a queue for each flow, so that no flow waits behind another.
//!
//! Packets of the machine are read from a TUN device, put into the queue of their flow ([`FlowQueues`]), and
//! sent in turn as the session's window allows. The other end writes them to a TUN device of its own, and
//! forwards them with its own source address.
//!
//! A [`Server`] serves one client; a [`SharedServer`] serves those of a file, [`Clients`], by a
//! [`Listener`](exm_session::Listener).
//!
//! A [`Control`] tells other programs of this machine what a running tunnel does ([`Status`]), within its event loop.
//!
//! [`FlowQueues`] does no I/O. [`Server`] and [`Client`] are applications of a
//! [`Session`](exm_session::Session); they start no threads.

#[cfg(target_os = "linux")]
mod bypass;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod dns;
#[cfg(target_os = "linux")]
mod error;
pub mod flows;
#[cfg(target_os = "linux")]
mod ledger;
mod network;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod shared_server;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod underlay_route;
#[cfg(target_os = "linux")]
mod unreachable;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use client::{Client, ClientPlan};
#[cfg(target_os = "linux")]
pub use clients::{Clients, ClientsError, Lease};
#[cfg(target_os = "linux")]
pub use control::Control;
#[cfg(target_os = "linux")]
pub use error::TunnelError;
pub use exm_packet::Flow;
pub use flows::{FlowQueues, FlowState, Tally};
pub use ipnet::IpNet;
#[cfg(target_os = "linux")]
pub use ledger::{Ledger, Received};
pub use network::Network;
#[cfg(target_os = "linux")]
pub use pipe::{Counters, Pipe};
#[cfg(target_os = "linux")]
pub use server::{Server, ServerPlan};
#[cfg(target_os = "linux")]
pub use shared_server::{Member, SharedServer, drive_shared};
#[cfg(target_os = "linux")]
pub use status::{
    DatagramStatus, DroppedStatus, FlowStatus, PacketStatus, QueueStatus, Role, SessionState,
    SessionStatus, SocketErrorsStatus, Status, UnroutedStatus,
};
#[cfg(target_os = "linux")]
pub use wire::{DecodeError, EndReason, Message};
