//! [`SfqCoDel`]: a queue for each flow, in turn.

use crate::bins::{Bins, Order, Plan};
use crate::dropper::{INTERVAL, Law, MTU, TARGET};
use crate::{Discipline, ImpossibleSetting, Packet, Site, Verdict};
use exm_units::{Bytes, Instant, Span};
use serde::Deserialize;

/// sfqCoDel: stochastic fair queueing (McKenney, INFOCOM 1990) with a CoDel for each bin, which
/// the papers on Remy compare with. Flows are hashed into bins, which are served by deficit round
/// robin; no bin goes first. When too much waits, the bin with the most packets loses the one at
/// its head.
///
/// It is what [`crate::FqCoDel`] was before sparse flows were told apart.
#[derive(Clone, Debug)]
pub struct SfqCoDel(Bins);

/// The parameters of [`SfqCoDel`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SfqCoDelSettings {
    /// How many bins: 1024.
    pub bins: u32,
    /// What a bin may send in its turn: 1514 B, an Ethernet frame, as in FQ-CoDel.
    pub quantum: Bytes,
    /// CoDel's sojourn time that may stand: 5 ms (RFC 8289, section 4).
    pub target: Span,
    /// How long it may stand above the target: 100 ms (RFC 8289, section 4).
    pub interval: Span,
    /// A queue with no more behind its head is never too long: 1500 B (RFC 8289, section 5).
    pub mtu: Bytes,
    /// Whether packets whose senders understand it are marked instead of dropped: true.
    pub ecn: bool,
}

impl Default for SfqCoDelSettings {
    fn default() -> SfqCoDelSettings {
        SfqCoDelSettings {
            bins: 1024,
            quantum: Bytes::new(1514),
            target: TARGET,
            interval: INTERVAL,
            mtu: MTU,
            ecn: true,
        }
    }
}

impl SfqCoDelSettings {
    fn plan(&self) -> Plan {
        let SfqCoDelSettings { bins, quantum, target, interval, mtu, ecn } = *self;
        Plan { bins, quantum, law: Law { target, interval, mtu, ecn }, order: Order::Plain }
    }
}

impl Discipline for SfqCoDel {
    const NAME: &'static str = "sfq-codel";

    type Settings = SfqCoDelSettings;

    fn check(settings: &SfqCoDelSettings) -> Result<(), ImpossibleSetting> {
        settings.plan().check()
    }

    fn new(settings: &SfqCoDelSettings, site: Site) -> SfqCoDel {
        SfqCoDel(Bins::new(&settings.plan(), site))
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
