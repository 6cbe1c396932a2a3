#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Encrypted, authenticated datagrams that survive a change of address: the lower layer of SSP,
//! wire-compatible with mosh's.
//!
//! Two ends share a [`Key`]. Each has a [`Session`], which seals datagrams to send and opens received ones, and
//! which neither reads a clock nor owns a socket. [`Roaming`] determines the address of a server's client.
//! Sockets, port hopping and the handshake that makes session keys are in `exm_endpoint`.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | direction (1 bit: 0 to the server, 1 to the client), sequence number (63 bits) |
//! | 2 | timestamp in milliseconds, modulo 2^16; from here on encrypted |
//! | 2 | timestamp reply: the newest timestamp received, plus the time it was held; 0xffff for none |
//! | any | payload |
//! | 16 | authentication tag |
//!
//! All numbers are big-endian. The cipher is AES-128 in OCB3 mode (RFC 7253); its nonce is four
//! bytes of zero and the first eight of the datagram; there is no associated data.
//!
//! Sources: K. Winstein and H. Balakrishnan, "Mosh: An Interactive Remote Shell for Mobile Clients",
//! USENIX ATC 2012, section 2; K. Winstein, "Transport Architectures for an Evolving Internet", MIT
//! 2014, on mosh. Times come as [`exm_units::Instant`] of a clock that never goes back.

mod cipher;
mod key;
mod replay;
mod roaming;
mod rtt;
mod session;

pub use key::{Key, KeyError};
pub use replay::{Freshness, ReplayWindow};
pub use roaming::Roaming;
pub use rtt::RttEstimate;
pub use session::{Dropped, Mark, OVERHEAD, OpenError, Opened, Role, SealError, Session};
