#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | layer | crate |
//! |---|---|
//! | predictions of what keys will do | `exm_predict` |
//! | the terminal, and updates of its screen | `exm_terminal` |
//! | [`Channels`] beside them: byte streams for extensions, if both ends agree on them | |
//! | states of both ends, kept alike: [`Shown`] one way, keys and sizes the other | `exm_ssp` |
//! | encrypted, authenticated datagrams, and the client's address | `exm_datagram` |
//!
//! Sources: K. Winstein and H. Balakrishnan, "Mosh: An Interactive Remote Shell for Mobile Clients", USENIX ATC 2012; constants and formats as
//! observed of mosh 1.4.0.

pub mod channels;
mod client;
mod echo;
mod extensions;
mod history;
mod input;
#[cfg(target_os = "linux")]
pub mod net;
mod notice;
mod rtt;
mod server;
mod shown;
mod side;

pub use channels::Channels;
pub use client::{Client, ClientSettings};
pub use extensions::Extensions;
pub use history::History;
pub use input::Input;
pub use server::Server;
pub use shown::Shown;
