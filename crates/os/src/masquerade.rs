//! [`Masquerade`]: letting what a network sends appear as this machine's own.

use crate::netlink::message::{Request, Socket};
use nix::sys::socket::SockProtocol;
use std::io;
use std::net::IpAddr;

/// `include/uapi/linux/netfilter/nf_tables.h`: messages, and attributes by the place where they stand.
const SUBSYSTEM: u16 = 10 << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
/// The table is taken down with the socket that made it (Linux 5.12).
const OWNED: u32 = 2;
const POSTROUTING: u32 = 4;
/// Where source addresses are changed: `NF_IP_PRI_NAT_SRC`.
const SOURCE_NAT: u32 = 100;
const REGISTER: u32 = 1;
const VERDICT: u32 = 0;
const INPUT: u32 = 1;
const EQUAL: u32 = 0;
const UNEQUAL: u32 = 1;
/// The state of packets that belong to no connection: `NF_CT_STATE_INVALID_BIT`.
const INVALID: u32 = 1;

/// Lets what comes from a network appear as this machine's own, so that the world answers it: an
/// nftables table that changes the source address of what is sent on.
///
/// The kernel takes the table down when this is dropped or the process ends. Forwarding is another
/// matter: `net.ipv4.conf.DEVICE.forwarding` of the devices by which packets come.
#[derive(Debug)]
pub struct Masquerade {
    _owner: Socket,
}

impl Masquerade {
    /// What has one of the addresses of `network` for its source, of which the first `prefix` bits
    /// count, gets that of the device it leaves by. `name` is what the table is called.
    ///
    /// # Errors
    /// This process may not, or the kernel has no nftables or no masquerading.
    pub fn new(name: &str, network: impl Into<IpAddr>, prefix: u8) -> io::Result<Masquerade> {
        let source = Source::new(network.into(), prefix);
        // The end of a batch is not acknowledged, nor is its beginning.
        Masquerade::of(batch(name, &source, |_| {}), 3)
    }

    /// As [`Masquerade::new`], in a network that is all ours; packets for this machine that belong to
    /// no connection are dropped.
    ///
    /// Otherwise a packet of a connection that is masqueraded, but which the kernel finds fault with,
    /// is taken for one of this machine's, which there is not, and whoever sent it is told so: the
    /// connection ends.
    ///
    /// # Errors
    /// As of [`Masquerade::new`].
    pub fn without_strays(
        name: &str,
        network: impl Into<IpAddr>,
        prefix: u8,
    ) -> io::Result<Masquerade> {
        let source = Source::new(network.into(), prefix);
        let input = |batch: &mut Request| {
            let place = ((name, "input", "filter"), (INPUT, 0));
            chain(batch, source.family, place, drop_strays);
        };
        Masquerade::of(batch(name, &source, input), 5)
    }

    /// What a batch makes, of which so many messages are acknowledged.
    fn of(batch: Request, acknowledged: usize) -> io::Result<Masquerade> {
        let socket = Socket::open(SockProtocol::NetlinkNetFilter)?;
        socket.ask(batch, acknowledged, |_, _| {})?;
        Ok(Masquerade { _owner: socket })
    }
}

/// A table, its chain, the rule in it, and what `more` adds, made together.
fn batch(name: &str, source: &Source, more: impl FnOnce(&mut Request)) -> Request {
    // The family, the version, and the number of the subsystem, in the network's order of bytes.
    let (limits, family) = ([0, 0, 0, 10], [source.family, 0, 0, 0]);
    let create = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut batch = Request::new(BATCH_BEGIN, 0, &limits);
    batch.add(NEW_TABLE, create, &family);
    batch.text(1, name).network_number(2, OWNED);
    let place = ((name, "postrouting", "nat"), (POSTROUTING, SOURCE_NAT));
    chain(&mut batch, source.family, place, |rule| {
        source.load(rule);
        masked(rule, &source.mask);
        compare(rule, EQUAL, &source.network);
        expression(rule, "masq", |_| {});
    });
    more(&mut batch);
    batch.add(BATCH_END, 0, &limits);
    batch
}

/// A chain: its table, name and type, its hook and priority, and the rule in it.
fn chain(
    batch: &mut Request,
    family: u8,
    ((table, name, kind), (hook, priority)): ((&str, &str, &str), (u32, u32)),
    rule: impl FnOnce(&mut Request),
) {
    let family = [family, 0, 0, 0];
    let create = libc::NLM_F_ACK | libc::NLM_F_CREATE;
    batch.add(NEW_CHAIN, create | libc::NLM_F_EXCL, &family);
    batch.text(1, table).text(3, name).text(7, kind).nested(4, |place| {
        place.network_number(1, hook).network_number(2, priority);
    });
    batch.add(NEW_RULE, create | libc::NLM_F_APPEND, &family);
    batch.text(1, table).text(2, name).nested(4, rule);
}

/// Drops what belongs to no connection.
fn drop_strays(rule: &mut Request) {
    expression(rule, "ct", |state| {
        state.network_number(1, REGISTER).network_number(2, 0);
    });
    // The state is a number in the machine's own order of bytes.
    masked(rule, &INVALID.to_ne_bytes());
    compare(rule, UNEQUAL, &[0; 4]);
    expression(rule, "immediate", |immediate| {
        immediate.network_number(1, VERDICT).nested(2, |data| {
            data.nested(2, |verdict| {
                verdict.network_number(1, libc::NF_DROP as u32);
            });
        });
    });
}

/// Which source addresses are meant.
struct Source {
    family: u8,
    /// Where in the header of IP they are.
    offset: u32,
    network: Vec<u8>,
    mask: Vec<u8>,
}

impl Source {
    fn new(network: IpAddr, prefix: u8) -> Source {
        let (family, offset, mut network) = match network {
            IpAddr::V4(ip) => (IPV4, 12, ip.octets().to_vec()),
            IpAddr::V6(ip) => (IPV6, 8, ip.octets().to_vec()),
        };
        let mask: Vec<u8> = (0..network.len())
            .map(|byte| usize::from(prefix).saturating_sub(8 * byte).min(8))
            .map(|bits| !0xff_u8.checked_shr(bits as u32).unwrap_or(0))
            .collect();
        network.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte &= mask);
        Source { family, offset, network, mask }
    }

    fn length(&self) -> u32 {
        self.mask.len() as u32
    }

    /// The address into the register.
    fn load(&self, rule: &mut Request) {
        expression(rule, "payload", |load| {
            for (kind, value) in [(1, REGISTER), (2, 1), (3, self.offset), (4, self.length())] {
                load.network_number(kind, value);
            }
        });
    }
}

/// The register's bytes under `mask`.
fn masked(rule: &mut Request, mask: &[u8]) {
    expression(rule, "bitwise", |bitwise| {
        for (kind, value) in [(1, REGISTER), (2, REGISTER), (3, mask.len() as u32)] {
            bitwise.network_number(kind, value);
        }
        data(bitwise, 4, mask);
        data(bitwise, 5, &vec![0; mask.len()]);
    });
}

/// Goes on where the register's bytes are related to `value` so.
fn compare(rule: &mut Request, relation: u32, value: &[u8]) {
    expression(rule, "cmp", |compare| {
        compare.network_number(1, REGISTER).network_number(2, relation);
        data(compare, 3, value);
    });
}

fn data(expression: &mut Request, kind: u16, value: &[u8]) {
    expression.nested(kind, |data| {
        data.attribute(1, value);
    });
}

/// An expression of a rule: its name and what it is told.
fn expression(rule: &mut Request, name: &str, fill: impl FnOnce(&mut Request)) {
    rule.nested(1, |element| {
        element.text(1, name).nested(2, fill);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn networks_are_masked() {
        let four = Source::new(Ipv4Addr::new(100, 64, 7, 9).into(), 22);
        assert_eq!(
            (&four.network[..], &four.mask[..]),
            (&[100, 64, 4, 0][..], &[255, 255, 252, 0][..])
        );
        let six = Source::new(Ipv6Addr::new(0xfd65, 1, 2, 3, 4, 5, 6, 7).into(), 64);
        assert_eq!(
            (&six.network[..10], six.network[8..].iter().sum::<u8>()),
            (&[0xfd, 0x65, 0, 1, 0, 2, 0, 3, 0, 0][..], 0)
        );
        assert_eq!(Source::new(Ipv4Addr::LOCALHOST.into(), 0).mask, [0; 4]);
        assert_eq!(Source::new(Ipv4Addr::LOCALHOST.into(), 32).mask, [255; 4]);
    }
}
