//! [`Rate`], [`Bytes`], [`Packets`] and [`Probability`].

use crate::parse::{ParseUnitError, display_scaled, names, parse_scaled, rounded, text_serde};
use crate::time::Span;
use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::str::FromStr;

/// A rate of transmission in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// A rate as written: in bits per second, or in packets per time, where the packet size is given
/// elsewhere.
///
/// ```
/// use exm_units::{Bytes, Rate, RateText};
///
/// let rate: RateText = "1.25 packets/ms".parse()?;
/// assert_eq!(rate.of(Bytes::new(1500)), Rate::from_mbps(15.0));
/// assert_eq!("15 Mbps".parse::<RateText>()?.of(Bytes::new(40)), Rate::from_mbps(15.0));
/// # Ok::<(), exm_units::ParseUnitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateText {
    /// Such as "15 Mbps".
    Bits(Rate),
    /// Such as "1.25 packets/ms", Remy's unit of rate, or "1250 packets/s".
    PacketsPerMs(f64),
}

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A number of packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Packets(u64);

/// A probability, from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Rate {
    /// A rate of `bits` bits per second.
    pub const fn from_bps(bits: u64) -> Rate {
        Rate(bits)
    }

    /// The nearest rate to `megabits` million bits per second; negative and NaN become zero.
    pub fn from_mbps(megabits: f64) -> Rate {
        Rate(rounded(megabits * 1e6))
    }

    /// The rate that carries `packets` packets of `size` each millisecond: Remy's unit of rate.
    pub fn from_packets_per_ms(packets: f64, size: Bytes) -> Rate {
        Rate(rounded(packets * (size.0 * 8_000) as f64))
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Million bits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Packets of `size` each millisecond: Remy's unit of rate.
    pub fn as_packets_per_ms(self, size: Bytes) -> f64 {
        self.0 as f64 / (size.0 * 8_000) as f64
    }

    /// How long it takes to transmit `size`, to the nearest nanosecond and at least one;
    /// [`Span::MAX`] at a rate of zero.
    pub fn service_time(self, size: Bytes) -> Span {
        let bit_nanos = u128::from(size.0) * 8_000_000_000;
        let rate = u128::from(self.0);
        match (bit_nanos + rate / 2).checked_div(rate) {
            Some(nanos) => Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1)),
            None => Span::MAX,
        }
    }

    /// The number of packets of `size` in `times` bandwidth-delay products of a path with this rate
    /// and propagation RTT `rtt`: rounded up, and at least one. All buffers given in BDPs are sized
    /// by this function. `times` is rounded to a multiple of 10^-6; NaN and negative values count as
    /// zero.
    pub fn bandwidth_delay(self, rtt: Span, times: f64, size: Bytes) -> Packets {
        const STEPS: f64 = 1e6;
        // In bits, times 10^9 for the nanoseconds and 10^6 for the steps.
        let product = (u128::from(self.0) * u128::from(rtt.as_nanos()))
            .saturating_mul(u128::from(rounded(times * STEPS)));
        let packet = u128::from(size.0.max(1)) * 8 * 1_000_000_000 * STEPS as u128;
        Packets(u64::try_from(product.div_ceil(packet)).unwrap_or(u64::MAX).max(1))
    }
}

impl RateText {
    /// The rate, for packets of `size`.
    pub fn of(self, size: Bytes) -> Rate {
        match self {
            RateText::Bits(rate) => rate,
            RateText::PacketsPerMs(packets) => Rate::from_packets_per_ms(packets, size),
        }
    }
}

impl Bytes {
    /// The payload of the largest Ethernet frame: the default packet size.
    pub const PACKET: Bytes = Bytes(1500);

    /// No data.
    pub const ZERO: Bytes = Bytes(0);

    /// `count` bytes.
    pub const fn new(count: u64) -> Bytes {
        Bytes(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of packets of `size` needed to carry this much, rounded up.
    pub const fn in_packets(self, size: Bytes) -> Packets {
        Packets(self.0.div_ceil(size.0))
    }
}

impl Packets {
    /// No packet.
    pub const ZERO: Packets = Packets(0);

    /// `count` packets.
    pub const fn new(count: u64) -> Packets {
        Packets(count)
    }

    /// The number of packets.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Probability {
    /// Impossible.
    pub const ZERO: Probability = Probability(0.0);
    /// Certain.
    pub const ONE: Probability = Probability(1.0);

    /// A probability, or none if `value` is not within 0..=1.
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// The probability as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

macro_rules! counted {
    ($type:ident) => {
        impl Add for $type {
            type Output = $type;
            fn add(self, other: $type) -> $type {
                $type(self.0 + other.0)
            }
        }

        impl AddAssign for $type {
            fn add_assign(&mut self, other: $type) {
                self.0 += other.0;
            }
        }

        impl Sub for $type {
            type Output = $type;
            fn sub(self, other: $type) -> $type {
                $type(self.0 - other.0)
            }
        }

        impl SubAssign for $type {
            fn sub_assign(&mut self, other: $type) {
                self.0 -= other.0;
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}
counted!(Bytes);
counted!(Packets);

const RATE_UNITS: &[(&str, f64)] = &[("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3), ("bps", 1.0)];
const BYTE_UNITS: &[(&str, f64)] = &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
const BYTE_NAMES: [(&str, f64); 10] = [
    ("B", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const RATE: &str = "a rate such as \"15 Mbps\"";
/// The largest number of packets per unit of time: for packets of any size the rate still fits in 64
/// bits.
const MOST_PACKETS_PER_MS: f64 = 1e9;
const RATE_NAMES: [(&str, f64); 10] = [
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    // In packets a millisecond.
    ("packets/s", 1e-3),
    ("packets/ms", 1.0),
];
/// The number of those units that count bits.
const BIT_RATES: usize = 8;
const PACKET_NAMES: [(&str, f64); 3] = [("packet", 1.0), ("packets", 1.0), ("pkt", 1.0)];

impl Rate {
    /// The units in which a rate may be written.
    pub const UNITS: &'static [&'static str] = &names(&RATE_NAMES);
}

impl Bytes {
    /// The units in which an amount of data may be written.
    pub const UNITS: &'static [&'static str] = &names(&BYTE_NAMES);
}

impl Packets {
    /// The units in which a number of packets may be written.
    pub const UNITS: &'static [&'static str] = &names(&PACKET_NAMES);
}

impl FromStr for RateText {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<RateText, ParseUnitError> {
        let error = || ParseUnitError::new(text, RATE, Rate::UNITS);
        let (of_bits, of_packets) = RATE_NAMES.split_at(BIT_RATES);
        let number = |&(name, scale): &(&str, f64)| Some((text.trim().strip_suffix(name)?, scale));
        let Some((number, scale)) = of_packets.iter().find_map(number) else {
            let bits = parse_scaled(text, error, of_bits)?;
            return Ok(RateText::Bits(Rate(bits)));
        };
        let packets = number.trim().parse::<f64>().map(|number| number * scale);
        match packets {
            Ok(packets) if (0.0..MOST_PACKETS_PER_MS).contains(&packets) => {
                Ok(RateText::PacketsPerMs(packets))
            }
            _ => Err(error()),
        }
    }
}

/// Packets count as [`Bytes::PACKET`] each.
impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Rate, ParseUnitError> {
        text.parse::<RateText>().map(|rate| rate.of(Bytes::PACKET))
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        let expected = "an amount of data such as \"100 kB\"";
        let error = || ParseUnitError::new(text, expected, Bytes::UNITS);
        parse_scaled(text, error, &BYTE_NAMES).map(Bytes)
    }
}

impl FromStr for Packets {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Packets, ParseUnitError> {
        let expected = "a number of packets such as \"1000 packets\"";
        let error = || ParseUnitError::new(text, expected, Packets::UNITS);
        parse_scaled(text, error, &PACKET_NAMES).map(Packets)
    }
}

impl FromStr for Probability {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Probability, ParseUnitError> {
        let trimmed = text.trim();
        let value = match trimmed.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
            None => trimmed.parse::<f64>(),
        };
        value.ok().and_then(Probability::new).ok_or_else(|| {
            ParseUnitError::new(text, "a probability such as \"0.01\" or \"1 %\"", &[])
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display_scaled(f, self.0, RATE_UNITS)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display_scaled(f, self.0, BYTE_UNITS)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "packet" } else { "packets" })
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Deserialised as its `FromStr` parses it.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for RateText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RateText, D::Error> {
        let text = <alloc::string::String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

text_serde!(Rate);
text_serde!(Bytes);
text_serde!(Packets);

#[cfg(feature = "serde")]
impl serde::Serialize for Probability {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A probability may also be written as a plain number: 0.01.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Probability {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Probability, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = Probability;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability such as 0.01 or \"1 %\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Probability, E> {
                self.visit_str(&alloc::format!("{value}"))
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_str(&alloc::format!("{value}"))
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_str(&alloc::format!("{value}"))
            }
        }
        deserializer.deserialize_any(Written)
    }
}
