//! [`Displaced`]: the session of a client that another client with the same key has displaced.
//!
//! A server serves the client that connected last. The other one would notice the silence after seconds, begin a
//! new session and displace the first in turn, for ever. So the server keeps the old session for a while: if
//! datagrams of it still arrive, there are two clients, and the displaced one is told, under its own session.
//! A client that was restarted or has renewed its session no longer uses the old one, and is told nothing.

use super::{Endpoint, MAX_REPLIES, Side};
use crate::connection::{Connection, Outgoing};
use crate::stats::Counters;
use exm_endpoint::Path;
use exm_units::{Instant, Span};
use std::net::SocketAddr;

/// How long the old session is kept: until the displaced client would begin a new one.
const KEPT: Span = Span::from_secs(15);
/// The least time between two replies to it.
const INTERVAL: Span = Span::from_millis(100);

/// Makes the application datagram for a displaced client, of the address of the client that has displaced it.
pub type Farewell = fn(SocketAddr) -> Vec<u8>;

/// A displaced session.
pub(super) struct Displaced {
    connection: Connection,
    by: SocketAddr,
    since: Instant,
    told_at: Option<Instant>,
}

impl Displaced {
    /// The session of `connection`, displaced at `now` by the client at `by`.
    pub(super) fn new(now: Instant, connection: Connection, by: SocketAddr) -> Displaced {
        Displaced { connection, by, since: now, told_at: None }
    }
}

impl Endpoint {
    /// Whether `datagram` is of the displaced session, whose client is then told so.
    pub(super) fn is_displaced(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        let Side::Server(server) = &mut self.side else { return false };
        server.displaced.take_if(|displaced| now.saturating_since(displaced.since) >= KEPT);
        let (Some(displaced), Some(farewell)) = (&mut server.displaced, server.farewell) else {
            return false;
        };
        // Opening it destroys it if it is of the other session.
        let mut copy = datagram.to_vec();
        let mut ignored = Counters::default();
        let Ok(received) = displaced.connection.receive(now, &mut copy, &mut ignored) else {
            return false;
        };
        let is_due = displaced.told_at.is_none_or(|at| now.saturating_since(at) >= INTERVAL);
        if received.opened.newest && is_due && server.replies.len() < MAX_REPLIES {
            self.counters.displaced += u64::from(displaced.told_at.is_none());
            displaced.told_at = Some(now);
            let last = farewell(displaced.by);
            // The endpoint's own datagram may still have to be sent.
            let mut out = Outgoing::default();
            if displaced.connection.part(now, &last, &mut out).is_ok() {
                server.replies.push_back((path, out.datagram));
            }
        }
        true
    }
}
