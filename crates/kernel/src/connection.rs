//! [`Connection`]: a connection of the kernel that a table controls.

use exm_remy::Signal;
use exm_remy::fixed::TIME_BITS;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A record of the program that lists connections (`struct connection` of `bpf/remy.bpf.c`).
const RECORD: usize = 168;
const FAMILY_IPV4: u16 = 2;

/// A TCP connection that a table controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The name of the congestion control.
    pub algorithm: String,
    /// The address of this end.
    pub local: SocketAddr,
    /// That of the other end.
    pub remote: SocketAddr,
    /// The window in use, in packets: less than the table's while lost packets are retransmitted.
    pub window: u32,
    /// The table's window, in packets.
    pub table_window: u32,
    /// The pace in bits of payload a second; nothing if packets are not spaced.
    pub pace_bps: Option<u64>,
    /// The number of the rule in force.
    pub rule: u32,
    /// ACKs that the table followed.
    pub acks: u64,
    /// The signals, in the units of a table: ms, and the ratio of RTTs.
    pub signals: [(Signal, f64); Signal::REMYS],
    /// Whether it retransmits lost packets.
    pub recovering: bool,
}

/// The connections among the records `bytes` whose congestion control `is_ours`.
pub(crate) fn parse(bytes: &[u8], is_ours: impl Fn(&str) -> bool) -> Vec<Connection> {
    bytes.chunks_exact(RECORD).filter_map(|record| parse_one(&Record(record), &is_ours)).collect()
}

fn parse_one(record: &Record<'_>, is_ours: &impl Fn(&str) -> bool) -> Option<Connection> {
    let algorithm = record.bytes::<16>(0)?;
    let algorithm = algorithm.split(|&byte| byte == 0).next()?;
    let algorithm = String::from_utf8_lossy(algorithm).into_owned();
    if !is_ours(&algorithm) {
        return None;
    }
    let family = record.u16(52)?;
    let address = |at| -> Option<IpAddr> {
        Some(if family == FAMILY_IPV4 {
            Ipv4Addr::from(record.bytes::<4>(at)?).into()
        } else {
            Ipv6Addr::from(record.bytes::<16>(at)?).to_canonical()
        })
    };
    let (mss, pace) = (record.u32(56)?, record.u64(64)?);
    let known = mss > 0 && pace != u64::MAX;
    Some(Connection {
        algorithm,
        local: SocketAddr::new(address(16)?, record.u16(48)?),
        remote: SocketAddr::new(address(32)?, u16::from_be(record.u16(50)?)),
        window: record.u32(60)?,
        pace_bps: known.then_some(pace.saturating_mul(8)),
        signals: signals(record)?,
        table_window: record.u32(136)?,
        rule: record.u32(140)?,
        recovering: record.bytes::<1>(149)? != [0],
        acks: record.u64(152)?,
    })
}

/// The six signals of the memory at 72.
fn signals(record: &Record<'_>) -> Option<[(Signal, f64); Signal::REMYS]> {
    let millis = |at| Some(record.u64(at)? as i64 as f64 / f64::from(1_u32 << TIME_BITS) / 1e6);
    let (rtt, least) = (record.u64(104)?, record.u64(112)?);
    let [send, ack, slow, queueing] = [millis(72)?, millis(80)?, millis(88)?, millis(96)?];
    let ratio = if rtt == 0 { 0.0 } else { rtt as f64 / least as f64 };
    let diff = rtt.saturating_sub(least) as f64 / 1e6;
    let values = [send, ack, ratio, slow, diff, queueing];
    Some(std::array::from_fn(|signal| (Signal::ALL[signal], values[signal])))
}

struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_ne_bytes(self.bytes(at)?))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(at)?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(at)?))
    }
}
