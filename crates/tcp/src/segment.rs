//! [`Segment`] and [`Acknowledgement`]: what sender and receiver exchange.

use exm_units::{Instant, Span};

/// A segment in flight to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The SYN that opens a connection.
    Syn,
    /// The data segment of this number, counted from the connection's first.
    Data(u64),
}

/// The most blocks an acknowledgement reports: as many as fit beside a timestamp (RFC 2018,
/// section 3).
pub const MAX_BLOCKS: usize = 3;

/// An ACK: what a receiver has received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acknowledgement {
    /// The number of the next segment expected: all before it have arrived.
    pub cumulative: u64,
    /// Ranges of segments received out of order, each from its first to before its last, starting
    /// with the one that holds the segment just arrived (RFC 2018, section 4); empty ranges are
    /// unused.
    pub blocks: [(u64, u64); MAX_BLOCKS],
    /// The number of the segment that triggered it; for a delayed ACK, the last one.
    pub sequence: u64,
    /// When that segment was sent; for a delayed ACK of TCP, the first segment that it covers (RFC 7323,
    /// section 4.3).
    pub sent_at: Instant,
    /// How long the receiver held the ACK back, waiting for another segment.
    pub delay: Span,
    /// When it arrived, by the receiver's clock.
    pub received_at: Instant,
    /// How many marked segments have arrived since the connection began: what the AccECN option reports. A sender without the
    /// option reads no more of it than the [ACE field](crate::ace_field).
    pub marked: u64,
    /// The feedback that the path's routers gave the segment, if any (XCP).
    pub feedback: Option<f64>,
    /// Whether it acknowledges a SYN.
    pub syn: bool,
    /// Whether it acknowledges a duplicate segment (RFC 2883).
    pub duplicate: bool,
}
