//! [`Device`]: the TUN device at one end of a tunnel.

use crate::error::TunnelError;
use crate::network::Network;
use exm_os::{Netlink, Tun, TunInterface, TunOptions};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The minimum MTU of IPv6 (RFC 8200, section 5).
pub(crate) const MIN_IPV6_MTU: u16 = 1280;

/// An end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Client,
}

impl Network {
    /// The IPv4 and the IPv6 address of one end. The server's have the prefixes of their networks; the client
    /// takes nothing but host addresses from the server, so that its own routes and networks stay as they are.
    pub(crate) fn addresses(&self, end: End) -> [IpNet; 2] {
        let (ipv4, ipv6): (IpAddr, IpAddr) = match end {
            End::Server => (self.server().into(), self.server6().into()),
            End::Client => (self.client().into(), self.client6().into()),
        };
        let prefixes = match end {
            End::Server => [self.ipv4(), self.ipv6()].map(|net| net.prefix_len()),
            End::Client => [32, 128],
        };
        [IpNet::new_assert(ipv4, prefixes[0]), IpNet::new_assert(ipv6, prefixes[1])]
    }
}

/// The TUN device at one end of a tunnel.
#[derive(Debug)]
pub(crate) struct Device {
    interface: TunInterface,
    mtu: u16,
    addresses: Vec<IpNet>,
}

impl Device {
    /// Creates a device called `name` with an MTU of `mtu` bytes, which is up and has no addresses.
    ///
    /// # Errors
    /// The device cannot be created or set up.
    pub(crate) fn new(name: &str, mtu: u16) -> Result<Device, TunnelError> {
        let options = TunOptions { name, ..TunOptions::default() };
        let created = TunInterface::create(&options, u32::from(mtu), None);
        let interface = created.map_err(|error| TunnelError::creating(name, error))?;
        Ok(Device { interface, mtu, addresses: Vec::new() })
    }

    pub(crate) fn tun(&self) -> &Tun {
        self.interface.tun()
    }

    pub(crate) fn index(&self) -> u32 {
        self.interface.index()
    }

    pub(crate) fn netlink(&self) -> &Netlink {
        self.interface.netlink()
    }

    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Changes the MTU. When it falls below IPv6's minimum, the kernel removes the device's IPv6 addresses,
    /// routes and settings. Returns true if it has just become large enough again, so that they must be set
    /// anew.
    pub(crate) fn set_mtu(&mut self, mtu: u16) -> Result<bool, TunnelError> {
        let before = std::mem::replace(&mut self.mtu, mtu);
        if mtu != before {
            self.netlink().set_mtu(self.index(), u32::from(mtu))?;
        }
        if mtu < MIN_IPV6_MTU {
            self.addresses.retain(|address| address.addr().is_ipv4());
        }
        let is_new = before < MIN_IPV6_MTU && mtu >= MIN_IPV6_MTU;
        if is_new {
            self.interface.silence();
        }
        Ok(is_new)
    }

    /// Sets its addresses, and removes all others.
    pub(crate) fn set_addresses(&mut self, wanted: &[IpNet]) -> Result<(), TunnelError> {
        for &address in wanted {
            if self.addresses.contains(&address) {
                continue;
            }
            match self.interface.add_address(address) {
                Ok(()) => self.addresses.push(address),
                // IPv4 works without IPv6: the kernel may lack it, or packets may be too small for it.
                Err(_) if address.addr().is_ipv6() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (kept, old) = self.addresses.iter().partition(|address| wanted.contains(address));
        self.addresses = kept;
        for address in old {
            self.netlink().delete_address(self.index(), address)?;
        }
        Ok(())
    }

    /// Its address of the IP version of `like`, if it has one.
    pub(crate) fn address(&self, like: IpAddr) -> Option<IpAddr> {
        let ips = self.addresses.iter().map(IpNet::addr);
        ips.into_iter().find(|ip| ip.is_ipv4() == like.is_ipv4())
    }

    /// Sets it up again if others have taken it down, which removes its routes and IPv6 addresses. Returns
    /// whether that was so.
    pub(crate) fn revive(&mut self) -> Result<bool, TunnelError> {
        if self.netlink().link(self.index())?.is_up {
            return Ok(false);
        }
        self.netlink().set_up(self.index())?;
        let present = self.netlink().addresses(self.index())?;
        self.addresses.retain(|address| present.contains(address));
        Ok(true)
    }

    /// Routes `destination` through it. Does nothing if it has no address of that IP version: see
    /// [`Unreachable`](crate::unreachable::Unreachable).
    pub(crate) fn add_route(&self, destination: IpNet) -> Result<(), TunnelError> {
        if self.address(destination.addr()).is_none() {
            return Ok(());
        }
        Ok(self.interface.add_route(destination, 0)?)
    }

    /// Adds those of the routes to `destinations` that it does not have.
    pub(crate) fn add_missing_routes(
        &self,
        destinations: impl Iterator<Item = IpNet>,
    ) -> Result<(), TunnelError> {
        let like: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let mut present = Vec::new();
        for like in like {
            let routes = self.netlink().routes(like)?.into_iter();
            present.extend(routes.filter(|route| route.device == self.index()));
        }
        for destination in destinations {
            if !present.iter().any(|route| route.destination == destination) {
                self.add_route(destination)?;
            }
        }
        Ok(())
    }
}
