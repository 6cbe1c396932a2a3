//! The uplink: where this machine's traffic to the Internet leaves, and what the kernel needs to let a
//! network use it ([`Forwarding`], [`Masquerade`]).

mod forwarding;
mod masquerade;

pub use forwarding::{Egress, Forwarding, ForwardingError};
pub use masquerade::Masquerade;

use crate::{Netlink, NetlinkError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses for documentation (RFC 5737, RFC 3849), which stand for any on the Internet. Nothing is sent to
/// them; only the kernel's route to them is looked up.
const INTERNET4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const INTERNET6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 1);

/// The default route of one IP version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultRoute {
    /// The name of the network device.
    pub device: String,
    /// The router, if there is one.
    pub gateway: Option<IpAddr>,
}

impl DefaultRoute {
    /// The default route of IPv4 or IPv6 in the network namespace that `netlink` was opened in, if there
    /// is one to another machine.
    ///
    /// # Errors
    /// The kernel cannot be queried.
    pub fn find(netlink: &Netlink, is_v4: bool) -> Result<Option<DefaultRoute>, NetlinkError> {
        let internet: IpAddr = if is_v4 { INTERNET4.into() } else { INTERNET6.into() };
        let Ok(route) = netlink.resolve_route(internet) else { return Ok(None) };
        let device = netlink.link(route.device)?.name;
        let found = DefaultRoute { device, gateway: route.gateway };
        Ok(Some(found).filter(|found| found.device != "lo"))
    }
}
