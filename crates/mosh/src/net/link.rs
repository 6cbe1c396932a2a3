//! [`ClientLink`]: a client with its sockets.

use super::servers::Servers;
use super::{NetError, SMALL_PAYLOAD, seed};
use crate::{Client, ClientSettings};
use exm_datagram::Key;
use exm_endpoint::{SocketError, SocketOptions, Sockets};
use exm_os::Clock;
use exm_terminal::Size;
use exm_units::Instant;
use std::net::SocketAddr;

/// A client, and the sockets by which it reaches its server.
pub(super) struct ClientLink {
    pub(super) clock: Clock,
    pub(super) sockets: Sockets,
    pub(super) servers: Servers,
    pub(super) client: Client,
    /// The latest time that the client knows.
    pub(super) known: Instant,
}

impl ClientLink {
    /// A client with a terminal of this `size`, of the server that has `key` at one of these addresses.
    ///
    /// # Errors
    /// There is no address, no socket can be opened, or the system has no randomness.
    pub(super) fn open(
        servers: &[SocketAddr],
        key: &Key,
        size: Size,
        settings: ClientSettings,
    ) -> Result<ClientLink, NetError> {
        let clock = Clock::start();
        let known = clock.now();
        let servers = Servers::new(servers)?;
        let sockets =
            Sockets::connect(known, SocketOptions::default()).map_err(NetError::Socket)?;
        let client = Client::new(known, key, size, settings, seed()?);
        Ok(ClientLink { clock, sockets, servers, client, known })
    }

    /// Reads what has come, and changes the port or the address if nothing comes.
    pub(super) fn receive(&mut self) {
        let ClientLink { clock, sockets, servers, client, known } = self;
        sockets.receive(|arrival, datagram| {
            *known = arrival.at(clock.now(), *known);
            if servers.has(arrival.path.remote) {
                // What is not authentic changes nothing.
                let _ = client.receive(*known, datagram);
            }
        });
        self.known = self.clock.now();
        let heard = self.client.last_received_at();
        if self.sockets.hop(self.known, heard) {
            self.servers.go_on(self.known);
        }
    }

    /// Sends what is due.
    pub(super) fn transmit(&mut self) {
        let now = self.clock.now();
        self.known = now;
        while let Some(datagram) = self.client.transmit(now) {
            // What is not sent is lost, like any other.
            match self.sockets.send(self.servers.path(), &datagram, None) {
                Err(SocketError::Unreachable) => self.servers.go_on(now),
                Err(SocketError::TooLarge) => self.client.set_payload_limit(SMALL_PAYLOAD),
                _ => {}
            }
        }
    }
}
