//! [`CoDel`]: one queue that keeps sojourn times near a target.

use crate::backlog::{Backlog, holds_packets_in};
use crate::dropper::{Dropper, Early, INTERVAL, Law, MTU, Root, TARGET};
use crate::parameters::parameters;
use crate::{Discipline, ImpossibleSetting, Packet, QueueActions, QueueConfig};
use exm_units::{Bytes, Instant, Span};

/// CoDel (RFC 8289; Nichols & Jacobson, ACM Queue 2012): a FIFO queue from which packets are
/// dropped, or marked, as they leave if sojourn times stay above a target for too long. Packets
/// that exceed the limit are dropped on arrival. The control law's square root is computed by
/// Newton's iteration, as in Linux.
#[derive(Clone, Debug)]
pub struct CoDel {
    law: Law,
    dropper: Dropper,
    backlog: Backlog,
}

/// The parameters of [`CoDel`], by default those of RFC 8289.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDelSettings {
    /// The target sojourn time: 5 ms (section 4).
    pub target: Span,
    /// How long sojourn times may exceed the target: 100 ms, about the longest usual round trip
    /// (section 4).
    pub interval: Span,
    /// With no more than this behind the head, nothing is dropped: 1500 B, the largest Ethernet
    /// packet (section 5).
    pub mtu: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped: true. A marked packet counts as a
    /// drop, but is forwarded.
    pub ecn: bool,
    /// ECN-capable packets that waited longer are marked as well, for senders such as DCTCP and Prague: 0 s, none (Linux's `ce_threshold`).
    pub ce_threshold: Span,
    /// Whether only those with ECT(1) are (Linux's `ce_threshold_selector`): false.
    pub ce_low_latency: bool,
}

parameters!(CoDelSettings { target, interval, mtu, ecn, ce_threshold, ce_low_latency });

impl Default for CoDelSettings {
    fn default() -> CoDelSettings {
        CoDelSettings {
            target: TARGET,
            interval: INTERVAL,
            mtu: MTU,
            ecn: true,
            ce_threshold: Span::ZERO,
            ce_low_latency: false,
        }
    }
}

impl CoDelSettings {
    fn law(&self) -> Law {
        let CoDelSettings { target, interval, mtu, ecn, ce_threshold, ce_low_latency } = *self;
        let early = Early { threshold: ce_threshold, low_latency_only: ce_low_latency };
        Law { target, interval, mtu, ecn, root: Root::Newton, early }
    }
}

impl Discipline for CoDel {
    const NAME: &'static str = "codel";

    type Settings = CoDelSettings;

    fn check(settings: &CoDelSettings) -> Result<(), ImpossibleSetting> {
        settings.law().check()
    }

    fn new(settings: &CoDelSettings, config: QueueConfig) -> CoDel {
        CoDel { law: settings.law(), dropper: Dropper::NEW, backlog: Backlog::new(config.limit) }
    }

    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet, actions: &mut QueueActions) {
        self.backlog.push_or_drop(packet, actions);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> Option<Packet> {
        let backlog = &mut self.backlog;
        let mut packet = self.dropper.dequeue(&self.law, now, actions, || {
            let packet = backlog.pop()?;
            Some((packet, backlog.bytes()))
        })?;
        self.law.early.mark(now, &mut packet, actions);
        Some(packet)
    }

    holds_packets_in!(backlog);
}
