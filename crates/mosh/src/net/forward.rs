//! [`Forwards`]: the connections that a client forwards.

use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

/// A TCP port, and where its connections go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The address or name to listen at, or `*` for all addresses; none for loopback only.
    pub bind: Option<String>,
    /// The port to listen on.
    pub port: u16,
    /// The machine to connect to, as the end that connects resolves it.
    pub host: String,
    /// Its port.
    pub host_port: u16,
}

/// A forwarding that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "give [BIND:]PORT:HOST:HOSTPORT, with IPv6 addresses in brackets and ports from 1 to 65535"
)]
pub struct ForwardError;

impl std::str::FromStr for Forward {
    type Err = ForwardError;

    /// From `[BIND:]PORT:HOST:HOSTPORT`, with IPv6 addresses in brackets.
    fn from_str(text: &str) -> Result<Forward, ForwardError> {
        let words = split(text).ok_or(ForwardError)?;
        let (bind, [port, host, host_port]) = match words.as_slice() {
            [port, host, host_port] => (None, [port, host, host_port]),
            [bind, port, host, host_port] => (Some(bind), [port, host, host_port]),
            _ => return Err(ForwardError),
        };
        let number = |text: &str| text.parse().ok().filter(|port| *port > 0).ok_or(ForwardError);
        if host.is_empty() {
            return Err(ForwardError);
        }
        // With nothing before the colon it is all addresses, as in ssh.
        let bind = bind.map(|bind| if bind.is_empty() { "*" } else { bind }.to_owned());
        let (port, host_port) = (number(port)?, number(host_port)?);
        Ok(Forward { bind, port, host: (*host).to_owned(), host_port })
    }
}

/// The words between colons. Those in brackets may contain colons.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        let (word, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']')?,
            None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
        };
        words.push(word);
        if after.is_empty() {
            return Some(words);
        }
        rest = after.strip_prefix(':')?;
    }
}

/// Listens at `bind`, as in [`Forward::bind`].
///
/// # Errors
/// None of its addresses is free, or it has none.
pub(super) fn listen(bind: Option<&str>, port: u16) -> io::Result<Vec<TcpListener>> {
    let addresses: Vec<_> = match bind {
        None | Some("") => {
            vec![([127, 0, 0, 1], port).into(), ([0_u16, 0, 0, 0, 0, 0, 0, 1], port).into()]
        }
        Some("*") => vec![([0_u16; 8], port).into(), ([0, 0, 0, 0], port).into()],
        Some(name) => (name, port).to_socket_addrs()?.collect(),
    };
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut problem = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                listeners.push(listener);
                // On Linux this one has IPv4, too, unless that is switched off: then its bind succeeds.
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && bind != Some("*") => {
                return Err(error);
            }
            Err(error) => problem = error,
        }
    }
    if listeners.is_empty() { Err(problem) } else { Ok(listeners) }
}

/// A forwarding of this machine, which listens.
#[derive(Clone, Debug)]
pub struct LocalForward {
    pub(super) listeners: Arc<Vec<TcpListener>>,
    pub(super) forward: Forward,
}

impl LocalForward {
    /// Listens for connections, which are served once a session is shown.
    ///
    /// # Errors
    /// The port is taken, or the address is not this machine's.
    pub fn listen(forward: Forward) -> io::Result<LocalForward> {
        let listeners = Arc::new(listen(forward.bind.as_deref(), forward.port)?);
        Ok(LocalForward { listeners, forward })
    }
}

/// An SSH agent that programs at the server may ask to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its Unix socket.
    pub socket: PathBuf,
    /// What the server is called when the user is asked.
    pub server: String,
}

/// What a client forwards.
#[derive(Clone, Debug, Default)]
pub struct Forwards {
    /// Ports of this machine: their connections go to the server's side.
    pub local: Vec<LocalForward>,
    /// Ports of the server: their connections come to this side.
    pub remote: Vec<Forward>,
    /// The agent, if any. The user is asked for each connection.
    pub agent: Option<Agent>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwardings_are_parsed_as_ssh_does() {
        let parse = |text: &str| text.parse::<Forward>();
        let forward = |bind: Option<&str>, port, host: &str, host_port| {
            Ok(Forward { bind: bind.map(str::to_owned), port, host: host.to_owned(), host_port })
        };
        assert_eq!(parse("80:host:8080"), forward(None, 80, "host", 8080));
        assert_eq!(parse("127.0.0.2:80:h:1"), forward(Some("127.0.0.2"), 80, "h", 1));
        assert_eq!(parse("[::1]:80:[2001:db8::1]:1"), forward(Some("::1"), 80, "2001:db8::1", 1));
        assert_eq!(parse(":80:h:1"), forward(Some("*"), 80, "h", 1));
        assert_eq!(parse("*:80:h:1"), forward(Some("*"), 80, "h", 1));
        for text in [
            "",
            "80",
            "80:h",
            "80:h:0",
            "0:h:1",
            "80::1",
            "x:h:1",
            "80:h:99999",
            "1:[::1:2",
            "[a]b:1:h:2",
            "a:1:h:2:3",
        ] {
            assert_eq!(parse(text), Err(ForwardError), "{text:?}");
        }
    }

    #[test]
    fn a_taken_port_is_refused() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = taken.local_addr().expect("an address").port();
        let error = listen(None, port).expect_err("it is taken");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(listen(Some("192.0.2.1"), port).is_err());
    }
}
