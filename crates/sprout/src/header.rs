//! [`Header`]: the header of every Sprout packet.
//!
//! On the wire: a byte of flags, where bit 0 means that a forecast follows, and bit 1 that nothing more
//! waits to be sent; the sequence, the throwaway number as its distance from the sequence, and the time
//! to the next packet in microseconds, each as a variable-length number; the send time in four bytes,
//! big-endian; then, if present, the forecast: its tick, the bytes received, and the bytes of each of
//! the eight ticks; finally, if bit 2 is set, the echo: a send time, as above, and in two bytes how
//! long ago that packet arrived, in units of 10 us. Variable-length numbers have seven bits per byte,
//! low bits first, with the top bit set on all but the last byte (LEB128).

use crate::{Forecast, HORIZON};
use exm_units::{Bytes, Instant, Span};

/// The header of every packet (thesis, section 2.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of bytes sent before this packet.
    pub sequence: u64,
    /// The throwaway number: all bytes before it have arrived when this packet does, or never will.
    pub throwaway: u64,
    /// When to expect another packet, counted from this one's arrival; in whole microseconds.
    pub time_to_next: Span,
    /// Whether nothing more waits to be sent: the link is then idle because the sender has no data, not
    /// because of its window.
    pub satisfied: bool,
    /// When this packet was sent, by the sender's clock: whole microseconds, modulo 2^32.
    pub sent_at: u32,
    /// The forecast for the opposite direction.
    pub forecast: Option<Forecast>,
    /// The echo of the last packet that arrived from the opposite direction.
    pub echo: Option<Echo>,
}

/// An echo of the last packet that arrived, as in RFC 7323 timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its [`Header::sent_at`].
    pub sent_at: u32,
    /// How long ago it arrived, in whole units of 10 us.
    held: u16,
}

impl Echo {
    const UNIT: Span = Span::from_micros(10);

    /// The echo of a packet that was sent at `sent_at` and arrived this long ago. None if that is 655
    /// ms or more.
    pub fn new(sent_at: u32, held: Span) -> Option<Echo> {
        let held = u16::try_from(held.as_nanos() / Echo::UNIT.as_nanos()).ok()?;
        Some(Echo { sent_at, held })
    }

    /// How long ago it arrived.
    pub fn held(&self) -> Span {
        Echo::UNIT * u64::from(self.held)
    }
}

/// A packet that does not begin with a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The packet is shorter than its header.
    #[error("the packet ends within its header")]
    Short,
    /// Unknown flags are set.
    #[error("the header's first byte {0:#04x} has unknown flags")]
    Flags(u8),
    /// A number is too large, or inconsistent with another.
    #[error("the header's numbers are impossible")]
    Numbers,
}

const HAS_FORECAST: u8 = 1;
const SATISFIED: u8 = 2;
const HAS_ECHO: u8 = 4;
/// The largest time to the next packet.
const LONGEST_GAP: u64 = 60_000_000;

impl Header {
    /// The maximum length of a header.
    pub const MAX_LEN: usize = 1 + 3 * 10 + 4 + 10 + 10 + HORIZON * 10 + 6;

    /// Appends the header to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        out.push(
            flag(self.forecast.is_some(), HAS_FORECAST)
                | flag(self.satisfied, SATISFIED)
                | flag(self.echo.is_some(), HAS_ECHO),
        );
        put(out, self.sequence);
        put(out, self.sequence - self.throwaway.min(self.sequence));
        put(out, (self.time_to_next.as_nanos() / 1000).min(LONGEST_GAP));
        out.extend_from_slice(&self.sent_at.to_be_bytes());
        if let Some(forecast) = &self.forecast {
            put_forecast(out, forecast);
        }
        if let Some(echo) = &self.echo {
            out.extend_from_slice(&echo.sent_at.to_be_bytes());
            out.extend_from_slice(&echo.held.to_be_bytes());
        }
    }

    /// The header that `packet` begins with, and the rest of the packet.
    ///
    /// # Errors
    /// [`Malformed`] if it has no valid header.
    pub fn decode(packet: &[u8]) -> Result<(Header, &[u8]), Malformed> {
        let (&flags, mut rest) = packet.split_first().ok_or(Malformed::Short)?;
        if flags & !(HAS_FORECAST | SATISFIED | HAS_ECHO) != 0 {
            return Err(Malformed::Flags(flags));
        }
        let sequence = take(&mut rest)?;
        let behind = take(&mut rest)?;
        let micros = take(&mut rest)?;
        if micros > LONGEST_GAP {
            return Err(Malformed::Numbers);
        }
        let sent_at = u32::from_be_bytes(take_array(&mut rest)?);
        let mut header = Header {
            sequence,
            throwaway: sequence.checked_sub(behind).ok_or(Malformed::Numbers)?,
            time_to_next: Span::from_micros(micros),
            satisfied: flags & SATISFIED != 0,
            sent_at,
            forecast: None,
            echo: None,
        };
        if flags & HAS_FORECAST != 0 {
            header.forecast = Some(take_forecast(&mut rest)?);
        }
        if flags & HAS_ECHO != 0 {
            let sent_at = u32::from_be_bytes(take_array(&mut rest)?);
            let held = u16::from_be_bytes(take_array(&mut rest)?);
            header.echo = Some(Echo { sent_at, held });
        }
        Ok((header, rest))
    }
}

/// A time as encoded in headers.
pub(crate) fn micros(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}

fn put_forecast(out: &mut Vec<u8>, forecast: &Forecast) {
    put(out, u64::from(forecast.tick));
    put(out, forecast.received.get());
    let mut before = 0;
    for delivered in forecast.delivered {
        put(out, delivered.get().saturating_sub(before));
        before = delivered.get();
    }
}

fn take_forecast(rest: &mut &[u8]) -> Result<Forecast, Malformed> {
    let tick = u32::try_from(take(rest)?).map_err(|_| Malformed::Numbers)?;
    let received = Bytes::new(take(rest)?);
    let mut delivered = [Bytes::ZERO; HORIZON];
    let mut sum = 0u64;
    for bytes in &mut delivered {
        sum = sum.checked_add(take(rest)?).ok_or(Malformed::Numbers)?;
        *bytes = Bytes::new(sum);
    }
    Ok(Forecast { tick, received, delivered })
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (&array, after) = rest.split_first_chunk().ok_or(Malformed::Short)?;
    *rest = after;
    Ok(array)
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(Malformed::Short)?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(Malformed::Numbers);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed::Numbers)
}
