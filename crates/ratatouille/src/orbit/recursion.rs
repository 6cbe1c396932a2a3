//! [`Recursion`]: one sender and one link, from ACK to ACK.

use super::IdealLink;
use exm_cc::{Ack, Controller, Gate, Start};
use exm_remy::{Point, RemyCc, RuleTable};
use exm_units::{Instant, Packets, Span};
use std::collections::VecDeque;

/// A sender of a table that is always on, alone on an ideal link.
#[derive(Debug)]
pub(super) struct Recursion {
    remy: RemyCc,
    gate: Gate,
    service: Span,
    rtt: Span,
    now: Instant,
    /// When the link has sent all that was given to it.
    busy_until: Instant,
    /// Packets not yet acknowledged.
    flight: VecDeque<Packet>,
    /// How many have been acknowledged.
    acked: u64,
    /// The RTT of the last of them.
    last_rtt: Span,
    /// When the window was full last.
    last_full: Option<Instant>,
    /// Whether a larger window stays at least as large under every rule.
    is_monotone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    sent: Instant,
    /// When it is received, and acknowledged: ACKs take no time of their own.
    received: Instant,
}

/// An instant at which something happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) at: Instant,
    /// Whether an ACK arrived.
    pub(super) is_ack: bool,
}

impl Recursion {
    pub(super) fn new(link: &IdealLink, table: &RuleTable) -> Recursion {
        let mut remy = RemyCc::new(table);
        let gate = Gate::new(remy.on_start(&Start::new(Instant::ZERO)));
        Recursion {
            remy,
            gate,
            service: link.rate.service_time(link.packet),
            rtt: link.rtt,
            now: Instant::ZERO,
            busy_until: Instant::ZERO,
            flight: VecDeque::new(),
            acked: 0,
            last_rtt: Span::ZERO,
            last_full: None,
            is_monotone: table.rules().iter().all(|rule| rule.action.multiple >= 0.0),
        }
    }

    /// Packets in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.flight.len() as u64
    }

    /// The signals.
    #[cfg(test)]
    pub(super) fn signals(&self) -> Point {
        self.remy.signals()
    }

    /// The window.
    #[cfg(test)]
    pub(super) fn window(&self) -> u64 {
        self.gate.cwnd().get()
    }

    /// Goes to the next instant at which an ACK arrives or a packet is sent; `None` if that never happens.
    #[inline]
    pub(super) fn step(&mut self) -> Option<Step> {
        let ack = self.flight.front().map(|packet| packet.received);
        let send = self.next_send();
        let at = match (ack, send) {
            (Some(ack), Some(send)) => ack.min(send),
            (one, other) => one.or(other)?,
        };
        self.now = at;
        let is_ack = ack == Some(at);
        if is_ack {
            self.on_ack();
        }
        while self.next_send() == Some(at) {
            self.send();
        }
        if self.in_flight() >= self.gate.cwnd().get() {
            self.last_full = Some(at);
        }
        Some(Step { at, is_ack })
    }

    #[inline]
    fn next_send(&self) -> Option<Instant> {
        self.gate.next_send(self.now, Packets::new(self.in_flight()))
    }

    fn on_ack(&mut self) {
        let Some(packet) = self.flight.pop_front() else { return };
        let mut ack = Ack::new(self.acked, packet.sent, self.now);
        ack.received_at = Some(packet.received);
        self.acked += 1;
        self.last_rtt = packet.received - packet.sent;
        self.gate.decide(self.remy.on_ack(&ack));
    }

    fn send(&mut self) {
        self.busy_until = self.busy_until.max(self.now) + self.service;
        self.flight.push_back(Packet { sent: self.now, received: self.busy_until + self.rtt });
        self.gate.sent(self.now);
    }
}

/// Signals are the same if they differ by so little, in parts of their value. Averages forget what was before by a part of
/// it with each ACK, the slow one by 1/256, and so come to the very same after ten thousand ACKs; where all else repeats
/// itself to the nanosecond, there is no need to wait for that.
const NEAR: f64 = 1e-6;

fn are_near(one: &Point, other: &Point) -> bool {
    one.iter().zip(other).all(|(a, b)| (a - b).abs() <= NEAR * a.abs())
}

/// All that what follows depends on, as times before or after the present. The least RTT is the last divided by one of
/// the signals; and before the present the link has no more to remember.
#[derive(Clone, Debug)]
struct State {
    signals: Point,
    window: Packets,
    intersend: Span,
    last_rtt: Span,
    now: Instant,
    acked: u64,
    last_send: Option<Instant>,
    busy_until: Instant,
    flight: VecDeque<Packet>,
}

impl State {
    fn of(recursion: &Recursion) -> State {
        State {
            signals: recursion.remy.signals(),
            window: recursion.gate.cwnd(),
            intersend: recursion.gate.intersend(),
            last_rtt: recursion.last_rtt,
            now: recursion.now,
            acked: recursion.acked,
            last_send: recursion.gate.last_send(),
            busy_until: recursion.busy_until,
            flight: recursion.flight.clone(),
        }
    }

    /// Whether `later` has come back to it: the cheap and telling comparisons first.
    #[inline]
    fn is_as(&self, later: &Recursion) -> bool {
        later.last_rtt == self.last_rtt
            && self.has_window_of(later)
            && later.flight.len() == self.flight.len()
            && are_near(&later.remy.signals(), &self.signals)
            && self.moved(later.now - self.now, later)
    }

    /// Whether the window of `later` makes no difference: it is the same; or it has grown and was never full in between, so
    /// that it will not be full in the next round either, nor grow less.
    fn has_window_of(&self, later: &Recursion) -> bool {
        let was_full = || later.last_full.is_some_and(|full| full >= self.now);
        let window = later.gate.cwnd();
        window == self.window || (window > self.window && later.is_monotone && !was_full())
    }

    /// Whether `later` is the same this much later, for what is a time.
    fn moved(&self, by: Span, later: &Recursion) -> bool {
        let is_moved = |earlier: &Packet, later: &Packet| {
            earlier.sent + by == later.sent && earlier.received + by == later.received
        };
        let busy = |until: Instant, now: Instant| until.saturating_since(now);
        later.gate.intersend() == self.intersend
            && later.gate.last_send() == self.last_send.map(|last| last + by)
            && busy(later.busy_until, later.now) == busy(self.busy_until, self.now)
            && self.flight.iter().zip(&later.flight).all(|(one, other)| is_moved(one, other))
    }
}

/// Brent's search for a cycle: the state is compared with one that is replaced after 1, 2, 4, 8 ... ACKs, so that it needs
/// the memory of one state and finds a cycle soon after it has been entered.
#[derive(Debug)]
pub(super) struct Brent {
    saved: State,
    power: u64,
}

impl Brent {
    pub(super) fn new(start: &Recursion) -> Brent {
        Brent { saved: State::of(start), power: 1 }
    }

    /// Looks at the state after another ACK: the length of the cycle in ACKs and in time, if it has come back.
    #[inline]
    pub(super) fn look(&mut self, recursion: &Recursion) -> Option<(u64, Span)> {
        if self.saved.is_as(recursion) {
            return Some((recursion.acked - self.saved.acked, recursion.now - self.saved.now));
        }
        if recursion.acked - self.saved.acked >= self.power {
            self.saved = State::of(recursion);
            self.power *= 2;
        }
        None
    }
}
