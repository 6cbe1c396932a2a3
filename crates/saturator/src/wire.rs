//! The framing of datagrams, and the size of data packets.

use crate::message::DATA_HEADER;
use exm_datagram::OVERHEAD;
use exm_endpoint::Handshake;
use exm_units::Span;

/// The handshake for two keys, that of the data path first. The number in the name is the protocol version:
/// ends of different versions do not respond to each other.
pub(crate) const HANDSHAKE: Handshake = Handshake::new("exm saturate 2", 2);

/// The first byte of a datagram.
pub(crate) const OVER_DATA: u8 = 1;
pub(crate) const OVER_CONTROL: u8 = 2;
pub(crate) const INITIATION: u8 = 3;
pub(crate) const RESPONSE: u8 = 4;
pub(crate) const COOKIE_REPLY: u8 = 5;

/// How often each end sends its status.
pub(crate) const STATUS_EVERY: Span = Span::from_millis(200);

/// A path between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Through the device under test.
    Data,
    /// The other, unloaded path.
    Control,
}

impl Path {
    pub(crate) const fn tag(self) -> u8 {
        match self {
            Path::Data => OVER_DATA,
            Path::Control => OVER_CONTROL,
        }
    }
}

/// The settings of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    size: u16,
}

/// An impossible size of data packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "data packets of {size} bytes of UDP payload cannot be sent: give {} to {} bytes",
    Settings::MIN_SIZE,
    Settings::MAX_SIZE
)]
pub struct SettingsError {
    size: u16,
}

impl Settings {
    /// The smallest data packets, in bytes of UDP payload.
    pub const MIN_SIZE: u16 = (1 + OVERHEAD + DATA_HEADER) as u16;
    /// The largest: those of jumbo frames.
    pub const MAX_SIZE: u16 = 8952;
    /// The default size.
    pub const DEFAULT_SIZE: u16 = 1400;

    /// Settings with data packets of `size` bytes of UDP payload.
    ///
    /// # Errors
    /// The size is too small or too large.
    pub fn new(size: u16) -> Result<Settings, SettingsError> {
        if (Settings::MIN_SIZE..=Settings::MAX_SIZE).contains(&size) {
            Ok(Settings { size })
        } else {
            Err(SettingsError { size })
        }
    }

    /// The size of data packets, in bytes of UDP payload.
    pub fn size(self) -> u16 {
        self.size
    }

    /// The padding of a data packet.
    pub(crate) fn padding(self) -> usize {
        usize::from(self.size - Settings::MIN_SIZE)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { size: Settings::DEFAULT_SIZE }
    }
}
