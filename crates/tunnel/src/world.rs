//! [`World`]: how what a client sends goes on from its server.

use crate::error::TunnelError;
use crate::network::Network;
use exm_os::{Masquerade, Netlink, Restore, read_net, set_net};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Any address of the world: only how packets would go there is asked.
const SOMEWHERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const SOMEWHERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 1);

/// What lets a client reach the world as the server's machine does. All of it is gone when this is
/// dropped or the process ends.
#[derive(Debug, Default)]
pub struct World {
    four: Option<Masquerade>,
    six: Option<Masquerade>,
    /// What was changed for it, the last change first.
    _changed: Vec<Restore>,
}

impl World {
    /// There is none.
    pub(crate) fn cut_off() -> World {
        World::default()
    }

    /// What comes from `network` by the device called `device` goes on as this machine's own, as far
    /// as that has a way to the world itself.
    ///
    /// # Errors
    /// It has one, and packets cannot be passed on.
    pub(crate) fn connect(device: &str, network: &Network) -> Result<World, TunnelError> {
        let mut world = World::default();
        let netlink = Netlink::open()?;
        let name = format!("exm-{device}");
        if let Some(out) = way_out(&netlink, SOMEWHERE.into()) {
            world.pass_four(device, &out).map_err(TunnelError::Forward)?;
            let cidr = network.cidr();
            let masquerade = Masquerade::new(&name, cidr.ip(), cidr.prefix());
            world.four = Some(masquerade.map_err(TunnelError::Masquerade)?);
        }
        if let Some(out) = way_out(&netlink, SOMEWHERE6.into()) {
            world.pass_six(device, &out).map_err(TunnelError::Forward)?;
            let masquerade = Masquerade::new(&name, network.cidr6().ip(), Network::PREFIX6);
            world.six = Some(masquerade.map_err(TunnelError::Masquerade)?);
        }
        Ok(world)
    }

    /// Whether the client reaches the world by IPv4.
    pub fn has_four(&self) -> bool {
        self.four.is_some()
    }

    /// Whether the client reaches the world by IPv6.
    pub fn has_six(&self) -> bool {
        self.six.is_some()
    }

    /// Packets are passed on between the tunnel's device and `out`.
    fn pass_four(&mut self, device: &str, out: &str) -> io::Result<()> {
        set_net(&format!("ipv4/conf/{device}/forwarding"), "1")?;
        self.change(&format!("ipv4/conf/{out}/forwarding"), "1")
    }

    /// The same of IPv6. Kernels before 6.17 pass its packets on between all devices or none; and while
    /// they do, they take no more routes from routers but where they are told to (`accept_ra`).
    fn pass_six(&mut self, device: &str, out: &str) -> io::Result<()> {
        let alone = |device: &str| format!("ipv6/conf/{device}/force_forwarding");
        if set_net(&alone(device), "1").is_ok() {
            return self.change(&alone(out), "1");
        }
        let (forwarding, accept) =
            ("ipv6/conf/all/forwarding", format!("ipv6/conf/{out}/accept_ra"));
        if read_net(forwarding)? != "0" {
            return Ok(());
        }
        let takes_routes = read_net(&accept)? == "1";
        if takes_routes {
            self.change(&accept, "2")?;
        }
        self.change(forwarding, "1")
    }

    fn change(&mut self, setting: &str, value: &str) -> io::Result<()> {
        if read_net(setting)? != value {
            let file = format!("/proc/sys/net/{setting}");
            self._changed.insert(0, Restore::after_writing(Path::new(&file), value)?);
        }
        Ok(())
    }
}

/// The device by which packets to `ip` leave this machine, if they do.
fn way_out(netlink: &Netlink, ip: IpAddr) -> Option<String> {
    let path = netlink.path_to(ip).ok()?;
    Some(netlink.link(path.device).ok()?.name).filter(|name| name != "lo")
}
