//! [`Message`]: the control messages of a tunnel.
//!
//! A datagram of the session is either an unmodified IP packet, whose first four bits are 4 or 6, or a
//! message, whose first byte is 1, 2 or 3 and whose second byte is the version. Integers are big-endian.

use crate::network::Network;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The version of this program.
pub(crate) const VERSION: u8 = 1;
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const ENDED: u8 = 3;
/// The least MTU of IPv4 (RFC 791, section 3.2).
const MIN_MTU: u16 = 68;

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A hello from a client, with the largest packets that it carries.
    Hello {
        /// The size in bytes.
        mtu: u16,
    },
    /// The server's response: the MTU of the tunnel, and the addresses of both ends.
    Welcome {
        /// The MTU in bytes.
        mtu: u16,
        /// The network of both addresses.
        network: Network,
    },
    /// The server serves this client no longer. Clients that do not know this message ignore it.
    Ended(EndReason),
}

/// Why a server ends the session of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Its key was revoked.
    Revoked,
    /// Another client with its key has connected from this address.
    Displaced(SocketAddr),
}

impl EndReason {
    const REVOKED: u8 = 0;
    const DISPLACED: u8 = 1;
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// They are of another version.
    Version(u8),
    /// They are malformed.
    Malformed,
}

impl Message {
    /// Encodes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16);
        match self {
            Message::Hello { mtu } => {
                bytes.extend_from_slice(&[HELLO, VERSION]);
                bytes.extend_from_slice(&mtu.to_be_bytes());
            }
            Message::Welcome { mtu, network } => {
                bytes.extend_from_slice(&[WELCOME, VERSION]);
                bytes.extend_from_slice(&mtu.to_be_bytes());
                let base = u32::from(network.server()) - 1;
                bytes.extend_from_slice(&base.to_be_bytes());
                bytes.push(network.ipv4().prefix_len());
            }
            Message::Ended(EndReason::Revoked) => {
                bytes.extend_from_slice(&[ENDED, VERSION, EndReason::REVOKED]);
            }
            Message::Ended(EndReason::Displaced(by)) => {
                bytes.extend_from_slice(&[ENDED, VERSION, EndReason::DISPLACED]);
                let ip = match by.ip() {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                };
                bytes.extend_from_slice(&ip.octets());
                bytes.extend_from_slice(&by.port().to_be_bytes());
            }
        }
        bytes
    }

    /// Parses `bytes`.
    ///
    /// # Errors
    /// They are not a message of this version.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        match *bytes {
            [HELLO | WELCOME, version, ..] if version != VERSION => {
                Err(DecodeError::Version(version))
            }
            [HELLO, _, high, low] => Ok(Message::Hello { mtu: mtu([high, low])? }),
            [WELCOME, _, high, low, a, b, c, d, prefix] => {
                let net = IpNet::new(Ipv4Addr::new(a, b, c, d).into(), prefix).ok();
                let network = net.and_then(Network::new).ok_or(DecodeError::Malformed)?;
                Ok(Message::Welcome { mtu: mtu([high, low])?, network })
            }
            [ENDED, VERSION, EndReason::REVOKED] => Ok(Message::Ended(EndReason::Revoked)),
            [ENDED, VERSION, EndReason::DISPLACED, ref ip @ .., high, low] => {
                let ip: [u8; 16] = ip.try_into().map_err(|_| DecodeError::Malformed)?;
                let ip = Ipv6Addr::from(ip).to_canonical();
                let by = SocketAddr::new(ip, u16::from_be_bytes([high, low]));
                Ok(Message::Ended(EndReason::Displaced(by)))
            }
            _ => Err(DecodeError::Malformed),
        }
    }
}

/// What a server tells a client that another one, at `by`, has displaced.
pub(crate) fn displaced(by: SocketAddr) -> Vec<u8> {
    Message::Ended(EndReason::Displaced(by)).encode()
}

fn mtu(bytes: [u8; 2]) -> Result<u16, DecodeError> {
    let mtu = u16::from_be_bytes(bytes);
    if mtu < MIN_MTU { Err(DecodeError::Malformed) } else { Ok(mtu) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_decoded_as_encoded() {
        let network = Network::choose("a", &[]).expect("one is free");
        let [four, six] = ["192.0.2.1:5", "[2001:db8::1]:60001"]
            .map(|text| Message::Ended(EndReason::Displaced(text.parse().expect("an address"))));
        let hello = Message::Hello { mtu: 1288 };
        let revoked = Message::Ended(EndReason::Revoked);
        for message in [hello, Message::Welcome { mtu: 68, network }, revoked, four, six] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Ok(message));
            for cut in 0..bytes.len() {
                assert_eq!(
                    Message::decode(&bytes[..cut]),
                    Err(DecodeError::Malformed),
                    "cut at {cut}"
                );
            }
        }
        assert_eq!(Message::decode(&[1, 9, 0]), Err(DecodeError::Version(9)));
        assert_eq!(
            Message::decode(&[1, 1, 0, 67]),
            Err(DecodeError::Malformed),
            "an impossible MTU"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_not(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
