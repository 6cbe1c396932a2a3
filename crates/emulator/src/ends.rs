//! [`Ends`]: the two networks that an emulated link connects.

use crate::Port;
use exm_os::{Address, Namespace, Netlink, NetlinkError, Offload, Route, Tun, TunOptions, set_net};
use exm_units::Bytes;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The size of the largest packet on the link: the Ethernet's, and what an opportunity carries.
pub const MTU: Bytes = Bytes::new(1500);

/// How many packets may wait for the emulator to read them: more than it ever leaves there.
const WAITING: u32 = 20_000;
/// The networks that are tried one after the other: 100.64.0.0/24 to 100.127.255.0/24, which are for
/// such uses (RFC 6598).
const FIRST_NETWORK: u32 = 0x6440_0000;
const NETWORKS: u32 = 1 << 14;
const PREFIX: u8 = 24;
const PREFIX6: u8 = 64;

/// How the kernel's TCP is set in namespaces that are ours: buffers so large that they never limit a
/// transfer, nothing remembered of earlier ones, ports and pings for everybody, and an answer to what
/// cannot be sent on.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4/ip_forward", "1"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 131072 67108864"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv4/ping_group_range", "0 0"),
];

/// Where the far end of the link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// In a network of its own, with nothing in it but what is put there.
    Namespace,
    /// In the network that this process is in.
    Here,
}

/// Why two networks cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndsError {
    /// No namespaces.
    #[error(
        "no network namespace can be made ({0}): it takes root's rights, or a user namespace of \
         one's own"
    )]
    Namespace(io::Error),
    /// No TUN devices.
    #[error(
        "no TUN device can be made ({0}): it takes /dev/net/tun, which this user may open (chmod \
         0666 /dev/net/tun), and the module tun (modprobe tun)"
    )]
    Device(io::Error),
    /// A device that cannot be set up.
    #[error("the link's device cannot be set up: {0}")]
    SetUp(#[from] NetlinkError),
    /// A setting that cannot be set.
    #[error("the network cannot be set up: {0}")]
    Setting(#[from] io::Error),
    /// All are in use.
    #[error("all networks from 100.64.0.0/24 on are in use here: there is none for the link")]
    NoNetwork,
}

/// One end: a network, and the device in it that the link begins or ends at.
#[derive(Debug)]
pub struct End {
    /// The network.
    pub namespace: Namespace,
    /// The device's address there.
    pub ip: Ipv4Addr,
    /// Its address of version 6; it has none where the kernel has no such addresses.
    pub ip6: Ipv6Addr,
    /// What the device is called there.
    pub device: String,
    port: Port,
    index: u32,
    /// In the network, whoever asks.
    netlink: Netlink,
}

/// The two networks that an emulated link connects. All of it is gone when this is dropped or the
/// process ends.
#[derive(Debug)]
pub struct Ends {
    /// Where the program under test runs: a network whose only way out is the link.
    pub inside: End,
    /// The other.
    pub world: End,
}

impl Ends {
    /// Makes them.
    ///
    /// # Errors
    /// This process may not, or the system has not what it takes.
    pub fn new(world: World) -> Result<Ends, EndsError> {
        let there = match world {
            World::Here => Namespace::current(),
            World::Namespace => Namespace::new(),
        };
        let there = there.map_err(EndsError::Namespace)?;
        let here = Namespace::new().map_err(EndsError::Namespace)?;
        if world == World::Namespace {
            there.run(own_settings)?;
        }
        here.run(own_settings)?;
        let number = there.run(free_network)?;
        let (world, inside) = (End::new(there, number, 1)?, End::new(here, number, 2)?);
        let default = Route::default_by(inside.index, Some(world.ip.into()), world.ip.into());
        inside.netlink.add_route(&default)?;
        Ok(Ends { inside, world })
    }

    /// The devices: that of the inside first.
    pub fn ports(&self) -> [&Port; 2] {
        [&self.inside.port, &self.world.port]
    }

    /// How many packets found no room to wait for the emulator, on the way up and down.
    ///
    /// # Errors
    /// The kernel cannot be asked.
    pub fn missed(&self) -> Result<[u64; 2], NetlinkError> {
        let of = |end: &End| end.netlink.link(end.index).map(|link| link.statistics.send_dropped);
        Ok([of(&self.inside)?, of(&self.world)?])
    }
}

impl End {
    fn new(namespace: Namespace, number: u32, host: u8) -> Result<End, EndsError> {
        let ip = Ipv4Addr::from(FIRST_NETWORK + (number << 8) + u32::from(host));
        // A unique local network (RFC 4193) that is numbered alike; its 40 bits say "exm" and 0x6440.
        let ip6 = Ipv6Addr::new(0xfd65, 0x786d, 0x6440, number as u16, 0, 0, 0, u16::from(host));
        let (tun, netlink) = namespace.run(|| {
            let options = TunOptions { offload: Offload::TcpUdp, ..TunOptions::default() };
            let tun = Tun::new(&options).map_err(EndsError::Device)?;
            Ok::<_, EndsError>((tun, Netlink::open()?))
        })?;
        let device = tun.name().to_owned();
        let index = namespace.run(|| netlink.index(&device))?;
        netlink.set_mtu(index, MTU.get() as u32)?;
        netlink.set_queue_length(index, WAITING)?;
        namespace.run(|| quiet(&device))?;
        netlink.set_up(index)?;
        let own = |ip: IpAddr, prefix| netlink.add_address(index, Address { ip, prefix });
        own(ip.into(), PREFIX)?;
        // A kernel without that version is no reason to do without the other.
        let _ = own(ip6.into(), PREFIX6);
        Ok(End { namespace, ip, ip6, device, port: Port::Tun(tun), index, netlink })
    }
}

/// Sets what the kernel does in a network of our own.
fn own_settings() -> Result<(), EndsError> {
    for (name, value) in SETTINGS {
        set_net(name, value)?;
    }
    let netlink = Netlink::open()?;
    Ok(netlink.set_up(netlink.index("lo")?)?)
}

/// Nothing goes out by `device` that no program sent, as far as that can be had.
fn quiet(device: &str) -> Result<(), EndsError> {
    // A kernel without IPv6 has none of these.
    for (name, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")]
    {
        let _ = set_net(&format!("ipv6/conf/{device}/{name}"), value);
    }
    Ok(())
}

/// The number of the first network of which nobody here has an address.
fn free_network() -> Result<u32, EndsError> {
    let addresses = Netlink::open()?.all_addresses()?;
    let used = |number: u32| {
        let network = (FIRST_NETWORK >> 8) + number;
        let within = |address: &Address| match address.ip {
            IpAddr::V4(ip) => u32::from(ip) >> 8 == network,
            IpAddr::V6(_) => false,
        };
        addresses.iter().any(within)
    };
    (0..NETWORKS).find(|&number| !used(number)).ok_or(EndsError::NoNetwork)
}
