//! Options that the commands on sessions share.

use crate::shell::Failure;
use exm_datagram::Key;
use exm_session::Settings;
use exm_sprout::{Method, Model};
use exm_units::Probability;
use std::fs::File;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// Where a key is looked for unless told.
const KEY: &str = "EXM_KEY";

/// Where the key is.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Key")]
pub(crate) struct KeyFlags {
    /// The file that holds the key
    #[arg(long, value_name = "FILE", group = "key")]
    key_file: Option<PathBuf>,
    /// The environment variable that holds the key [default: EXM_KEY]
    #[arg(long, value_name = "NAME", group = "key")]
    key_env: Option<String>,
    /// Read the key from the first line of the standard input
    #[arg(long, group = "key")]
    key_stdin: bool,
}

impl KeyFlags {
    /// The key.
    pub(crate) fn key(&self) -> Result<Key, Failure> {
        let key = match &self.key_file {
            Some(file) => Key::from_file(file),
            None if self.key_stdin => Key::read(input()?, "the standard input"),
            None => Key::from_env(self.key_env.as_deref().unwrap_or(KEY)),
        };
        let ways = "give it by --key-file, --key-env or --key-stdin; \
                    \"exm sprout listen --new-key\" makes one";
        key.map_err(|error| Failure::from(error).with_tip(ways))
    }
}

/// How the session works.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sprout")]
pub(crate) struct SproutFlags {
    /// The chance taken that the link delivers less than forecast
    #[arg(long, value_name = "CHANCE", default_value = "5%", value_parser = risk)]
    risk: Probability,
    /// Forecast by a moving average, without caution: Sprout-EWMA
    #[arg(long, conflicts_with = "risk")]
    ewma: bool,
    /// The size of the largest IP packets, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Settings::DEFAULT_MTU)]
    mtu: u16,
}

/// A chance that something can be forecast with.
fn risk(text: &str) -> Result<Probability, String> {
    let risk: Probability =
        text.parse().map_err(|error: exm_units::ParseUnitError| error.to_string())?;
    if (0.0001..=0.5).contains(&risk.get()) {
        Ok(risk)
    } else {
        Err("give a chance between 0.01% and 50%".to_owned())
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

/// The standard input, from which nothing is read ahead.
pub(super) fn input() -> Result<File, Failure> {
    let file = std::io::stdin().as_fd().try_clone_to_owned();
    let failed = |error| Failure::new(format!("cannot read the standard input: {error}"));
    Ok(File::from(file.map_err(failed)?))
}

/// All addresses of `server`, a name or an address with a port.
pub(crate) fn addresses(server: &str) -> Result<Vec<SocketAddr>, Failure> {
    let found = server.to_socket_addrs().map_err(|error| {
        let problem = format!("cannot find the server {server}: {error}");
        Failure::new(problem).with_tip("give it as HOST:PORT, such as example.org:60001")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() {
        return Err(Failure::new(format!("the server {server} has no address")));
    }
    Ok(addresses)
}
