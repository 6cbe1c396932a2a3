//! [`KillSwitch`]: blocks traffic outside a tunnel, even after the tunnel's process has ended.

use crate::nft::{self, Device, Family, Hook, Side, Table, Verdict};
use crate::restore::Lock;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The name of the table.
const TABLE: &str = "exm-kill-switch";
const UDP: u8 = libc::IPPROTO_UDP as u8;
const ICMPV6: u8 = libc::IPPROTO_ICMPV6 as u8;

/// Blocks packets that this machine sends or forwards to some networks other than through the tunnel's
/// device, until it is lifted. Unlike everything else in this crate it outlives the process, on purpose.
///
/// It is an nftables table called `exm-kill-switch`. Exempt are packets of sockets with the mark
/// [`KillSwitch::MARK`], loopback, replies on connections that others opened to this machine (so that it
/// can be administered), DHCP, neighbour discovery (RFC 4861) and link-local destinations (`fe80::/10`,
/// `ff02::/16`, `224.0.0.0/24`). Other addresses on a local network are blocked as well.
#[derive(Debug)]
pub struct KillSwitch {
    networks: Vec<IpNet>,
    _lock: Lock,
}

impl KillSwitch {
    /// The mark (`SO_MARK`) of sockets that are exempt, as the tunnel's own must be.
    pub const MARK: u32 = 0x0065_786d;

    /// Blocks traffic to `networks` in the network namespace of the calling thread. A kill switch that an
    /// ended process left is replaced atomically. Returns `None` if another running process has one.
    ///
    /// # Errors
    /// This process lacks the privileges, or the kernel lacks a feature.
    pub fn engage(networks: Vec<IpNet>) -> io::Result<Option<KillSwitch>> {
        let Some(_lock) = Lock::acquire("kill-switch")? else { return Ok(None) };
        let switch = KillSwitch { networks, _lock };
        switch.table(None).commit()?;
        Ok(Some(switch))
    }

    /// Exempts packets through the device called `tunnel` from now on.
    ///
    /// # Errors
    /// The rules cannot be replaced.
    pub fn allow(&self, tunnel: &str) -> io::Result<()> {
        self.table(Some(tunnel)).commit().map(drop)
    }

    /// Removes the kill switch.
    ///
    /// # Errors
    /// The rules cannot be deleted.
    pub fn lift(self) -> io::Result<()> {
        nft::delete(TABLE, Family::Inet)
    }

    /// Whether there is a kill switch, of whichever process; false if the kernel has no nftables.
    pub fn is_engaged() -> bool {
        nft::exists(TABLE, Family::Inet).unwrap_or(false)
    }

    /// Takes over, unchanged, the kill switch that an ended process left. Returns `None` if another running
    /// process has one.
    ///
    /// # Errors
    /// This process lacks the privileges.
    pub fn adopt() -> io::Result<Option<KillSwitch>> {
        let lock = Lock::acquire("kill-switch")?;
        Ok(lock.map(|_lock| KillSwitch { networks: Vec::new(), _lock }))
    }

    fn table(&self, tunnel: Option<&str>) -> Table {
        let mut table = Table::lasting(TABLE, Family::Inet);
        for (chain, hook) in [("output", Hook::OUTPUT), ("forward", Hook::FORWARD)] {
            table.chain(chain, hook);
            for device in ["lo"].into_iter().chain(tunnel) {
                table.rule(chain, |rule| {
                    rule.device(Device::Out, device).verdict(Verdict::Accept);
                });
            }
            table.rule(chain, |rule| rule.has_mark(KillSwitch::MARK).verdict(Verdict::Accept));
            table.rule(chain, |rule| rule.is_reply().verdict(Verdict::Accept));
            // The port of DHCP servers, and the ICMPv6 types from router solicitation to neighbour
            // advertisement.
            let [dhcp, least, most] = [67_u16.to_be_bytes(), [133, 0], [136, 0]];
            for (protocol, offset, range) in
                [(UDP, 2, [&dhcp[..], &dhcp[..]]), (ICMPV6, 0, [&least[..1], &most[..1]])]
            {
                table.rule(chain, |rule| {
                    rule.transport(protocol, offset, range).verdict(Verdict::Accept);
                });
            }
            for network in on_link() {
                table.rule(chain, |rule| {
                    rule.within(Side::Destination, Family::Inet, network).verdict(Verdict::Accept);
                });
            }
            for &network in &self.networks {
                table.rule(chain, |rule| {
                    rule.within(Side::Destination, Family::Inet, network).reject();
                });
            }
        }
        table
    }
}

/// Destinations that no router forwards to.
fn on_link() -> [IpNet; 3] {
    [
        Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 24).into(),
        Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10).into(),
        Ipv6Net::new_assert(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), 16).into(),
    ]
}
