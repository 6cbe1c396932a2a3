//! Sprout over UDP: sessions that carry datagrams, encrypted, from wherever their client is, and keep
//! them within what the link is forecast to deliver.
//!
//! | on the wire | from |
//! |---|---|
//! | direction and number, timestamps, tag; all but the first encrypted | `exm_datagram` |
//! | Sprout's header: how far the sender is, when to expect more, a forecast | `exm_sprout` |
//! | at most one datagram of the user's | a [`Source`] |
//!
//! A session begins with a handshake in which the two ends, who share a key, agree on one of their
//! own; it ends when either is closed, and survives everything else: a change of the client's
//! address, silence of any length, a restart of the other end. Nothing is sent again, nothing is put
//! in order: that is for whoever needs it.
//!
//! Nothing here starts a thread. A [`Session`] is a file to wait for and a time to wake; its user's
//! loop does the rest.
#![cfg(target_os = "linux")]

pub mod bench;
mod errand;
mod forward;
mod handshake;
mod lines;
mod live;
mod party;
mod port;
mod session;
mod settings;
mod stats;
mod traffic;

pub use errand::{Errand, Look, drive};
pub use forward::Forward;
pub use lines::Lines;
pub use session::{Session, SessionError};
pub use settings::{MtuError, Settings};
pub use stats::{Counters, Refused, State, Stats};
pub use traffic::{Full, Mailbox, Queue, Sink, Source, WhenFull};
