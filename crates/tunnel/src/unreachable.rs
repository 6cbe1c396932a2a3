//! [`Unreachable`]: where packets go that the tunnel should carry and cannot.

use crate::device::LEAST_MTU6;
use crate::error::TunnelError;
use crate::network::Cidr;
use exm_os::{Netlink, Route, Tun, TunOptions, set_net};
use exm_packet::{Packet, no_route};
use std::io::IoSlice;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

/// What the device is called: the first number that is free.
const NAME: &str = "exm-none%d";
/// After any other route to the same addresses.
const LAST: u32 = u32::MAX;
/// No more packets are read before something else has its turn.
const MOST_READS: usize = 64;
const ROOM: usize = 65_535;

/// A network device that has the tunnel's IPv6 routes at the highest metric, and answers each packet
/// that there is no route.
///
/// A tunnel whose packets are smaller than IPv6 requires has no IPv6 routes: the kernel takes them away
/// with the device's last suitable MTU. Without this, that traffic would go by the machine's other routes,
/// past the tunnel and unencrypted. It is a device and not an unreachable route because a device is
/// gone when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Unreachable {
    tun: Tun,
    index: u32,
    buffer: Vec<u8>,
}

impl Unreachable {
    /// For those of `routes` that are of IPv6. None where there are none, or the kernel has no IPv6.
    ///
    /// # Errors
    /// This process may not.
    pub(crate) fn new(routes: &[Cidr]) -> Result<Option<Unreachable>, TunnelError> {
        let mut routes = routes.iter().filter(|route| route.ip().is_ipv6()).peekable();
        if routes.peek().is_none() {
            return Ok(None);
        }
        let tun = Tun::new(&TunOptions { name: NAME, ..TunOptions::default() })
            .map_err(|source| TunnelError::Device { name: NAME.to_owned(), source })?;
        let setting = |name: &str| format!("ipv6/conf/{}/{name}", tun.name());
        if set_net(&setting("disable_ipv6"), "0").is_err() {
            return Ok(None);
        }
        for (name, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0")] {
            set_net(&setting(name), value).map_err(TunnelError::Gone)?;
        }
        let netlink = Netlink::open()?;
        let index = netlink.index(tun.name())?;
        netlink.set_mtu(index, u32::from(LEAST_MTU6))?;
        netlink.set_up(index)?;
        for route in routes {
            let all = Route::default_by(index, None, route.ip());
            let destination = (*route).into();
            netlink.add_route(&Route { destination, metric: LAST, ..all })?;
        }
        Ok(Some(Unreachable { tun, index, buffer: vec![0; ROOM] }))
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Answers what has come, as a router at `from`.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn answer(&mut self, from: Ipv6Addr) -> Result<(), TunnelError> {
        for _ in 0..MOST_READS {
            let read = self.tun.read(&mut self.buffer).map_err(TunnelError::Gone)?;
            let Some(length) = read else { break };
            let bytes = &self.buffer[..length];
            let packet = Packet::parse(bytes).ok();
            let answer = packet.and_then(|packet| no_route(bytes, &packet, IpAddr::V6(from)));
            if let Some(answer) = answer {
                // Without an answer the sender waits in vain, and no more.
                let _ = self.tun.write(&[IoSlice::new(&answer)]);
            }
        }
        Ok(())
    }
}

impl AsFd for Unreachable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
