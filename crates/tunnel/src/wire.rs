//! [`Message`]: what the two ends of a tunnel say to each other, beside the packets they carry.
//!
//! A datagram of the session is an IP packet as it is, whose first half-byte is 4 or 6; or a message,
//! whose first byte is 1 or 2, and the second the version of what follows. Numbers have their highest
//! byte first.

use crate::network::{Cidr, Network};
use std::net::Ipv4Addr;

/// The version that this program speaks.
pub(crate) const VERSION: u8 = 1;
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
/// The smallest MTU that a device of IPv4 can have (RFC 791, section 3.2).
const LEAST_MTU: u16 = 68;

/// What one end says to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// From a client that has just come, and carries packets of up to so many bytes.
    Hello {
        /// In bytes.
        mtu: u16,
    },
    /// A server's answer: the size of the largest packets that both carry, and their addresses.
    Welcome {
        /// In bytes.
        mtu: u16,
        /// Where both ends' addresses are from.
        network: Network,
    },
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMessage {
    /// They are of a version that is not spoken here.
    Version(u8),
    /// They are nothing that either end says.
    Malformed,
}

impl Message {
    /// As bytes.
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
                bytes.push(network.cidr().prefix());
            }
        }
        bytes
    }

    /// The message that `bytes` are.
    ///
    /// # Errors
    /// They are none that is known here.
    pub fn decode(bytes: &[u8]) -> Result<Message, NoMessage> {
        match *bytes {
            [HELLO | WELCOME, version, ..] if version != VERSION => {
                Err(NoMessage::Version(version))
            }
            [HELLO, _, high, low] => Ok(Message::Hello { mtu: mtu([high, low])? }),
            [WELCOME, _, high, low, a, b, c, d, prefix] => {
                let cidr = Cidr::new(Ipv4Addr::new(a, b, c, d).into(), prefix);
                let network = cidr.and_then(Network::new).ok_or(NoMessage::Malformed)?;
                Ok(Message::Welcome { mtu: mtu([high, low])?, network })
            }
            _ => Err(NoMessage::Malformed),
        }
    }
}

fn mtu(bytes: [u8; 2]) -> Result<u16, NoMessage> {
    let mtu = u16::from_be_bytes(bytes);
    if mtu < LEAST_MTU { Err(NoMessage::Malformed) } else { Ok(mtu) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_is_heard() {
        let network = Network::choose("a", &[]).expect("one is free");
        for message in [Message::Hello { mtu: 1288 }, Message::Welcome { mtu: 68, network }] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Ok(message));
            for cut in 0..bytes.len() {
                assert_eq!(
                    Message::decode(&bytes[..cut]),
                    Err(NoMessage::Malformed),
                    "cut at {cut}"
                );
            }
        }
        assert_eq!(Message::decode(&[1, 9, 0]), Err(NoMessage::Version(9)));
        assert_eq!(
            Message::decode(&[1, 1, 0, 67]),
            Err(NoMessage::Malformed),
            "an MTU that cannot be"
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
