//! How the two ends begin a session: they agree on a key of its own by an [`exm_datagram::Handshake`].
//!
//! The first byte of its messages is one that no datagram of a session begins with, since none lives
//! to have sequence numbers that large.

use exm_datagram::Handshake;

/// The first byte of a client's initiation...
pub(crate) const INITIATION: u8 = 0x40;
/// ... of a server's response...
pub(crate) const RESPONSE: u8 = 0xc0;
/// ... and of its cookie reply.
pub(crate) const COOKIE_REPLY: u8 = 0xc1;

/// Its number is the version of the protocol: ends of different versions do not answer each other.
pub(crate) const HANDSHAKE: Handshake = Handshake::new("exm session 2", 1);

/// The datagram that carries `message`.
pub(crate) fn framed(kind: u8, message: &[u8]) -> Vec<u8> {
    [&[kind], message].concat()
}
