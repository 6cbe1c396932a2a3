//! [`Host`]: the bare sender, which RemyCCs are trained on.
//!
//! It sends when its controller's window and pace allow, retransmits nothing and reorders nothing:
//! a lost packet is only a gap in the numbers. A flow that has an amount of data to deliver sends
//! a new packet for each one lost, and after a second of silence deems lost whatever is in flight;
//! a flow that lasts a time and has no timer waits for its next on period.

use super::observer::FlowSample;
use super::share::Share;
use crate::controllers::AnyController;
use crate::metrics::FlowReport;
use crate::network::FlowSpec;
use crate::traffic::{Job, Switch};
use exm_cc::{Ack, Congestion, CongestionKind, Controller, Decision, Gate, Start};
use exm_link::Packet;
use exm_random::{Purpose, Stream};
use exm_units::{Bytes, Instant, Packets, Span};
use std::collections::VecDeque;

/// The least time of silence after which packets in flight are deemed lost: RFC 6298, section 2.4.
const LEAST_TIMEOUT: Span = Span::from_secs(1);

/// What a sender does when it has packets in flight and hears nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// It waits.
    Endless,
    /// It goes on after [`LEAST_TIMEOUT`].
    Stall,
    /// It goes on after the larger of that and two smoothed round trips, and tells its controller.
    Timer,
}

#[derive(Debug)]
pub(super) struct Host {
    controller: AnyController,
    gate: Gate,
    wake_at: Option<Instant>,
    /// Packets sent; the number of the next one.
    sent: u64,
    /// One above the largest packet number acknowledged or given up.
    acked: u64,
    /// Packets this flow still has to deliver; `u64::MAX` where it lasts a time.
    to_deliver: u64,
    on: bool,
    /// Which of the sender's flows this is, from 1 on.
    epoch: u32,
    patience: Patience,
    keeps_timer: bool,
    srtt: Span,
    last_rtt: Option<Span>,
    /// The later of the last send and the last acknowledgement of this flow.
    active_at: Instant,
    began_at: Instant,
    share_at_start: Share,
    share: Share,
    switch: Switch,
    packet_size: u32,
    first_hop: u32,
    pub(super) report: FlowReport,
    /// Acknowledgements on their way, by time.
    pub(super) acks: VecDeque<Packet>,
}

impl Host {
    pub(super) fn new(spec: &FlowSpec, seed: u64, index: usize, first_hop: u32) -> Host {
        let closed = Decision { cwnd: Packets::ZERO, intersend: Span::ZERO, wake_at: None };
        let stream = Stream::new(seed, Purpose::Traffic, index);
        Host {
            controller: spec.controller.clone(),
            gate: Gate::new(closed),
            wake_at: None,
            sent: 0,
            acked: 0,
            to_deliver: u64::MAX,
            on: false,
            epoch: 0,
            patience: Patience::Endless,
            keeps_timer: spec.timer,
            srtt: Span::ZERO,
            last_rtt: None,
            active_at: Instant::ZERO,
            began_at: Instant::ZERO,
            share_at_start: Share::default(),
            share: Share::default(),
            switch: Switch::new(spec.traffic.clone(), stream),
            packet_size: spec.packet_size.get() as u32,
            first_hop,
            report: FlowReport { dropped: vec![0; spec.path.len()], ..FlowReport::default() },
            acks: VecDeque::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Where the drops of hop `hop` of the network's list are counted.
    pub(super) fn count_drop(&mut self, hop: u32) {
        self.report.dropped[(hop - self.first_hop) as usize] += 1;
    }

    /// When the first flow starts.
    pub(super) fn first_start(&mut self) -> Instant {
        self.switch.next_start(Instant::ZERO)
    }

    /// A flow starts. Returns when it is to end, where that is known.
    pub(super) fn switch_on(&mut self, now: Instant, share: Share) -> Instant {
        self.on = true;
        self.epoch += 1;
        self.acked = self.sent;
        self.began_at = now;
        self.active_at = now;
        self.share_at_start = share;
        self.srtt = Span::ZERO;
        let decision = self.controller.on_start(&Start::new(now));
        self.gate = Gate::new(decision);
        self.wake_at = decision.wake_at;
        let (end, to_deliver) = match self.switch.next_job(now) {
            Job::Until(end) => (end, u64::MAX),
            Job::Deliver(packets) => (Instant::MAX, packets.get()),
        };
        self.to_deliver = to_deliver;
        self.patience = match (self.keeps_timer, to_deliver) {
            (true, _) => Patience::Timer,
            (false, u64::MAX) => Patience::Endless,
            (false, _) => Patience::Stall,
        };
        end
    }

    /// The flow ends. Returns when the next one starts.
    pub(super) fn switch_off(&mut self, now: Instant, share: Share) -> Instant {
        self.report.on_time += now - self.began_at;
        self.share = self.share.plus(share.since(self.share_at_start));
        self.on = false;
        self.wake_at = None;
        self.switch.next_start(now)
    }

    /// Closes the books at the end of the simulation.
    pub(super) fn close(&mut self, end: Instant, share: Share) {
        if self.on {
            self.switch_off(end, share);
        }
        self.report.share_time = self.share.as_secs();
        self.report.bytes = Bytes::new(self.report.delivered * u64::from(self.packet_size));
        self.report.sent = self.sent;
    }

    #[inline]
    fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }

    /// When the next packet may leave, from `now` on.
    #[inline]
    pub(super) fn next_send(&self, now: Instant) -> Instant {
        let in_flight = self.in_flight();
        if !self.on || in_flight >= self.to_deliver {
            return Instant::MAX;
        }
        self.gate.next_send(now, Packets::new(in_flight)).unwrap_or(Instant::MAX)
    }

    /// Sends a packet.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, flow: usize) -> Packet {
        let mut packet = Packet::new(flow as u32, self.sent, self.packet_size, now);
        packet.epoch = self.epoch;
        packet.tag = self.first_hop;
        self.sent += 1;
        self.gate.sent(now);
        self.active_at = now;
        packet
    }

    /// The acknowledgement of `packet` arrives. Returns whether it completes the flow.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Instant, packet: &Packet) -> bool {
        let rtt = now - packet.sent_at;
        self.report.delivered += 1;
        self.report.rtt.record(rtt);
        self.report.queueing_delay.record(packet.waited);
        self.last_rtt = Some(rtt);
        let missing = packet.sequence.saturating_sub(self.acked);
        if missing > 0 {
            self.tell_of_loss(now, packet.sent_at, missing);
        }
        let stale = packet.epoch != self.epoch;
        let mut ack = Ack::new(packet.sequence, packet.sent_at, now);
        ack.received_at = Some(now);
        ack.largest_acked = self.acked.checked_sub(1);
        ack.stale = stale;
        self.acked = self.acked.max(packet.sequence + 1);
        ack.in_flight = Packets::new(self.in_flight());
        let decision = self.controller.on_ack(&ack);
        self.gate.decide(decision);
        self.wake_at = decision.wake_at;
        if stale || !self.on {
            return false;
        }
        self.active_at = now;
        if self.patience == Patience::Timer {
            self.smooth(rtt);
        }
        self.count_delivery(now)
    }

    /// Counts a packet of the present flow as delivered; true if it was the last it had to.
    #[inline]
    fn count_delivery(&mut self, now: Instant) -> bool {
        if self.to_deliver == u64::MAX {
            return false;
        }
        self.to_deliver -= 1;
        let complete = self.to_deliver == 0;
        if complete {
            self.report.completion.record(now - self.began_at);
        }
        complete
    }

    #[cold]
    fn tell_of_loss(&mut self, now: Instant, sent_at: Instant, missing: u64) {
        let mut lost = Congestion::new(CongestionKind::Lost, sent_at, now);
        lost.packets = Packets::new(missing);
        let decision = self.controller.on_congestion(&lost);
        self.gate.decide(decision);
    }

    /// RFC 6298, section 2: the smoothed round-trip time moves an eighth of the way.
    fn smooth(&mut self, rtt: Span) {
        self.srtt = if self.srtt.is_zero() { rtt } else { (self.srtt * 7 + rtt) / 8 };
    }

    /// When this sender wants to be woken if nothing else happens.
    #[inline]
    pub(super) fn next_wake(&self) -> Instant {
        if self.patience == Patience::Endless && self.wake_at.is_none() || !self.on {
            return Instant::MAX;
        }
        self.wake_at.unwrap_or(Instant::MAX).min(self.deadline())
    }

    fn deadline(&self) -> Instant {
        let timeout = match self.patience {
            _ if self.in_flight() == 0 => return Instant::MAX,
            Patience::Endless => return Instant::MAX,
            Patience::Stall => LEAST_TIMEOUT,
            Patience::Timer => LEAST_TIMEOUT.max(self.srtt * 2),
        };
        self.active_at.saturating_add(timeout)
    }

    /// It is time for what [`Host::next_wake`] told.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.on && now >= self.deadline() {
            self.acked = self.sent;
            if self.patience == Patience::Timer {
                let timeout = Congestion::new(CongestionKind::Timeout, self.active_at, now);
                self.decide(|controller| controller.on_congestion(&timeout));
            }
        }
        if self.on && self.wake_at.is_some_and(|at| now >= at) {
            self.wake_at = None;
            self.decide(|controller| controller.on_tick(now));
            // A controller that wants to be woken at once is woken a nanosecond later, lest time
            // stand still.
            self.wake_at = self.wake_at.map(|at| at.max(now + Span::from_nanos(1)));
        }
    }

    fn decide(&mut self, ask: impl FnOnce(&mut AnyController) -> Decision) {
        let decision = ask(&mut self.controller);
        self.gate.decide(decision);
        self.wake_at = decision.wake_at;
    }

    /// The sender as it is at `now`.
    pub(super) fn sample(&self, now: Instant, flow: usize) -> FlowSample {
        let remy = self.controller.as_remy();
        FlowSample {
            at: now,
            flow,
            on: self.on,
            cwnd: self.gate.cwnd(),
            intersend: self.gate.intersend(),
            in_flight: Packets::new(self.in_flight()),
            rtt: self.last_rtt,
            signals: remy.map(|remy| remy.memory().signals()),
            rule: remy.map(exm_remy::RemyCc::rule),
        }
    }
}
