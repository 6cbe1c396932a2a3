//! [`Settings`]: how a session works; and how large its packets are.

use exm_sprout as sprout;
use exm_units::Bytes;

/// Bytes that the rest of a packet takes at most: 40 of IPv6, 8 of UDP, the datagram layer's, and
/// Sprout's header.
const AROUND_PAYLOAD: u16 = 40 + 8 + exm_datagram::OVERHEAD as u16 + HEADER;
/// Bytes of Sprout's header with a forecast at most, up to a hundred gigabits a second: 1 of flags,
/// 8 of the sequence, which the datagram layer keeps below 2^51, 4 + 4 + 4 of what follows, 5 + 8 of
/// the forecast's number and count, 4 for each of its ticks, and 6 of the echo.
const HEADER: u16 = 72;
/// The smallest packets that make sense.
const LEAST_MTU: u16 = 576;

/// How both ends of a session work. They need not have the same settings but for the method, of which
/// each uses its own for what it hears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    sprout: sprout::Settings,
    mtu: u16,
}

/// A size of packets that cannot be had.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("packets of {mtu} bytes are too small: at least {LEAST_MTU} are needed")]
pub struct MtuError {
    mtu: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::sized(sprout::Settings::default(), Settings::DEFAULT_MTU)
    }
}

impl Settings {
    /// The size of the largest IP packets unless told otherwise: what large cellular carriers let
    /// through whole.
    pub const DEFAULT_MTU: u16 = 1428;

    /// Works as `sprout` says, in IP packets of at most `mtu` bytes, whether v4 or v6. The size of a
    /// full packet in `sprout` is ignored.
    ///
    /// # Errors
    /// They are too small.
    pub fn new(sprout: sprout::Settings, mtu: u16) -> Result<Settings, MtuError> {
        if mtu < LEAST_MTU {
            return Err(MtuError { mtu });
        }
        Ok(Settings::sized(sprout, mtu))
    }

    fn sized(sprout: sprout::Settings, mtu: u16) -> Settings {
        let packet = counted(usize::from(mtu - AROUND_PAYLOAD));
        Settings { sprout: sprout::Settings { packet, ..sprout }, mtu }
    }

    /// What is put around a datagram, as the forecast counts it.
    pub const OVERHEAD: Bytes = Bytes::new(20 + 8 + exm_datagram::OVERHEAD as u64 + 15);

    /// The longest datagram, in bytes of UDP payload, that carries nothing of the user's.
    pub(crate) const HEARTBEAT: usize = exm_datagram::OVERHEAD + HEADER as usize;

    /// The largest datagram that is carried, in bytes.
    pub fn max_payload(&self) -> usize {
        usize::from(self.mtu - AROUND_PAYLOAD)
    }

    /// The size of the largest IP packets.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// How Sprout works.
    pub fn sprout(&self) -> &sprout::Settings {
        &self.sprout
    }
}

/// The size of the packet that carries `payload` bytes, as the forecast counts it: over IPv4, with a
/// header that has no forecast. Both ends must count alike, whatever the packet was translated to on
/// its way.
pub(crate) fn counted(payload: usize) -> Bytes {
    Bytes::new(payload as u64) + Settings::OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_sprout::{Echo, Forecast, HORIZON, Header};
    use exm_units::Span;

    #[test]
    fn a_full_packet_with_the_largest_header_fits() {
        let header = Header {
            sequence: 1 << 51,
            throwaway: (1 << 51) - (1 << 28) + 1,
            time_to_next: Span::from_secs(60),
            sent_at: u32::MAX,
            satisfied: true,
            forecast: Some(Forecast {
                tick: u32::MAX,
                received: Bytes::new(1 << 51),
                // A hundred gigabits a second.
                delivered: std::array::from_fn(|tick| Bytes::new(250_000_000 * (tick as u64 + 1))),
            }),
            echo: Echo::new(u32::MAX, Span::from_millis(655)),
        };
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        assert!(encoded.len() <= usize::from(HEADER), "{}", encoded.len());
        assert_eq!(HORIZON, 8);
        for mtu in [LEAST_MTU, Settings::DEFAULT_MTU, 1500, 9000] {
            let settings = Settings::new(sprout::Settings::default(), mtu).expect("large enough");
            let datagram = exm_datagram::OVERHEAD + encoded.len() + settings.max_payload();
            assert!(datagram + 48 <= usize::from(mtu));
        }
    }

    #[test]
    fn ipv6_has_room_in_the_default() {
        // What a link must carry whole to carry IPv6 (RFC 8200, section 5).
        assert!(Settings::default().max_payload() >= 1280);
        let error = Settings::new(sprout::Settings::default(), 575).expect_err("too small");
        assert!(error.to_string().contains("575 bytes are too small"));
    }
}
