//! [`Message`]: the protocol of the two ends.
//!
//! All integers are big-endian, all times nanoseconds of the clock of the end that took them. Counts are below
//! 2^62, which no end reaches.
//!
//! | first byte | message | fields (bytes) |
//! |---|---|---|
//! | 1 | [`Message::Data`] | number (8), time of sending (8), window (4), zeros up to the packet's size |
//! | 2 | [`Message::Arrivals`] | number of the first arrival (8), and for each: number of the packet, time of sending, time of arrival (8 each) |
//! | 3 | [`Message::Request`] | number of the first arrival that is missing (8), how many (2) |
//! | 4 | [`Message::Status`] | arrivals so far (8), size of data packets (2), flags (1): 1 for the end of the recording |

use exm_units::Instant;

const DATA: u8 = 1;
const ARRIVALS: u8 = 2;
const REQUEST: u8 = 3;
const STATUS: u8 = 4;

/// The bytes of a data packet before its zeros.
pub(crate) const DATA_HEADER: usize = 21;
/// The bytes of a status.
pub(crate) const STATUS_LENGTH: usize = 12;
/// The bytes of an arrival.
const ARRIVAL: usize = 24;
/// The limit of counts, so that adding to them cannot overflow.
const LARGEST: u64 = 1 << 62;
/// The most arrivals in one message, which then fits every link.
pub(crate) const MAX_ARRIVALS: usize = 45;
/// The most arrivals in one request.
pub(crate) const MAX_REQUESTED: u16 = 450;

/// A data packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The packet's number.
    pub number: u64,
    /// When it was sent, by its sender's clock.
    pub sent_at: Instant,
    /// When it arrived, by its receiver's.
    pub received_at: Instant,
}

/// A message from one end to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A packet that fills the link.
    Data {
        /// Its number, from 0.
        number: u64,
        /// When it was sent, by its sender's clock.
        sent_at: Instant,
        /// How many packets its sender keeps in flight.
        window: u32,
    },
    /// Packets that have arrived, reported to their sender: acknowledgements, and the recorded data.
    Arrivals {
        /// The number of the first of these among all arrivals, from 0.
        first: u64,
        /// The arrivals in order.
        arrivals: Vec<Arrival>,
    },
    /// Requests arrivals whose report was lost.
    Request {
        /// The number of the first.
        first: u64,
        /// How many.
        count: u16,
    },
    /// The state of its sender, sent periodically.
    Status {
        /// How many packets have arrived there.
        arrivals: u64,
        /// The UDP payload of its data packets, in bytes; the server uses the client's size.
        size: u16,
        /// Whether the recording is over, so that no more data is to be sent.
        is_over: bool,
    },
}

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes that begin with {kind} are not a message of a saturator")]
pub struct Malformed {
    /// The number of bytes.
    pub length: usize,
    /// The first byte; 0 if there is none.
    pub kind: u8,
}

impl Message {
    /// Appends its bytes to `out`, without the padding of a data packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, number: u64| out.extend_from_slice(&number.to_be_bytes());
        match self {
            Message::Data { number, sent_at, window } => {
                out.push(DATA);
                put(out, *number);
                put(out, sent_at.as_nanos());
                out.extend_from_slice(&window.to_be_bytes());
            }
            Message::Arrivals { first, arrivals } => {
                out.push(ARRIVALS);
                put(out, *first);
                for arrival in arrivals {
                    put(out, arrival.number);
                    put(out, arrival.sent_at.as_nanos());
                    put(out, arrival.received_at.as_nanos());
                }
            }
            Message::Request { first, count } => {
                out.push(REQUEST);
                put(out, *first);
                out.extend_from_slice(&count.to_be_bytes());
            }
            Message::Status { arrivals, size, is_over } => {
                out.push(STATUS);
                put(out, *arrivals);
                out.extend_from_slice(&size.to_be_bytes());
                out.push(u8::from(*is_over));
            }
        }
    }

    /// The message in `bytes`.
    ///
    /// # Errors
    /// They are not a message.
    pub fn decode(bytes: &[u8]) -> Result<Message, Malformed> {
        let malformed =
            || Malformed { length: bytes.len(), kind: bytes.first().copied().unwrap_or(0) };
        Message::read(bytes).ok_or_else(malformed)
    }

    fn read(bytes: &[u8]) -> Option<Message> {
        let (&kind, rest) = bytes.split_first()?;
        let (first, rest) = counted(rest)?;
        Some(match kind {
            DATA => {
                let (sent_at, rest) = number(rest)?;
                let window = u32::from_be_bytes(*rest.first_chunk()?);
                Message::Data { number: first, sent_at: Instant::from_nanos(sent_at), window }
            }
            ARRIVALS if rest.len().is_multiple_of(ARRIVAL) => {
                let all = rest.chunks(ARRIVAL);
                (1..=MAX_ARRIVALS).contains(&all.len()).then_some(())?;
                Message::Arrivals { first, arrivals: all.map(arrival).collect::<Option<_>>()? }
            }
            REQUEST => {
                let count = u16::from_be_bytes(rest.try_into().ok()?);
                Message::Request { first, count }
            }
            STATUS => match rest {
                &[high, low, flags @ (0 | 1)] => {
                    let size = u16::from_be_bytes([high, low]);
                    Message::Status { arrivals: first, size, is_over: flags == 1 }
                }
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

/// A number of what is counted.
fn counted(bytes: &[u8]) -> Option<(u64, &[u8])> {
    number(bytes).filter(|&(number, _)| number < LARGEST)
}

fn arrival(bytes: &[u8]) -> Option<Arrival> {
    let (packet, bytes) = counted(bytes)?;
    let (sent_at, bytes) = number(bytes)?;
    let (received_at, _) = number(bytes)?;
    let [sent_at, received_at] = [sent_at, received_at].map(Instant::from_nanos);
    Some(Arrival { number: packet, sent_at, received_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals() -> impl Strategy<Value = Arrival> {
        (0..LARGEST, any::<[u64; 2]>()).prop_map(|(number, [sent_at, received_at])| Arrival {
            number,
            sent_at: Instant::from_nanos(sent_at),
            received_at: Instant::from_nanos(received_at),
        })
    }

    fn messages() -> impl Strategy<Value = Message> {
        prop_oneof![
            (0..LARGEST, any::<(u64, u32)>()).prop_map(|(number, (sent_at, window))| {
                Message::Data { number, sent_at: Instant::from_nanos(sent_at), window }
            }),
            (0..LARGEST, prop::collection::vec(arrivals(), 1..=MAX_ARRIVALS))
                .prop_map(|(first, arrivals)| Message::Arrivals { first, arrivals }),
            (0..LARGEST, any::<u16>()).prop_map(|(first, count)| Message::Request { first, count }),
            (0..LARGEST, any::<(u16, bool)>()).prop_map(|(arrivals, (size, is_over))| {
                Message::Status { arrivals, size, is_over }
            }),
        ]
    }

    #[test]
    fn the_largest_message_fits_every_link() {
        let arrival = Arrival { number: 0, sent_at: Instant::ZERO, received_at: Instant::ZERO };
        let message = Message::Arrivals { first: 0, arrivals: vec![arrival; MAX_ARRIVALS] };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        // The minimum MTU of IPv6, less its header, UDP's, and that of the datagram layer.
        assert!(bytes.len() <= 1280 - 48 - 1 - exm_datagram::OVERHEAD, "{}", bytes.len());
    }

    proptest! {
        #[test]
        fn messages_are_decoded_as_encoded(message in messages(), zeros in 0usize..1400) {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            prop_assert_eq!(Message::decode(&bytes), Ok(message.clone()));
            bytes.resize(bytes.len() + zeros, 0);
            let is_data = matches!(message, Message::Data { .. });
            let is_read = Message::decode(&bytes).is_ok();
            let is_list = matches!(message, Message::Arrivals { .. });
            let may_be = zeros == 0 || is_data || (is_list && zeros.is_multiple_of(ARRIVAL));
            prop_assert!(is_read == may_be || (is_list && !is_read));
        }

        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(message) = Message::decode(&bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert!(bytes.starts_with(&again));
            }
        }
    }
}
