//! [`Netlink`]: devices, addresses and routes (RFC 3549; `rtnetlink(7)`).
//!
//! The dozen requests that are needed are assembled here, in a few lines each. The crates that implement all
//! of rtnetlink are larger than the rest of this crate, and do not cover nfnetlink.

pub(crate) mod message;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use libc::IFLA_STATS64;
use message::{Attributes, Request, Socket, number_at};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Flags of routes that `libc` lacks (`include/uapi/linux/rtnetlink.h`).
const RTNH_F_DEAD: u32 = 1;
const RTNH_F_LINKDOWN: u32 = 16;

/// A failed request about devices, addresses or routes.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct NetlinkError {
    /// What failed.
    what: String,
    /// The kernel's error.
    source: io::Error,
}

impl NetlinkError {
    fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> NetlinkError {
        let what = what.into();
        |source| NetlinkError { what, source }
    }

    /// The kind of the kernel's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl From<io::Error> for NetlinkError {
    fn from(source: io::Error) -> NetlinkError {
        NetlinkError { what: "cannot query the kernel".to_owned(), source }
    }
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destinations; 0.0.0.0/0 or ::/0 for the default route.
    pub destination: IpNet,
    /// The router, if any.
    pub gateway: Option<IpAddr>,
    /// The interface index of the device.
    pub device: u32,
    /// The preferred source address.
    pub source: Option<IpAddr>,
    /// Of several routes to a destination, the one with the lowest metric is used; 0 for the kernel's
    /// default.
    pub metric: u32,
}

impl Route {
    /// The default route of the IP version of `like`, through the device with the interface index `device`
    /// and, if given, the router `gateway`.
    pub fn default_by(device: u32, gateway: Option<IpAddr>, like: IpAddr) -> Route {
        let destination = match like {
            IpAddr::V4(_) => Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
            IpAddr::V6(_) => Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        Route { destination, gateway, device, source: None, metric: 0 }
    }
}

/// The route that the kernel uses for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedRoute {
    /// The interface index of the device.
    pub device: u32,
    /// The router, if any.
    pub gateway: Option<IpAddr>,
    /// The source address of packets.
    pub source: Option<IpAddr>,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its interface index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// The length of its transmit queue in packets.
    pub queue_length: u32,
    /// Its counters.
    pub statistics: Statistics,
}

/// The counters of a device since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Received packets that were dropped.
    pub receive_dropped: u64,
    /// Packets to send that were dropped because the transmit queue was full.
    pub send_dropped: u64,
}

/// The devices, addresses and routes of the network namespace that it was opened in.
#[derive(Debug)]
pub struct Netlink(Socket);

impl Netlink {
    /// Opens a netlink socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The process has no more file descriptors.
    pub fn open() -> Result<Netlink, NetlinkError> {
        Ok(Netlink(Socket::open(None)?))
    }

    /// The interface index of the device called `name`.
    ///
    /// # Errors
    /// There is no such device.
    pub fn index(&self, name: &str) -> Result<u32, NetlinkError> {
        let mut request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &link_body(0, false));
        request.text(libc::IFLA_IFNAME, name);
        let failed = NetlinkError::of(format!("there is no network device \"{name}\""));
        self.find_link(request).map(|link| link.index).map_err(failed)
    }

    /// The device with the interface index `index`.
    ///
    /// # Errors
    /// There is no such device.
    pub fn link(&self, index: u32) -> Result<Link, NetlinkError> {
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &link_body(index, false));
        self.find_link(request)
            .map_err(NetlinkError::of(format!("cannot read network device {index}")))
    }

    fn find_link(&self, request: Request) -> io::Result<Link> {
        let mut found = None;
        self.0.ask(request, 1, |kind, body| {
            if kind == libc::RTM_NEWLINK {
                found = read_link(body);
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Sets the device with the interface index `index` up.
    ///
    /// # Errors
    /// This process lacks the privileges, or there is no such device.
    pub fn set_up(&self, index: u32) -> Result<(), NetlinkError> {
        let request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &link_body(index, true));
        self.done(request, || format!("cannot set network device {index} up"))
    }

    /// Puts the device with the interface index `index` into the group `group`, which rules can refer to.
    ///
    /// # Errors
    /// This process lacks the privileges, or there is no such device.
    pub fn set_group(&self, index: u32, group: u32) -> Result<(), NetlinkError> {
        let what = || format!("cannot put network device {index} into the group {group}");
        self.set_number(index, libc::IFLA_GROUP, group, what)
    }

    /// Sets the MTU of the device with the interface index `index`, in bytes.
    ///
    /// # Errors
    /// This process lacks the privileges, or the device does not allow the value.
    pub fn set_mtu(&self, index: u32, mtu: u32) -> Result<(), NetlinkError> {
        let what = || format!("cannot set the MTU of network device {index} to {mtu}");
        self.set_number(index, libc::IFLA_MTU, mtu, what)
    }

    /// Sets the length of the transmit queue of the device with the interface index `index`, in packets.
    ///
    /// # Errors
    /// This process lacks the privileges, or the device does not allow the value.
    pub fn set_queue_length(&self, index: u32, packets: u32) -> Result<(), NetlinkError> {
        let what = || format!("cannot set the queue length of network device {index} to {packets}");
        self.set_number(index, libc::IFLA_TXQLEN, packets, what)
    }

    /// Adds `address`, with the length of its network prefix, to the device with the interface index `index`.
    /// It is usable at once, without duplicate address detection.
    ///
    /// # Errors
    /// This process lacks the privileges, or the device has the address already.
    pub fn add_address(&self, index: u32, address: IpNet) -> Result<(), NetlinkError> {
        let (family, bytes) = ip_bytes(address.addr());
        let [a, b, c, d] = index.to_ne_bytes();
        let scope = libc::RT_SCOPE_UNIVERSE;
        let body = [family, address.prefix_len(), libc::IFA_F_NODAD as u8, scope, a, b, c, d];
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Request::new(libc::RTM_NEWADDR, flags, &body);
        request.attribute(libc::IFA_LOCAL, &bytes).attribute(libc::IFA_ADDRESS, &bytes);
        self.done(request, || format!("cannot add {address} to network device {index}"))
    }

    /// Removes `address` from the device with the interface index `index`.
    ///
    /// # Errors
    /// This process lacks the privileges, or the device does not have the address.
    pub fn delete_address(&self, index: u32, address: IpNet) -> Result<(), NetlinkError> {
        let (family, bytes) = ip_bytes(address.addr());
        let [a, b, c, d] = index.to_ne_bytes();
        let body = [family, address.prefix_len(), 0, 0, a, b, c, d];
        let mut request = Request::new(libc::RTM_DELADDR, libc::NLM_F_ACK, &body);
        request.attribute(libc::IFA_LOCAL, &bytes);
        self.done(request, || format!("cannot remove {address} from network device {index}"))
    }

    /// The addresses of the device with the interface index `index`.
    ///
    /// # Errors
    /// The kernel cannot be queried.
    pub fn addresses(&self, index: u32) -> Result<Vec<IpNet>, NetlinkError> {
        self.addresses_where(|device| device == index)
    }

    /// The addresses of all devices.
    ///
    /// # Errors
    /// The kernel cannot be queried.
    pub fn all_addresses(&self) -> Result<Vec<IpNet>, NetlinkError> {
        self.addresses_where(|_| true)
    }

    fn addresses_where(&self, wanted: impl Fn(u32) -> bool) -> Result<Vec<IpNet>, NetlinkError> {
        let request = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]);
        let mut addresses = Vec::new();
        self.0
            .ask(request, 1, |_, body| {
                if number_at(body, 4).is_some_and(&wanted) {
                    addresses.extend(read_address(body));
                }
            })
            .map_err(NetlinkError::of("cannot read addresses"))?;
        Ok(addresses)
    }

    /// Adds a route, which the kernel removes with its device.
    ///
    /// # Errors
    /// This process lacks the privileges, there is such a route already, or its router is unreachable.
    pub fn add_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let request = route_request(libc::RTM_NEWROUTE, flags, route);
        self.done(request, || format!("cannot add a route to {}", route.destination))
    }

    /// Deletes a route.
    ///
    /// # Errors
    /// This process lacks the privileges, or there is no such route.
    pub fn delete_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let request = route_request(libc::RTM_DELROUTE, libc::NLM_F_ACK, route);
        self.done(request, || format!("cannot delete the route to {}", route.destination))
    }

    /// The unicast routes of the main table for the IP version of `like`, except those through devices without
    /// a carrier.
    ///
    /// # Errors
    /// The kernel cannot be queried.
    pub fn routes(&self, like: IpAddr) -> Result<Vec<Route>, NetlinkError> {
        let mut body = [0; 12];
        body[0] = ip_bytes(like).0;
        let request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP, &body);
        let mut routes = Vec::new();
        let failed = NetlinkError::of("cannot read routes");
        self.0.ask(request, 1, |_, body| routes.extend(read_route(body, like))).map_err(failed)?;
        Ok(routes)
    }

    /// The route that the kernel uses for `ip`.
    ///
    /// # Errors
    /// There is none.
    pub fn resolve_route(&self, ip: IpAddr) -> Result<ResolvedRoute, NetlinkError> {
        let (family, bytes) = ip_bytes(ip);
        let body = [family, bytes.len() as u8 * 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_ACK, &body);
        request.attribute(libc::RTA_DST, &bytes);
        let mut found = None;
        let failed = NetlinkError::of(format!("there is no route to {ip}"));
        self.0.ask(request, 1, |_, body| found = read_resolved_route(body)).map_err(failed)?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        found.ok_or_else(missing).map_err(NetlinkError::of(format!("route to {ip}")))
    }

    fn set_number(
        &self,
        index: u32,
        kind: u16,
        value: u32,
        what: impl FnOnce() -> String,
    ) -> Result<(), NetlinkError> {
        let body = link_body(index, false);
        let mut request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &body);
        request.u32(kind, value);
        self.done(request, what)
    }

    fn done(&self, request: Request, what: impl FnOnce() -> String) -> Result<(), NetlinkError> {
        self.0.ask(request, 1, |_, _| {}).map_err(|source| NetlinkError { what: what(), source })
    }
}

/// `struct ifinfomsg`.
fn link_body(index: u32, up: bool) -> [u8; 16] {
    let mut body = [0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    if up {
        let flag = (libc::IFF_UP as u32).to_ne_bytes();
        body[8..12].copy_from_slice(&flag);
        body[12..16].copy_from_slice(&flag);
    }
    body
}

fn read_link(body: &[u8]) -> Option<Link> {
    let flags = number_at(body, 8)?;
    let mut link = Link {
        index: number_at(body, 4)?,
        name: String::new(),
        is_up: flags & libc::IFF_UP as u32 != 0,
        mtu: 0,
        queue_length: 0,
        statistics: Statistics::default(),
    };
    for (kind, value) in Attributes(body.get(16..)?) {
        match kind {
            libc::IFLA_IFNAME => {
                let name = value.strip_suffix(&[0]).unwrap_or(value);
                link.name = String::from_utf8_lossy(name).into_owned();
            }
            libc::IFLA_MTU => link.mtu = number_at(value, 0)?,
            libc::IFLA_TXQLEN => link.queue_length = number_at(value, 0)?,
            IFLA_STATS64 => link.statistics = read_statistics(value)?,
            _ => {}
        }
    }
    Some(link)
}

/// `struct rtnl_link_stats64`.
fn read_statistics(value: &[u8]) -> Option<Statistics> {
    let number = |place: usize| {
        let bytes = value.get(8 * place..8 * place + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    Some(Statistics {
        received: number(0)?,
        sent: number(1)?,
        receive_dropped: number(6)?,
        send_dropped: number(7)?,
    })
}

fn read_address(body: &[u8]) -> Option<IpNet> {
    let prefix = *body.get(1)?;
    let mut attributes = Attributes(body.get(8..)?);
    let mut ip = None;
    for (kind, value) in &mut attributes {
        // On a point-to-point device, IFA_ADDRESS is the peer's address. On others both are equal, or there
        // is only IFA_ADDRESS.
        if kind == libc::IFA_LOCAL || (kind == libc::IFA_ADDRESS && ip.is_none()) {
            ip = read_ip(value);
        }
    }
    IpNet::new(ip?, prefix).ok()
}

/// A message with `struct rtmsg` and the attributes of `route`.
fn route_request(kind: u16, flags: i32, route: &Route) -> Request {
    let (family, bytes) = ip_bytes(route.destination.addr());
    let scope = if route.gateway.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
    let body = [
        family,
        route.destination.prefix_len(),
        0,
        0,
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        scope,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let mut request = Request::new(kind, flags, &body);
    if route.destination.prefix_len() > 0 {
        request.attribute(libc::RTA_DST, &bytes);
    }
    request.u32(libc::RTA_OIF, route.device);
    for (kind, ip) in [(libc::RTA_GATEWAY, route.gateway), (libc::RTA_PREFSRC, route.source)] {
        if let Some(ip) = ip {
            request.attribute(kind, &ip_bytes(ip).1);
        }
    }
    if route.metric > 0 {
        request.u32(libc::RTA_PRIORITY, route.metric);
    }
    request
}

fn read_resolved_route(body: &[u8]) -> Option<ResolvedRoute> {
    let mut path = ResolvedRoute { device: 0, gateway: None, source: None };
    for (kind, value) in Attributes(body.get(12..)?) {
        match kind {
            libc::RTA_OIF => path.device = number_at(value, 0)?,
            libc::RTA_GATEWAY => path.gateway = read_ip(value),
            libc::RTA_PREFSRC => path.source = read_ip(value),
            _ => {}
        }
    }
    (path.device != 0).then_some(path)
}

/// The route in a message with `struct rtmsg`, if it is a usable unicast route through a device.
fn read_route(body: &[u8], like: IpAddr) -> Option<Route> {
    let (&[_, prefix, _, _, table, _, _, kind], attributes) = body.split_first_chunk::<8>()?;
    let flags = number_at(body, 8)?;
    let useless = libc::RTM_F_CLONED | RTNH_F_DEAD | RTNH_F_LINKDOWN;
    if table != libc::RT_TABLE_MAIN || kind != libc::RTN_UNICAST || flags & useless != 0 {
        return None;
    }
    let mut route = Route::default_by(0, None, like);
    let mut destination = route.destination.addr();
    for (kind, value) in Attributes(attributes.get(4..)?) {
        match kind {
            libc::RTA_DST => destination = read_ip(value)?,
            libc::RTA_OIF => route.device = number_at(value, 0)?,
            libc::RTA_GATEWAY => route.gateway = read_ip(value),
            libc::RTA_PREFSRC => route.source = read_ip(value),
            libc::RTA_PRIORITY => route.metric = number_at(value, 0)?,
            // The first of several next hops (`struct rtnexthop`).
            libc::RTA_MULTIPATH => route.device = number_at(value, 4)?,
            _ => {}
        }
    }
    route.destination = IpNet::new(destination, prefix).ok()?;
    (route.device != 0).then_some(route)
}

fn ip_bytes(ip: IpAddr) -> (u8, Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => (libc::AF_INET as u8, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6 as u8, ip.octets().to_vec()),
    }
}

fn read_ip(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
