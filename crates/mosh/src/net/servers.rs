//! [`Servers`]: the addresses of a client's server.

use super::NetError;
use exm_endpoint::Path;
use exm_units::{Instant, Span};
use std::net::SocketAddr;

/// An address is tried for so long at least.
const TRIAL: Span = Span::from_secs(1);

/// The addresses of a server, one of which is used.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    addresses: Vec<SocketAddr>,
    current: usize,
    since: Instant,
}

impl Servers {
    pub(super) fn new(addresses: &[SocketAddr]) -> Result<Servers, NetError> {
        if addresses.is_empty() {
            return Err(NetError::NoAddress);
        }
        Ok(Servers { addresses: addresses.to_vec(), current: 0, since: Instant::ZERO })
    }

    /// The one that is used.
    pub(super) fn current(&self) -> SocketAddr {
        self.addresses[self.current]
    }

    /// The way to it.
    pub(super) fn path(&self) -> Path {
        Path { remote: self.current(), local: None }
    }

    /// Whether `address` is one of them.
    pub(super) fn has(&self, address: SocketAddr) -> bool {
        self.addresses.contains(&address)
    }

    /// Takes the next one, since nothing comes from this one, unless it was taken just before.
    pub(super) fn go_on(&mut self, now: Instant) {
        if self.since == Instant::ZERO || now.saturating_since(self.since) >= TRIAL {
            self.current = (self.current + 1) % self.addresses.len();
            self.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_tried_in_turn() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let [four, six]: [SocketAddr; 2] =
            ["192.0.2.1:60001", "[2001:db8::1]:60001"].map(|text| text.parse().expect("one"));
        let mut servers = Servers::new(&[four, six]).expect("two");
        assert_eq!(servers.path().remote, four);
        servers.go_on(at(10));
        servers.go_on(at(20));
        assert_eq!(servers.current(), six, "each datagram that cannot be sent asks for it");
        servers.go_on(at(1010));
        assert_eq!(servers.current(), four);
        assert!(servers.has(six) && !servers.has("192.0.2.2:60001".parse().expect("one")));
        assert!(Servers::new(&[]).is_err());
    }
}
