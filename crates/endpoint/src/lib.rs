#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! UDP endpoints of protocols whose ends roam.
//!
//! | item | purpose |
//! |---|---|
//! | [`UdpPort`] | a non-blocking UDP socket with batched reads, GSO/GRO and ECN, which never fragments |
//! | [`Sockets`] | the sockets of one end, with port hopping for clients |
//! | [`HopPlan`] | when a client changes its port |
//! | [`Interface`], [`PortRange`] | where a socket is bound |
//! | [`Handshake`] | fresh session keys from a shared key, by Noise |
//!
//! Nothing here starts a thread, reads a clock or blocks. The address of a roaming peer is validated by
//! [`exm_datagram::Roaming`], since the proof is part of its datagrams. Sockets are Linux only; the rest does no
//! I/O.

mod handshake;
mod hop;
#[cfg(target_os = "linux")]
mod interface;
mod ports;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod sockets;

pub use handshake::{Handshake, Initiator, Reply, Responder, Unauthenticated};
pub use hop::{HopPlan, PORT_HOP_INTERVAL};
#[cfg(target_os = "linux")]
pub use interface::{Interface, OpenError, ParseInterfaceError};
pub use ports::{ParsePortsError, PortRange};
#[cfg(target_os = "linux")]
pub use quinn_udp::EcnCodepoint as Ecn;
#[cfg(target_os = "linux")]
pub use socket::{Arrival, Buffer, Path, SocketError, SocketErrors, SocketOptions, UdpPort};
#[cfg(target_os = "linux")]
pub use sockets::Sockets;
