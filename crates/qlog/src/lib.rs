#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! A [`Writer`] writes a log in one of two [`Form`]s: that of the present drafts (draft-ietf-quic-qlog-main-schema and
//! draft-ietf-quic-qlog-quic-events), or that of their version 0.3, which more viewers read. Both are JSON text sequences
//! (RFC 7464), usually in a file with the ending `.sqlog`: a header, then a record for each [`Event`]. Times are in
//! milliseconds from the start.

mod event;
mod record;
mod writer;

pub use event::{Event, Frame, Metrics, Packet, Trigger};
pub use writer::{Form, Header, Vantage, Writer};

#[cfg(test)]
mod tests;
