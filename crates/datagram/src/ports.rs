//! [`PortRange`]: where a server may listen.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Ports from a first to a last, of which a server takes the first that is free. Zero stands for any
/// that the system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A text that is no range of ports.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is neither a port such as 60001 nor a range of them such as 60001:60010")]
pub struct ParsePortsError {
    text: String,
}

impl PortRange {
    /// Where servers listen unless told otherwise: 60001 to 60999, as mosh's do, so that whoever has
    /// opened a firewall for these has opened it for ours.
    pub const SERVERS: PortRange = PortRange { first: 60_001, last: 60_999 };

    /// The one port `port`; zero for any.
    pub const fn single(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }

    /// The ports, in order.
    pub fn ports(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl FromStr for PortRange {
    type Err = ParsePortsError;

    /// Reads `PORT` or, as mosh writes it, `FIRST:LAST`.
    fn from_str(text: &str) -> Result<PortRange, ParsePortsError> {
        let (first, last) = text.split_once(':').unwrap_or((text, text));
        let ports = first.parse().ok().zip(last.parse().ok());
        let whole = |&(first, last): &(u16, u16)| first < last && first > 0 || first == last;
        let (first, last) = ports
            .filter(whole)
            .ok_or_else(|| ParsePortsError { text: text.chars().take(40).collect() })?;
        Ok(PortRange { first, last })
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PortRange { first, last } = self;
        if first == last { write!(f, "{first}") } else { write!(f, "{first}:{last}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_they_are_written() {
        for text in ["0", "60001", "60001:60999", "1:65535"] {
            assert_eq!(text.parse::<PortRange>().expect(text).to_string(), text);
        }
        assert_eq!("60001:60999".parse(), Ok(PortRange::SERVERS));
        assert_eq!("7".parse(), Ok(PortRange::single(7)));
        for text in ["", ":", "1:", "2:1", "0:5", "65536", "-1", "1-2", "1:2:3"] {
            let error = text.parse::<PortRange>().expect_err(text).to_string();
            assert!(error.contains("neither a port such as 60001"), "{error}");
        }
    }
}
