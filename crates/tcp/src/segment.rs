//! [`Segment`] and [`Acknowledgement`]: what sender and receiver say to each other.

use exm_units::Instant;

/// A segment on its way to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The request to begin.
    Syn,
    /// Segment of data of this number, counted from the connection's first.
    Data(u64),
}

/// The most blocks an acknowledgement reports: as many as fit beside a timestamp (RFC 2018,
/// section 3).
pub const MAX_BLOCKS: usize = 3;

/// What a receiver has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acknowledgement {
    /// The number of the segment it waits for: it has all before.
    pub cumulative: u64,
    /// Ranges of segments it has beyond, from the first to before the last, the one that holds the
    /// segment just arrived first (RFC 2018, section 4); empty ones mean nothing.
    pub blocks: [(u64, u64); MAX_BLOCKS],
    /// The number of the segment that it acknowledges; of several, the last.
    pub sequence: u64,
    /// When that segment was sent; of several, the first that waited for an ACK (RFC 7323,
    /// section 4.3).
    pub sent_at: Instant,
    /// When it arrived, by the receiver's clock.
    pub received_at: Instant,
    /// How many segments have arrived marked since the connection began.
    pub marked: u64,
    /// What the routers of the path granted the segment, if they speak of it (XCP).
    pub feedback: Option<f64>,
    /// Whether it acknowledges a SYN.
    pub syn: bool,
    /// Whether it acknowledges a segment that had arrived before (RFC 2883).
    pub duplicate: bool,
}
