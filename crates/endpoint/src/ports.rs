//! [`PortRange`]: the ports at which a server may listen.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// A range of ports, of which a server takes the first free one. Zero stands for any free port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A text that is not a range of ports.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is neither a port such as 60001 nor a range of them such as 60001:60010")]
pub struct ParsePortsError {
    text: String,
}

impl PortRange {
    /// The default ports of servers: 60001 to 60999, as of mosh, so that a firewall that admits mosh admits
    /// these too.
    pub const SERVERS: PortRange = PortRange { first: 60_001, last: 60_999 };

    /// The single port `port`; zero for any.
    pub const fn single(port: u16) -> PortRange {
        PortRange { first: port, last: port }
    }

    /// The first port.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// Calls `open` for each port until one is free, at `address` or, if `None`, at all addresses of this
    /// machine: IPv6 and IPv4 where a socket can be both, otherwise IPv4.
    ///
    /// # Errors
    /// The error of `open` for the last port if none is free, or the first error other than a port in use.
    pub fn first_free<T>(
        self,
        address: Option<IpAddr>,
        mut open: impl FnMut(SocketAddr) -> io::Result<T>,
    ) -> io::Result<T> {
        let taken = |error: &io::Error| error.kind() == ErrorKind::AddrInUse;
        let mut at = |port| match address {
            Some(address) => open(SocketAddr::new(address, port)),
            None => match open((Ipv6Addr::UNSPECIFIED, port).into()) {
                Err(error) if !taken(&error) => open((Ipv4Addr::UNSPECIFIED, port).into()),
                opened => opened,
            },
        };
        (self.first..self.last)
            .map(&mut at)
            .find(|opened| !opened.as_ref().is_err_and(taken))
            .unwrap_or_else(|| at(self.last))
    }
}

impl FromStr for PortRange {
    type Err = ParsePortsError;

    /// Parses `PORT` or, as mosh writes it, `FIRST:LAST`.
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
    fn ranges_are_parsed_as_printed() {
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

    #[test]
    fn the_first_free_port_is_taken() {
        let ports = PortRange { first: 7, last: 9 };
        let local: IpAddr = Ipv4Addr::LOCALHOST.into();
        let taken = || io::Error::from(ErrorKind::AddrInUse);
        let first = |free: u16| {
            ports.first_free(Some(local), |at| {
                assert_eq!(at.ip(), local);
                if at.port() < free { Err(taken()) } else { Ok(at.port()) }
            })
        };
        assert_eq!([7, 8, 9].map(|free| first(free).ok()), [7, 8, 9].map(Some));
        assert_eq!(first(10).map_err(|error| error.kind()), Err(ErrorKind::AddrInUse));
        // An error other than a port in use is not retried.
        let mut tried = Vec::new();
        let refused: io::Result<()> = ports.first_free(Some(local), |at| {
            tried.push(at.port());
            Err(ErrorKind::PermissionDenied.into())
        });
        assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied));
        assert_eq!(tried, [7]);
        // Without IPv6 the socket uses IPv4, at the same port.
        let without = ports.first_free(None, |at| match at.is_ipv6() {
            true => Err(ErrorKind::Unsupported.into()),
            false => Ok(at),
        });
        assert_eq!(without.ok(), Some((Ipv4Addr::UNSPECIFIED, 7).into()));
    }
}
