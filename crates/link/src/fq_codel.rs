//! [`FqCoDel`]: a queue for each flow, those that send little first.

use crate::bins::{Bins, Order, Plan};
use crate::dropper::{INTERVAL, Law, MTU, TARGET};
use crate::{Discipline, ImpossibleSetting, Packet, Site, Verdict};
use exm_units::{Bytes, Instant, Span};
use serde::Deserialize;

/// FQ-CoDel (RFC 8290): flows are hashed into bins, each with a queue under CoDel of its own. Bins
/// are served by deficit round robin, and those that were empty before go first. When too much
/// waits, the bin with the most bytes loses the packet at its head.
///
/// The limit is the link's; RFC 8290 (section 5.2) has 10 240 packets.
#[derive(Clone, Debug)]
pub struct FqCoDel(Bins);

/// The parameters of [`FqCoDel`], by default those of RFC 8290.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FqCoDelSettings {
    /// How many bins: 1024 (section 5.2).
    pub bins: u32,
    /// What a bin may send in its turn: 1514 B, an Ethernet frame (section 5.2).
    pub quantum: Bytes,
    /// CoDel's sojourn time that may stand: 5 ms (section 5.2).
    pub target: Span,
    /// How long it may stand above the target: 100 ms (section 5.2).
    pub interval: Span,
    /// A queue with no more behind its head is never too long: 1500 B (RFC 8289, section 5).
    pub mtu: Bytes,
    /// Whether packets whose senders understand it are marked instead of dropped: true (section
    /// 5.2).
    pub ecn: bool,
}

impl Default for FqCoDelSettings {
    fn default() -> FqCoDelSettings {
        FqCoDelSettings {
            bins: 1024,
            quantum: Bytes::new(1514),
            target: TARGET,
            interval: INTERVAL,
            mtu: MTU,
            ecn: true,
        }
    }
}

impl FqCoDelSettings {
    fn plan(&self) -> Plan {
        let FqCoDelSettings { bins, quantum, target, interval, mtu, ecn } = *self;
        Plan { bins, quantum, law: Law { target, interval, mtu, ecn }, order: Order::SparseFirst }
    }
}

impl Discipline for FqCoDel {
    const NAME: &'static str = "fq-codel";

    type Settings = FqCoDelSettings;

    fn check(settings: &FqCoDelSettings) -> Result<(), ImpossibleSetting> {
        settings.plan().check()
    }

    fn new(settings: &FqCoDelSettings, site: Site) -> FqCoDel {
        FqCoDel(Bins::new(&settings.plan(), site))
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, verdict: &mut Verdict) {
        self.0.enqueue(packet, verdict);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, verdict: &mut Verdict) -> Option<Packet> {
        self.0.dequeue(now, verdict)
    }

    fn packets(&self) -> usize {
        self.0.packets()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
