//! [`Message`]: the control messages of a tunnel.
//!
//! A datagram of the session is either an unmodified IP packet, whose first four bits are 4 or 6, or a
//! message, whose first byte is 1 or 2 and whose second byte is the version. Integers are big-endian.

use crate::network::Network;
use ipnet::IpNet;
use std::net::Ipv4Addr;

/// The version of this program.
pub(crate) const VERSION: u8 = 1;
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
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
            _ => Err(DecodeError::Malformed),
        }
    }
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
        for message in [Message::Hello { mtu: 1288 }, Message::Welcome { mtu: 68, network }] {
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
        fn any_bytes_are_a_message_or_not(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
