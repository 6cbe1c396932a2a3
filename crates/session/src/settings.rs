//! [`Settings`]: the settings of a session, and the sizes of its packets.

use exm_sprout as sprout;
use exm_units::Bytes;

/// The most bytes of a packet besides the payload: IPv6 header 40, UDP header 8, the datagram layer's, and
/// Sprout's header.
const AROUND_PAYLOAD: u16 = 40 + 8 + exm_datagram::OVERHEAD as u16 + HEADER;
/// The most bytes of Sprout's header, with a forecast of up to 100 Gbit/s: 1 of flags,
/// 8 of the sequence, which the datagram layer keeps below 2^51, 4 + 4 + 4 of what follows, 5 + 8 of
/// the forecast's number and count, 4 for each of its ticks, and 6 of the echo.
const HEADER: u16 = 72;
/// The least MTU.
const MIN_MTU: u16 = 576;

/// The settings of one end of a session. The two ends may differ; each forecasts by its own method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    sprout: sprout::Settings,
    mtu: u16,
}

/// The MTU is too small.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("packets of {mtu} bytes are too small: at least {MIN_MTU} are needed")]
pub struct MtuError {
    mtu: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::sized(sprout::Settings::default(), Settings::DEFAULT_MTU)
    }
}

impl Settings {
    /// The default MTU, which large cellular carriers forward without fragmentation.
    pub const DEFAULT_MTU: u16 = 1428;

    /// Settings with those of Sprout, and IP packets of at most `mtu` bytes. The packet size in `sprout` is
    /// ignored.
    ///
    /// # Errors
    /// `mtu` is too small.
    pub fn new(sprout: sprout::Settings, mtu: u16) -> Result<Settings, MtuError> {
        if mtu < MIN_MTU {
            return Err(MtuError { mtu });
        }
        Ok(Settings::sized(sprout, mtu))
    }

    fn sized(sprout: sprout::Settings, mtu: u16) -> Settings {
        let packet = counted(usize::from(mtu - AROUND_PAYLOAD));
        Settings { sprout: sprout::Settings { packet, ..sprout }, mtu }
    }

    /// The overhead of a datagram, as forecasts count it.
    pub const OVERHEAD: Bytes = Bytes::new(20 + 8 + exm_datagram::OVERHEAD as u64 + 15);

    /// The longest datagram without application data, in bytes of UDP payload.
    pub(crate) const HEARTBEAT: usize = exm_datagram::OVERHEAD + HEADER as usize;

    /// The size of the packet that carries `payload` bytes, as forecasts count it: with IPv4, and a Sprout
    /// header without a forecast. Both ends must count alike, even if the packet is translated to IPv6.
    pub fn packet_size(payload: usize) -> Bytes {
        Bytes::new(payload as u64) + Settings::OVERHEAD
    }

    /// The largest application datagram, in bytes.
    pub fn max_payload(&self) -> usize {
        usize::from(self.mtu - AROUND_PAYLOAD)
    }

    /// The size of the largest IP packets, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The settings of Sprout.
    pub fn sprout(&self) -> &sprout::Settings {
        &self.sprout
    }
}

/// Short for [`Settings::packet_size`].
pub(crate) fn counted(payload: usize) -> Bytes {
    Settings::packet_size(payload)
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
        for mtu in [MIN_MTU, Settings::DEFAULT_MTU, 1500, 9000] {
            let settings = Settings::new(sprout::Settings::default(), mtu).expect("large enough");
            let datagram = exm_datagram::OVERHEAD + encoded.len() + settings.max_payload();
            assert!(datagram + 48 <= usize::from(mtu));
        }
    }

    #[test]
    fn ipv6_has_room_in_the_default() {
        // The minimum MTU of IPv6 links (RFC 8200, section 5).
        assert!(Settings::default().max_payload() >= 1280);
        let error = Settings::new(sprout::Settings::default(), 575).expect_err("too small");
        assert!(error.to_string().contains("575 bytes are too small"));
    }
}
