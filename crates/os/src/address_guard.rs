//! [`AddressGuard`]: keeps neighbours from sending to a tunnel's addresses.

use crate::netlink::message::Socket;
use crate::nft::{Family, Hook, Side, Table, Verdict};
use std::io;
use std::net::IpAddr;

/// Drops packets to the addresses of a tunnel's device that did not arrive through it.
///
/// Linux accepts packets to any of its addresses from any device. So a neighbour on a local network who guesses
/// the address of a tunnel could probe tunnelled connections and inject packets into them (CVE-2019-14899).
///
/// The rules are an nftables table that the kernel removes when this is dropped or the process ends. Other
/// processes cannot remove it.
#[derive(Debug)]
pub struct AddressGuard(#[expect(dead_code, reason = "it owns the table")] Socket);

impl AddressGuard {
    /// Guards `addresses` of the device called `device`, in the network namespace of the calling thread.
    /// `generation` distinguishes it from another guard of the same device, so that a new one can replace it
    /// without a gap.
    ///
    /// # Errors
    /// This process lacks the privileges, or the kernel lacks a feature.
    pub fn new(device: &str, addresses: &[IpAddr], generation: u64) -> io::Result<AddressGuard> {
        const CHAIN: &str = "prerouting";
        let name = format!("exm-guard-{device}-{generation}");
        let mut table = Table::owned(&name, Family::Inet);
        table.chain(CHAIN, Hook::RAW);
        for &address in addresses {
            table.rule(CHAIN, |rule| {
                rule.within(Side::Destination, Family::Inet, address.into());
                rule.not_from_device(device).not_from_device("lo").verdict(Verdict::Drop);
            });
        }
        table.commit().map(AddressGuard)
    }
}
