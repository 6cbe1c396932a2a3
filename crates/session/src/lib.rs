#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Sprout over UDP: encrypted sessions with roaming clients, whose datagrams are sent only as fast as the
//! link is forecast to deliver them.
//!
//! | on the wire | crate |
//! |---|---|
//! | direction and number, timestamps, tag; all but the first encrypted | `exm_datagram` |
//! | Sprout's header: bytes sent so far, time to the next packet, a forecast | `exm_sprout` |
//! | at most one application datagram | a [`Source`] |
//!
//! A session begins with a handshake in which the two ends derive a session key from the key they
//! share. It survives changes of the client's address, outages of any length and a restart of the other
//! end; it ends when either end is closed. Datagrams are neither retransmitted nor reordered: that is
//! left to the application.
//!
//! A [`Session`] has one peer. A [`Listener`] is a server for many clients at one UDP port, each with a key and a
//! session of its own.
//!
//! No threads are started. A [`Session`] provides a file to poll and a time to wake up; the caller's event
//! loop, or [`drive`], does the rest.
#![cfg(target_os = "linux")]

mod application;
mod budget;
mod connection;
mod endpoint;
mod forward;
mod handshake;
mod lines;
mod listener;
mod peers;
mod recorder;
mod routes;
mod session;
mod settings;
mod stats;
mod traffic;

pub use application::{Application, LoopControl, drive};
pub use endpoint::Farewell;
pub use forward::Forward;
pub use lines::Lines;
pub use listener::Listener;
pub use peers::{PeerId, PeerTraffic, Unrouted};
pub use recorder::{RecordedDatagram, Recorder};
pub use session::{Session, SessionError};
pub use settings::{MtuError, Settings};
pub use stats::{Counters, State, Stats};
pub use traffic::{Mailbox, Queue, QueueFull, Sink, Source, WhenFull};
