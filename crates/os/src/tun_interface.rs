//! [`TunInterface`]: a TUN device that is set up, with its addresses and routes.

use crate::{Netlink, NetlinkError, Route, Tun, TunOptions, set_net_sysctl};
use ipnet::IpNet;
use std::io;

/// Why a TUN interface cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum TunInterfaceError {
    /// The TUN device cannot be created.
    #[error("the TUN device cannot be created: {0}")]
    Device(io::Error),
    /// The device cannot be set up.
    #[error(transparent)]
    SetUp(#[from] NetlinkError),
}

/// A TUN device that is up, in the network namespace of the thread that created it.
///
/// The kernel removes it with its addresses and routes when this is dropped or the process ends.
#[derive(Debug)]
pub struct TunInterface {
    tun: Tun,
    netlink: Netlink,
    index: u32,
}

impl TunInterface {
    /// Creates a device with an MTU of `mtu` bytes and, if given, a transmit queue of `queue_length`
    /// packets, and sets it up. It has no addresses.
    ///
    /// # Errors
    /// The device cannot be created or set up.
    pub fn create(
        options: &TunOptions,
        mtu: u32,
        queue_length: Option<u32>,
    ) -> Result<TunInterface, TunInterfaceError> {
        let tun = Tun::new(options).map_err(TunInterfaceError::Device)?;
        let netlink = Netlink::open()?;
        let index = netlink.index(tun.name())?;
        netlink.set_mtu(index, mtu)?;
        if let Some(packets) = queue_length {
            netlink.set_queue_length(index, packets)?;
        }
        let interface = TunInterface { tun, netlink, index };
        interface.silence();
        interface.netlink.set_up(index)?;
        Ok(interface)
    }

    /// Keeps the kernel from sending IPv6 packets of its own through the device, such as router
    /// solicitations. The kernel forgets this while the MTU is less than 1280 bytes. It must be called in
    /// the device's network namespace.
    pub fn silence(&self) {
        for (setting, value) in
            [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")]
        {
            // A kernel without IPv6 has none of these.
            let _ = set_net_sysctl(&format!("ipv6/conf/{}/{setting}", self.tun.name()), value);
        }
    }

    /// The device, for reading and writing packets.
    #[inline]
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// The devices, addresses and routes of its network namespace.
    pub fn netlink(&self) -> &Netlink {
        &self.netlink
    }

    /// Its interface index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Adds an address with the length of its network prefix.
    ///
    /// # Errors
    /// The device has it already, or the kernel does not support the IP version.
    pub fn add_address(&self, address: IpNet) -> Result<(), NetlinkError> {
        self.netlink.add_address(self.index, address)
    }

    /// Adds a route to `destination` through the device; of several routes to the same destination, the
    /// kernel takes the one with the lowest metric.
    ///
    /// # Errors
    /// There is such a route already.
    pub fn add_route(&self, destination: IpNet, metric: u32) -> Result<(), NetlinkError> {
        let route = Route { destination, gateway: None, device: self.index, source: None, metric };
        self.netlink.add_route(&route)
    }

    /// Its device, which keeps the addresses and routes, with what administers it.
    pub fn into_parts(self) -> (Tun, Netlink, u32) {
        (self.tun, self.netlink, self.index)
    }
}
