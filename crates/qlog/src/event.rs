//! [`Event`]: what happens at an end of a connection.

use exm_units::{Bytes, Rate, Span};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet is sent.
    PacketSent(&'a Packet<'a>),
    /// A packet is received.
    PacketReceived(&'a Packet<'a>),
    /// A packet is deemed lost.
    PacketLost {
        /// Its number.
        number: u64,
        /// Why, if that is known.
        trigger: Option<Trigger>,
    },
    /// The present values of these quantities. Written are those that have changed.
    Metrics(&'a Metrics),
    /// The present state of the congestion controller, by name. Written if it has changed.
    State(&'a str),
}

/// A packet that is sent or received.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// Its number: the packets that an end sends are counted up, retransmissions as well.
    pub number: u64,
    /// Its size with headers.
    pub size: Bytes,
    /// What it carries.
    pub frame: Frame<'a>,
}

impl<'a> Packet<'a> {
    /// Packet `number` of `size` bytes with headers, which carries `frame`.
    pub fn new(number: u64, size: Bytes, frame: Frame<'a>) -> Packet<'a> {
        Packet { number, size, frame }
    }
}

/// What a packet carries, in terms of QUIC.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// A part of a stream of bytes that arrives whole and in order, as TCP's.
    Stream {
        /// The number of its first byte.
        offset: u64,
        /// Its length, bytes.
        length: u64,
    },
    /// Data that is not retransmitted.
    Datagram {
        /// Its length, bytes.
        length: u64,
    },
    /// An acknowledgement.
    Ack {
        /// The packets acknowledged: ranges of numbers, each from its first to its last.
        acked: &'a [(u64, u64)],
    },
    /// No data.
    Ping,
}

/// Why a packet is deemed lost (RFC 9002, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// Packets sent after it have been acknowledged.
    ReorderingThreshold,
    /// It was sent too long before one that has been acknowledged.
    TimeThreshold,
    /// Nothing was acknowledged for too long.
    Timeout,
}

/// What a sender measures and decides. Absent is what it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The RTT of the packet acknowledged last.
    pub latest_rtt: Option<Span>,
    /// The smoothed RTT.
    pub smoothed_rtt: Option<Span>,
    /// The smallest RTT.
    pub min_rtt: Option<Span>,
    /// The congestion window.
    pub congestion_window: Option<Bytes>,
    /// What is in flight.
    pub bytes_in_flight: Option<Bytes>,
    /// The same, in packets.
    pub packets_in_flight: Option<u64>,
    /// The slow start threshold.
    pub ssthresh: Option<Bytes>,
    /// The pacing rate.
    pub pacing_rate: Option<Rate>,
}

impl Metrics {
    /// Those that differ from `before`; one that is absent now counts as unchanged.
    pub(crate) fn since(&self, before: &Metrics) -> Metrics {
        Metrics {
            latest_rtt: changed(self.latest_rtt, before.latest_rtt),
            smoothed_rtt: changed(self.smoothed_rtt, before.smoothed_rtt),
            min_rtt: changed(self.min_rtt, before.min_rtt),
            congestion_window: changed(self.congestion_window, before.congestion_window),
            bytes_in_flight: changed(self.bytes_in_flight, before.bytes_in_flight),
            packets_in_flight: changed(self.packets_in_flight, before.packets_in_flight),
            ssthresh: changed(self.ssthresh, before.ssthresh),
            pacing_rate: changed(self.pacing_rate, before.pacing_rate),
        }
    }

    /// Takes over what `newer` has.
    pub(crate) fn update(&mut self, newer: &Metrics) {
        *self = Metrics {
            latest_rtt: newer.latest_rtt.or(self.latest_rtt),
            smoothed_rtt: newer.smoothed_rtt.or(self.smoothed_rtt),
            min_rtt: newer.min_rtt.or(self.min_rtt),
            congestion_window: newer.congestion_window.or(self.congestion_window),
            bytes_in_flight: newer.bytes_in_flight.or(self.bytes_in_flight),
            packets_in_flight: newer.packets_in_flight.or(self.packets_in_flight),
            ssthresh: newer.ssthresh.or(self.ssthresh),
            pacing_rate: newer.pacing_rate.or(self.pacing_rate),
        };
    }
}

fn changed<T: Copy + PartialEq>(now: Option<T>, before: Option<T>) -> Option<T> {
    if now == before { None } else { now }
}
