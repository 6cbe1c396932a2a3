//! [`Netlink`]: devices, addresses and routes (RFC 3549; `rtnetlink(7)`).
//!
//! The messages are written by hand: a dozen requests, of which each is a few lines, where the crates
//! that know them all are larger than the rest of this one, and know nothing of netfilter's.

pub(crate) mod message;

use message::{Attributes, Request, Socket, number_at};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::SockProtocol;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `include/uapi/linux/if_link.h` and `rtnetlink.h`, as far as `libc` has them not as `u16`.
const IFLA_STATS64: u16 = 23;
const RTM_NEWLINK: u16 = libc::RTM_NEWLINK;
const RTNH_F_DEAD: u32 = 1;
const RTNH_F_LINKDOWN: u32 = 16;

/// What cannot be done to devices, addresses and routes.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct NetlinkError {
    /// What was attempted, of what.
    what: String,
    /// What the kernel answered.
    source: io::Error,
}

impl NetlinkError {
    fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> NetlinkError {
        let what = what.into();
        |source| NetlinkError { what, source }
    }

    /// What the kernel answered.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl From<io::Error> for NetlinkError {
    fn from(source: io::Error) -> NetlinkError {
        NetlinkError { what: "the kernel cannot be asked".to_owned(), source }
    }
}

/// An address of a device, with the number of its bits that are the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// How many bits are the network's.
    pub prefix: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

/// Where packets of a route go: all addresses whose first bits are these.
pub type Destination = Address;

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// What it is for; all zeros with prefix 0 for all else.
    pub destination: Destination,
    /// The router, where there is one.
    pub gateway: Option<IpAddr>,
    /// The number of the device.
    pub device: u32,
    /// The address that packets have by default that are sent this way.
    pub source: Option<IpAddr>,
    /// Of several routes for the same, the least is taken; 0 for the kernel's default.
    pub metric: u32,
}

impl Route {
    /// All that has no other route goes to the device of number `device`, by `gateway` where there is
    /// one. `like` is any address of the kind of addresses meant.
    pub fn default_by(device: u32, gateway: Option<IpAddr>, like: IpAddr) -> Route {
        let ip = match like {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let destination = Destination { ip, prefix: 0 };
        Route { destination, gateway, device, source: None, metric: 0 }
    }
}

/// How the kernel would send a packet to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The number of the device.
    pub device: u32,
    /// The router, where there is one.
    pub gateway: Option<IpAddr>,
    /// The address it would have.
    pub source: Option<IpAddr>,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// What it is called.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// The size of its largest packet in bytes.
    pub mtu: u32,
    /// How many packets may wait to be sent by it.
    pub queue_length: u32,
    /// What was counted.
    pub statistics: Statistics,
}

/// What a device counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that came and were not taken.
    pub receive_dropped: u64,
    /// Packets that were to be sent and found no room.
    pub send_dropped: u64,
}

/// The devices, addresses and routes of the network that the thread which opened it was in.
#[derive(Debug)]
pub struct Netlink(Socket);

impl Netlink {
    /// Those of the network that the calling thread is in.
    ///
    /// # Errors
    /// The process has no more file descriptors.
    pub fn open() -> Result<Netlink, NetlinkError> {
        Ok(Netlink(Socket::open(SockProtocol::NetlinkRoute)?))
    }

    /// The number of the device called `name` in the network that the calling thread is in.
    ///
    /// # Errors
    /// There is none.
    pub fn index(&self, name: &str) -> Result<u32, NetlinkError> {
        let failed = NetlinkError::of(format!("there is no network device \"{name}\""));
        if_nametoindex(name).map_err(|error| failed(error.into()))
    }

    /// The device of number `index`.
    ///
    /// # Errors
    /// There is none.
    pub fn link(&self, index: u32) -> Result<Link, NetlinkError> {
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &link_body(index, false));
        let mut found = None;
        self.0
            .ask(request, 1, |kind, body| {
                if kind == RTM_NEWLINK {
                    found = read_link(body);
                }
            })
            .map_err(NetlinkError::of(format!("the network device {index} cannot be read")))?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        found.ok_or_else(missing).map_err(NetlinkError::of(format!("network device {index}")))
    }

    /// Sets the device of number `index` up, so that packets go through it.
    ///
    /// # Errors
    /// This process may not, or there is none.
    pub fn set_up(&self, index: u32) -> Result<(), NetlinkError> {
        let request = Request::new(RTM_NEWLINK, libc::NLM_F_ACK, &link_body(index, true));
        self.done(request, || format!("the network device {index} cannot be set up"))
    }

    /// Sets the size of the largest packet of the device of number `index`, in bytes.
    ///
    /// # Errors
    /// This process may not, or the device cannot.
    pub fn set_mtu(&self, index: u32, mtu: u32) -> Result<(), NetlinkError> {
        let what = || format!("the network device {index} cannot have an MTU of {mtu}");
        self.set_number(index, libc::IFLA_MTU, mtu, what)
    }

    /// Sets how many packets may wait to be sent by the device of number `index`.
    ///
    /// # Errors
    /// This process may not, or the device cannot.
    pub fn set_queue_length(&self, index: u32, packets: u32) -> Result<(), NetlinkError> {
        let what = || format!("the network device {index} cannot have {packets} packets wait");
        self.set_number(index, libc::IFLA_TXQLEN, packets, what)
    }

    /// Gives the device of number `index` the address `address`, at once for use: nobody else on its
    /// network is asked whether they have it.
    ///
    /// # Errors
    /// This process may not, or the device has it.
    pub fn add_address(&self, index: u32, address: Address) -> Result<(), NetlinkError> {
        let (family, bytes) = ip_bytes(address.ip);
        let [a, b, c, d] = index.to_ne_bytes();
        let scope = libc::RT_SCOPE_UNIVERSE;
        let body = [family, address.prefix, libc::IFA_F_NODAD as u8, scope, a, b, c, d];
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Request::new(libc::RTM_NEWADDR, flags, &body);
        request.attribute(libc::IFA_LOCAL, &bytes).attribute(libc::IFA_ADDRESS, &bytes);
        self.done(request, || format!("the network device {index} cannot have {address}"))
    }

    /// Takes the address `address` from the device of number `index`.
    ///
    /// # Errors
    /// This process may not, or the device does not have it.
    pub fn delete_address(&self, index: u32, address: Address) -> Result<(), NetlinkError> {
        let (family, bytes) = ip_bytes(address.ip);
        let [a, b, c, d] = index.to_ne_bytes();
        let body = [family, address.prefix, 0, 0, a, b, c, d];
        let mut request = Request::new(libc::RTM_DELADDR, libc::NLM_F_ACK, &body);
        request.attribute(libc::IFA_LOCAL, &bytes);
        self.done(request, || format!("{address} cannot be taken from the network device {index}"))
    }

    /// The addresses of the device of number `index`.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn addresses(&self, index: u32) -> Result<Vec<Address>, NetlinkError> {
        self.addresses_where(|device| device == index)
    }

    /// The addresses of all devices.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn all_addresses(&self) -> Result<Vec<Address>, NetlinkError> {
        self.addresses_where(|_| true)
    }

    fn addresses_where(&self, wanted: impl Fn(u32) -> bool) -> Result<Vec<Address>, NetlinkError> {
        let request = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]);
        let mut addresses = Vec::new();
        self.0
            .ask(request, 1, |_, body| {
                if number_at(body, 4).is_some_and(&wanted) {
                    addresses.extend(read_address(body));
                }
            })
            .map_err(NetlinkError::of("addresses cannot be read"))?;
        Ok(addresses)
    }

    /// Adds a route, which is gone with its device.
    ///
    /// # Errors
    /// This process may not, there is such a route, or its router cannot be reached.
    pub fn add_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let request = route_request(libc::RTM_NEWROUTE, flags, route);
        self.done(request, || format!("no route to {} can be added", route.destination))
    }

    /// Takes a route away.
    ///
    /// # Errors
    /// This process may not, or there is none.
    pub fn delete_route(&self, route: &Route) -> Result<(), NetlinkError> {
        let request = route_request(libc::RTM_DELROUTE, libc::NLM_F_ACK, route);
        self.done(request, || format!("the route to {} cannot be deleted", route.destination))
    }

    /// The routes by which packets are sent to devices, to addresses of the kind that `like` is, of
    /// the main table; none that leads to a device without a carrier.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn routes(&self, like: IpAddr) -> Result<Vec<Route>, NetlinkError> {
        let mut body = [0; 12];
        body[0] = ip_bytes(like).0;
        let request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_DUMP, &body);
        let mut routes = Vec::new();
        let failed = NetlinkError::of("routes cannot be read");
        self.0.ask(request, 1, |_, body| routes.extend(read_route(body, like))).map_err(failed)?;
        Ok(routes)
    }

    /// How the kernel would send a packet to `ip`.
    ///
    /// # Errors
    /// There is no way.
    pub fn path_to(&self, ip: IpAddr) -> Result<Path, NetlinkError> {
        let (family, bytes) = ip_bytes(ip);
        let body = [family, bytes.len() as u8 * 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_ACK, &body);
        request.attribute(libc::RTA_DST, &bytes);
        let mut found = None;
        let failed = NetlinkError::of(format!("there is no route to {ip}"));
        self.0.ask(request, 1, |_, body| found = read_path(body)).map_err(failed)?;
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
        let mut request = Request::new(RTM_NEWLINK, libc::NLM_F_ACK, &body);
        request.number(kind, value);
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

fn read_address(body: &[u8]) -> Option<Address> {
    let prefix = *body.get(1)?;
    let mut attributes = Attributes(body.get(8..)?);
    let mut ip = None;
    for (kind, value) in &mut attributes {
        // Of a device between two points, the other is IFA_ADDRESS; of others both are alike, or the
        // kernel gives only that.
        if kind == libc::IFA_LOCAL || (kind == libc::IFA_ADDRESS && ip.is_none()) {
            ip = read_ip(value);
        }
    }
    Some(Address { ip: ip?, prefix })
}

/// A message of `struct rtmsg` and the attributes of `route`.
fn route_request(kind: u16, flags: i32, route: &Route) -> Request {
    let (family, bytes) = ip_bytes(route.destination.ip);
    let scope = if route.gateway.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
    let body = [
        family,
        route.destination.prefix,
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
    if route.destination.prefix > 0 {
        request.attribute(libc::RTA_DST, &bytes);
    }
    request.number(libc::RTA_OIF, route.device);
    for (kind, ip) in [(libc::RTA_GATEWAY, route.gateway), (libc::RTA_PREFSRC, route.source)] {
        if let Some(ip) = ip {
            request.attribute(kind, &ip_bytes(ip).1);
        }
    }
    if route.metric > 0 {
        request.number(libc::RTA_PRIORITY, route.metric);
    }
    request
}

fn read_path(body: &[u8]) -> Option<Path> {
    let mut path = Path { device: 0, gateway: None, source: None };
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

/// The route in a message of `struct rtmsg`, if it is one that can be taken to a device.
fn read_route(body: &[u8], like: IpAddr) -> Option<Route> {
    let (&[_, prefix, _, _, table, _, _, kind], attributes) = body.split_first_chunk::<8>()?;
    let flags = number_at(body, 8)?;
    let useless = libc::RTM_F_CLONED | RTNH_F_DEAD | RTNH_F_LINKDOWN;
    if table != libc::RT_TABLE_MAIN || kind != libc::RTN_UNICAST || flags & useless != 0 {
        return None;
    }
    let mut route = Route::default_by(0, None, like);
    route.destination.prefix = prefix;
    for (kind, value) in Attributes(attributes.get(4..)?) {
        match kind {
            libc::RTA_DST => route.destination.ip = read_ip(value)?,
            libc::RTA_OIF => route.device = number_at(value, 0)?,
            libc::RTA_GATEWAY => route.gateway = read_ip(value),
            libc::RTA_PREFSRC => route.source = read_ip(value),
            libc::RTA_PRIORITY => route.metric = number_at(value, 0)?,
            // Of several devices the first: `struct rtnexthop`.
            libc::RTA_MULTIPATH => route.device = number_at(value, 4)?,
            _ => {}
        }
    }
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
