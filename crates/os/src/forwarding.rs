//! [`Forwarding`]: letting what is behind a device reach the world by this machine.

use crate::masquerade::source_nat;
use crate::netlink::message::Socket;
use crate::nft::{Device, ESTABLISHED_OR_RELATED, Family, Hook, Side, Table, Verdict};
use crate::{Address, Netlink, NetlinkError, Restore, read_net, set_net};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Any address of the world (RFC 5737, RFC 3849): only how packets would go there is asked.
const SOMEWHERE4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const SOMEWHERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 1);

/// Where packets from behind a device may go on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Nowhere: they reach this machine alone.
    Nowhere,
    /// By the uplink, the device of this machine's own route to the world; and to these networks,
    /// whichever device leads there.
    Uplink(Vec<Address>),
    /// By any device.
    Anywhere,
}

/// Why packets cannot be forwarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardingError {
    /// No rules.
    #[error("no nftables rules can be made ({0}): load the modules (modprobe nft_ct nft_masq)")]
    Rules(io::Error),
    /// No forwarding.
    #[error("packets cannot be forwarded: {0}")]
    Setting(io::Error),
    /// A network is to be reached that this machine does not reach.
    #[error("the network {network} cannot be reached: {source}")]
    Route {
        /// Which.
        network: Address,
        /// What the kernel said.
        source: NetlinkError,
    },
}

/// Forwards packets of one IP version from behind a device: new connections from there to where they
/// may go, replies back, and nothing else. They get this machine's addresses (masquerading).
///
/// Where forwarding had to be switched on for a device, that device's other neighbours gain nothing:
/// connections that they begin are dropped, as before. The rules are an nftables table of our own that
/// the kernel takes down when this is dropped or the process ends; forwarding is switched off again by
/// the last process that needs it ([`Restore`]).
#[derive(Debug)]
pub struct Forwarding {
    uplink: Option<String>,
    /// Settings that are gone with the device, and their values.
    own: Vec<(String, &'static str)>,
    /// Rules before settings, in the order in which they are taken down.
    _rules: Socket,
    _changed: Vec<Restore>,
}

impl Forwarding {
    /// Forwards what comes by `device` from addresses of `network`, in the network namespace that this
    /// thread is in.
    ///
    /// # Errors
    /// This process may not, the kernel has not what it takes, or a network has no route.
    pub fn new(
        device: &str,
        network: Address,
        egress: &Egress,
    ) -> Result<Forwarding, ForwardingError> {
        let netlink =
            Netlink::open().map_err(|error| ForwardingError::Setting(io::Error::other(error)))?;
        let is_v4 = network.ip.is_ipv4();
        let uplink = match egress {
            Egress::Nowhere => None,
            Egress::Uplink(_) | Egress::Anywhere => {
                uplink(&netlink, if is_v4 { SOMEWHERE4.into() } else { SOMEWHERE6.into() })
            }
        };
        let mut devices: Vec<String> = uplink.iter().cloned().collect();
        let allowed: Vec<Address> = match egress {
            Egress::Uplink(networks) => {
                networks.iter().copied().filter(|allowed| allowed.ip.is_ipv4() == is_v4).collect()
            }
            Egress::Nowhere | Egress::Anywhere => Vec::new(),
        };
        for &network in &allowed {
            let found = netlink.path_to(network.ip).and_then(|path| netlink.link(path.device));
            devices.push(found.map_err(|source| ForwardingError::Route { network, source })?.name);
        }
        devices.sort();
        devices.dedup();
        let mut settings = Settings::default();
        let forwards = !devices.is_empty() || *egress == Egress::Anywhere;
        if forwards {
            let switched = settings.switch_on(device, &devices, is_v4);
            switched.map_err(ForwardingError::Setting)?;
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

    /// The device by which packets leave for the world, where there is one.
    pub fn uplink(&self) -> Option<&str> {
        self.uplink.as_deref()
    }

    /// Sets again what the device has lost: a device whose MTU is too small for IPv6 for a while loses
    /// all its settings of that.
    ///
    /// # Errors
    /// The device is gone.
    pub fn renew(&self) -> io::Result<()> {
        self.own.iter().try_for_each(|(name, value)| set_net(name, value))
    }
}

/// The settings that forwarding takes.
#[derive(Default)]
struct Settings {
    own: Vec<(String, &'static str)>,
    changed: Vec<Restore>,
    /// The devices for which forwarding was off.
    opened: Vec<String>,
}

impl Settings {
    /// Switches forwarding on for `device`, which is ours, and for `others`.
    fn switch_on(&mut self, device: &str, others: &[String], is_v4: bool) -> io::Result<()> {
        let setting = |device: &str| match is_v4 {
            true => format!("ipv4/conf/{device}/forwarding"),
            false => format!("ipv6/conf/{device}/force_forwarding"),
        };
        // Kernels before 6.17 forward IPv6 between all devices or none.
        if !is_v4 && read_net(&setting(device)).is_err() {
            return self.switch_on_for_all(others);
        }
        set_net(&setting(device), "1")?;
        self.own.push((setting(device), "1"));
        for other in others {
            if self.change(&setting(other), "1")? {
                self.opened.push(other.clone());
            }
        }
        Ok(())
    }

    /// While a machine forwards IPv6, it accepts no more routes from routers but where `accept_ra` is 2.
    fn switch_on_for_all(&mut self, others: &[String]) -> io::Result<()> {
        for other in others {
            let accept = format!("ipv6/conf/{other}/accept_ra");
            if read_net(&accept)? != "0" {
                self.change(&accept, "2")?;
            }
        }
        if self.change("ipv6/conf/all/forwarding", "1")? {
            self.opened = others.to_vec();
        }
        Ok(())
    }

    /// Whether it was otherwise.
    fn change(&mut self, name: &str, value: &str) -> io::Result<bool> {
        let restore = Restore::setting(name, value)?;
        let is_changed = restore.is_some();
        // The last change is taken back first.
        self.changed.splice(0..0, restore);
        Ok(is_changed)
    }
}

struct Plan<'a> {
    device: &'a str,
    network: Address,
    egress: &'a Egress,
    uplink: Option<&'a str>,
    allowed: &'a [Address],
}

/// What rules are in a chain of this name.
const FORWARD: &str = "forward";

impl Plan<'_> {
    /// The rules; `opened` are the devices for which forwarding was off.
    fn table(&self, forwards: bool, opened: &[String]) -> Table {
        let family = Family::of(self.network.ip);
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
        for guarded in [(Device::Out, device)]
            .into_iter()
            .chain(opened.iter().map(|opened| (Device::In, opened.as_str())))
        {
            table.rule(FORWARD, |rule| {
                rule.device(guarded.0, guarded.1).state(ESTABLISHED_OR_RELATED, false);
                rule.verdict(Verdict::Drop);
            });
        }
        table
    }
}

/// The device by which packets to `ip` leave this machine, if they do.
fn uplink(netlink: &Netlink, ip: IpAddr) -> Option<String> {
    let path = netlink.path_to(ip).ok()?;
    Some(netlink.link(path.device).ok()?.name).filter(|name| name != "lo")
}
