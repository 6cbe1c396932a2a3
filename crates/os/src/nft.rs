//! nftables tables, assembled message by message (`include/uapi/linux/netfilter/nf_tables.h`).

use crate::netlink::message::{Request, Socket};
use ipnet::IpNet;
use rustix::net::netlink;
use std::io;
use std::net::IpAddr;
use uapi::{
    NFT_TABLE_F_OWNER, NFTA_BITWISE_DREG, NFTA_BITWISE_LEN, NFTA_BITWISE_MASK, NFTA_BITWISE_SREG,
    NFTA_BITWISE_XOR, NFTA_CHAIN_HOOK, NFTA_CHAIN_NAME, NFTA_CHAIN_TABLE, NFTA_CHAIN_TYPE,
    NFTA_CMP_DATA, NFTA_CMP_OP, NFTA_CMP_SREG, NFTA_CT_DREG, NFTA_CT_KEY, NFTA_DATA_VALUE,
    NFTA_DATA_VERDICT, NFTA_EXPR_DATA, NFTA_EXPR_NAME, NFTA_HOOK_HOOKNUM, NFTA_HOOK_PRIORITY,
    NFTA_IMMEDIATE_DATA, NFTA_IMMEDIATE_DREG, NFTA_LIST_ELEM, NFTA_META_DREG, NFTA_META_KEY,
    NFTA_PAYLOAD_BASE, NFTA_PAYLOAD_DREG, NFTA_PAYLOAD_LEN, NFTA_PAYLOAD_OFFSET,
    NFTA_REJECT_ICMP_CODE, NFTA_REJECT_TYPE, NFTA_RULE_CHAIN, NFTA_RULE_EXPRESSIONS,
    NFTA_RULE_TABLE, NFTA_TABLE_FLAGS, NFTA_TABLE_NAME, NFTA_VERDICT_CODE,
};

/// Names of `nf_tables.h` that `libc` lacks.
mod uapi {
    macro_rules! attributes {
        ($($name:ident = $value:literal;)*) => { $(pub(super) const $name: u16 = $value;)* };
    }
    attributes! {
        NFTA_TABLE_NAME = 1; NFTA_TABLE_FLAGS = 2;
        NFTA_CHAIN_TABLE = 1; NFTA_CHAIN_NAME = 3; NFTA_CHAIN_HOOK = 4; NFTA_CHAIN_TYPE = 7;
        NFTA_HOOK_HOOKNUM = 1; NFTA_HOOK_PRIORITY = 2;
        NFTA_RULE_TABLE = 1; NFTA_RULE_CHAIN = 2; NFTA_RULE_EXPRESSIONS = 4;
        NFTA_LIST_ELEM = 1;
        NFTA_EXPR_NAME = 1; NFTA_EXPR_DATA = 2;
        NFTA_DATA_VALUE = 1; NFTA_DATA_VERDICT = 2;
        NFTA_VERDICT_CODE = 1;
        NFTA_IMMEDIATE_DREG = 1; NFTA_IMMEDIATE_DATA = 2;
        NFTA_REJECT_TYPE = 1; NFTA_REJECT_ICMP_CODE = 2;
        NFTA_META_DREG = 1; NFTA_META_KEY = 2;
        NFTA_CT_DREG = 1; NFTA_CT_KEY = 2;
        NFTA_PAYLOAD_DREG = 1; NFTA_PAYLOAD_BASE = 2; NFTA_PAYLOAD_OFFSET = 3; NFTA_PAYLOAD_LEN = 4;
        NFTA_BITWISE_SREG = 1; NFTA_BITWISE_DREG = 2; NFTA_BITWISE_LEN = 3; NFTA_BITWISE_MASK = 4;
        NFTA_BITWISE_XOR = 5;
        NFTA_CMP_SREG = 1; NFTA_CMP_OP = 2; NFTA_CMP_DATA = 3;
    }

    /// The kernel removes the table with the socket that created it (Linux 5.12).
    pub(super) const NFT_TABLE_F_OWNER: u32 = 2;
}

/// The body of the messages that begin and end a batch, `struct nfgenmsg` with the subsystem as
/// `res_id`.
const BATCH_BODY: [u8; 4] = [0, 0, 0, libc::NFNL_SUBSYS_NFTABLES as u8];
/// The register through which all expressions pass their values.
const REGISTER: u32 = libc::NFT_REG_1 as u32;

/// The type of an nftables message.
fn message(kind: i32) -> u16 {
    (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16
}

/// The packets that a table sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4 and IPv6.
    Inet = libc::NFPROTO_INET as isize,
    Ipv4 = libc::NFPROTO_IPV4 as isize,
    Ipv6 = libc::NFPROTO_IPV6 as isize,
}

impl Family {
    /// The family of addresses such as `ip`.
    pub(crate) fn of(ip: IpAddr) -> Family {
        if ip.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }

    /// `struct nfgenmsg`.
    fn body(self) -> [u8; 4] {
        [self as u8, 0, 0, 0]
    }
}

/// Where a chain sees packets: its type, hook and priority.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook(&'static str, i32, i32);

impl Hook {
    /// Before connection tracking, and so before destination addresses are translated.
    pub(crate) const RAW: Hook = Hook("filter", libc::NF_INET_PRE_ROUTING, libc::NF_IP_PRI_RAW);
    pub(crate) const INPUT: Hook = Hook::filter(libc::NF_INET_LOCAL_IN);
    pub(crate) const FORWARD: Hook = Hook::filter(libc::NF_INET_FORWARD);
    pub(crate) const OUTPUT: Hook = Hook::filter(libc::NF_INET_LOCAL_OUT);
    /// Where source addresses are translated.
    pub(crate) const SOURCE_NAT: Hook =
        Hook("nat", libc::NF_INET_POST_ROUTING, libc::NF_IP_PRI_NAT_SRC);

    const fn filter(hook: i32) -> Hook {
        Hook("filter", hook, libc::NF_IP_PRI_FILTER)
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Drop = libc::NF_DROP as isize,
    Accept = libc::NF_ACCEPT as isize,
}

/// A set of connection tracking states, as bits of `ct state` (`NF_CT_STATE_BIT` of
/// `nf_conntrack_common.h`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionState(u32);

impl ConnectionState {
    pub(crate) const INVALID: ConnectionState = ConnectionState(1 << 0);
    pub(crate) const ESTABLISHED_OR_RELATED: ConnectionState = ConnectionState(1 << 1 | 1 << 2);
}

/// A table that is being assembled.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    family: Family,
    batch: Request,
    acknowledged: usize,
    rules: usize,
}

impl Table {
    fn begin(name: &str, family: Family) -> Table {
        let batch = Request::new(libc::NFNL_MSG_BATCH_BEGIN as u16, 0, &BATCH_BODY);
        // Neither the beginning nor the end of a batch is acknowledged.
        Table { name: name.to_owned(), family, batch, acknowledged: 0, rules: 0 }
    }

    fn add(&mut self, kind: i32, flags: i32) -> &mut Request {
        self.acknowledged += 1;
        self.batch.add(message(kind), libc::NLM_F_ACK | flags, &self.family.body());
        &mut self.batch
    }

    /// A new table, which the kernel removes with the socket that [`Table::commit`] returns.
    pub(crate) fn owned(name: &str, family: Family) -> Table {
        let mut table = Table::begin(name, family);
        let request = table.add(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        request.text(NFTA_TABLE_NAME, name).be_u32(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
        table
    }

    /// A table that stays until it is deleted, and replaces any of that name.
    pub(crate) fn lasting(name: &str, family: Family) -> Table {
        let mut table = Table::begin(name, family);
        table.add(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE).text(NFTA_TABLE_NAME, name);
        table.add(libc::NFT_MSG_DELTABLE, 0).text(NFTA_TABLE_NAME, name);
        table.add(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE).text(NFTA_TABLE_NAME, name);
        table
    }

    /// Adds a chain.
    pub(crate) fn chain(&mut self, chain: &str, Hook(kind, hook, priority): Hook) {
        let name = self.name.clone();
        let request = self.add(libc::NFT_MSG_NEWCHAIN, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        request.text(NFTA_CHAIN_TABLE, &name).text(NFTA_CHAIN_NAME, chain);
        request.text(NFTA_CHAIN_TYPE, kind).nested(NFTA_CHAIN_HOOK, |at| {
            at.be_u32(NFTA_HOOK_HOOKNUM, hook as u32).be_u32(NFTA_HOOK_PRIORITY, priority as u32);
        });
    }

    /// Appends a rule to a chain.
    pub(crate) fn rule(&mut self, chain: &str, fill: impl FnOnce(&mut Rule)) {
        self.rules += 1;
        let name = self.name.clone();
        let request = self.add(libc::NFT_MSG_NEWRULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND);
        request.text(NFTA_RULE_TABLE, &name).text(NFTA_RULE_CHAIN, chain);
        request.nested(NFTA_RULE_EXPRESSIONS, |rule| fill(&mut Rule(rule)));
    }

    /// The number of its rules.
    pub(crate) fn rules(&self) -> usize {
        self.rules
    }

    /// Has the kernel apply all of it in one transaction.
    ///
    /// # Errors
    /// This process lacks the privileges, or the kernel lacks a feature.
    pub(crate) fn commit(mut self) -> io::Result<Socket> {
        self.batch.add(libc::NFNL_MSG_BATCH_END as u16, 0, &BATCH_BODY);
        let socket = Socket::open(Some(netlink::NETFILTER))?;
        socket.ask(self.batch, self.acknowledged, |_, _| {})?;
        Ok(socket)
    }
}

/// Whether there is a table called `name`.
///
/// # Errors
/// This process lacks the privileges.
pub(crate) fn exists(name: &str, family: Family) -> io::Result<bool> {
    let kind = message(libc::NFT_MSG_GETTABLE);
    let mut request = Request::new(kind, libc::NLM_F_ACK, &family.body());
    request.text(NFTA_TABLE_NAME, name);
    let asked = Socket::open(Some(netlink::NETFILTER))?.ask(request, 1, |_, _| {});
    match asked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number of rules of the table called `name`; 0 if there is none.
///
/// # Errors
/// This process lacks the privileges.
pub(crate) fn count_rules(name: &str, family: Family) -> io::Result<usize> {
    let mut request =
        Request::new(message(libc::NFT_MSG_GETRULE), libc::NLM_F_DUMP, &family.body());
    request.text(NFTA_RULE_TABLE, name);
    let mut rules = 0;
    let counted = Socket::open(Some(netlink::NETFILTER))?.ask(request, 1, |kind, _| {
        rules += usize::from(kind == message(libc::NFT_MSG_NEWRULE));
    });
    match counted {
        Ok(()) => Ok(rules),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Deletes the table called `name`.
///
/// # Errors
/// There is none, or this process lacks the privileges.
pub(crate) fn delete(name: &str, family: Family) -> io::Result<()> {
    let mut table = Table::begin(name, family);
    table.add(libc::NFT_MSG_DELTABLE, 0).text(NFTA_TABLE_NAME, name);
    table.commit().map(drop)
}

/// One of the addresses of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Source,
    Destination,
}

/// One of the devices that a packet passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Device {
    In = libc::NFT_META_IIFNAME as isize,
    Out = libc::NFT_META_OIFNAME as isize,
}

/// A rule that is being assembled: conditions, and the action if all of them hold.
#[derive(Debug)]
pub(crate) struct Rule<'a>(&'a mut Request);

impl Rule<'_> {
    /// Matches packets that pass the device called `name`.
    pub(crate) fn device(&mut self, device: Device, name: &str) -> &mut Self {
        let mut padded = [0; libc::IFNAMSIZ];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        self.meta(device as i32).compare(Relation::Equal, &padded)
    }

    /// Matches packets that do not arrive by the device called `name`.
    pub(crate) fn not_from_device(&mut self, name: &str) -> &mut Self {
        let mut padded = [0; libc::IFNAMSIZ];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        self.meta(Device::In as i32).compare(Relation::Unequal, &padded)
    }

    /// Matches packets that do not arrive by a device of the group `group`.
    pub(crate) fn not_from_group(&mut self, group: u32) -> &mut Self {
        self.meta(libc::NFT_META_IIFGROUP).compare(Relation::Unequal, &group.to_ne_bytes())
    }

    /// Matches TCP segments that do not ask for a connection (SYN without ACK; RFC 9293, section 3.1).
    pub(crate) fn tcp_of_connection(&mut self) -> &mut Self {
        const SYN: u8 = 0x02;
        const ACK: u8 = 0x10;
        self.meta(libc::NFT_META_L4PROTO).compare(Relation::Equal, &[libc::IPPROTO_TCP as u8]);
        self.payload(libc::NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1).mask(&[SYN | ACK]);
        self.compare(Relation::Unequal, &[SYN])
    }

    /// Matches packets one of whose addresses is in `network`. `family` is that of the table.
    pub(crate) fn within(&mut self, side: Side, family: Family, network: IpNet) -> &mut Self {
        // The offsets of the addresses in the headers (RFC 791, section 3.1; RFC 8200, section 3).
        let (version, offset, bytes) = match (network.addr(), side) {
            (IpAddr::V4(ip), Side::Source) => (Family::Ipv4, 12, ip.octets().to_vec()),
            (IpAddr::V4(ip), Side::Destination) => (Family::Ipv4, 16, ip.octets().to_vec()),
            (IpAddr::V6(ip), Side::Source) => (Family::Ipv6, 8, ip.octets().to_vec()),
            (IpAddr::V6(ip), Side::Destination) => (Family::Ipv6, 24, ip.octets().to_vec()),
        };
        if family == Family::Inet {
            self.meta(libc::NFT_META_NFPROTO).compare(Relation::Equal, &[version as u8]);
        }
        let (bytes, mask) = masked(bytes, network.prefix_len());
        self.payload(libc::NFT_PAYLOAD_NETWORK_HEADER, offset, mask.len() as u32).mask(&mask);
        self.compare(Relation::Equal, &bytes)
    }

    /// Matches packets of `protocol` whose header has a value from `least` to `most` at `offset`.
    pub(crate) fn transport(
        &mut self,
        protocol: u8,
        offset: u32,
        [least, most]: [&[u8]; 2],
    ) -> &mut Self {
        self.meta(libc::NFT_META_L4PROTO).compare(Relation::Equal, &[protocol]);
        self.payload(libc::NFT_PAYLOAD_TRANSPORT_HEADER, offset, least.len() as u32);
        self.compare(Relation::AtLeast, least).compare(Relation::AtMost, most)
    }

    /// Matches packets with the firewall mark `mark`, as set by `SO_MARK`.
    pub(crate) fn has_mark(&mut self, mark: u32) -> &mut Self {
        self.meta(libc::NFT_META_MARK).compare(Relation::Equal, &mark.to_ne_bytes())
    }

    /// Matches packets whose connection is in one of `states`.
    pub(crate) fn in_state(&mut self, states: ConnectionState) -> &mut Self {
        self.state(states, Relation::Unequal)
    }

    /// Matches packets whose connection is in none of `states`.
    pub(crate) fn not_in_state(&mut self, states: ConnectionState) -> &mut Self {
        self.state(states, Relation::Equal)
    }

    /// Compares the bits of the connection's state that are in `states` with zero.
    fn state(&mut self, ConnectionState(states): ConnectionState, relation: Relation) -> &mut Self {
        self.connection(libc::NFT_CT_STATE).mask(&states.to_ne_bytes()).compare(relation, &[0; 4])
    }

    /// Matches packets from the host that did not open the connection.
    pub(crate) fn is_reply(&mut self) -> &mut Self {
        const IP_CT_DIR_REPLY: u8 = 1;
        self.connection(libc::NFT_CT_DIRECTION).compare(Relation::Equal, &[IP_CT_DIR_REPLY])
    }

    /// Ends the rule with a verdict.
    pub(crate) fn verdict(&mut self, verdict: Verdict) {
        self.expression("immediate", |immediate| {
            let register = libc::NFT_REG_VERDICT as u32;
            immediate.be_u32(NFTA_IMMEDIATE_DREG, register).nested(NFTA_IMMEDIATE_DATA, |data| {
                data.nested(NFTA_DATA_VERDICT, |code| {
                    code.be_u32(NFTA_VERDICT_CODE, verdict as u32);
                });
            });
        });
    }

    /// Ends the rule by giving the packet the source address of the device through which it leaves.
    pub(crate) fn masquerade(&mut self) {
        self.expression("masq", |_| {});
    }

    /// Ends the rule by dropping the packet and sending an ICMP error, communication administratively
    /// prohibited.
    pub(crate) fn reject(&mut self) {
        let code = libc::NFT_REJECT_ICMPX_ADMIN_PROHIBITED as u8;
        self.expression("reject", |reject| {
            let kind = libc::NFT_REJECT_ICMPX_UNREACH as u32;
            reject.be_u32(NFTA_REJECT_TYPE, kind).attribute(NFTA_REJECT_ICMP_CODE, &[code]);
        });
    }

    fn meta(&mut self, key: i32) -> &mut Self {
        self.expression("meta", |meta| {
            meta.be_u32(NFTA_META_DREG, REGISTER).be_u32(NFTA_META_KEY, key as u32);
        })
    }

    fn connection(&mut self, key: i32) -> &mut Self {
        self.expression("ct", |ct| {
            ct.be_u32(NFTA_CT_DREG, REGISTER).be_u32(NFTA_CT_KEY, key as u32);
        })
    }

    fn payload(&mut self, base: i32, offset: u32, length: u32) -> &mut Self {
        self.expression("payload", |load| {
            load.be_u32(NFTA_PAYLOAD_DREG, REGISTER).be_u32(NFTA_PAYLOAD_BASE, base as u32);
            load.be_u32(NFTA_PAYLOAD_OFFSET, offset).be_u32(NFTA_PAYLOAD_LEN, length);
        })
    }

    fn mask(&mut self, mask: &[u8]) -> &mut Self {
        self.expression("bitwise", |bitwise| {
            bitwise.be_u32(NFTA_BITWISE_SREG, REGISTER).be_u32(NFTA_BITWISE_DREG, REGISTER);
            bitwise.be_u32(NFTA_BITWISE_LEN, mask.len() as u32);
            data(bitwise, NFTA_BITWISE_MASK, mask);
            data(bitwise, NFTA_BITWISE_XOR, &vec![0; mask.len()]);
        })
    }

    fn compare(&mut self, relation: Relation, value: &[u8]) -> &mut Self {
        self.expression("cmp", |compare| {
            compare.be_u32(NFTA_CMP_SREG, REGISTER).be_u32(NFTA_CMP_OP, relation as u32);
            data(compare, NFTA_CMP_DATA, value);
        })
    }

    /// Appends an expression with the attributes that `fill` adds.
    fn expression(&mut self, name: &str, fill: impl FnOnce(&mut Request)) -> &mut Self {
        self.0.nested(NFTA_LIST_ELEM, |element| {
            element.text(NFTA_EXPR_NAME, name).nested(NFTA_EXPR_DATA, fill);
        });
        self
    }
}

#[derive(Clone, Copy)]
enum Relation {
    Equal = libc::NFT_CMP_EQ as isize,
    Unequal = libc::NFT_CMP_NEQ as isize,
    AtMost = libc::NFT_CMP_LTE as isize,
    AtLeast = libc::NFT_CMP_GTE as isize,
}

fn data(expression: &mut Request, kind: u16, value: &[u8]) {
    expression.nested(kind, |data| {
        data.attribute(NFTA_DATA_VALUE, value);
    });
}

/// `bytes` with all but the first `prefix` bits cleared, and the mask of these bits.
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
