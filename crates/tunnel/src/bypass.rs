//! Which routes lead past a tunnel.

use exm_os::{Netlink, NetlinkError, Route};
use ipnet::IpNet;

/// A route that takes packets past the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bypass {
    pub(crate) destination: IpNet,
    pub(crate) device: String,
}

/// The routes by which destinations of `carried` are reached past the devices with the interface indices
/// `tunnel`: those to a part of a carried network, for instance from a DHCP server (RFC 3442). Networks that this
/// machine has an address in do not count.
///
/// # Errors
/// The routes cannot be read.
pub(crate) fn bypasses(
    netlink: &Netlink,
    carried: &[IpNet],
    tunnel: &[u32],
) -> Result<Vec<Bypass>, NetlinkError> {
    let mut found = Vec::new();
    for version in [true, false] {
        let Some(like) = carried.iter().find(|net| net.addr().is_ipv4() == version) else {
            continue;
        };
        for route in netlink.routes(like.addr())? {
            if tunnel.contains(&route.device) || !leads_past(&route, carried) {
                continue;
            }
            let own = netlink.addresses(route.device)?;
            let destination = route.destination;
            if own.iter().any(|address| address.trunc() == destination) {
                continue;
            }
            // A device may disappear at any moment, and its routes with it.
            let Ok(link) = netlink.link(route.device) else { continue };
            if link.name != "lo" {
                found.push(Bypass { destination, device: link.name });
            }
        }
    }
    Ok(found)
}

/// Whether `route` takes precedence over those to `carried`.
fn leads_past(route: &Route, carried: &[IpNet]) -> bool {
    let to = route.destination;
    let is_link_local = match to {
        IpNet::V4(net) => net.addr().is_link_local() || net.addr().is_multicast(),
        IpNet::V6(net) => net.addr().is_unicast_link_local() || net.addr().is_multicast(),
    };
    !is_link_local
        && carried.iter().any(|net| match net.prefix_len() == to.prefix_len() {
            true => *net == to && route.metric < metric_of(*net),
            false => net.contains(&to),
        })
}

/// The metric of the tunnel's route to `destination`: IPv6 has 1024 for none (`IP6_RT_PRIO_USER`).
fn metric_of(destination: IpNet) -> u32 {
    if destination.addr().is_ipv6() { 1024 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_specific_routes_lead_past_a_tunnel() {
        let net = |text: &str| text.parse::<IpNet>().expect("a network");
        let carried = [net("0.0.0.0/1"), net("128.0.0.0/1"), net("2001:db8::/32")];
        let leads = |to: &str| {
            let destination = net(to);
            let route = Route {
                destination,
                metric: 1024,
                ..Route::default_by(1, None, destination.addr())
            };
            leads_past(&route, &carried)
        };
        assert!(leads("203.0.113.0/24") && leads("0.0.0.0/2") && leads("2001:db8:1::/48"));
        assert!(!leads("0.0.0.0/0") && !leads("0.0.0.0/1") && !leads("2001:db9::/32"));
        let by_metric = Route { metric: 100, ..Route::default_by(1, None, carried[2].addr()) };
        assert!(leads_past(&Route { destination: carried[2], ..by_metric }, &carried));
        let by_metric = Route { destination: carried[2], metric: 1024, ..by_metric };
        assert!(!leads_past(&by_metric, &carried));
        assert!(!leads("fe80::/64") && !leads("169.254.0.0/16") && !leads("224.0.0.0/4"));
    }
}
