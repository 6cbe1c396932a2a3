//! [`Masquerade`]: letting what a network sends appear as this machine's own.

use crate::Address;
use crate::netlink::message::Socket;
use crate::nft::{Family, Hook, INVALID, Side, Table, Verdict};
use std::io;

/// Lets what comes from a network appear as this machine's own, so that the world answers it: an
/// nftables table that changes the source address of what is sent on.
///
/// It is for networks that are all ours; [`Forwarding`](crate::Forwarding) is for those of others. The
/// kernel takes the table down when this is dropped or the process ends.
#[derive(Debug)]
pub struct Masquerade {
    _owner: Socket,
}

impl Masquerade {
    /// What has one of the addresses of `network` for its source gets that of the device by which it
    /// leaves. `name` is what the table is called.
    ///
    /// Packets for this machine that belong to no connection are dropped. Otherwise a packet of a
    /// connection that is masqueraded, but which the kernel finds fault with, is taken for one of this
    /// machine's, which there is not, and its sender receives a reset: the connection ends.
    ///
    /// # Errors
    /// This process may not, or the kernel has no nftables or no masquerading.
    pub fn new(name: &str, network: Address) -> io::Result<Masquerade> {
        let mut table = Table::owned(name, Family::of(network.ip));
        source_nat(&mut table, network);
        table.chain("input", Hook::INPUT);
        table.rule("input", |rule| rule.state(INVALID, true).verdict(Verdict::Drop));
        Ok(Masquerade { _owner: table.commit()? })
    }
}

/// Adds the chain that changes the source addresses of `network`.
pub(crate) fn source_nat(table: &mut Table, network: Address) {
    table.chain("postrouting", Hook::SOURCE_NAT);
    let family = Family::of(network.ip);
    table.rule("postrouting", |rule| rule.within(Side::Source, family, network).masquerade());
}
