//! [`Clients`]: the clients of a server, their keys and addresses, and the file that holds them.

use crate::network::Network;
use exm_datagram::{Key, KeyError};
use exm_grammar::{FileError, Source};
use exm_store::PartialFile;
use ipnet::IpNet;
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The mode of the file: it holds keys.
const MODE: u32 = 0o600;
/// The longest name of a client, in characters.
const LONGEST_NAME: usize = 64;
/// The largest file that is read, in bytes: more than a hundred for each of the 16 384 clients of a /16.
const LARGEST: u64 = 4 << 20;

const HEAD: &str = "\
# The clients of a tunnel. \"exm tunnel clients\" edits this file and keeps no comments; a running server
# notices changes. It holds the clients' keys: keep it private.
";

/// The clients of a server, in the order in which they were added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    network: Network,
    leases: Vec<Lease>,
}

/// A client, with the key by which it is known and the addresses that are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its name, for the administrator.
    pub name: String,
    /// The addresses of its tunnel's two ends.
    pub network: Network,
    /// Its key.
    pub key: Key,
}

/// Why the clients' file cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// There is no file.
    #[error("there is no clients' file {0}: \"exm tunnel clients add NAME\" makes one")]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("cannot read the clients' file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write the clients' file {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is malformed.
    #[error(transparent)]
    Malformed(#[from] FileError),
    /// The name is not one.
    #[error(
        "\"{0}\" is no name of a client: give 1 to {LONGEST_NAME} letters, digits, '.', '_' and '-', not '-' first"
    )]
    Name(String),
    /// The name is taken.
    #[error(
        "there is a client \"{0}\" already: revoke it first to give it a new key, or choose another name"
    )]
    Known(String),
    /// There is no such client.
    #[error("there is no client \"{name}\": the clients are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names of the clients.
        known: String,
    },
    /// The network is too small for several clients.
    #[error(
        "the network {network} is too small for several clients: give one with a prefix of 8 to {} bits, such as \
         10.77.0.0/16",
        Network::SHARED_PREFIX
    )]
    Small {
        /// The network.
        network: IpNet,
    },
    /// All addresses of the network are leased.
    #[error(
        "all {leases} addresses of the network {network} are leased: revoke clients, or use another file"
    )]
    Full {
        /// How many there are.
        leases: u32,
        /// The network.
        network: IpNet,
    },
    /// The network of a file does not change.
    #[error("the clients' addresses are of the network {0}: use another file for another network")]
    OtherNetwork(IpNet),
    /// There is no new key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The file, as its text has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    network: Spanned<String>,
    #[serde(default)]
    client: Vec<ClientText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientText {
    name: Spanned<String>,
    address: Spanned<String>,
    key: Spanned<String>,
}

impl Clients {
    /// No clients, whose addresses will be of `network`.
    ///
    /// # Errors
    /// It is smaller than a /24.
    pub fn new(network: Network) -> Result<Clients, ClientsError> {
        match network.leases() {
            0 => Err(ClientsError::Small { network: network.ipv4() }),
            _ => Ok(Clients { network, leases: Vec::new() }),
        }
    }

    /// The network of all addresses.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The clients.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// Adds the client `name`, with a new key and the first free addresses, which stay its own.
    ///
    /// # Errors
    /// The name is malformed or taken, no address is free, or the system has no randomness.
    pub fn add(&mut self, name: &str) -> Result<&Lease, ClientsError> {
        if !is_name(name) {
            return Err(ClientsError::Name(name.to_owned()));
        }
        if self.leases.iter().any(|lease| lease.name == name) {
            return Err(ClientsError::Known(name.to_owned()));
        }
        let is_free = |network: &Network| self.leases.iter().all(|lease| lease.network != *network);
        let mut free = (0..self.network.leases()).filter_map(|n| self.network.lease(n));
        let network = free.find(is_free).ok_or_else(|| ClientsError::Full {
            leases: self.network.leases(),
            network: self.network.ipv4(),
        })?;
        self.leases.push(Lease { name: name.to_owned(), network, key: Key::generate()? });
        Ok(&self.leases[self.leases.len() - 1])
    }

    /// Removes the client `name`, whose key is then worth nothing, and whose addresses are free.
    ///
    /// # Errors
    /// There is none.
    pub fn revoke(&mut self, name: &str) -> Result<Lease, ClientsError> {
        match self.leases.iter().position(|lease| lease.name == name) {
            Some(index) => Ok(self.leases.remove(index)),
            None => {
                let names: Vec<&str> = self.leases.iter().map(|l| l.name.as_str()).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Err(ClientsError::Unknown { name: name.to_owned(), known })
            }
        }
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}network = \"{}\"\n", self.network.ipv4());
        for Lease { name, network, key } in &self.leases {
            let (address, key) = (network.client(), key.to_text());
            let key = key.as_str();
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "\n[[client]]\nname = \"{name}\"\naddress = \"{address}\"\nkey = \"{key}\"\n"
            );
        }
        text
    }

    /// Parses the `text` of the file called `file`.
    ///
    /// # Errors
    /// It is malformed, a name, an address or a key occurs twice, or an address is not of the network. The error
    /// shows no key.
    pub fn parse(file: &str, text: &str) -> Result<Clients, FileError> {
        let source = Source { file: file.to_owned(), text: without_keys(text) };
        let parsed: Text = toml::from_str(text).map_err(|error| source.parse_error(&error))?;
        let at = |place: &Spanned<String>| Some(place.span().start);
        let network = parsed.network.get_ref().parse().ok().and_then(Network::new);
        let network = network.filter(|network| network.leases() > 0).ok_or_else(|| {
            let bits = Network::SHARED_PREFIX;
            let wrong = format!(
                "give an IPv4 network with a prefix of 8 to {bits} bits, such as 10.77.0.0/16"
            );
            source.error(at(&parsed.network), wrong)
        })?;
        let mut clients = Clients { network, leases: Vec::new() };
        for ClientText { name, address, key } in &parsed.client {
            let lease = clients.lease(name, address, key);
            let lease = lease.map_err(|(place, wrong)| source.error(at(place), wrong))?;
            clients.leases.push(lease);
        }
        Ok(clients)
    }

    /// The client of these texts, or which of them is wrong, and why.
    fn lease<'a>(
        &self,
        name: &'a Spanned<String>,
        address: &'a Spanned<String>,
        key: &'a Spanned<String>,
    ) -> Result<Lease, (&'a Spanned<String>, String)> {
        if !is_name(name.get_ref()) {
            return Err((name, ClientsError::Name(name.get_ref().clone()).to_string()));
        }
        let parsed: Option<Ipv4Addr> = address.get_ref().parse().ok();
        let network = parsed.and_then(|ip| self.network.lease_of(ip)).ok_or_else(|| {
            let network = self.network.ipv4();
            let example = self.network.client();
            let wrong = format!(
                "\"{}\" is no address for a client of {network}: the last number is two more than a multiple of \
                 four, as in {example}",
                address.get_ref()
            );
            (address, wrong)
        })?;
        let parsed: Key = key.get_ref().parse().map_err(|_| {
            let wrong = "this is no key: \"exm tunnel clients add\" makes one of 22 characters";
            (key, wrong.to_owned())
        })?;
        for other in &self.leases {
            let taken =
                |what: &str| format!("the client \"{}\" has this {what} already", other.name);
            if other.name == *name.get_ref() {
                return Err((name, taken("name")));
            }
            if other.network == network {
                return Err((address, taken("address")));
            }
            if other.key == parsed {
                return Err((key, taken("key")));
            }
        }
        Ok(Lease { name: name.get_ref().clone(), network, key: parsed })
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is malformed.
    pub fn load(path: &Path) -> Result<Clients, ClientsError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ClientsError::Missing(path.to_owned()),
            _ => ClientsError::Read { path: path.to_owned(), source },
        };
        if fs::metadata(path).map_err(failed)?.len() > LARGEST {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 4 MiB");
            return Err(ClientsError::Read { path: path.to_owned(), source });
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        Ok(Clients::parse(&path.display().to_string(), &text)?)
    }

    /// Changes the file at `path`: reads it, if there is one, has `change` make its new contents, and writes
    /// these atomically, readable by their owner only. Changes by several processes happen one after the other.
    ///
    /// # Errors
    /// It cannot be read or written, it is malformed, or `change` fails; it is then unchanged.
    pub fn change<T>(
        path: &Path,
        change: impl FnOnce(Option<Clients>) -> Result<(Clients, T), ClientsError>,
    ) -> Result<T, ClientsError> {
        let failed = |source| ClientsError::Write { path: path.to_owned(), source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Not the file itself, which is replaced.
        let lock = File::open(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let before = match Clients::load(path) {
            Ok(clients) => Some(clients),
            Err(ClientsError::Missing(_)) => None,
            Err(error) => return Err(error),
        };
        let exists = before.is_some();
        let (clients, result) = change(before)?;
        let private = || Permissions::from_mode(MODE);
        let write = || {
            if exists {
                fs::set_permissions(path, private())?;
            }
            let partial = PartialFile::create(path)?;
            partial.file().set_permissions(private())?;
            partial.file().write_all(clients.to_text().as_bytes())?;
            partial.commit()
        };
        write().map_err(failed)?;
        Ok(result)
    }
}

/// Whether `name` can be a client's: it needs no quotes anywhere, and is no option.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits) && !name.starts_with('-')
}

/// `text` with the values of keys replaced by as many asterisks, for errors that show lines.
fn without_keys(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // An escaped name of a key, or a line of a longer value, could hold one too.
        let is_plain = line.starts_with(['[', '#']) || !line.contains(['"', '\'']);
        let hides = line.contains("key") || line.contains('\\');
        let place = match line.find('=') {
            Some(place) if hides => place + 1,
            None if !is_plain => 0,
            _ => line.len(),
        };
        shown.push_str(&line[..place]);
        let hidden = line[place..].bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' });
        shown.extend(hidden);
    }
    shown
}

#[cfg(test)]
mod tests;
