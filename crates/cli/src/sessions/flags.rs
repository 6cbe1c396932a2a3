//! Options that the commands over sessions share.

use crate::shell::{Failure, note, quoted};
use exm_datagram::Key;
use exm_endpoint::PortRange;
use exm_os::Identity;
use exm_session::Settings;
use exm_sprout::{Method, Model};
use exm_units::Probability;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The default environment variable of the key.
pub(crate) const KEY: &str = "EXM_KEY";

/// The environment variable that may hold the key, and its value. It is removed from the environment while
/// the command line is parsed, before there are threads, so that no child process inherits it.
#[derive(Clone)]
struct KeyVariable {
    name: String,
    value: Option<Zeroizing<Vec<u8>>>,
}

impl From<&str> for KeyVariable {
    fn from(name: &str) -> KeyVariable {
        let value = exm_os::take_variable(name);
        let value = value.map(|value| Zeroizing::new(value.into_encoded_bytes()));
        KeyVariable { name: name.to_owned(), value }
    }
}

impl fmt::Debug for KeyVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyVariable").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where the key is read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Key")]
pub(crate) struct KeyFlags {
    /// The file that holds the key
    #[arg(long, value_name = "FILE", group = "key")]
    key_file: Option<PathBuf>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "NAME", group = "key", default_value = KEY)]
    key_env: KeyVariable,
    /// Read the key from the first line of the standard input
    #[arg(long, group = "key")]
    key_stdin: bool,
}

impl KeyFlags {
    /// Reads the key.
    pub(crate) fn key(&self) -> Result<Key, Failure> {
        let key = match &self.key_file {
            Some(file) => {
                warn_of_readers(file);
                Key::from_file(file)
            }
            None if self.key_stdin => Key::read(input()?, "the standard input"),
            None => {
                let KeyVariable { name, value } = &self.key_env;
                Key::from_variable(name, value.as_ref().map(|value| value.as_slice()))
            }
        };
        let ways = "give it by --key-file, --key-env or --key-stdin; \
                    \"exm sprout serve --new-key\" makes one";
        key.map_err(|error| Failure::from(error).with_tip(ways))
    }

    /// Writes a new key to its file, or prints it if there is none.
    pub(crate) fn hand_out(&self, key: &Key) -> Result<(), Failure> {
        match &self.key_file {
            Some(file) => key.to_new_file(file).map_err(|error| {
                let tip = "give the name of a new file, or no --new-key where it holds a key";
                Failure::from(error).with_tip(tip)
            }),
            None => {
                // Not as a note: programs parse it, too.
                let _ = writeln!(io::stderr(), "key: {}", key.to_text().as_str());
                Ok(())
            }
        }
    }
}

/// Warns if others can read the key in `file`, as wg(8) does, or if it belongs to another user, who can replace it.
pub(crate) fn warn_of_readers(file: &Path) {
    let Ok(metadata) = file.metadata() else { return };
    let (owner, user) = (metadata.uid(), Identity::current().user);
    if metadata.is_file() && owner != user && owner != 0 {
        let name = file.display();
        note(&format!(
            "the key in {name} belongs to the user {owner}, who can read and replace it"
        ));
    }
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        let (name, mode) = (file.display(), metadata.mode() & 0o777);
        note(&format!(
            "the key in {name} is not private, its mode is {mode:04o}: run chmod 600 {}",
            quoted(&name.to_string())
        ));
    }
}

/// The server's address, and its key.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerFlags {
    /// The address to listen at [default: all of this machine]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,
    /// The UDP port to listen on, or a range of which the first free one is taken
    #[arg(long, value_name = "PORT", default_value_t = PortRange::SERVERS)]
    pub(crate) port: PortRange,
    /// Generate a key for the client, and print it or write it to a new file
    #[arg(long, conflicts_with_all = ["key_env", "key_stdin"], help_heading = "Key")]
    new_key: bool,
    #[command(flatten)]
    key: KeyFlags,
}

impl ServerFlags {
    /// The key, new or given.
    pub(crate) fn key(&self) -> Result<Key, Failure> {
        if self.new_key { Ok(Key::generate()?) } else { self.key.key() }
    }

    /// The failure of a server that `error` describes, with a remedy.
    pub(crate) fn refused(error: &impl Error) -> Failure {
        let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        let failure = Failure::new(error.to_string());
        match cause.map(io::Error::kind) {
            Some(io::ErrorKind::AddrInUse) => failure.with_tip(
                "another port may be free: give it by --port, or a range such as 60001:60999",
            ),
            Some(io::ErrorKind::AddrNotAvailable) => {
                failure.with_tip("give an address that this machine has by --bind, or none")
            }
            Some(io::ErrorKind::PermissionDenied) => {
                failure.with_tip("give a port from 1024 on by --port, or run it as root")
            }
            _ => failure,
        }
    }

    /// Prints the `port` unless `quiet`, and `key` if it is new.
    pub(crate) fn announce(&self, port: u16, key: &Key, quiet: bool) -> Result<(), Failure> {
        if !quiet {
            note(&format!("listening on UDP port {port}"));
        }
        if self.new_key { self.key.hand_out(key) } else { Ok(()) }
    }
}

/// How the session works.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sprout")]
pub(crate) struct SproutFlags {
    /// The accepted probability that the link delivers less than forecast
    #[arg(long, value_name = "PROBABILITY", default_value = "5%", value_parser = risk)]
    risk: Probability,
    /// Forecast by a moving average, without caution: Sprout-EWMA
    #[arg(long, conflicts_with = "risk")]
    ewma: bool,
    /// The size of the largest IP packets, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Settings::DEFAULT_MTU)]
    mtu: u16,
}

/// Parses a probability that forecasts support.
fn risk(text: &str) -> Result<Probability, String> {
    let risk: Probability =
        text.parse().map_err(|error: exm_units::ParseUnitError| error.to_string())?;
    if (0.0001..=0.5).contains(&risk.get()) {
        Ok(risk)
    } else {
        Err("give a probability between 0.01% and 50%".to_owned())
    }
}

impl SproutFlags {
    /// The settings of the session.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let bayes = Method::Bayes { model: Model::default(), risk: self.risk.get() };
        let method = if self.ewma { Method::Ewma } else { bayes };
        let sprout = exm_sprout::Settings { method, ..exm_sprout::Settings::default() };
        Settings::new(sprout, self.mtu).map_err(|error| {
            Failure::invalid_value(&self.mtu.to_string(), "--mtu", &error.to_string())
        })
    }
}

/// The standard input, unbuffered, so that nothing is read ahead.
pub(crate) fn input() -> Result<File, Failure> {
    let file = io::stdin().as_fd().try_clone_to_owned();
    let failed = |error| Failure::new(format!("cannot read the standard input: {error}"));
    Ok(File::from(file.map_err(failed)?))
}

/// All addresses of `server`, a name or an address with an optional port.
pub(crate) fn servers(server: &str) -> Result<Vec<SocketAddr>, Failure> {
    addresses(&with_port(server))
}

/// All addresses of `host`, a name or an address with a port.
pub(crate) fn addresses(host: &str) -> Result<Vec<SocketAddr>, Failure> {
    let found = host.to_socket_addrs().map_err(|error| {
        let problem = format!("cannot find {host}: {error}");
        Failure::new(problem).with_tip("give it as HOST:PORT, such as example.org:60001")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() {
        return Err(Failure::new(format!("{host} has no address")));
    }
    Ok(addresses)
}

/// `server` with a port.
fn with_port(server: &str) -> String {
    let port = PortRange::SERVERS.first();
    if server.parse::<Ipv6Addr>().is_ok() {
        format!("[{server}]:{port}")
    } else if server.contains(':') && !server.ends_with(']') {
        server.to_owned()
    } else {
        format!("{server}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_port() {
        for (given, full) in [
            ("example.org", "example.org:60001"),
            ("example.org:5", "example.org:5"),
            ("192.0.2.1", "192.0.2.1:60001"),
            ("2001:db8::1", "[2001:db8::1]:60001"),
            ("[2001:db8::1]", "[2001:db8::1]:60001"),
            ("[2001:db8::1]:5", "[2001:db8::1]:5"),
        ] {
            assert_eq!(with_port(given), full);
        }
    }
}
