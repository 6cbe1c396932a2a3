//! [`Unreachable`]: rejects traffic that the tunnel should carry and cannot.

use crate::device::MIN_IPV6_MTU;
use crate::error::TunnelError;
use exm_os::{TunInterface, TunOptions, set_net_sysctl};
use exm_packet::{Packet, no_route};
use ipnet::IpNet;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

/// The name of the device, with the first free number.
const NAME: &str = "exm-none%d";
/// Lower precedence than any other route to the same destination.
const LAST: u32 = u32::MAX;
/// The most packets read in one call.
const MAX_READS: usize = 64;
const ROOM: usize = 65_535;

/// A TUN device with the tunnel's IPv6 routes at the highest metric, which responds to each packet with the
/// ICMP error "no route to destination".
///
/// If the tunnel's MTU is smaller than IPv6 requires, the kernel removes its IPv6 routes. Without this
/// device, that traffic would use the machine's other routes, past the tunnel and unencrypted. It is a
/// device, not an unreachable route, because the kernel removes a device when the process ends, however it
/// ends.
#[derive(Debug)]
pub(crate) struct Unreachable {
    interface: TunInterface,
    buffer: Vec<u8>,
}

impl Unreachable {
    /// Creates it for the IPv6 networks among `routes`; `None` if there are none, or the kernel has no IPv6.
    ///
    /// # Errors
    /// The device cannot be created.
    pub(crate) fn new(routes: &[IpNet]) -> Result<Option<Unreachable>, TunnelError> {
        let mut routes = routes.iter().filter(|route| route.addr().is_ipv6()).peekable();
        if routes.peek().is_none() {
            return Ok(None);
        }
        let options = TunOptions { name: NAME, ..TunOptions::default() };
        let created = TunInterface::create(&options, u32::from(MIN_IPV6_MTU), None);
        let interface = created.map_err(|error| TunnelError::creating(NAME, error))?;
        let setting = format!("ipv6/conf/{}/disable_ipv6", interface.tun().name());
        if set_net_sysctl(&setting, "0").is_err() {
            return Ok(None);
        }
        for &route in routes {
            interface.add_route(route, LAST)?;
        }
        Ok(Some(Unreachable { interface, buffer: vec![0; ROOM] }))
    }

    pub(crate) fn index(&self) -> u32 {
        self.interface.index()
    }

    /// Rejects the packets that have arrived, as a router at `from`.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn reject(&mut self, from: Ipv6Addr) -> Result<(), TunnelError> {
        for _ in 0..MAX_READS {
            let read = self.interface.tun().read(&mut self.buffer).map_err(TunnelError::Gone)?;
            let Some(length) = read else { break };
            let bytes = &self.buffer[..length];
            let packet = Packet::parse(bytes).ok();
            let error = packet.and_then(|packet| no_route(bytes, &packet, IpAddr::V6(from)));
            if let Some(error) = error {
                // If this fails, the sender merely waits for a timeout.
                let _ = self.interface.tun().write(&[IoSlice::new(&error)]);
            }
        }
        Ok(())
    }
}

impl AsFd for Unreachable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.interface.tun().as_fd()
    }
}
