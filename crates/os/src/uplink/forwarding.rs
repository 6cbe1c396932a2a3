//! [`Forwarding`]: forwards packets from behind a device to this machine's uplink.

use super::DefaultRoute;
use super::masquerade::source_nat;
use crate::netlink::message::Socket;
use crate::nft::{ConnectionState, Device, Family, Hook, Side, Table, Verdict};
use crate::{Netlink, NetlinkError, Restore, read_net_sysctl, set_net_sysctl};
use ipnet::IpNet;
use std::io;

/// Where packets from behind a device may be forwarded to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Nowhere: they reach only this machine.
    Nowhere,
    /// Through the uplink, the device of this machine's default route; and to these networks, through
    /// whichever devices lead there.
    Uplink(Vec<IpNet>),
    /// Through any device.
    Anywhere,
}

/// Why packets cannot be forwarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardingError {
    /// The rules cannot be installed.
    #[error("cannot install nftables rules ({0}): load the modules (modprobe nft_ct nft_masq)")]
    Rules(io::Error),
    /// Forwarding cannot be enabled.
    #[error("packets cannot be forwarded: {0}")]
    Setting(io::Error),
    /// There is no route to an allowed network.
    #[error("the network {network} cannot be reached: {source}")]
    Route {
        /// The network.
        network: IpNet,
        /// The kernel's error.
        source: NetlinkError,
    },
}

/// Forwards packets of one IP version from behind a device: new connections from there to permitted
/// destinations, replies back, and nothing else. Forwarded packets get this machine's source address
/// (masquerading).
///
/// If forwarding had to be enabled for a device, hosts behind that device gain no access: connections that
/// they open are dropped, as before. Where the kernel can only enable it for all devices (IPv6 before Linux
/// 6.17), that holds for all of them but the tunnels'. The rules are an nftables table that the kernel removes when this is
/// dropped or the process ends; the last process that needs forwarding disables it again ([`Restore`]).
#[derive(Debug)]
pub struct Forwarding {
    uplink: Option<String>,
    /// Settings of the device itself, which disappear with it, and their values.
    own: Vec<(String, &'static str)>,
    // Declared before the settings, so that the rules are dropped first.
    _rules: Socket,
    _changed: Vec<Restore>,
}

impl Forwarding {
    /// Forwards packets that arrive at `device` from `network`, in the network namespace of the calling
    /// thread.
    ///
    /// # Errors
    /// This process lacks the privileges, the kernel lacks a feature, or a network of `egress` has no
    /// route.
    pub fn new(
        device: &str,
        network: IpNet,
        egress: &Egress,
    ) -> Result<Forwarding, ForwardingError> {
        let netlink =
            Netlink::open().map_err(|error| ForwardingError::Setting(io::Error::other(error)))?;
        let is_v4 = is_v4(network);
        let uplink = match egress {
            Egress::Nowhere => None,
            Egress::Uplink(_) | Egress::Anywhere => {
                DefaultRoute::find(&netlink, is_v4).ok().flatten().map(|route| route.device)
            }
        };
        let mut devices: Vec<String> = uplink.iter().cloned().collect();
        let allowed: Vec<IpNet> = match egress {
            Egress::Uplink(networks) => {
                networks.iter().copied().filter(|&allowed| is_v4 == self::is_v4(allowed)).collect()
            }
            Egress::Nowhere | Egress::Anywhere => Vec::new(),
        };
        for &network in &allowed {
            let found =
                netlink.resolve_route(network.addr()).and_then(|route| netlink.link(route.device));
            devices.push(found.map_err(|source| ForwardingError::Route { network, source })?.name);
        }
        devices.sort();
        devices.dedup();
        let mut settings = Settings::default();
        let forwards = !devices.is_empty() || *egress == Egress::Anywhere;
        if forwards {
            let index = netlink.index(device);
            index
                .and_then(|index| netlink.set_group(index, GROUP))
                .map_err(|error| ForwardingError::Setting(io::Error::other(error)))?;
            let enabled = settings.enable(device, &devices, is_v4);
            enabled.map_err(ForwardingError::Setting)?;
        }
        let plan = Plan { device, network, egress, uplink: uplink.as_deref(), allowed: &allowed };
        let rules = plan.table(forwards, &settings.opened).commit();
        let Settings { own, changed, .. } = settings;
        Ok(Forwarding {
            uplink,
            own,
            _rules: rules.map_err(ForwardingError::Rules)?,
            _changed: changed,
        })
    }

    /// The device of this machine's default route, if there is one and packets are forwarded there.
    pub fn uplink(&self) -> Option<&str> {
        self.uplink.as_deref()
    }

    /// Restores the device's settings, which the kernel resets for IPv6 when the MTU was too small for it.
    ///
    /// # Errors
    /// The device is gone.
    pub fn renew(&self) -> io::Result<()> {
        self.own.iter().try_for_each(|(name, value)| set_net_sysctl(name, value))
    }
}

/// The settings that forwarding needs.
#[derive(Default)]
struct Settings {
    own: Vec<(String, &'static str)>,
    changed: Vec<Restore>,
    /// The devices for which forwarding was disabled before.
    opened: Opened,
}

/// Where this machine forwards packets from, and did not before.
#[derive(Debug, PartialEq, Eq)]
enum Opened {
    Devices(Vec<String>),
    /// All devices. Those of the tunnels are in [`GROUP`].
    All,
}

impl Default for Opened {
    fn default() -> Opened {
        Opened::Devices(Vec::new())
    }
}

impl Settings {
    /// Enables forwarding for `device`, which is ours, and for `others`.
    fn enable(&mut self, device: &str, others: &[String], is_v4: bool) -> io::Result<()> {
        let setting = |device: &str| match is_v4 {
            true => format!("ipv4/conf/{device}/forwarding"),
            false => format!("ipv6/conf/{device}/force_forwarding"),
        };
        // Kernels before 6.17 enable IPv6 forwarding for all devices or none.
        if !is_v4 && read_net_sysctl(&setting(device)).is_err() {
            return self.enable_for_all(others);
        }
        set_net_sysctl(&setting(device), "1")?;
        self.own.push((setting(device), "1"));
        let mut opened = Vec::new();
        for other in others {
            if self.change(&setting(other), "1")? {
                opened.push(other.clone());
            }
        }
        self.opened = Opened::Devices(opened);
        Ok(())
    }

    /// A machine that forwards IPv6 accepts router advertisements only where `accept_ra` is 2.
    fn enable_for_all(&mut self, others: &[String]) -> io::Result<()> {
        for other in others {
            let accept = format!("ipv6/conf/{other}/accept_ra");
            if read_net_sysctl(&accept)? != "0" {
                self.change(&accept, "2")?;
            }
        }
        if self.change("ipv6/conf/all/forwarding", "1")? {
            self.opened = Opened::All;
        }
        Ok(())
    }

    /// Changes a setting; returns whether it had another value.
    fn change(&mut self, name: &str, value: &str) -> io::Result<bool> {
        let restore = Restore::setting(name, value)?;
        let is_changed = restore.is_some();
        // The last change is undone first.
        self.changed.splice(0..0, restore);
        Ok(is_changed)
    }
}

/// What the rules depend on.
struct Plan<'a> {
    device: &'a str,
    network: IpNet,
    egress: &'a Egress,
    uplink: Option<&'a str>,
    allowed: &'a [IpNet],
}

/// The group of the devices of tunnels whose packets are forwarded.
const GROUP: u32 = 0x0065_786d;
/// The name of the chain.
const FORWARD: &str = "forward";

impl Plan<'_> {
    /// The rules.
    fn table(&self, forwards: bool, opened: &Opened) -> Table {
        let family = Family::of(self.network.addr());
        let mut table = Table::owned(&format!("exm-{}", self.device), family);
        if forwards {
            source_nat(&mut table, self.network);
        }
        table.chain(FORWARD, Hook::FORWARD);
        let device = self.device;
        if let (Egress::Uplink(_), Some(uplink)) = (self.egress, self.uplink) {
            table.rule(FORWARD, |rule| {
                rule.device(Device::In, device)
                    .device(Device::Out, uplink)
                    .verdict(Verdict::Accept);
            });
        }
        for &network in self.allowed {
            table.rule(FORWARD, |rule| {
                rule.device(Device::In, device).within(Side::Destination, family, network);
                rule.verdict(Verdict::Accept);
            });
        }
        let otherwise = match self.egress {
            Egress::Anywhere => Verdict::Accept,
            Egress::Nowhere | Egress::Uplink(_) => Verdict::Drop,
        };
        table.rule(FORWARD, |rule| rule.device(Device::In, device).verdict(otherwise));
        let mut guarded = vec![(Device::Out, device)];
        match opened {
            Opened::Devices(opened) => {
                guarded.extend(opened.iter().map(|opened| (Device::In, opened.as_str())));
            }
            Opened::All => table.rule(FORWARD, |rule| {
                rule.not_from_group(GROUP).not_in_state(ConnectionState::ESTABLISHED_OR_RELATED);
                rule.verdict(Verdict::Drop);
            }),
        }
        for (side, device) in guarded {
            table.rule(FORWARD, |rule| {
                rule.device(side, device).not_in_state(ConnectionState::ESTABLISHED_OR_RELATED);
                rule.verdict(Verdict::Drop);
            });
        }
        table
    }
}

fn is_v4(network: IpNet) -> bool {
    network.addr().is_ipv4()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, Tun, TunOptions};
    use std::process::Command;

    fn shell(network: &Namespace, script: &str) -> bool {
        let status = network.run(|| Command::new("sh").args(["-ec", script]).status());
        status.expect("there is a shell").success()
    }

    /// As before Linux 6.17, where IPv6 is forwarded for all devices or none.
    #[test]
    fn forwarding_for_all_makes_no_router_for_others() {
        if !exm_testing::can_make_networks(&["ip", "ping"]) {
            return;
        }
        let [router, lan, host] = [(); 3].map(|()| Namespace::new().expect("it is possible"));
        for (other, name, net) in [(&lan, "l0", "2001:db8:5"), (&host, "h0", "2001:db8:1")] {
            assert!(shell(
                &router,
                &format!(
                    "ip link add {name} type veth peer name {name} netns {}
                     ip address add {net}::1/64 dev {name} nodad; ip link set {name} up",
                    other.path().display()
                )
            ));
            assert!(shell(
                other,
                &format!(
                    "ip address add {net}::2/64 dev {name} nodad; ip link set {name} up
                     ip -6 route add default via {net}::1"
                )
            ));
        }
        let reaches = |from: &Namespace, to: &str| shell(from, &format!("ping -c 1 -W 1 {to} >&2"));
        // A second tunnel's device is a veth pair here, so that something can send through it.
        let (egress, network) = (Egress::Anywhere, "fd65::/64".parse().expect("a network"));
        let forwarding = router.run(|| {
            let tun = Tun::new(&TunOptions::default())?;
            let mut settings = Settings::default();
            settings.enable_for_all(&["h0".to_owned()])?;
            assert_eq!(settings.opened, Opened::All);
            let plan =
                Plan { device: tun.name(), network, egress: &egress, uplink: None, allowed: &[] };
            let rules = plan.table(true, &settings.opened).commit()?;
            io::Result::Ok((tun, settings, rules))
        });
        let _forwarding = forwarding.expect("it is possible");
        assert!(reaches(&lan, "2001:db8:5::1"), "the router itself");
        assert!(!reaches(&lan, "2001:db8:1::2") && !reaches(&host, "2001:db8:5::2"));
        let group = router.run(|| {
            let netlink = Netlink::open()?;
            netlink.set_group(netlink.index("l0")?, GROUP)
        });
        group.expect("it is there");
        assert!(reaches(&lan, "2001:db8:1::2"), "from a tunnel's device");
        assert!(!reaches(&host, "2001:db8:5::2"));
    }
}
