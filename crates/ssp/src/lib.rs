#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! The upper layer of SSP, wire-compatible with mosh's protocol version 2. From top to bottom:
//!
//! | layer | item |
//! |---|---|
//! | states of both ends | [`State`], [`UserStream`], [`HostEvent`] |
//! | byte streams beside them, and how much of them is sent at a time | [`Sided`], [`StreamLog`], [`Window`] |
//! | which difference to send, and when | [`Transport`] |
//! | an instruction: a difference between two numbered states, and an acknowledgement | [`Instruction`] |
//! | zlib, at most 4 MiB on either side | [`compress`], [`decompress`] |
//! | fragments that fit datagrams | [`Fragment`], [`Assembler`] |
//! | encrypted datagrams | the crate `exm_datagram` |
//!
//! A state has a number. An instruction says how to make state *new* from state *old*, which the sender assumes
//! that the receiver has; it need not be the one before. Whether a datagram arrives does not matter then: a
//! lost instruction is not retransmitted, but replaced by one that leads to a newer state.
//!
//! All that comes from the network is bounded: an instruction by 4 MiB, the states held by [`MAX_STATES`] and
//! [`MAX_WEIGHT`]. Times come as [`exm_units::Instant`] of a clock that never goes back.
//!
//! # Differences from mosh
//!
//! None is visible on the wire, except in which packets are sent when:
//!
//! - Small instructions do not wait for half a round trip since the last one, as long as all that is sent stays below 4000 bytes a second and
//!   no queue builds up ([`Settings::budget`]); one that does halves the rate, which recovers within minutes. A server sends what its program has printed once it pauses for 1.5 ms.
//! - On a path that loses datagrams, small instructions are repeated after 20 ms, and then at growing intervals, until they
//!   are acknowledged; within the same budget.
//! - A copy of the peer's newest state that arrives later than an answer to the last acknowledgement would is acknowledged again.
//! - An end that has not received anything yet retransmits for 10 s. Mosh's sends every 3 s only, so that the loss
//!   of its first packet takes 3 s to recover from.
//! - The states of the peer are bounded by their memory too. Every 15 s a state beyond the limits replaces an
//!   older one.
//! - The state that is announced as the last one stays as it was announced, and is never the base of a
//!   difference. An end that is notified again of its peer's shutdown acknowledges it again.
//! - [`UserStream`] refuses to let more than 1 MiB of keys wait, since a longer difference than 4 MiB
//!   can never be sent. Sizes of terminals have 16 bits, as in the kernel, and others are refused.
//! - [`Sided`] adds field 100 to the parts of differences, for ends that agree on it; mosh skips it. Its bytes are acknowledged at once,
//!   and again when they arrive again.
//!
//! # Sources
//!
//! K. Winstein and H. Balakrishnan, "Mosh: An Interactive Remote Shell for Mobile Clients",
//! USENIX ATC 2012, section 2; constants and formats as observed of mosh 1.4.0.

mod budget;
mod chaff;
mod fragment;
mod host;
mod instruction;
mod pace;
mod protobuf;
mod receiver;
mod sender;
mod state;
mod stream;
mod timing;
mod transport;
mod user;
mod window;
mod zlib;

pub use fragment::{Assembler, Fragment, FragmentError, HEADER};
pub use host::{HostEvent, decode_host, encode_host};
pub use instruction::{Instruction, VERSION};
pub use protobuf::DecodeError;
pub use receiver::{MAX_STATES, MAX_WEIGHT, QUENCH};
pub use sender::MAX_SENT;
pub use state::{DiffError, State};
pub use stream::{Sided, StreamLog, StreamReader};
pub use timing::{ACK_DELAY, ACK_INTERVAL, ACTIVE_RETRY, Rtt, Settings, send_interval};
pub use timing::{PAYLOAD_IPV4, PAYLOAD_IPV6};
pub use transport::{ReceiveError, Received, TransmitError, Transport};
pub use user::{FullError, UserEvent, UserStream, WindowSize};
pub use window::Window;
pub use zlib::{CompressionError, LIMIT, compress, decompress};

/// The number of the state that announces the end of a session.
pub const SHUTDOWN: u64 = u64::MAX;
