//! [`Masquerade`]: source NAT from a network to this machine's addresses.

use crate::netlink::message::Socket;
use crate::nft::{ConnectionState, Family, Hook, Side, Table, Verdict};
use ipnet::IpNet;
use std::io;

/// Gives forwarded packets from a network this machine's source address (masquerading), by an nftables table
/// that the kernel removes when this is dropped or the process ends.
///
/// It is for network namespaces that are entirely ours, where forwarding is always enabled;
/// [`Forwarding`](crate::Forwarding) is for the machine's own network.
#[derive(Debug)]
pub struct Masquerade {
    _owner: Socket,
}

impl Masquerade {
    /// Masquerades packets whose source is in `network`; the table is called `name`.
    ///
    /// Packets to this machine that connection tracking considers invalid are dropped. Otherwise such a
    /// packet of a masqueraded connection would be delivered here, where no socket has it, and answered
    /// with a reset that ends the connection.
    ///
    /// # Errors
    /// This process lacks the privileges, or the kernel has no nftables or no masquerading.
    pub fn new(name: &str, network: IpNet) -> io::Result<Masquerade> {
        let mut table = Table::owned(name, Family::of(network.addr()));
        source_nat(&mut table, network);
        drop_invalid(&mut table);
        Ok(Masquerade { _owner: table.commit()? })
    }
}

/// Adds a chain that drops invalid packets to this machine.
fn drop_invalid(table: &mut Table) {
    table.chain("input", Hook::INPUT);
    table.rule("input", |rule| rule.in_state(ConnectionState::INVALID).verdict(Verdict::Drop));
}

/// Adds a chain that masquerades packets from `network`.
pub(crate) fn source_nat(table: &mut Table, network: IpNet) {
    table.chain("postrouting", Hook::SOURCE_NAT);
    let family = Family::of(network.addr());
    table.rule("postrouting", |rule| rule.within(Side::Source, family, network).masquerade());
}
