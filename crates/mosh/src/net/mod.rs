//! Both ends with their sockets and terminals: a [`Service`] runs a program for a client, a [`UserTerminal`] shows it to a user.
//!
//! Each function returns when its session is over. The only threads are those that connect forwarded ports.

mod agent;
mod client_channels;
mod connector;
mod control;
mod files;
mod forward;
mod keyboard;
mod keys;
mod link;
mod relay;
mod server_channels;
mod servers;
mod service;
mod transfer;
mod user;
mod view;

pub use control::{Attachment, Control, Session, Sessions};
pub use forward::{Agent, Forward, ForwardError, Forwards, LocalForward};
pub use service::{Limits, Service};
pub use transfer::{FILES_PATIENCE, FileSession, TransferError, TransferJob, TransferProgress};
pub use user::{Ended, UserTerminal};

use std::io;

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// No port is free, or the address is not this machine's.
    #[error("cannot listen on UDP port {place}: {source}")]
    Listen {
        /// The ports and, if given, the address.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// No socket can be opened.
    #[error("cannot open a UDP socket: {0}")]
    Socket(io::Error),
    /// The program cannot be run.
    #[error("cannot run {program}: {source}")]
    Program {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// There is no place for the socket of the SSH agent.
    #[error("cannot forward the SSH agent: {0}")]
    Agent(io::Error),
    /// The terminal is none, or is gone.
    #[error("cannot use the terminal: {0}")]
    Terminal(io::Error),
    /// Waiting failed, or the system has no randomness.
    #[error("cannot wait for datagrams: {0}")]
    Wait(io::Error),
    /// No address of the server was given.
    #[error("there is no address of the server")]
    NoAddress,
    /// The server has not answered in time.
    #[error("the server at {server} does not answer")]
    Unanswered {
        /// Its address.
        server: std::net::SocketAddr,
    },
}

/// The longest payload where datagrams of the usual size do not fit: those of IPv4 have 500 bytes then.
const SMALL_PAYLOAD: usize = 500 - 28 - exm_datagram::OVERHEAD;

/// A seed that nobody can predict.
fn seed() -> Result<u64, NetError> {
    getrandom::u64().map_err(|error| NetError::Wait(io::Error::other(error)))
}
