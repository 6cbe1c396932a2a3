//! [`KillSwitch`]: blocks traffic outside a tunnel, even after the tunnel's process has ended.

use crate::nft::{self, Device, Family, Hook, Side, Table, Verdict};
use crate::restore::Lock;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The name of the table.
const TABLE: &str = "exm-kill-switch";
const UDP: u8 = libc::IPPROTO_UDP as u8;
const ICMP: u8 = libc::IPPROTO_ICMP as u8;
const ICMPV6: u8 = libc::IPPROTO_ICMPV6 as u8;

/// Blocks packets that this machine sends or forwards to some networks other than through the tunnel's
/// device, until it is lifted. Unlike everything else in this crate it outlives the process, on purpose.
///
/// It is an nftables table called `exm-kill-switch`. Exempt are:
/// - packets of sockets with the mark [`KillSwitch::MARK`], and loopback
/// - TCP segments and echo replies on connections that others opened to this machine (so that it can be
///   administered). UDP is not exempt: whoever forges a datagram from a server's address to a local port
///   would open the way from that port to that server.
/// - DHCP to the broadcast address or a link-local one, and neighbour discovery (RFC 4861)
/// - link-local destinations (`fe80::/10`, `ff02::/16`, `224.0.0.0/24`)
///
/// Other addresses on a local network are blocked as well.
#[derive(Debug)]
pub struct KillSwitch {
    networks: Vec<IpNet>,
    tunnel: Option<String>,
    lock: Lock,
}

impl KillSwitch {
    /// The mark (`SO_MARK`) of sockets that are exempt, as the tunnel's own must be.
    pub const MARK: u32 = 0x0065_786d;

    /// Blocks traffic to `networks` in the network namespace of the calling thread. If an ended process left
    /// a kill switch, its networks remain blocked as well, and the rules are replaced atomically. Returns
    /// `None` if another running process has one.
    ///
    /// # Errors
    /// This process lacks the privileges, or the kernel lacks a feature.
    pub fn engage(networks: Vec<IpNet>) -> io::Result<Option<KillSwitch>> {
        let Some(mut switch) = KillSwitch::adopt()? else { return Ok(None) };
        switch.networks = IpNet::aggregate(&[switch.networks, networks].concat());
        let list: Vec<String> = switch.networks.iter().map(IpNet::to_string).collect();
        // Written first: a kill switch without its list counts as one for all networks.
        switch.lock.write(&list.join("\n"))?;
        switch.table().commit()?;
        Ok(Some(switch))
    }

    /// The networks that are blocked.
    pub fn networks(&self) -> &[IpNet] {
        &self.networks
    }

    /// Exempts packets through the device called `tunnel` from now on.
    ///
    /// # Errors
    /// The rules cannot be replaced.
    pub fn allow(&mut self, tunnel: &str) -> io::Result<()> {
        self.tunnel = Some(tunnel.to_owned());
        self.table().commit().map(drop)
    }

    /// Restores the rules if others have removed some of them, as `nft flush ruleset` does. Returns whether
    /// that was so.
    ///
    /// # Errors
    /// The rules cannot be read or replaced.
    pub fn renew(&self) -> io::Result<bool> {
        let table = self.table();
        if nft::count_rules(TABLE, Family::Inet)? == table.rules() {
            return Ok(false);
        }
        table.commit()?;
        Ok(true)
    }

    /// Removes the kill switch.
    ///
    /// # Errors
    /// The rules cannot be deleted.
    pub fn lift(self) -> io::Result<()> {
        nft::delete(TABLE, Family::Inet)?;
        self.lock.write("")
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
        let Some(lock) = Lock::acquire("kill-switch")? else { return Ok(None) };
        let networks = if KillSwitch::is_engaged() { listed(&lock.read()?) } else { Vec::new() };
        Ok(Some(KillSwitch { networks, tunnel: None, lock }))
    }

    fn table(&self) -> Table {
        let mut table = Table::lasting(TABLE, Family::Inet);
        for (chain, hook) in [("output", Hook::OUTPUT), ("forward", Hook::FORWARD)] {
            table.chain(chain, hook);
            for device in ["lo"].into_iter().chain(self.tunnel.as_deref()) {
                table.rule(chain, |rule| {
                    rule.device(Device::Out, device).verdict(Verdict::Accept);
                });
            }
            table.rule(chain, |rule| rule.has_mark(KillSwitch::MARK).verdict(Verdict::Accept));
            table.rule(chain, |rule| {
                rule.is_reply().tcp_of_connection().verdict(Verdict::Accept);
            });
            for (protocol, echo_reply) in [(ICMP, 0), (ICMPV6, 129)] {
                table.rule(chain, |rule| {
                    rule.is_reply().transport(protocol, 0, [&[echo_reply], &[echo_reply]]);
                    rule.verdict(Verdict::Accept);
                });
            }
            // The ICMPv6 types from router solicitation to neighbour advertisement.
            table.rule(chain, |rule| {
                rule.transport(ICMPV6, 0, [&[133], &[136]]).verdict(Verdict::Accept);
            });
            for network in dhcp_servers() {
                let port = 67_u16.to_be_bytes();
                table.rule(chain, |rule| {
                    rule.within(Side::Destination, Family::Inet, network);
                    rule.transport(UDP, 2, [&port, &port]).verdict(Verdict::Accept);
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

/// The networks of a list, one a line. If it is incomplete, all networks.
fn listed(list: &str) -> Vec<IpNet> {
    let networks: Option<Vec<IpNet>> = list.lines().map(|line| line.parse().ok()).collect();
    networks.filter(|networks| !networks.is_empty()).unwrap_or_else(|| {
        vec![
            Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
            Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
        ]
    })
}

/// The broadcast address and the link-local ones (RFC 3927).
fn dhcp_servers() -> [IpNet; 2] {
    [
        Ipv4Net::new_assert(Ipv4Addr::BROADCAST, 32).into(),
        Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16).into(),
    ]
}

/// Destinations that no router forwards to.
fn on_link() -> [IpNet; 3] {
    [
        Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 24).into(),
        Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10).into(),
        Ipv6Net::new_assert(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), 16).into(),
    ]
}
