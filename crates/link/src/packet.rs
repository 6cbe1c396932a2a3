//! [`Packet`]: the packet fields that a link uses.

use exm_units::{Instant, Span};

/// A packet in the network: 64 bytes, one cache line.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the sender sent it.
    pub sent_at: Instant,
    /// When it arrived, or will arrive, at its present place: its queue, or the end of its
    /// propagation delay.
    pub at: Instant,
    /// How long it has waited in queues so far.
    pub waited: Span,
    /// Its number, counted from its sender's first packet.
    pub sequence: u64,
    /// The number of its sender, by which fair queues distinguish flows.
    pub flow: u32,
    /// Which of its sender's flows it belongs to.
    pub epoch: u32,
    /// Its size in bytes.
    pub size: u32,
    /// For the owner's use, such as its position on its path. Links ignore it.
    pub tag: u32,
    /// The congestion header for XCP routers, all zero where its sender does not use XCP.
    pub header: XcpHeader,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// The codepoints of explicit congestion notification (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECN-capable, ECT(0); for an ABC sender, brake.
    Capable,
    /// ECN-capable, and its sender responds to each mark: ECT(1), for low latency (RFC 9331, section 4.1). For an ABC
    /// sender, accelerate (Goyal et al., NSDI 2020, section 5.1).
    LowLatency,
    /// Congestion experienced: it was marked.
    Marked,
}

/// The congestion header of XCP (Katabi, Handley & Rohrs, SIGCOMM 2002, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct XcpHeader {
    /// The sender's window, in packets: `H_cwnd`.
    pub cwnd: f32,
    /// Its estimate of the round-trip time in seconds, zero before the first: `H_rtt`.
    pub rtt: f32,
    /// By how many packets the window may change: first the sender's request, then the least that
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
