//! [`UnderlayRoute`]: the route to the server outside the tunnel.

use crate::error::TunnelError;
use exm_os::{Netlink, NetlinkError, Restore, Route, read_net_sysctl};
use exm_session::Session;
use ipnet::IpNet;
use std::cmp::Reverse;
use std::net::IpAddr;

/// `rp_filter`: accept a packet only from the device to which a reply would be routed...
const STRICT: &str = "1";
/// ... or from any device if there is a route for a reply.
const LOOSE: &str = "2";

/// Keeps a session's packets out of the tunnel that it carries.
///
/// Routes that lead all traffic into the tunnel also lead the session's own packets there. A host route to
/// the server would outlive a killed process, and would be wrong as soon as the machine moves to another
/// network. Instead, the session's socket is bound to the device through which the server would be
/// reached without the tunnel, which may change at any time.
#[derive(Debug)]
pub(crate) struct UnderlayRoute {
    /// The routes that lead into the tunnel.
    routes: Vec<IpNet>,
    /// The device that the session is bound to.
    device: Option<String>,
    _loosened: Option<Restore>,
}

impl UnderlayRoute {
    /// For a tunnel with `routes`.
    pub(crate) fn new(routes: Vec<IpNet>) -> UnderlayRoute {
        UnderlayRoute { routes, device: None, _loosened: None }
    }

    /// Binds `session` to the device through which `server` is reached, other than those with the interface
    /// indices `tunnel`. If there is none at the moment, nothing changes.
    ///
    /// # Errors
    /// The routes cannot be read, or this process may not bind sockets to devices.
    pub(crate) fn update(
        &mut self,
        session: &mut Session,
        server: IpAddr,
        netlink: &Netlink,
        tunnel: &[u32],
    ) -> Result<(), TunnelError> {
        if !self.routes.iter().any(|route| route.contains(&server)) || is_local(netlink, server)? {
            return Ok(());
        }
        let routes = netlink.routes(server)?;
        let Some(device) = best(&routes, server, tunnel) else { return Ok(()) };
        // It may disappear at any moment; the next call finds another.
        let Ok(link) = netlink.link(device) else { return Ok(()) };
        if self.device.as_ref() == Some(&link.name) {
            return Ok(());
        }
        let used = session.bind_device(Some(&link.name)).and_then(|()| loosen(&link.name));
        match used {
            Ok(loosened) => {
                self._loosened = loosened;
                self.device = Some(link.name);
                Ok(())
            }
            Err(_) if netlink.link(device).is_err() => Ok(()),
            Err(source) => Err(TunnelError::UnderlayRoute { device: link.name, source }),
        }
    }
}

/// Whether `ip` is an address of this machine, so that packets to it never leave.
fn is_local(netlink: &Netlink, ip: IpAddr) -> Result<bool, NetlinkError> {
    let own = netlink.all_addresses()?.iter().any(|address| address.addr() == ip);
    Ok(own || ip.is_loopback())
}

/// The device of the best route to `ip` that is not one of `tunnel`: the longest matching prefix, and of
/// these the lowest metric.
fn best(routes: &[Route], ip: IpAddr, tunnel: &[u32]) -> Option<u32> {
    let fitting = routes
        .iter()
        .filter(|route| !tunnel.contains(&route.device) && route.destination.contains(&ip));
    let best = fitting.max_by_key(|route| (route.destination.prefix_len(), Reverse(route.metric)));
    best.map(|route| route.device)
}

/// Has the kernel accept packets from `device` although replies to them would go into the tunnel (loose reverse
/// path filtering, RFC 3704, section 2.4), until the result is dropped; `None` if it does already.
fn loosen(device: &str) -> std::io::Result<Option<Restore>> {
    let of = |device: &str| format!("ipv4/conf/{device}/rp_filter");
    let settings = [read_net_sysctl(&of("all"))?, read_net_sysctl(&of(device))?];
    // The kernel uses the maximum of the two: 2 (loose), 1 (strict), 0 (off).
    if settings.iter().max().is_none_or(|setting| setting != STRICT) {
        return Ok(None);
    }
    Restore::setting(&of(device), LOOSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(destination: &str, device: u32, metric: u32) -> Route {
        let destination: IpNet = destination.parse().expect("a network");
        Route { destination, metric, ..Route::default_by(device, None, destination.addr()) }
    }

    #[test]
    fn the_best_route_outside_the_tunnel_is_chosen() {
        let routes = [
            route("0.0.0.0/0", 2, 600),
            route("0.0.0.0/0", 3, 100),
            route("0.0.0.0/1", 9, 0),
            route("192.0.2.0/24", 4, 100),
        ];
        let to = |ip: &str| best(&routes, ip.parse().expect("an address"), &[9]);
        assert_eq!(to("198.51.100.1"), Some(3));
        assert_eq!(to("192.0.2.1"), Some(4));
        assert_eq!(to("10.0.0.1"), Some(3), "not into the tunnel");
        assert_eq!(best(&routes[2..3], [10, 0, 0, 1].into(), &[9]), None);
        assert_eq!(to("2001:db8::1"), None);
    }
}
