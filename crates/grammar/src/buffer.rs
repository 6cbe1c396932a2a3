//! [`Buffer`]: the text form of a queue limit.

use crate::error::GrammarError;
use exm_link::Limit;
use exm_units::{Bytes, Packets, Rate, Span};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// The most bandwidth-delay products.
const MAX_BDP: f64 = 1e12;

/// A queue limit: "1000 packets", "250 kB", "5 BDP" or "unlimited".
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// A fixed limit.
    Limit(Limit),
    /// A multiple of the link's rate times the round-trip propagation delay across it, the longest if
    /// there are several.
    Bdp(f64),
}

impl Buffer {
    /// No limit.
    pub const UNLIMITED: Buffer = Buffer::Limit(Limit::Unlimited);

    /// The limit for a link of `rate` with the round-trip propagation delay `rtt`; a multiple of the
    /// BDP becomes packets of `packet`, rounded up, at least one.
    pub fn limit(self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        match self {
            Buffer::Limit(limit) => limit,
            Buffer::Bdp(times) => Limit::Packets(rate.bandwidth_delay(rtt, times, packet)),
        }
    }
}

impl From<Limit> for Buffer {
    fn from(limit: Limit) -> Buffer {
        Buffer::Limit(limit)
    }
}

impl FromStr for Buffer {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Buffer, GrammarError> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Buffer::UNLIMITED);
        }
        if let Some(Ok(times)) = text.strip_suffix("BDP").map(|n| n.trim_end().parse::<f64>())
            && times > 0.0
            && times <= MAX_BDP
        {
            return Ok(Buffer::Bdp(times));
        }
        if let Ok(packets) = text.parse::<Packets>() {
            return Ok(Buffer::Limit(Limit::Packets(packets)));
        }
        if let Ok(bytes) = text.parse::<Bytes>() {
            return Ok(Buffer::Limit(Limit::Bytes(bytes)));
        }
        Err(GrammarError::new(format!(
            "\"{text}\" is no buffer: give one such as \"1000 packets\", \"250 kB\", \"5 BDP\" or \
             \"unlimited\", a number in {}, {}, BDP",
            Packets::UNITS.join(", "),
            Bytes::UNITS.join(", ")
        )))
    }
}

/// As it is parsed.
impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Limit(Limit::Unlimited) => f.write_str("unlimited"),
            Buffer::Limit(Limit::Packets(packets)) => write!(f, "{packets}"),
            Buffer::Limit(Limit::Bytes(bytes)) => write!(f, "{bytes}"),
            Buffer::Bdp(times) => write!(f, "{times} BDP"),
        }
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Buffer, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_parsed() {
        let limit = |text: &str| {
            let buffer = text.parse::<Buffer>().expect(text);
            assert_eq!(buffer.to_string().parse(), Ok(buffer));
            buffer.limit(Rate::from_mbps(15.0), Span::from_millis(150), Bytes::new(1500))
        };
        assert_eq!(limit("unlimited"), Limit::Unlimited);
        assert_eq!(limit("1000 packets"), Limit::Packets(Packets::new(1000)));
        assert_eq!(limit("250 kB"), Limit::Bytes(Bytes::new(250_000)));
        assert_eq!(limit("1 BDP"), Limit::Packets(Packets::new(188)), "187.5, rounded up");
        for bad in ["", "10", "5 ms", "-1 BDP", "nan BDP", "0 BDP"] {
            let error = bad.parse::<Buffer>().unwrap_err().to_string();
            assert!(error.contains("is no buffer"), "{bad}");
        }
    }
}
