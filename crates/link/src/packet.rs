//! [`Packet`]: what a link knows of a packet.

use exm_units::{Instant, Span};

/// A packet on its way: 64 bytes, a line of the cache.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the sender let it go.
    pub sent_at: Instant,
    /// When it came, or will come, to where it is: the queue it waits in or the end of the delay
    /// it is in.
    pub at: Instant,
    /// How long it has waited in queues so far.
    pub waited: Span,
    /// Its number, counted from the sender's first.
    pub sequence: u64,
    /// The number of its sender: queues that keep flows apart tell them by it.
    pub flow: u32,
    /// Which of its sender's flows it belongs to.
    pub epoch: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its owner's, such as where on its path it is. Links do not look at it.
    pub tag: u32,
    /// What it carries for the routers that govern senders (XCP), all zero where its sender is not
    /// governed.
    pub header: XcpHeader,
    /// Whether it may be marked instead of dropped, and whether it was.
    pub ecn: Ecn,
}

/// The codepoints of explicit congestion notification (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Its sender does not understand marks.
    #[default]
    NotCapable,
    /// It may be marked.
    Capable,
    /// It was marked: congestion experienced.
    Marked,
}

/// The congestion header of XCP (Katabi, Handley & Rohrs, SIGCOMM 2002, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpHeader {
    /// The sender's window, in packets: `H_cwnd`.
    pub cwnd: f32,
    /// Its estimate of the round-trip time in seconds, zero before the first: `H_rtt`.
    pub rtt: f32,
    /// By how many packets the window may change: first what the sender wants, then the least that
    /// any router granted: `H_feedback`.
    pub feedback: f32,
}

impl Packet {
    /// Packet `sequence` of sender `flow`, of `size` bytes, sent at `now`.
    pub fn new(flow: u32, sequence: u64, size: u32, now: Instant) -> Packet {
        Packet {
            sent_at: now,
            at: now,
            waited: Span::ZERO,
            sequence,
            flow,
            epoch: 0,
            size,
            tag: 0,
            header: XcpHeader::default(),
            ecn: Ecn::NotCapable,
        }
    }
}

const _: () = assert!(size_of::<Packet>() == 64);
