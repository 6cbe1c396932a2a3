//! [`Sender`]: a controller between the events of a QUIC stack.

use exm_cc::{
    Ack, Congestion, CongestionKind, Controller, Decision, INITIAL_WINDOW, MAX_WINDOW, Needs, Sent,
    Start, Wakeup,
};
use exm_units::{Bytes, Instant, Packets, Span};
use std::time;

/// What is added to the smoothed RTT until a pause is one: the least variation of Linux's retransmission timer.
const VARIATION: Span = Span::from_millis(200);

/// A congestion controller that asks of its host what no QUIC stack tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// BBR, and tables on the signal `loss`.
    #[error(
        "the controller needs a measured delivery rate and count of losses, which QUIC stacks do not pass to \
         controllers; use a table without the signal loss, or the stack's own BBR"
    )]
    Delivery,
    /// DCTCP, and tables on the signal `ecn`.
    #[error(
        "the controller needs a count of ECN marks, of which QUIC stacks pass on only that there were some; use a \
         table without the signal ecn"
    )]
    Marks,
    /// XCP.
    #[error("the controller needs feedback from routers, for which QUIC has no header")]
    Feedback,
}

impl Unsupported {
    /// Whether a QUIC stack gives what is needed.
    pub(crate) fn check(needs: Needs) -> Result<(), Unsupported> {
        match needs {
            Needs { delivery: true, .. } => Err(Unsupported::Delivery),
            Needs { marks: true, .. } => Err(Unsupported::Marks),
            Needs { feedback: true, .. } => Err(Unsupported::Feedback),
            _ => Ok(()),
        }
    }
}

/// Packets that one ACK frame acknowledges for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the last of them was sent.
    pub sent: time::Instant,
    /// Their size without the headers of UDP and IP.
    pub bytes: u64,
    /// Bytes in flight after the ACK.
    pub in_flight: u64,
    /// Whether the application had less to send than the window allowed.
    pub app_limited: bool,
}

/// Packets that the stack deems lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When the last of them was sent.
    pub sent: time::Instant,
    /// Their size without the headers of UDP and IP.
    pub bytes: u64,
    /// Whether nothing arrived for so long that the path must be taken to have changed (RFC 9002, section 7.6).
    pub persistent: bool,
}

/// How far the loss of packets holds the window below the controller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// It does not.
    None,
    /// Until a packet arrives that was sent after `since`, one packet leaves for each that arrives: at most `window`
    /// bytes are in flight.
    Conserving { since: Instant, window: u64 },
    /// Afterwards the window grows from `window` bytes by what arrives.
    Growing { window: u64 },
}

/// A congestion controller of this project as the sender of one QUIC path.
///
/// Times are the stack's, windows its bytes: a packet of the controller is a datagram of the path's MTU. While losses
/// are repaired, packets are conserved (RFC 6937 in its plainest form), since a RemyCC's window does not fall for a
/// loss; a controller that sets its window in recovery itself ([`Needs::own_recovery`]) is left alone. After a pause
/// of a retransmission timer a controller starts anew where it asks for it ([`Needs::restart`]), or hears of it
/// ([`CongestionKind::Idle`]).
///
/// ```
/// use exm_cc::Reno;
/// use exm_quic::{Acked, Sender};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let mut sender = Sender::new(Reno::new(), start, 1200)?;
/// assert_eq!(sender.window(), 10 * 1200);
/// sender.on_sent(start, 1200);
/// let (sent, now) = (start, start + Duration::from_millis(40));
/// sender.on_acked(now, Acked { sent, bytes: 1200, in_flight: 0, app_limited: false });
/// assert_eq!(sender.window(), 11 * 1200);
/// assert_eq!(sender.pacing_rate(), None);
/// # Ok::<(), exm_quic::Unsupported>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sender<C> {
    controller: C,
    needs: Needs,
    decision: Decision,
    wakeup: Wakeup,
    recovery: Recovery,
    /// What the controller's times count from.
    epoch: time::Instant,
    mtu: u64,
    in_flight: u64,
    /// Packets acknowledged and deemed lost so far.
    acked: u64,
    lost: u64,
    /// Of the last ACK.
    largest_acked: Option<u64>,
    acked_bytes: u64,
    /// Acknowledged bytes beyond those that were told as whole datagrams; negative where they were rounded up.
    beyond: i64,
    smoothed_rtt: Option<Span>,
    /// When a packet was last sent or acknowledged.
    active_at: Instant,
}

impl<C: Controller> Sender<C> {
    /// The sender of a path that begins at `now`, with datagrams of `mtu` bytes.
    ///
    /// # Errors
    ///
    /// If `controller` needs what QUIC stacks do not tell.
    pub fn new(controller: C, now: time::Instant, mtu: u16) -> Result<Sender<C>, Unsupported> {
        Unsupported::check(controller.needs())?;
        Ok(Sender::begin(controller, now, mtu))
    }

    /// As [`Sender::new`], of a controller whose needs were checked.
    pub(crate) fn begin(controller: C, now: time::Instant, mtu: u16) -> Sender<C> {
        let mut sender = Sender {
            needs: controller.needs(),
            controller,
            decision: Decision { cwnd: INITIAL_WINDOW, intersend: Span::ZERO, wake_at: None },
            wakeup: Wakeup::NONE,
            recovery: Recovery::None,
            epoch: now,
            mtu: u64::from(mtu).max(1),
            in_flight: 0,
            acked: 0,
            lost: 0,
            largest_acked: None,
            acked_bytes: 0,
            beyond: 0,
            smoothed_rtt: None,
            active_at: Instant::ZERO,
        };
        sender.start(Instant::ZERO);
        sender
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// Bytes that may be in flight; one datagram at least, since stacks know no window of zero.
    pub fn window(&self) -> u64 {
        let wanted = self.wanted();
        match self.recovery {
            Recovery::Conserving { window, .. } | Recovery::Growing { window }
                if !self.needs.own_recovery =>
            {
                wanted.min(window.max(self.mtu))
            }
            _ => wanted,
        }
    }

    /// The controller's window, bytes.
    fn wanted(&self) -> u64 {
        self.decision.cwnd.clamp(Packets::new(1), MAX_WINDOW).get() * self.mtu
    }

    /// The initial window: the controller's at the start of a flow, bytes.
    pub fn initial_window(&self) -> u64 {
        let mut fresh = self.controller.clone();
        let decision = fresh.on_start(&self.start_event(Instant::ZERO));
        decision.cwnd.clamp(Packets::new(1), MAX_WINDOW).get() * self.mtu
    }

    /// The least time between two datagrams; zero where the controller does not pace.
    pub fn intersend(&self) -> Span {
        self.decision.intersend
    }

    /// The pace as a rate, in bytes per second; `None` where the controller does not pace.
    pub fn pacing_rate(&self) -> Option<u64> {
        let intersend = self.decision.intersend.as_nanos();
        let rate = |intersend| u128::from(self.mtu) * 1_000_000_000 / u128::from(intersend);
        (intersend > 0).then(|| u64::try_from(rate(intersend)).unwrap_or(u64::MAX).max(1))
    }

    /// The size of a full datagram, bytes.
    pub fn mtu(&self) -> u64 {
        self.mtu
    }

    fn at(&self, now: time::Instant) -> Instant {
        let since = now.saturating_duration_since(self.epoch).as_nanos();
        Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }

    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mtu)
    }

    fn follow(&mut self, decision: Decision) {
        self.decision = decision;
        self.wakeup.ask(decision.wake_at);
    }

    fn start_event(&self, now: Instant) -> Start {
        let mut start = Start::new(now);
        (start.rtt, start.mtu) = (self.smoothed_rtt, Bytes::new(self.mtu));
        start
    }

    fn start(&mut self, now: Instant) {
        let decision = self.controller.on_start(&self.start_event(now));
        self.follow(decision);
    }

    /// Stacks have no timer for controllers: one that asked to be woken is so at the next event.
    fn wake(&mut self, now: Instant) {
        if self.wakeup.take(now) {
            let decision = self.controller.on_tick(now);
            self.follow(decision);
        }
    }

    /// A datagram, or several, of `bytes` in all were sent at `now`.
    pub fn on_sent(&mut self, now: time::Instant, bytes: u64) {
        let now = self.at(now);
        self.wake(now);
        if self.in_flight == 0 {
            self.resume(now);
        }
        self.in_flight = self.in_flight.saturating_add(bytes);
        self.active_at = now;
        if self.needs.sent {
            self.tell_sent(now, bytes);
        }
    }

    fn tell_sent(&mut self, now: Instant, bytes: u64) {
        let in_flight = self.packets(self.in_flight);
        let before = self.acked.saturating_add(self.lost).saturating_add(in_flight);
        let mut sent = Sent::new(before.saturating_sub(1), now);
        sent.bytes = Bytes::new(bytes);
        sent.in_flight = Packets::new(in_flight);
        sent.in_flight_bytes = Bytes::new(self.in_flight);
        if let Some(decision) = self.controller.on_sent(&sent) {
            self.follow(decision);
        }
    }

    /// A packet is sent, and none is in flight: what was known of the path may be too old.
    fn resume(&mut self, now: Instant) {
        let Some(rtt) = self.smoothed_rtt else { return };
        if now.saturating_since(self.active_at) <= rtt + VARIATION {
            return;
        }
        self.recovery = Recovery::None;
        if self.needs.restart {
            self.largest_acked = None;
            self.start(now);
        } else {
            let mut idle = Congestion::new(CongestionKind::Idle, self.active_at, now);
            idle.packets = INITIAL_WINDOW;
            let decision = self.controller.on_congestion(&idle);
            self.follow(decision);
        }
    }

    /// An ACK frame arrived at `now`.
    pub fn on_acked(&mut self, now: time::Instant, acked: Acked) {
        let (now, sent_at) = (self.at(now), self.at(acked.sent));
        self.wake(now);
        self.in_flight = acked.in_flight;
        self.active_at = now;
        if acked.bytes == 0 {
            return;
        }
        self.acked_bytes = acked.bytes;
        self.recover(sent_at);
        let packets = self.whole_datagrams(acked.bytes);
        if packets == 0 {
            return;
        }
        self.acked = self.acked.saturating_add(packets);
        // Stacks do not say which numbers were lost: they count as those before the ACK that follows.
        let sequence = self.acked.saturating_add(self.lost).saturating_sub(1);
        let mut event = Ack::new(sequence, sent_at, now);
        event.largest_acked = self.largest_acked;
        event.acked = Packets::new(packets);
        event.acked_bytes = Bytes::new(acked.bytes);
        event.in_flight = Packets::new(self.packets(self.in_flight));
        event.in_flight_bytes = Bytes::new(self.in_flight);
        event.recovering = matches!(self.recovery, Recovery::Conserving { .. });
        event.app_limited = acked.app_limited;
        self.largest_acked = Some(sequence);
        self.smooth(event.rtt());
        let decision = self.controller.on_ack(&event);
        self.follow(decision);
        if matches!(self.recovery, Recovery::Growing { window } if window >= self.wanted()) {
            self.recovery = Recovery::None;
        }
    }

    /// How many datagrams of the MTU `bytes` more make, to the nearest. Small ones, such as the handshake's, are in
    /// the network for a shorter time than full ones: a controller that heard of each would take the difference for
    /// a queue.
    fn whole_datagrams(&mut self, bytes: u64) -> u64 {
        let mtu = self.mtu.cast_signed();
        let beyond = self.beyond.saturating_add_unsigned(bytes.min(1 << 60));
        let packets = beyond.saturating_add(mtu / 2).div_euclid(mtu).max(0);
        self.beyond = beyond - packets * mtu;
        packets.cast_unsigned()
    }

    /// RFC 6298's average.
    fn smooth(&mut self, rtt: Span) {
        let smoothed = self.smoothed_rtt.map_or(rtt, |smoothed| smoothed - smoothed / 8 + rtt / 8);
        self.smoothed_rtt = Some(smoothed);
    }

    /// Packets arrived, the last of which was sent at `sent_at`.
    fn recover(&mut self, sent_at: Instant) {
        let arrived = self.acked_bytes;
        self.recovery = match self.recovery {
            Recovery::None => Recovery::None,
            Recovery::Conserving { since, .. } if sent_at <= since => {
                Recovery::Conserving { since, window: self.in_flight.saturating_add(arrived) }
            }
            Recovery::Conserving { window, .. } | Recovery::Growing { window } => {
                Recovery::Growing { window: window.saturating_add(arrived) }
            }
        };
    }

    /// The stack deems packets lost.
    pub fn on_lost(&mut self, now: time::Instant, lost: Lost) {
        let (now, sent_at) = (self.at(now), self.at(lost.sent));
        self.wake(now);
        self.in_flight = self.in_flight.saturating_sub(lost.bytes);
        let packets = self.packets(lost.bytes).max(1);
        self.lost = self.lost.saturating_add(packets);
        let window = self.in_flight.saturating_add(self.acked_bytes);
        match self.recovery {
            // One loss a round trip is told, as by TCP (RFC 9002, section 7.3.2).
            Recovery::Conserving { since, .. } if sent_at <= since && !lost.persistent => {
                self.recovery = Recovery::Conserving { since, window };
            }
            _ => {
                self.recovery = Recovery::Conserving { since: now, window };
                let kind =
                    if lost.persistent { CongestionKind::Timeout } else { CongestionKind::Lost };
                self.congested(kind, sent_at, now, packets);
            }
        }
    }

    /// Packets that were sent at `sent` or before arrived marked (ECN).
    pub fn on_marked(&mut self, now: time::Instant, sent: time::Instant) {
        let (now, sent_at) = (self.at(now), self.at(sent));
        self.wake(now);
        self.congested(CongestionKind::Marked, sent_at, now, 1);
    }

    /// The last loss was none: the packets arrived after all.
    pub fn on_spurious_loss(&mut self) {
        let now = self.active_at;
        self.recovery = Recovery::None;
        self.congested(CongestionKind::Spurious, now, now, 0);
    }

    fn congested(&mut self, kind: CongestionKind, sent_at: Instant, now: Instant, packets: u64) {
        let mut event = Congestion::new(kind, sent_at, now);
        event.packets = Packets::new(packets);
        event.bytes = Bytes::new(packets.saturating_mul(self.mtu));
        event.in_flight = Packets::new(self.packets(self.in_flight));
        event.in_flight_bytes = Bytes::new(self.in_flight);
        let decision = self.controller.on_congestion(&event);
        self.follow(decision);
    }

    /// Datagrams of `mtu` bytes fit the path from now on.
    pub fn on_mtu(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu).max(1);
        self.controller.on_mtu(Bytes::new(self.mtu));
    }
}

#[cfg(test)]
mod tests;
