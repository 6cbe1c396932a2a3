//! [`Exit`]: the way to the server, beside the tunnel's own routes.

use crate::error::TunnelError;
use crate::network::Cidr;
use exm_os::{Netlink, NetlinkError, Restore, Route, read_net};
use exm_session::Session;
use std::cmp::Reverse;
use std::net::IpAddr;

/// The kernel takes a packet only where it would send the answer by the same device...
const STRICT: &str = "1";
/// ... or by any.
const LOOSE: &str = "2";

/// Keeps a session's packets out of the tunnel that it carries.
///
/// Where the machine's routes lead everything into the tunnel, they lead the session's own packets
/// there, too. A route to the server beside them would outlive a process that is killed, and would be
/// the wrong one as soon as the machine moves to another network. So the session keeps to the device
/// by which the server would be reached if there were no tunnel, whichever that is at the moment.
#[derive(Debug)]
pub(crate) struct Exit {
    /// The routes that lead into the tunnel.
    routes: Vec<Cidr>,
    /// The device that the session keeps to.
    device: Option<String>,
    _loosened: Option<Restore>,
}

impl Exit {
    /// For a tunnel that gets `routes`.
    pub(crate) fn new(routes: Vec<Cidr>) -> Exit {
        Exit { routes, device: None, _loosened: None }
    }

    /// Has `session` keep to the device by which `server` is reached beside those of the numbers
    /// `tunnel`. Where none is for the moment, it stays as it was.
    ///
    /// # Errors
    /// The routes cannot be read, or this process may not choose devices.
    pub(crate) fn keep(
        &mut self,
        session: &mut Session,
        server: IpAddr,
        netlink: &Netlink,
        tunnel: &[u32],
    ) -> Result<(), TunnelError> {
        if !self.routes.iter().any(|route| route.contains(server)) || is_here(netlink, server)? {
            return Ok(());
        }
        let routes = netlink.routes(server)?;
        let Some(device) = best(&routes, server, tunnel) else { return Ok(()) };
        // It may be gone at any moment; the next look finds another.
        let Ok(link) = netlink.link(device) else { return Ok(()) };
        if self.device.as_ref() == Some(&link.name) {
            return Ok(());
        }
        let used = session.use_device(Some(&link.name)).and_then(|()| loosen(&link.name));
        match used {
            Ok(loosened) => {
                self._loosened = loosened;
                self.device = Some(link.name);
                Ok(())
            }
            Err(_) if netlink.link(device).is_err() => Ok(()),
            Err(source) => Err(TunnelError::Exit { device: link.name, source }),
        }
    }
}

/// Whether `ip` is of this machine, so that no packet leaves it.
fn is_here(netlink: &Netlink, ip: IpAddr) -> Result<bool, NetlinkError> {
    let own = netlink.all_addresses()?.iter().any(|address| address.ip == ip);
    Ok(own || ip.is_loopback())
}

/// The device of the best route to `ip` that does not lead into one of the numbers `tunnel`: of those
/// that fit the most closely, the one of least metric.
fn best(routes: &[Route], ip: IpAddr, tunnel: &[u32]) -> Option<u32> {
    let fitting = routes.iter().filter(|route| {
        let cidr = Cidr::new(route.destination.ip, route.destination.prefix);
        !tunnel.contains(&route.device) && cidr.is_some_and(|cidr| cidr.contains(ip))
    });
    let best = fitting.max_by_key(|route| (route.destination.prefix, Reverse(route.metric)));
    best.map(|route| route.device)
}

/// Has the kernel take packets that come by `device` though their answers would go into the tunnel,
/// until this is dropped; nothing where it does (`rp_filter`; RFC 3704, section 2.2).
fn loosen(device: &str) -> std::io::Result<Option<Restore>> {
    let of = |device: &str| format!("ipv4/conf/{device}/rp_filter");
    let settings = [read_net(&of("all"))?, read_net(&of(device))?];
    // The stricter of numbers 0 and 1 counts, and 2 before both.
    if settings.iter().max().is_none_or(|setting| setting != STRICT) {
        return Ok(None);
    }
    Restore::setting(&of(device), LOOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_os::Address;

    fn route(destination: &str, device: u32, metric: u32) -> Route {
        let cidr: Cidr = destination.parse().expect("a range");
        let destination = Address { ip: cidr.ip(), prefix: cidr.prefix() };
        Route { destination, metric, ..Route::default_by(device, None, cidr.ip()) }
    }

    #[test]
    fn the_closest_route_beside_the_tunnel_is_taken() {
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
