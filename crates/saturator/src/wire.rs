//! What a datagram of a saturator begins with, and how large data packets are.

use crate::message::DATA_HEADER;
use exm_datagram::{Handshake, OVERHEAD};
use exm_units::Span;

/// What both ends agree on: a key for each path, the data's first. Its number is the version of the
/// protocol: ends of different versions do not answer each other.
pub(crate) const HANDSHAKE: Handshake = Handshake::new("exm saturate 2", 2);

/// The first byte of a datagram.
pub(crate) const OVER_DATA: u8 = 1;
pub(crate) const OVER_CONTROL: u8 = 2;
pub(crate) const INITIATION: u8 = 3;
pub(crate) const RESPONSE: u8 = 4;
pub(crate) const COOKIE_REPLY: u8 = 5;

/// How often each end tells where it stands.
pub(crate) const STATUS_EVERY: Span = Span::from_millis(200);

/// A way between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Over the device under test.
    Data,
    /// The other, unloaded way.
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

/// How a recording is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    size: u16,
}

/// A size that no data packet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "data packets of {size} bytes of UDP payload cannot be sent: give {} to {} bytes",
    Settings::LEAST,
    Settings::MOST
)]
pub struct SettingsError {
    size: u16,
}

impl Settings {
    /// The smallest data packets, in bytes of UDP payload.
    pub const LEAST: u16 = (1 + OVERHEAD + DATA_HEADER) as u16;
    /// The largest: those of jumbo frames.
    pub const MOST: u16 = 8952;
    /// As large as they are unless told otherwise.
    pub const USUAL: u16 = 1400;

    /// With data packets of so many bytes of UDP payload.
    ///
    /// # Errors
    /// They would be too small or too large.
    pub fn new(size: u16) -> Result<Settings, SettingsError> {
        if (Settings::LEAST..=Settings::MOST).contains(&size) {
            Ok(Settings { size })
        } else {
            Err(SettingsError { size })
        }
    }

    /// The size of data packets, in bytes of UDP payload.
    pub fn size(self) -> u16 {
        self.size
    }

    /// The zeros in a data packet.
    pub(crate) fn padding(self) -> usize {
        usize::from(self.size - Settings::LEAST)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { size: Settings::USUAL }
    }
}
