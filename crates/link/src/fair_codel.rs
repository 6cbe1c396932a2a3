//! [`FqCoDel`] and [`SfqCoDel`]: a queue for each flow, each of them under CoDel.

use crate::bins::{Bins, Order, Plan};
use crate::dropper::{INTERVAL, Law, MTU, Root, TARGET};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Limit, Packet, QueueActions, QueueConfig};
use exm_units::{Bytes, Instant, Span};
use std::marker::PhantomData;

/// FQ-CoDel (RFC 8290): flows are hashed into bins, each with a queue under CoDel of its own. Bins
/// are served by deficit round robin, and those that were empty before go first. When too much
/// waits, the bin with the most bytes loses the packet at its head. CoDel's square root is taken as
/// Linux takes it.
///
/// The limit is the link's; RFC 8290 (section 5.2.3) has 10 240 packets.
pub type FqCoDel = FairCoDel<SparseFirst>;

/// sfqCoDel: stochastic fair queueing (McKenney, INFOCOM 1990) with a CoDel for each bin, which
/// the papers on Remy compare with. It is what [`FqCoDel`] was before sparse flows were told apart:
/// no bin goes first, and when too much waits, the bin with the most packets loses the one at its
/// head. CoDel's square root is exact, as in ns-2.
pub type SfqCoDel = FairCoDel<AllAlike>;

/// Flows in bins that are served in turn, each bin under CoDel; `T` says how bins are told apart.
#[derive(Clone, Debug)]
pub struct FairCoDel<T> {
    bins: Bins,
    turns: PhantomData<T>,
}

/// How bins take turns.
pub trait Turns: Clone {
    /// The discipline's name in files.
    const NAME: &'static str;
    /// In whose favour bins are told apart.
    const ORDER: Order;
    /// How CoDel's law takes its square root.
    const ROOT: Root;
}

/// Bins that were empty go first: what makes it [`FqCoDel`].
#[derive(Clone, Debug)]
pub struct SparseFirst;

/// No bin goes first: what makes it [`SfqCoDel`].
#[derive(Clone, Debug)]
pub struct AllAlike;

impl Turns for SparseFirst {
    const NAME: &'static str = "fq-codel";
    const ORDER: Order = Order::SparseFirst;
    const ROOT: Root = Root::Newton;
}

impl Turns for AllAlike {
    const NAME: &'static str = "sfq-codel";
    const ORDER: Order = Order::Plain;
    const ROOT: Root = Root::Exact;
}

/// The parameters of [`FqCoDel`] and [`SfqCoDel`], by default those of RFC 8290.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairCoDelSettings {
    /// How many bins: 1024 (section 5.2.5).
    pub bins: u32,
    /// What a bin may send in its turn: 1514 B, an Ethernet frame (section 5.2.4).
    pub quantum: Bytes,
    /// CoDel's sojourn time that may stand: 5 ms (section 5.2.2).
    pub target: Span,
    /// How long it may stand above the target: 100 ms (section 5.2.1).
    pub interval: Span,
    /// A queue with no more behind its head is never too long: 1500 B (RFC 8289, section 5).
    pub mtu: Bytes,
    /// Whether packets whose senders understand it are marked instead of dropped: true (section
    /// 5.2.6).
    pub ecn: bool,
}

parameters!(FairCoDelSettings { bins, quantum, target, interval, mtu, ecn });

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
        }
    }
}

impl FairCoDelSettings {
    fn plan<T: Turns>(&self) -> Plan {
        let FairCoDelSettings { bins, quantum, target, interval, mtu, ecn } = *self;
        let law = Law { target, interval, mtu, ecn, root: T::ROOT };
        Plan { bins, quantum, law, order: T::ORDER }
    }
}

impl<T: Turns> Discipline for FairCoDel<T> {
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

    fn set_limit(&mut self, limit: Limit) {
        self.bins.set_limit(limit);
    }

    fn packets(&self) -> usize {
        self.bins.packets()
    }

    fn bytes(&self) -> u64 {
        self.bins.bytes()
    }
}
