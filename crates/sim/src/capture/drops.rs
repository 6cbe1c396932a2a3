//! [`Drops`]: packets that did not arrive, as ICMP messages with comments.

use super::Bytes;
use crate::engine::PacketId;
use crate::network::Network;
use exm_packet::build::Ipv4;
use exm_units::Instant;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// The first router's address, less one.
const ROUTERS: u32 = 0xac10_0000;

/// A packet that a queue dropped or a link lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drop {
    pub(super) at: Instant,
    pub(super) flow: usize,
    pub(super) packet: PacketId,
    pub(super) link: usize,
    pub(super) by_queue: bool,
}

/// Those not yet written: a link of fixed rate reports a loss before it happens.
#[derive(Debug)]
pub(super) struct Drops {
    names: Vec<String>,
    /// By time, then in the order in which they were reported.
    coming: BTreeMap<(Instant, u64), Drop>,
    count: u64,
    bytes: Bytes,
    comment: String,
}

impl Drops {
    pub(super) fn new(network: &Network) -> Drops {
        Drops {
            names: network.links().iter().map(|link| link.name.clone()).collect(),
            coming: BTreeMap::new(),
            count: 0,
            bytes: Bytes::default(),
            comment: String::new(),
        }
    }

    pub(super) fn add(&mut self, drop: Drop) {
        self.coming.insert((drop.at, self.count), drop);
        self.count += 1;
    }

    /// The next one, if it is not after `now`.
    #[inline]
    pub(super) fn take_until(&mut self, now: Instant) -> Option<Drop> {
        let first = self.coming.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// The message that tells of `drop`, whose packet began with `headers`, and its comment.
    pub(super) fn message(&mut self, drop: &Drop, headers: &[u8]) -> (&Bytes, &str) {
        let router = ROUTERS.wrapping_add(drop.link as u32 + 1);
        let to = headers.get(12..).and_then(|bytes| bytes.first_chunk()).copied();
        let ip = Ipv4 {
            from: Ipv4Addr::from_bits(router),
            to: Ipv4Addr::from(to.unwrap_or_default()),
            ecn: 0,
            id: drop.link as u16,
        };
        self.bytes.length = ip.source_quench(headers, &mut self.bytes.headers);
        let PacketId { sequence, sent_at, is_ack, .. } = drop.packet;
        let how = if drop.by_queue { "dropped by the queue of" } else { "lost at random on" };
        let what = if is_ack { "ACK" } else { "packet" };
        let (link, flow, sent_at) = (drop.link, drop.flow, sent_at.as_nanos());
        let (seconds, nanos) = (sent_at / 1_000_000_000, sent_at % 1_000_000_000);
        self.comment.clear();
        // Writing to a text cannot fail.
        let _ = write!(
            self.comment,
            "{how} link {link} ({}): flow {flow}, {what} {sequence}, sent at {seconds}.{nanos:09} s",
            self.names[link]
        );
        (&self.bytes, &self.comment)
    }
}
