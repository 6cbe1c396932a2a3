//! [`KillSwitch`]: traffic that goes by a tunnel or not at all, even once the tunnel's process is dead.

use crate::Address;
use crate::nft::{self, Device, Family, Hook, Side, Table, Verdict};
use crate::restore::Lock;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the table is called.
const TABLE: &str = "exm-kill-switch";
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// Blocks what this machine sends or forwards to some networks, unless it goes by the tunnel's device,
/// until it is lifted. Unlike all else in this crate it stays when the process ends: that is its
/// purpose.
///
/// It is an nftables table called `exm-kill-switch`. Exempt are: packets of sockets that have
/// [`KillSwitch::MARK`], loopback, replies to those who connected to this machine (so that it can be
/// administered), DHCP, neighbour discovery (RFC 4861) and what stays on a link (`fe80::/10`, `ff02::/16`,
/// `224.0.0.0/24`). Other addresses on a local network are blocked as well.
#[derive(Debug)]
pub struct KillSwitch {
    networks: Vec<Address>,
    _lock: Lock,
}

impl KillSwitch {
    /// The mark (`SO_MARK`) of sockets whose packets may pass: those that carry the tunnel.
    pub const MARK: u32 = 0x0065_786d;

    /// Blocks what goes to `networks`, in the network namespace that this thread is in. One that was
    /// left by a process is replaced, with no moment in between. None where another process that
    /// still runs has it.
    ///
    /// # Errors
    /// This process may not, or the kernel has not what it takes.
    pub fn engage(networks: Vec<Address>) -> io::Result<Option<KillSwitch>> {
        let Some(_lock) = Lock::acquire("kill-switch")? else { return Ok(None) };
        let switch = KillSwitch { networks, _lock };
        switch.table(None).commit()?;
        Ok(Some(switch))
    }

    /// From now on, what goes by the device called `tunnel` may pass.
    ///
    /// # Errors
    /// The rules cannot be replaced.
    pub fn allow(&self, tunnel: &str) -> io::Result<()> {
        self.table(Some(tunnel)).commit().map(drop)
    }

    /// Blocks nothing any more.
    ///
    /// # Errors
    /// The rules cannot be deleted.
    pub fn lift(self) -> io::Result<()> {
        nft::delete(TABLE, Family::Inet)
    }

    /// Whether one blocks, whichever process it is of. Where the kernel has no nftables, there is none.
    pub fn is_engaged() -> bool {
        nft::exists(TABLE, Family::Inet).unwrap_or(false)
    }

    /// Takes over one that was left by a process, without a change. None where another process that
    /// still runs has it.
    ///
    /// # Errors
    /// This process may not.
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
            // A DHCP server's port, and the types from router solicitations to neighbour
            // advertisements.
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

/// Addresses that no router forwards to.
fn on_link() -> [Address; 3] {
    let address = |ip: IpAddr, prefix| Address { ip, prefix };
    [
        address(Ipv4Addr::new(224, 0, 0, 0).into(), 24),
        address(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0).into(), 10),
        address(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0).into(), 16),
    ]
}
