//! [`Ends`]: the two networks that an emulated link connects.

use crate::Port;
use exm_os::{
    Namespace, Netlink, NetlinkError, Offload, Route, TunInterface, TunInterfaceError, TunOptions,
    set_net_sysctl,
};
use exm_units::Bytes;
use ipnet::{IpNet, Ipv4Net};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The MTU of the link: Ethernet's, and what one delivery opportunity carries.
pub const MTU: Bytes = Bytes::new(1500);

/// The queue of packets that the emulator has not read yet: longer than it ever gets.
const WAITING: u32 = 20_000;
/// The candidate networks: 100.64.0.0/24 to 100.127.255.0/24, the shared address space of RFC 6598.
const FIRST_NETWORK: u32 = 0x6440_0000;
const NETWORKS: u32 = 1 << 14;
const PREFIX: u8 = 24;
const PREFIX6: u8 = 64;

/// The settings of our own namespaces: TCP buffers that never limit a transfer, no metrics cached from earlier
/// connections, all ports and ping for every user, and forwarding, with ICMP errors for what cannot be
/// forwarded.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4/ip_forward", "1"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 131072 67108864"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv4/ping_group_range", "0 0"),
];

/// The network of the outside end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideNetwork {
    /// A namespace of its own.
    Namespace,
    /// The network namespace of this process.
    Host,
}

/// Why the two networks cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndsError {
    /// Namespaces cannot be created.
    #[error("cannot create a network namespace ({0}): {remedy}", remedy = exm_os::namespace_remedy())]
    Namespace(io::Error),
    /// TUN devices cannot be created.
    #[error("cannot create a TUN device ({0}): {remedy}", remedy = exm_os::tun_remedy())]
    Device(io::Error),
    /// A device cannot be set up.
    #[error("cannot set up the device of the link: {0}")]
    SetUp(#[from] NetlinkError),
    /// A sysctl cannot be set.
    #[error("cannot set up the network: {0}")]
    Setting(#[from] io::Error),
    /// All candidate networks are in use.
    #[error(
        "all networks from 100.64.0.0/24 to 100.127.255.0/24 are in use on this machine: none is left for the link"
    )]
    NoNetwork,
}

/// One end of the link: a network namespace, and the link's device in it.
#[derive(Debug)]
pub struct End {
    /// The namespace.
    pub namespace: Namespace,
    /// The IPv4 address of the device.
    pub ip: Ipv4Addr,
    /// Its IPv6 address; unused if the kernel has no IPv6.
    pub ip6: Ipv6Addr,
    /// The name of the device.
    pub device: String,
    port: Port,
    index: u32,
    /// Administers the namespace.
    netlink: Netlink,
}

/// The two networks that an emulated link connects. Both are removed when this is dropped or the process ends.
#[derive(Debug)]
pub struct Ends {
    /// The network of the program under test, whose only route leads through the link.
    pub inside: End,
    /// The network at the other end of the link.
    pub outside: End,
}

impl Ends {
    /// Creates them, the outside end in `network`.
    ///
    /// # Errors
    /// This process lacks the privileges, or the system lacks a feature.
    pub fn new(network: OutsideNetwork) -> Result<Ends, EndsError> {
        let outside = match network {
            OutsideNetwork::Host => Namespace::current(),
            OutsideNetwork::Namespace => Namespace::new(),
        };
        let outside = outside.map_err(EndsError::Namespace)?;
        let inside = Namespace::new().map_err(EndsError::Namespace)?;
        if network == OutsideNetwork::Namespace {
            outside.run(set_up_namespace)?;
        }
        inside.run(set_up_namespace)?;
        let number = outside.run(free_network)?;
        let (outside, inside) = (End::new(outside, number, 1)?, End::new(inside, number, 2)?);
        let default = Route::default_by(inside.index, Some(outside.ip.into()), outside.ip.into());
        inside.netlink.add_route(&default)?;
        Ok(Ends { inside, outside })
    }

    /// The devices, the inside one first.
    pub fn ports(&self) -> [&Port; 2] {
        [&self.inside.port, &self.outside.port]
    }

    /// The numbers of packets that were dropped before the emulator read them, up and down.
    ///
    /// # Errors
    /// The kernel cannot be queried.
    pub fn missed(&self) -> Result<[u64; 2], NetlinkError> {
        let of = |end: &End| end.netlink.link(end.index).map(|link| link.statistics.send_dropped);
        Ok([of(&self.inside)?, of(&self.outside)?])
    }
}

impl End {
    fn new(namespace: Namespace, number: u32, host: u8) -> Result<End, EndsError> {
        let ip = Ipv4Addr::from(FIRST_NETWORK + (number << 8) + u32::from(host));
        // A unique local address (RFC 4193) with the same number; the global ID is "exm" and 0x6440.
        let ip6 = Ipv6Addr::new(0xfd65, 0x786d, 0x6440, number as u16, 0, 0, 0, u16::from(host));
        let options = TunOptions { offload: Offload::TcpUdp, ..TunOptions::default() };
        let create = || {
            TunInterface::create(&options, MTU.get() as u32, Some(WAITING)).map_err(EndsError::from)
        };
        let interface = namespace.run(create)?;
        let address = |ip: IpAddr, prefix| IpNet::new_assert(ip, prefix);
        interface.add_address(address(ip.into(), PREFIX))?;
        // IPv4 works on kernels without IPv6.
        let _ = interface.add_address(address(ip6.into(), PREFIX6));
        let (tun, netlink, index) = interface.into_parts();
        let device = tun.name().to_owned();
        Ok(End { namespace, ip, ip6, device, port: Port::Tun(tun), index, netlink })
    }
}

/// Sets up the calling thread's namespace, which is our own.
fn set_up_namespace() -> Result<(), EndsError> {
    for (name, value) in SETTINGS {
        set_net_sysctl(name, value)?;
    }
    let netlink = Netlink::open()?;
    Ok(netlink.set_up(netlink.index("lo")?)?)
}

impl From<TunInterfaceError> for EndsError {
    fn from(error: TunInterfaceError) -> EndsError {
        match error {
            TunInterfaceError::Device(error) => EndsError::Device(error),
            TunInterfaceError::SetUp(error) => EndsError::SetUp(error),
        }
    }
}

/// The number of the first candidate network in which this machine has no address.
fn free_network() -> Result<u32, EndsError> {
    let addresses = Netlink::open()?.all_addresses()?;
    let used = |number: u32| {
        let candidate = Ipv4Net::new_assert((FIRST_NETWORK + (number << 8)).into(), PREFIX);
        addresses.iter().any(|address| IpNet::from(candidate).contains(&address.addr()))
    };
    (0..NETWORKS).find(|&number| !used(number)).ok_or(EndsError::NoNetwork)
}
