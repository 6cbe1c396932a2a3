//! [`Family`]: which of a machine's addresses a session uses.

use crate::sessions::addresses;
use crate::shell::Failure;
use std::net::SocketAddr;

/// Which of a machine's addresses are tried, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Family {
    /// IPv4 only
    Inet,
    /// IPv6 only
    Inet6,
    /// All, if they are of one family
    Auto,
    /// All, in the resolver's order
    All,
    /// All, IPv4 first
    #[default]
    PreferInet,
    /// All, IPv6 first
    PreferInet6,
}

impl Family {
    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::Inet => "inet",
            Family::Inet6 => "inet6",
            Family::Auto => "auto",
            Family::All => "all",
            Family::PreferInet => "prefer-inet",
            Family::PreferInet6 => "prefer-inet6",
        }
    }

    /// The option of ssh for it, if it has one.
    pub(super) fn for_ssh(self) -> Option<&'static str> {
        match self {
            Family::Inet => Some("-4"),
            Family::Inet6 => Some("-6"),
            _ => None,
        }
    }

    /// The addresses of the machine `name` to try, in order, with this `port`.
    pub(super) fn resolve(self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let place =
            if bare.contains(':') { format!("[{bare}]:{port}") } else { format!("{bare}:{port}") };
        let chosen = self.choose(addresses(&place)?);
        chosen.map_err(|problem| {
            Failure::new(format!("{name} {problem}")).with_tip("choose others with --family")
        })
    }

    /// Those of `addresses` to try, in order; or what is wrong with them.
    fn choose(self, mut addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, &'static str> {
        match self {
            Family::Inet => addresses.retain(SocketAddr::is_ipv4),
            Family::Inet6 => addresses.retain(SocketAddr::is_ipv6),
            Family::Auto => {
                let is_mixed = |address: &SocketAddr| address.is_ipv4() != addresses[0].is_ipv4();
                if addresses.iter().any(is_mixed) {
                    return Err("has addresses of both IPv4 and IPv6");
                }
            }
            Family::All => {}
            Family::PreferInet => addresses.sort_by_key(SocketAddr::is_ipv6),
            Family::PreferInet6 => addresses.sort_by_key(SocketAddr::is_ipv4),
        }
        match (addresses.is_empty(), self) {
            (false, _) => Ok(addresses),
            (true, Family::Inet) => Err("has no IPv4 address"),
            (true, _) => Err("has no IPv6 address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn addresses_are_chosen_and_ordered() {
        let [four, six, other]: [SocketAddr; 3] =
            ["192.0.2.1:1", "[2001:db8::1]:1", "192.0.2.2:1"].map(|text| text.parse().unwrap());
        let all = vec![six, four, other];
        let choose = |family: Family| family.choose(all.clone());
        assert_eq!(choose(Family::Inet), Ok(vec![four, other]));
        assert_eq!(choose(Family::Inet6), Ok(vec![six]));
        assert_eq!(choose(Family::All), Ok(all.clone()));
        assert_eq!(choose(Family::PreferInet), Ok(vec![four, other, six]));
        assert_eq!(choose(Family::PreferInet6), Ok(all.clone()));
        assert!(choose(Family::Auto).is_err());
        assert_eq!(Family::Auto.choose(vec![four, other]), Ok(vec![four, other]));
        assert_eq!(Family::Inet6.choose(vec![four]), Err("has no IPv6 address"));
    }

    #[test]
    fn its_name_is_that_of_the_option() {
        for family in Family::value_variants() {
            let value = family.to_possible_value().expect("all are shown");
            assert_eq!(value.get_name(), family.name());
        }
    }
}
