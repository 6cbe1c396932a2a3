//! [`FqCoDel`] and [`SfqCoDel`]: per-flow queues, each under CoDel.

use crate::backlog::holds_packets_in;
use crate::bins::{BinOrder, Bins, Plan};
use crate::dropper::{Early, INTERVAL, Law, MTU, Root, TARGET};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_units::{Bytes, Instant, Span};
use std::marker::PhantomData;

/// FQ-CoDel (RFC 8290): flows are hashed into bins, each with a queue under CoDel of its own. Bins
/// are served by deficit round robin, new ones first. When the limit is exceeded, the bin with the
/// most bytes drops the packet at its head. CoDel's square root is computed as in Linux.
///
/// The limit is the link's; RFC 8290 (section 5.2.3) recommends 10 240 packets.
pub type FqCoDel = FairCoDel<SparseFirst>;

/// sfqCoDel: stochastic fair queueing (McKenney, INFOCOM 1990) with a CoDel for each bin, with
/// which the papers on Remy compare. It is the predecessor of [`FqCoDel`] that does not prefer
/// sparse flows: no bin goes first, and when the limit is exceeded, the bin with the most packets
/// drops the one at its head. CoDel's square root is exact, as in ns-2.
pub type SfqCoDel = FairCoDel<AllAlike>;

/// Per-flow bins served in turn, each bin under CoDel; `T` sets the order of the bins.
#[derive(Clone, Debug)]
pub struct FairCoDel<T> {
    bins: Bins,
    turns: PhantomData<T>,
}

/// The order in which bins are served.
pub trait BinSchedule: Clone {
    /// The discipline's name in files.
    const NAME: &'static str;
    /// How bins are ordered.
    const ORDER: BinOrder;
    /// How CoDel's law computes its square root.
    const ROOT: Root;
}

/// New bins go first: [`FqCoDel`].
#[derive(Clone, Debug)]
pub struct SparseFirst;

/// No bin goes first: [`SfqCoDel`].
#[derive(Clone, Debug)]
pub struct AllAlike;

impl BinSchedule for SparseFirst {
    const NAME: &'static str = "fq-codel";
    const ORDER: BinOrder = BinOrder::SparseFirst;
    const ROOT: Root = Root::Newton;
}

impl BinSchedule for AllAlike {
    const NAME: &'static str = "sfq-codel";
    const ORDER: BinOrder = BinOrder::Plain;
    const ROOT: Root = Root::Exact;
}

/// The parameters of [`FqCoDel`] and [`SfqCoDel`], by default those of RFC 8290.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairCoDelSettings {
    /// How many bins: 1024 (section 5.2.5).
    pub bins: u32,
    /// How many bytes a bin may send in its turn: 1514 B, an Ethernet frame (section 5.2.4).
    pub quantum: Bytes,
    /// CoDel's target sojourn time: 5 ms (section 5.2.2).
    pub target: Span,
    /// How long sojourn times may exceed the target: 100 ms (section 5.2.1).
    pub interval: Span,
    /// With no more than this behind the head, nothing is dropped: 1500 B (RFC 8289, section 5).
    pub mtu: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped: true (section 5.2.6).
    pub ecn: bool,
    /// ECN-capable packets that waited longer are marked as well, for senders such as DCTCP and Prague: 0 s, none (Linux's `ce_threshold`).
    pub ce_threshold: Span,
    /// Whether only those with ECT(1) are (Linux's `ce_threshold_selector`): false.
    pub ce_low_latency: bool,
}

parameters!(FairCoDelSettings {
    bins,
    quantum,
    target,
    interval,
    mtu,
    ecn,
    ce_threshold,
    ce_low_latency
});

/// The parameters of [`FqCoDel`].
pub type FqCoDelSettings = FairCoDelSettings;

/// The parameters of [`SfqCoDel`].
pub type SfqCoDelSettings = FairCoDelSettings;

impl Default for FairCoDelSettings {
    fn default() -> FairCoDelSettings {
        FairCoDelSettings {
            bins: 1024,
            quantum: Bytes::new(1514),
            target: TARGET,
            interval: INTERVAL,
            mtu: MTU,
            ecn: true,
            ce_threshold: Span::ZERO,
            ce_low_latency: false,
        }
    }
}

impl FairCoDelSettings {
    fn plan<T: BinSchedule>(&self) -> Plan {
        let FairCoDelSettings { bins, quantum, target, interval, mtu, ecn, .. } = *self;
        let early = Early { threshold: self.ce_threshold, low_latency_only: self.ce_low_latency };
        let law = Law { target, interval, mtu, ecn, root: T::ROOT, early };
        Plan { bins, quantum, law, order: T::ORDER }
    }
}

impl<T: BinSchedule> Discipline for FairCoDel<T> {
    const NAME: &'static str = T::NAME;

    type Settings = FairCoDelSettings;

    fn check(settings: &FairCoDelSettings) -> Result<(), ImpossibleSetting> {
        settings.plan::<T>().check()
    }

    fn new(settings: &FairCoDelSettings, config: QueueConfig) -> FairCoDel<T> {
        FairCoDel { bins: Bins::new(&settings.plan::<T>(), config), turns: PhantomData }
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.bins.enqueue(packet, actions);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        self.bins.dequeue(now, actions)
    }

    holds_packets_in!(bins);
}
