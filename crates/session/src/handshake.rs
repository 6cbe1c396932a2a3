//! The handshake messages that begin a session.
//!
//! Their first byte distinguishes them from the datagrams of a session, whose sequence numbers never grow
//! large enough to begin with it.

use exm_endpoint::Handshake;

/// The first byte of a client's initiation...
pub(crate) const INITIATION: u8 = 0x40;
/// ... of a server's response...
pub(crate) const RESPONSE: u8 = 0xc0;
/// ... and of its cookie reply.
pub(crate) const COOKIE_REPLY: u8 = 0xc1;

/// The number in it is the protocol version: ends of different versions do not respond to each other.
pub(crate) const HANDSHAKE: Handshake = Handshake::new("exm session 2", 1);

/// The UDP payload that carries `message`.
pub(crate) fn framed(kind: u8, message: &[u8]) -> Vec<u8> {
    [&[kind], message].concat()
}
