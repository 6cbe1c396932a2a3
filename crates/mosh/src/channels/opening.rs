//! [`Opening`]: what a channel is for.

use super::wire::{Body, Malformed, put_bytes, put_number};
use crate::Extensions;

/// What a channel is for: the first thing that its opener says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opening {
    /// By the client: the lines that scroll off the screen, as output for a terminal. Handled by [`crate::Client`] and
    /// [`crate::Server`] themselves.
    History,
    /// By the client: a connection of the server to this TCP port.
    Tcp {
        /// A name or an address.
        host: String,
        /// The port.
        port: u16,
    },
    /// By the client: the server listens on a TCP port as long as the channel is open, and opens [`Opening::Incoming`] for each
    /// connection.
    Listen {
        /// The address to listen at; empty for loopback only.
        address: String,
        /// The port.
        port: u16,
    },
    /// By the server: somebody has connected to a port that the client asked for.
    Incoming {
        /// The number of the channel that asked.
        listener: u32,
        /// Where from, for logs.
        origin: String,
    },
    /// By the server: a connection to the client's SSH agent.
    Agent,
    /// By the client: the content of a file of the server. `crate::net` describes the file on the channel itself, which also
    /// resumes there: its offset is 0.
    Fetch {
        /// Its path, as bytes of the server's file system.
        path: Vec<u8>,
        /// How many bytes to skip.
        offset: u64,
    },
    /// By the client: the new content of a file of the server, as with [`Opening::Fetch`].
    Store {
        /// Its path, as bytes of the server's file system.
        path: Vec<u8>,
        /// The permissions of a file that is created.
        mode: u32,
        /// Where the content begins: a file is cut there first.
        offset: u64,
    },
}

impl Opening {
    /// Whether the client opens it, else the server.
    pub fn is_by_client(&self) -> bool {
        !matches!(self, Opening::Agent | Opening::Incoming { .. })
    }

    /// Whether it is among what was granted.
    pub fn is_within(&self, granted: Extensions) -> bool {
        match self {
            Opening::History => granted.history,
            Opening::Tcp { .. } => granted.tcp,
            Opening::Listen { .. } | Opening::Incoming { .. } => granted.listen,
            Opening::Agent => granted.agent,
            Opening::Fetch { .. } | Opening::Store { .. } => granted.files,
        }
    }

    /// Appends its kind and its fields.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Opening::History => put_number(out, 1),
            Opening::Tcp { host, port } => {
                put_number(out, 2);
                put_bytes(out, host.as_bytes());
                put_number(out, (*port).into());
            }
            Opening::Listen { address, port } => {
                put_number(out, 3);
                put_bytes(out, address.as_bytes());
                put_number(out, (*port).into());
            }
            Opening::Incoming { listener, origin } => {
                put_number(out, 4);
                put_number(out, (*listener).into());
                put_bytes(out, origin.as_bytes());
            }
            Opening::Agent => put_number(out, 5),
            Opening::Fetch { path, offset } => {
                put_number(out, 6);
                put_bytes(out, path);
                put_number(out, *offset);
            }
            Opening::Store { path, mode, offset } => {
                put_number(out, 7);
                put_bytes(out, path);
                put_number(out, (*mode).into());
                put_number(out, *offset);
            }
        }
    }

    /// The opening in `body`; none if its kind is not known.
    pub(crate) fn take(body: &mut Body<'_>) -> Result<Option<Opening>, Malformed> {
        Ok(Some(match body.number()? {
            1 => Opening::History,
            2 => Opening::Tcp { host: body.text()?, port: body.port()? },
            3 => Opening::Listen { address: body.text()?, port: body.port()? },
            4 => Opening::Incoming { listener: body.number32()?, origin: body.text()? },
            5 => Opening::Agent,
            6 => Opening::Fetch { path: body.bytes()?.to_vec(), offset: body.number()? },
            7 => Opening::Store {
                path: body.bytes()?.to_vec(),
                mode: body.number32()?,
                offset: body.number()?,
            },
            _ => return Ok(None),
        }))
    }
}

/// Why a channel was refused or closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// Both directions have ended, or its end is nothing unusual.
    #[error("finished")]
    Finished,
    /// It is not among what was granted, or its opener may not open it.
    #[error("not permitted")]
    Denied,
    /// The peer does not know its kind, or does not serve it.
    #[error("not supported by the other end")]
    Unsupported,
    /// Too many are open.
    #[error("too many channels are open")]
    TooMany,
    /// Something else, for people.
    #[error("{0}")]
    Failed(String),
}

impl Reason {
    /// The longest text in bytes.
    const MAX_TEXT: usize = 500;

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let (code, text) = match self {
            Reason::Finished => (0, ""),
            Reason::Denied => (1, ""),
            Reason::Unsupported => (2, ""),
            Reason::TooMany => (3, ""),
            Reason::Failed(text) => (4, &text[..text.floor_char_boundary(Reason::MAX_TEXT)]),
        };
        put_number(out, code);
        put_bytes(out, text.as_bytes());
    }

    pub(crate) fn take(body: &mut Body<'_>) -> Result<Reason, Malformed> {
        let (code, text) = (body.number()?, body.text()?);
        Ok(match code {
            0 => Reason::Finished,
            1 => Reason::Denied,
            2 => Reason::Unsupported,
            3 => Reason::TooMany,
            _ => Reason::Failed(text),
        })
    }
}
