//! [`Stats`]: the state and the counters of a session.

use exm_datagram::Dropped;
use exm_endpoint::SocketErrors;
use exm_sprout::Forecast;
use exm_units::{Bytes, Instant, Span};
use std::net::SocketAddr;

/// Counters since the session was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// UDP datagrams sent, handshakes excluded.
    pub sent: u64,
    /// Their UDP payload in bytes.
    pub sent_bytes: Bytes,
    /// Authentic datagrams received.
    pub received: u64,
    /// Their UDP payload in bytes.
    pub received_bytes: Bytes,
    /// Application datagrams sent.
    pub carried: u64,
    /// Application datagrams received and delivered.
    pub delivered: u64,
    /// Received datagrams that were dropped, by reason.
    pub dropped: Dropped,
    /// Authentic datagrams whose Sprout header is malformed.
    pub malformed: u64,
    /// Application datagrams dropped because they were empty or too large.
    pub unsendable: u64,
    /// Handshake messages from senders that do not have the key.
    pub unauthenticated: u64,
    /// Completed handshakes: more than one if an end was restarted or connectivity was lost.
    pub sessions: u64,
    /// How often another client with the key has taken the place of one that was still sending.
    pub displaced: u64,
    /// How often the client's address changed.
    pub moves: u64,
    /// How often the client changed its port.
    pub hops: u64,
    /// RTT samples.
    pub rtts: u64,
    /// Failures to send or receive, none of which ends a session.
    pub socket_errors: SocketErrors,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No handshake has completed yet.
    Waiting,
    /// Datagrams arrive from the peer.
    Established,
    /// There is a session, but the peer has been silent for long. If it returns, the session continues.
    Silent,
}

/// A snapshot of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Its state.
    pub state: State,
    /// The peer's address, if known.
    pub peer: Option<SocketAddr>,
    /// When the peer's last datagram arrived.
    pub last_received_at: Option<Instant>,
    /// The latest RTT sample, to the millisecond.
    pub rtt: Option<Span>,
    /// The smoothed RTT (RFC 6298), from the datagrams' timestamps.
    pub srtt: Option<Span>,
    /// Bytes that may be sent now.
    pub window: Bytes,
    /// Bytes believed to be in flight.
    pub in_flight: Bytes,
    /// Whether other senders fill the queue of the link to the peer, which leaves little of it to this one.
    pub is_crowded: bool,
    /// Bytes that the link will deliver, by the peer's forecast.
    pub deliverable: Bytes,
    /// The peer's forecast, which limits what this end sends.
    pub peer_forecast: Forecast,
    /// The forecast of this end, which limits what the peer sends.
    pub own_forecast: Forecast,
    /// The counters.
    pub counters: Counters,
}
