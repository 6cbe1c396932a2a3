//! [`Stats`]: what a session is doing, and what it has done.

use exm_datagram::Dropped;
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use std::net::SocketAddr;

/// What has been counted since the session was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams sent, and their bytes, from the UDP header's end on.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: Bytes,
    /// Authentic datagrams that came.
    pub received: u64,
    /// Bytes of those.
    pub received_bytes: Bytes,
    /// Datagrams of the user's that were sent.
    pub carried: u64,
    /// Datagrams of the user's that came and were delivered.
    pub delivered: u64,
    /// Datagrams that came and were dropped.
    pub dropped: Dropped,
    /// Authentic datagrams that do not begin with Sprout's header.
    pub malformed: u64,
    /// Datagrams of the user's that were empty or too large to be carried, and dropped.
    pub unfit: u64,
    /// Handshake messages that were not of one who has the key.
    pub strangers: u64,
    /// Sessions that were agreed on: more than one where an end was started again, or the two lost
    /// each other.
    pub sessions: u64,
    /// How often the client's address changed.
    pub moves: u64,
    /// How often the client opened another socket.
    pub hops: u64,
    /// How many round-trip times were measured.
    pub rtts: u64,
    /// What the system refused to do.
    pub refused: Refused,
}

/// How often the system refused to send or receive a datagram, by reason. None ends a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Its buffers were full (EAGAIN, ENOBUFS): the datagram was tried again.
    pub full: u64,
    /// It knew no way there (ENETUNREACH, EHOSTUNREACH, ENETDOWN, ENODEV, EADDRNOTAVAIL).
    pub unreachable: u64,
    /// Nobody listened there (ECONNREFUSED).
    pub nobody: u64,
    /// The packet was larger than the way there carries (EMSGSIZE).
    pub too_large: u64,
    /// Anything else, such as a firewall (EPERM).
    pub other: u64,
}

impl Refused {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.full + self.unreachable + self.nobody + self.too_large + self.other
    }
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No two ends have agreed on a session yet.
    Waiting,
    /// The peer is heard.
    Established,
    /// There is a session, but for long nothing was heard of the peer. Should it come back, it goes
    /// on.
    Silent,
}

/// A session at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// How far it has come.
    pub state: State,
    /// Where the peer is, if that is known.
    pub peer: Option<SocketAddr>,
    /// When the peer was last heard.
    pub heard_at: Option<Instant>,
    /// The round-trip time measured last, to the millisecond.
    pub rtt: Option<Span>,
    /// The smoothed round-trip time, as the datagrams' timestamps tell it.
    pub srtt: Option<Span>,
    /// What may be sent now.
    pub window: Bytes,
    /// What is believed to be under way.
    pub in_flight: Bytes,
    /// What will be delivered over the life of the peer's forecast.
    pub deliverable: Bytes,
    /// The forecast by which this end sends.
    pub heard: Forecast,
    /// The forecast that this end makes, by which the peer sends.
    pub made: Forecast,
    /// What has been counted.
    pub counters: Counters,
}
