//! `exm tunnel`: all traffic of a machine over a Sprout session.

mod bench;
mod clients;
mod connect;
mod control;
mod end;
mod flows;
mod qlog;
mod run;
mod serve;
mod shared;
mod status;
mod summary;
mod unblock;
mod view;

use crate::commands::subcommands;
use crate::shell::Failure;
use exm_tunnel::IpNet;
use std::net::IpAddr;

const EXAMPLES: &str = "\
Run the server on a host with a good connection, and the client on a machine with a cellular or other
variable-rate link. All traffic of the client goes through an encrypted Sprout session between the two.
Each flow has its own queue; the flow with fewer turns goes first, and queues are limited to what the
link will soon deliver, so that a call stays smooth during a download. Both ends need root. All devices,
routes, rules and resolvers that they set up are removed when they end, even if they are killed; only
the kill switch of --kill-switch stays when the client is killed.

A server with one key serves one client. For many clients, with a key each, \"exm tunnel clients add\"
makes keys, and \"exm tunnel serve --clients FILE\" serves all of them at one UDP port. Of several clients
with one key, the last one to connect is served; the one that it displaces is told so, and ends.

Examples:
  exm tunnel serve --new-key --key-file key
  exm tunnel connect example.org --key-file key
  exm tunnel clients add alice --key-file alice.key
  exm tunnel serve --clients clients.toml
  exm tunnel connect example.org:60002 --key-file key --route 10.0.0.0/8 --dns 10.0.0.53
  exm tunnel status --watch
  exm tunnel bench --down lte --up lte";

/// Parses a network as ADDRESS/BITS, or a single address. Host bits are ignored.
fn ip_network(text: &str) -> Result<IpNet, String> {
    let parsed = match text.parse::<IpAddr>() {
        Ok(address) => Ok(address.into()),
        Err(_) => text.parse(),
    };
    parsed.map(|net: IpNet| net.trunc()).map_err(|_| {
        "give a network as ADDRESS/BITS, such as 10.0.0.0/8 or 2001:db8::/32".to_owned()
    })
}

/// A call during a download suffers more from an idle link than from slightly longer queueing, so tunnels forecast
/// less cautiously than other sessions. `docs/how-sprout-works.md` has the figures.
const RISK: &str = "25%";

subcommands! {
    /// Carry all of a machine's traffic over a link of unknown rate with Sprout, with a queue per flow
    {
        Serve(serve),
        Clients(clients),
        Connect(connect),
        Status(status),
        Bench(bench),
        Unblock(unblock),
    }
}

impl Args {
    /// Acquires the privileges, which requires a process without threads.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        match &mut self.command {
            Command::Bench(args) => args.prepare(),
            Command::Serve(_)
            | Command::Clients(_)
            | Command::Connect(_)
            | Command::Status(_)
            | Command::Unblock(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_addresses_with_or_without_a_prefix() {
        let text = |text: &str| ip_network(text).map(|net| net.to_string());
        assert_eq!(text("10.1.2.3/8").as_deref(), Ok("10.0.0.0/8"));
        assert_eq!(text("10.1.2.3").as_deref(), Ok("10.1.2.3/32"));
        assert_eq!(text("2001:db8::1/32").as_deref(), Ok("2001:db8::/32"));
        for wrong in ["", "10.0.0.0/33", "2001:db8::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(ip_network(wrong).unwrap_err().contains("as ADDRESS/BITS"), "{wrong}");
        }
    }
}
