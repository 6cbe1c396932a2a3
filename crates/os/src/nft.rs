//! Tables of nftables, built message by message (`include/uapi/linux/netfilter/nf_tables.h`).

use crate::Address;
use crate::netlink::message::{Request, Socket};
use nix::sys::socket::SockProtocol;
use std::io;
use std::net::IpAddr;

const SUBSYSTEM: u16 = 10 << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const GET_TABLE: u16 = SUBSYSTEM | 1;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// The body of the messages around a batch: the number of the subsystem, in the network's order.
const LIMITS: [u8; 4] = [0, 0, 0, 10];
/// The table is taken down with the socket that made it (Linux 5.12).
const OWNED: u32 = 2;
const REGISTER: u32 = 1;
const VERDICT: u32 = 0;

/// Which packets a table sees, by `NFPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Those of IPv4 and of IPv6.
    Inet = 1,
    Ipv4 = 2,
    Ipv6 = 10,
}

impl Family {
    /// That of addresses such as `ip`.
    pub(crate) fn of(ip: IpAddr) -> Family {
        if ip.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }

    fn body(self) -> [u8; 4] {
        [self as u8, 0, 0, 0]
    }
}

/// Where a chain sees packets: its type, `NF_INET_*`, and priority.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook(&'static str, u32, u32);

impl Hook {
    pub(crate) const INPUT: Hook = Hook("filter", 1, 0);
    pub(crate) const FORWARD: Hook = Hook("filter", 2, 0);
    pub(crate) const OUTPUT: Hook = Hook("filter", 3, 0);
    /// Where source addresses are changed: `NF_IP_PRI_NAT_SRC`.
    pub(crate) const SOURCE_NAT: Hook = Hook("nat", 4, 100);
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Drop = 0,
    Accept = 1,
}

/// The state of a packet's connection, as the bits of `ct state`.
pub(crate) const INVALID: u32 = 1;
pub(crate) const ESTABLISHED_OR_RELATED: u32 = 2 | 4;

/// A table that is being put together.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    family: Family,
    batch: Request,
    acknowledged: usize,
}

impl Table {
    fn begin(name: &str, family: Family) -> Table {
        let batch = Request::new(BATCH_BEGIN, 0, &LIMITS);
        // The beginning of a batch is not acknowledged, nor is its end.
        Table { name: name.to_owned(), family, batch, acknowledged: 0 }
    }

    fn add(&mut self, kind: u16, flags: i32) -> &mut Request {
        self.acknowledged += 1;
        self.batch.add(kind, libc::NLM_F_ACK | flags, &self.family.body());
        &mut self.batch
    }

    /// A new one, which the kernel takes down with the socket that [`Table::commit`] returns.
    pub(crate) fn owned(name: &str, family: Family) -> Table {
        let mut table = Table::begin(name, family);
        let request = table.add(NEW_TABLE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        request.text(1, name).network_number(2, OWNED);
        table
    }

    /// One that stays until it is deleted, in place of any of that name.
    pub(crate) fn lasting(name: &str, family: Family) -> Table {
        let mut table = Table::begin(name, family);
        table.add(NEW_TABLE, libc::NLM_F_CREATE).text(1, name);
        table.add(DELETE_TABLE, 0).text(1, name);
        table.add(NEW_TABLE, libc::NLM_F_CREATE).text(1, name);
        table
    }

    /// Adds a chain.
    pub(crate) fn chain(&mut self, chain: &str, Hook(kind, hook, priority): Hook) {
        let name = self.name.clone();
        let request = self.add(NEW_CHAIN, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        request.text(1, &name).text(3, chain).text(7, kind).nested(4, |place| {
            place.network_number(1, hook).network_number(2, priority);
        });
    }

    /// Adds a rule to the end of a chain.
    pub(crate) fn rule(&mut self, chain: &str, fill: impl FnOnce(&mut Rule)) {
        let name = self.name.clone();
        let request = self.add(NEW_RULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND);
        request.text(1, &name).text(2, chain).nested(4, |rule| fill(&mut Rule(rule)));
    }

    /// Has the kernel make all of it at once.
    ///
    /// # Errors
    /// This process may not, or the kernel has not what it takes.
    pub(crate) fn commit(mut self) -> io::Result<Socket> {
        self.batch.add(BATCH_END, 0, &LIMITS);
        let socket = Socket::open(SockProtocol::NetlinkNetFilter)?;
        socket.ask(self.batch, self.acknowledged, |_, _| {})?;
        Ok(socket)
    }
}

/// Whether there is a table called `name`.
///
/// # Errors
/// This process may not ask.
pub(crate) fn exists(name: &str, family: Family) -> io::Result<bool> {
    let mut request = Request::new(GET_TABLE, libc::NLM_F_ACK, &family.body());
    request.text(1, name);
    let asked = Socket::open(SockProtocol::NetlinkNetFilter)?.ask(request, 1, |_, _| {});
    match asked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes the table called `name`.
///
/// # Errors
/// There is none, or this process may not.
pub(crate) fn delete(name: &str, family: Family) -> io::Result<()> {
    let mut table = Table::begin(name, family);
    table.add(DELETE_TABLE, 0).text(1, name);
    table.commit().map(drop)
}

/// Which of a packet's addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Source,
    Destination,
}

/// Which of the devices that a packet passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Device {
    /// By which it comes: `NFT_META_IIFNAME`.
    In = 6,
    /// By which it leaves: `NFT_META_OIFNAME`.
    Out = 7,
}

/// A rule that is being put together: conditions, and what is done where all hold.
#[derive(Debug)]
pub(crate) struct Rule<'a>(&'a mut Request);

impl Rule<'_> {
    /// The packet passes the device called `name`.
    pub(crate) fn device(&mut self, device: Device, name: &str) -> &mut Self {
        let mut padded = [0; libc::IFNAMSIZ];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        self.meta(device as u32).compare(Relation::Equal, &padded)
    }

    /// One of the packet's addresses is within `network`. In a table of [`Family::Inet`], only packets
    /// of its version are.
    pub(crate) fn within(&mut self, side: Side, family: Family, network: Address) -> &mut Self {
        let (version, offset, bytes) = match (network.ip, side) {
            (IpAddr::V4(ip), Side::Source) => (Family::Ipv4, 12, ip.octets().to_vec()),
            (IpAddr::V4(ip), Side::Destination) => (Family::Ipv4, 16, ip.octets().to_vec()),
            (IpAddr::V6(ip), Side::Source) => (Family::Ipv6, 8, ip.octets().to_vec()),
            (IpAddr::V6(ip), Side::Destination) => (Family::Ipv6, 24, ip.octets().to_vec()),
        };
        if family == Family::Inet {
            const NFPROTO: u32 = 15;
            self.meta(NFPROTO).compare(Relation::Equal, &[version as u8]);
        }
        let (bytes, mask) = masked(bytes, network.prefix);
        const NETWORK_HEADER: u32 = 1;
        self.payload(NETWORK_HEADER, offset, mask.len() as u32).mask(&mask);
        self.compare(Relation::Equal, &bytes)
    }

    /// It is of `protocol`, whose header has a number between `least` and `most` at `offset`.
    pub(crate) fn transport(
        &mut self,
        protocol: u8,
        offset: u32,
        [least, most]: [&[u8]; 2],
    ) -> &mut Self {
        const PROTOCOL: u32 = 16;
        const TRANSPORT_HEADER: u32 = 2;
        self.meta(PROTOCOL).compare(Relation::Equal, &[protocol]);
        self.payload(TRANSPORT_HEADER, offset, least.len() as u32);
        self.compare(Relation::AtLeast, least).compare(Relation::AtMost, most)
    }

    /// The firewall mark is `mark`, as of sockets with `SO_MARK`.
    pub(crate) fn has_mark(&mut self, mark: u32) -> &mut Self {
        const MARK: u32 = 3;
        self.meta(MARK).compare(Relation::Equal, &mark.to_ne_bytes())
    }

    /// The connection is in one of `states`, or, unless `is`, in none of them.
    pub(crate) fn state(&mut self, states: u32, is: bool) -> &mut Self {
        const STATE: u32 = 0;
        let relation = if is { Relation::Unequal } else { Relation::Equal };
        // It is a number in the machine's own order of bytes.
        self.connection(STATE).mask(&states.to_ne_bytes()).compare(relation, &[0; 4])
    }

    /// It is sent by the one that did not begin the connection.
    pub(crate) fn is_reply(&mut self) -> &mut Self {
        const DIRECTION: u32 = 1;
        self.connection(DIRECTION).compare(Relation::Equal, &[1])
    }

    /// That is what becomes of it.
    pub(crate) fn verdict(&mut self, verdict: Verdict) {
        self.expression("immediate", |immediate| {
            immediate.network_number(1, VERDICT).nested(2, |data| {
                data.nested(2, |code| {
                    code.network_number(1, verdict as u32);
                });
            });
        });
    }

    /// It gets the address of the device by which it leaves.
    pub(crate) fn masquerade(&mut self) {
        self.expression("masq", |_| {});
    }

    /// It is dropped, and its sender receives an ICMP error: communication is administratively
    /// prohibited.
    pub(crate) fn reject(&mut self) {
        const ICMPX: u32 = 2;
        const PROHIBITED: u8 = 3;
        self.expression("reject", |reject| {
            reject.network_number(1, ICMPX).attribute(2, &[PROHIBITED]);
        });
    }

    fn meta(&mut self, key: u32) -> &mut Self {
        self.expression("meta", |meta| {
            meta.network_number(1, REGISTER).network_number(2, key);
        })
    }

    fn connection(&mut self, key: u32) -> &mut Self {
        self.expression("ct", |ct| {
            ct.network_number(1, REGISTER).network_number(2, key);
        })
    }

    fn payload(&mut self, base: u32, offset: u32, length: u32) -> &mut Self {
        self.expression("payload", |load| {
            for (kind, value) in [(1, REGISTER), (2, base), (3, offset), (4, length)] {
                load.network_number(kind, value);
            }
        })
    }

    fn mask(&mut self, mask: &[u8]) -> &mut Self {
        self.expression("bitwise", |bitwise| {
            for (kind, value) in [(1, REGISTER), (2, REGISTER), (3, mask.len() as u32)] {
                bitwise.network_number(kind, value);
            }
            data(bitwise, 4, mask);
            data(bitwise, 5, &vec![0; mask.len()]);
        })
    }

    fn compare(&mut self, relation: Relation, value: &[u8]) -> &mut Self {
        self.expression("cmp", |compare| {
            compare.network_number(1, REGISTER).network_number(2, relation as u32);
            data(compare, 3, value);
        })
    }

    /// An expression: its name and its attributes.
    fn expression(&mut self, name: &str, fill: impl FnOnce(&mut Request)) -> &mut Self {
        self.0.nested(1, |element| {
            element.text(1, name).nested(2, fill);
        });
        self
    }
}

#[derive(Clone, Copy)]
enum Relation {
    Equal = 0,
    Unequal = 1,
    AtMost = 3,
    AtLeast = 5,
}

fn data(expression: &mut Request, kind: u16, value: &[u8]) {
    expression.nested(kind, |data| {
        data.attribute(1, value);
    });
}

/// The first `prefix` bits of `bytes`, and the mask that leaves them.
fn masked(mut bytes: Vec<u8>, prefix: u8) -> (Vec<u8>, Vec<u8>) {
    let mask: Vec<u8> = (0..bytes.len())
        .map(|byte| usize::from(prefix).saturating_sub(8 * byte).min(8))
        .map(|bits| !0xff_u8.checked_shr(bits as u32).unwrap_or(0))
        .collect();
    bytes.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte &= mask);
    (bytes, mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn networks_are_masked() {
        let four = masked(Ipv4Addr::new(100, 64, 7, 9).octets().to_vec(), 22);
        assert_eq!(four, (vec![100, 64, 4, 0], vec![255, 255, 252, 0]));
        let ip = Ipv6Addr::new(0xfd65, 1, 2, 3, 4, 5, 6, 7);
        let (six, _) = masked(ip.octets().to_vec(), 64);
        assert_eq!((&six[..8], &six[8..]), (&[0xfd, 0x65, 0, 1, 0, 2, 0, 3][..], &[0; 8][..]));
        assert_eq!(masked(vec![127, 0, 0, 1], 0).1, [0; 4]);
        assert_eq!(masked(vec![127, 0, 0, 1], 32).1, [255; 4]);
    }
}
