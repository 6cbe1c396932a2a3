//! [`Listener`]: a server for many clients at one UDP port.

use crate::endpoint::{Endpoint, Farewell};
use crate::peers::{PeerId, PeerTraffic, Peers, Unrouted};
use crate::session::{RETRIED, RETRY, SessionError, bind};
use crate::settings::Settings;
use crate::stats::Stats;
use exm_datagram::Key;
use exm_endpoint::{Path, PortRange, SocketError, SocketErrors, Sockets};
use exm_os::Clock;
use exm_units::{Bytes, Instant};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// A server for many clients at one UDP port, each with a key and a session of its own. A client is the
/// [`Session`](crate::Session) that it would be of a server for one.
///
/// It is driven like a session: poll its file until that is readable or the time is [`Listener::next_wake`], then
/// call [`Listener::service`].
///
/// Clients are served in turn, with bounded work in each, and none can use up what others need:
/// - a datagram from an address from which a client is known to send is tried with that client's key first; others
///   are tried with all keys, up to 20 000 in a second, which bounds the work that strangers cause, and beyond
///   which clients that have just moved, or join, have to wait;
/// - a client may send 20 handshake messages a second;
/// - while more arrives than can be processed, each client gets its share, and what exceeds that is dropped
///   unread.
pub struct Listener {
    clock: Clock,
    settings: Settings,
    peers: Peers,
    sockets: Sockets,
    /// The latest time that the sessions know.
    known: Instant,
    /// The datagram that the system had no buffer space for, and since when.
    unsent: Option<(Instant, Path, Vec<u8>)>,
    next_attempt: Instant,
}

impl Listener {
    /// Opens a server without clients. It listens at the first free one of `ports`, at `address` or at all
    /// addresses of this machine.
    ///
    /// # Errors
    /// No port is free, or no socket can be opened.
    pub fn bind(
        clock: Clock,
        settings: Settings,
        address: Option<IpAddr>,
        ports: PortRange,
    ) -> Result<Listener, SessionError> {
        let sockets = bind(address, ports)?;
        let (known, next_attempt) = (Instant::ZERO, Instant::ZERO);
        let peers = Peers::new(settings);
        Ok(Listener { clock, settings, peers, sockets, known, unsent: None, next_attempt })
    }

    /// The settings of its sessions.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock of all its times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// The system call failed.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.sockets.local_address()
    }

    /// Sets what a client is told that another one with its key has displaced, as
    /// [`Session::set_farewell`](crate::Session::set_farewell), for clients that are admitted afterwards.
    pub fn set_farewell(&mut self, farewell: Farewell) {
        self.peers.set_farewell(farewell);
    }

    /// Admits the client with `key`, which no other client should have: the first would get the datagrams of both.
    pub fn add(&mut self, key: Key) -> PeerId {
        self.peers.add(key)
    }

    /// Ends the session of `peer` at once, and admits it no longer. If it is connected, it is sent `last` as the
    /// last application datagram, which may be lost.
    pub fn remove(&mut self, peer: PeerId, last: &[u8]) {
        let now = self.clock.now();
        if let Some(mut endpoint) = self.peers.remove(peer)
            && let Some(path) = endpoint.part(now, last)
        {
            // It is counted if it fails.
            let _ = self.sockets.send(path, endpoint.datagram(), None);
        }
    }

    /// Its clients, in the order in which they were added.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.peers.ids()
    }

    /// Delivers received datagrams to `traffic`, and sends those of `traffic` as far as each session's window
    /// allows. Never blocks. A bounded number of datagrams is received and sent in one call.
    pub fn service<T: PeerTraffic>(&mut self, traffic: &mut T) {
        let Listener { clock, sockets, peers, known, .. } = self;
        sockets.receive(|arrival, datagram| {
            // When it arrived, however late this thread was woken; but time does not go back.
            *known = arrival.at(clock.now(), *known);
            peers.receive(*known, arrival.path, datagram, traffic);
        });
        peers.end_round();
        self.transmit(traffic);
    }

    fn transmit(&mut self, traffic: &mut impl PeerTraffic) {
        // One time for all: packets of a train are sent at the same time.
        let now = self.clock.now();
        self.known = now;
        if let Some((since, path, datagram)) = self.unsent.take()
            && self.sockets.send(path, &datagram, None) == Err(SocketError::Full)
        {
            self.next_attempt = now.saturating_add(RETRY);
            if now.saturating_since(since) < RETRIED {
                self.unsent = Some((since, path, datagram));
            }
            return;
        }
        let Listener { peers, sockets, .. } = self;
        let mut kept = Vec::new();
        let full = peers.transmit(now, traffic, |path, datagram| {
            let has_room = sockets.send(path, datagram, None) != Err(SocketError::Full);
            if !has_room {
                kept.extend_from_slice(datagram);
            }
            has_room
        });
        if let Some((_, path)) = full {
            self.next_attempt = now.saturating_add(RETRY);
            self.unsent = Some((now, path, kept));
        }
    }

    /// Says that the traffic of `peer` has got something to send.
    pub fn wake(&mut self, peer: PeerId) {
        self.peers.wake(peer);
    }

    /// When to call [`Listener::service`] next, unless its file becomes readable before.
    pub fn next_wake(&self) -> Instant {
        // Not immediately after a failed send.
        if self.unsent.is_some() {
            return self.next_attempt;
        }
        self.peers.next_wake().max(self.next_attempt)
    }

    /// The number of bytes that the link to `peer` will deliver by its forecast; data queued beyond that will be
    /// late.
    pub fn deliverable(&self, peer: PeerId) -> Bytes {
        self.peers.endpoint(peer).map_or(Bytes::ZERO, Endpoint::deliverable)
    }

    /// The state and counters of the session with `peer`, without the counters of the socket; `None` if it was
    /// removed.
    pub fn stats(&self, peer: PeerId) -> Option<Stats> {
        self.peers.endpoint(peer).map(|endpoint| endpoint.stats(self.clock.now()))
    }

    /// Received datagrams that were dropped before a session saw them.
    pub fn unrouted(&self) -> Unrouted {
        self.peers.unrouted()
    }

    /// Failures to send or receive.
    pub fn socket_errors(&self) -> SocketErrors {
        self.sockets.errors()
    }
}

impl AsFd for Listener {
    /// A file that is readable when a datagram has arrived, for polling only.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sockets.as_fd()
    }
}
