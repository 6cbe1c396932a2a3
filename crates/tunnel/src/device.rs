//! [`Device`]: the network device that a tunnel ends at.

use crate::error::TunnelError;
use crate::network::{Cidr, Network};
use exm_os::{Address, Netlink, Route, Tun, TunOptions, set_net};
use std::net::IpAddr;

/// The least MTU that a device of IPv6 has (RFC 8200, section 5).
pub(crate) const LEAST_MTU6: u16 = 1280;

/// Which end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Client,
}

impl Network {
    /// The addresses of one end, of IPv4 and of IPv6.
    pub(crate) fn addresses(&self, end: End) -> [Address; 2] {
        let ips: [IpAddr; 2] = match end {
            End::Server => [self.server().into(), self.server6().into()],
            End::Client => [self.client().into(), self.client6().into()],
        };
        let prefixes = [self.cidr().prefix(), Network::PREFIX6];
        [0, 1].map(|version| Address { ip: ips[version], prefix: prefixes[version] })
    }
}

/// The network device that a tunnel ends at, in the network of the thread that made it. It is gone,
/// with all its addresses and routes, when this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) tun: Tun,
    netlink: Netlink,
    index: u32,
    mtu: u16,
    addresses: Vec<Address>,
}

impl Device {
    /// One called `name` that carries packets of up to `mtu` bytes. It has no addresses, and is up.
    ///
    /// # Errors
    /// This process may not make any.
    pub(crate) fn new(name: &str, mtu: u16) -> Result<Device, TunnelError> {
        let options = TunOptions { name, ..TunOptions::default() };
        let tun = Tun::new(&options)
            .map_err(|source| TunnelError::Device { name: name.to_owned(), source })?;
        let netlink = Netlink::open()?;
        let index = netlink.index(tun.name())?;
        netlink.set_mtu(index, u32::from(mtu))?;
        let device = Device { tun, netlink, index, mtu, addresses: Vec::new() };
        device.silence();
        device.netlink.set_up(index)?;
        Ok(device)
    }

    /// Nothing goes out that no program sent.
    fn silence(&self) {
        for (setting, value) in
            [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")]
        {
            // A kernel without IPv6 has none of these.
            let _ = set_net(&format!("ipv6/conf/{}/{setting}", self.tun.name()), value);
        }
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn netlink(&self) -> &Netlink {
        &self.netlink
    }

    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// From now on it carries packets of up to `mtu` bytes. From a device that becomes too small for
    /// IPv6 the kernel takes all that it has of that, addresses, routes and settings, and they are to
    /// be set again once it is large enough. Returns whether that is so now.
    pub(crate) fn set_mtu(&mut self, mtu: u16) -> Result<bool, TunnelError> {
        let before = std::mem::replace(&mut self.mtu, mtu);
        if mtu != before {
            self.netlink.set_mtu(self.index, u32::from(mtu))?;
        }
        if mtu < LEAST_MTU6 {
            self.addresses.retain(|address| address.ip.is_ipv4());
        }
        let is_new = before < LEAST_MTU6 && mtu >= LEAST_MTU6;
        if is_new {
            self.silence();
        }
        Ok(is_new)
    }

    /// Gives it these addresses, and takes all others away.
    pub(crate) fn set_addresses(&mut self, wanted: [Address; 2]) -> Result<(), TunnelError> {
        for address in wanted {
            if self.addresses.contains(&address) {
                continue;
            }
            match self.netlink.add_address(self.index, address) {
                Ok(()) => self.addresses.push(address),
                // A kernel without IPv6, or packets too small for it, are no reason to do without
                // the other.
                Err(_) if address.ip.is_ipv6() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (kept, old) = self.addresses.iter().partition(|address| wanted.contains(address));
        self.addresses = kept;
        for address in old {
            self.netlink.delete_address(self.index, address)?;
        }
        Ok(())
    }

    /// Its address of the kind that `like` is, if it has one.
    pub(crate) fn address(&self, like: IpAddr) -> Option<IpAddr> {
        let ips = self.addresses.iter().map(|address| address.ip);
        ips.into_iter().find(|ip| ip.is_ipv4() == like.is_ipv4())
    }

    /// What is sent to `destination` goes through it. Where that is of IPv6 and it has no address of
    /// that, nothing is done: see [`Unreachable`](crate::unreachable::Unreachable).
    pub(crate) fn add_route(&self, destination: Cidr) -> Result<(), TunnelError> {
        let ip = destination.ip();
        if self.address(ip).is_none() {
            return Ok(());
        }
        let route =
            Route { destination: destination.into(), ..Route::default_by(self.index, None, ip) };
        Ok(self.netlink.add_route(&route)?)
    }
}
