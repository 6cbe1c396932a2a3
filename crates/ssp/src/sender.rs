//! [`Sender`]: the states of this end, and when which difference is sent.

use crate::SHUTDOWN;
use crate::instruction::{Instruction, VERSION};
use crate::pace::Pace;
use crate::state::State;
use crate::timing::{ACK_DELAY, ACK_INTERVAL, ACTIVE_RETRY, Rtt, Settings, send_interval};
use exm_units::{Instant, Span};

/// The most states that were sent and not acknowledged. Beyond, one in the middle is forgotten: the oldest
/// is the only one that the peer certainly has, and the newest are what it is likely to acknowledge next.
pub const MAX_SENT: usize = 32;
/// Where from the end the forgotten one is.
const FORGOTTEN: usize = 16;
/// A difference from the acknowledged state is preferred if it is longer by less than this.
const RESEND_EXCESS: usize = 100;
/// Only differences below this length may be longer at all.
const RESEND_LENGTH: usize = 1000;
/// After so many announcements, or so long, an end stops waiting for the peer to agree to the end.
const SHUTDOWN_TRIES: u32 = 16;
const SHUTDOWN_WAIT: Span = ACTIVE_RETRY;

/// A state that was sent.
#[derive(Clone, Debug)]
struct Sent<L> {
    number: u64,
    /// When it was sent last.
    at: Instant,
    /// Whether it came with a difference, which the peer acknowledges soon.
    is_change: bool,
    state: L,
}

/// When something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The next acknowledgement, empty or not.
    pub(crate) ack: Instant,
    /// The next data, if there is any.
    pub(crate) data: Option<Instant>,
}

impl Due {
    /// The earlier one.
    pub(crate) fn first(self) -> Instant {
        self.data.map_or(self.ack, |data| data.min(self.ack))
    }
}

/// The states of this end, and what the other end knows of them.
#[derive(Clone, Debug)]
pub(crate) struct Sender<L> {
    pub(crate) current: L,
    /// From the acknowledged state, which is the first, to the one sent last. Sorted by number.
    sent: Vec<Sent<L>>,
    pace: Pace,
    next_ack: Instant,
    /// When a new state of the peer arrived last; at first, when this end began.
    heard: Instant,
    /// When a new acknowledgement arrived.
    acknowledged: Option<Instant>,
    /// When the shutdown began, and how often it was announced.
    shutdown: Option<(Instant, u32)>,
}

impl<L: State> Sender<L> {
    /// A sender that begins with a packet at once, so that the peer learns where it is.
    pub(crate) fn new(now: Instant, initial: L, settings: &Settings) -> Sender<L> {
        Sender {
            sent: vec![Sent { number: 0, at: now, is_change: false, state: initial.clone() }],
            current: initial,
            pace: Pace::new(now, settings),
            next_ack: now,
            heard: now,
            acknowledged: None,
            shutdown: None,
        }
    }

    /// When something is due, as seen at `now`.
    pub(crate) fn due(&mut self, now: Instant, rtt: &Rtt) -> Due {
        self.measure(now, rtt);
        let interval = send_interval(rtt);
        let (first, last) = (&self.sent[0], self.last());
        let last_at = last.at;
        let is_active = now.saturating_since(self.heard) < ACTIVE_RETRY;
        let state = self.proposed();
        let (is_new, assumed) = (*state != last.state, self.assumed(now, rtt));
        let is_missing = is_active && *state != self.sent[assumed].state;
        let data = if is_new {
            Some(self.pace.next(last_at, interval))
        } else if is_missing {
            Some(last_at.saturating_add(interval))
        } else if is_active && *state != first.state {
            let timeout = last_at.saturating_add(rtt.timeout).saturating_add(ACK_DELAY);
            Some(self.pace.repeat(now, last_at).map_or(timeout, |repeat| repeat.min(timeout)))
        } else {
            None
        };
        let mut ack = self.next_ack;
        let is_announced = self.shutdown.is_some_and(|(_, tries)| tries > 0);
        if is_announced && first.number != SHUTDOWN {
            ack = ack.min(last_at.saturating_add(interval));
        }
        if is_new {
            self.pace.changed(now);
        }
        let collected = self.pace.collected();
        let data = data.map(|data| collected.map_or(data, |collected| collected.max(data)));
        Due { ack, data }
    }

    /// When a change of the current state at `now` would be sent, whatever it is.
    pub(crate) fn change_due(&mut self, now: Instant, rtt: &Rtt) -> Instant {
        self.measure(now, rtt);
        self.pace.changed(now);
        let next = self.pace.next(self.last().at, send_interval(rtt));
        self.pace.collected().map_or(next, |collected| collected.max(next))
    }

    /// Tells the pace the RTT, and for how long the oldest change has not been acknowledged.
    fn measure(&mut self, now: Instant, rtt: &Rtt) {
        let oldest = self.sent[1..].iter().find(|sent| sent.is_change);
        let waited = oldest.map_or(Span::ZERO, |sent| now.saturating_since(sent.at));
        self.pace.measure(now, rtt, waited);
    }

    /// The current state is about to be changed.
    pub(crate) fn touch(&mut self) {
        self.pace.touch();
    }

    /// Whether the layer below has seen datagrams of the peer get lost.
    pub(crate) fn set_lossy(&mut self, is_lossy: bool) {
        self.pace.is_lossy = is_lossy;
    }

    /// Whether instructions may be sent early.
    pub(crate) fn set_early(&mut self, is_early: bool) {
        self.pace.is_early = is_early;
    }

    /// `bytes` were sent at `now`.
    pub(crate) fn charge(&mut self, now: Instant, bytes: usize) {
        self.pace.charge(now, bytes);
    }

    /// A copy of the peer's newest state arrived at `now`. If what was sent last must have arrived since, it was lost, and with
    /// it the acknowledgement.
    pub(crate) fn heard_copy(&mut self, now: Instant) {
        if now.saturating_since(self.last().at) > self.pace.round_trip() {
            self.acknowledge_within(now, ACK_DELAY);
        }
    }

    /// The instruction that is due at `now`, if any, with its chaff and acknowledgement left empty. It counts
    /// as sent.
    pub(crate) fn tick(&mut self, now: Instant, rtt: &Rtt) -> Option<Instruction> {
        let due = self.due(now, rtt);
        if now < due.first() {
            return None;
        }
        let is_old = *self.proposed() == self.last().state;
        let is_repeat = is_old && due.data.is_some_and(|data| data <= now);
        let (base, diff) = self.best_difference(now, rtt, is_repeat);
        let old = self.sent[base].number;
        let is_retransmission = !diff.is_empty() && *self.proposed() == self.last().state;
        let last = self.last().number;
        let new = match &mut self.shutdown {
            Some((_, tries)) => {
                *tries = tries.saturating_add(1);
                SHUTDOWN
            }
            None if is_retransmission => last,
            // An empty acknowledgement has a number of its own, so that its arrival is acknowledged.
            None => last + 1,
        };
        let is_lost = is_repeat && self.pace.is_timeout(now, self.last().at, rtt);
        self.pace.sent(now, is_retransmission, is_lost, diff.len());
        self.record(now, new, !diff.is_empty());
        self.next_ack = now.saturating_add(ACK_INTERVAL);
        let throwaway = self.sent[0].number;
        Some(Instruction { version: VERSION, old, new, throwaway, diff, ..Instruction::default() })
    }

    /// Processes the peer's acknowledgement of state `number`, received at `now`. One of a state that is no
    /// longer, or not yet, there is ignored.
    pub(crate) fn acknowledge(&mut self, now: Instant, number: u64) {
        let Ok(place) = self.sent.binary_search_by_key(&number, |sent| sent.number) else { return };
        if place == 0 {
            return;
        }
        self.sent.drain(..place);
        self.acknowledged = Some(now);
        let known = self.sent[0].state.clone();
        self.sent.iter_mut().for_each(|sent| sent.state.subtract(&known));
        self.current.subtract(&known);
    }

    /// A new state of the peer arrived at `now`.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// An acknowledgement is due `wait` after `now` at the latest.
    pub(crate) fn acknowledge_within(&mut self, now: Instant, wait: Span) {
        self.next_ack = self.next_ack.min(now.saturating_add(wait));
    }

    /// Announces the end of the session from `now` on.
    pub(crate) fn begin_shutdown(&mut self, now: Instant) {
        if self.shutdown.is_none() {
            self.shutdown = Some((now, 0));
            self.next_ack = now;
        }
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutdown.is_some()
    }

    /// Whether the peer has taken too long to agree to the end.
    pub(crate) fn shutdown_expired(&self, now: Instant) -> bool {
        self.shutdown.is_some_and(|(began, tries)| {
            tries >= SHUTDOWN_TRIES || now.saturating_since(began) >= SHUTDOWN_WAIT
        })
    }

    pub(crate) fn acknowledged_state(&self) -> &L {
        &self.sent[0].state
    }

    pub(crate) fn acknowledged_number(&self) -> u64 {
        self.sent[0].number
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.last().number
    }

    pub(crate) fn last_heard(&self) -> Instant {
        self.heard
    }

    pub(crate) fn last_acknowledgement(&self) -> Option<Instant> {
        self.acknowledged
    }

    fn last(&self) -> &Sent<L> {
        self.sent.last().expect("the acknowledged state is always there")
    }

    /// The state to send: the current one, or what was announced as the last one, since a peer that has it
    /// takes no other.
    fn proposed(&self) -> &L {
        let last = self.last();
        if last.number == SHUTDOWN { &last.state } else { &self.current }
    }

    /// The place in `sent` of the state that the peer is assumed to have: the newest one such that it and all
    /// before it were acknowledged, or sent so recently that an acknowledgement may still come.
    fn assumed(&self, now: Instant, rtt: &Rtt) -> usize {
        let patience = rtt.timeout.saturating_add(ACK_DELAY);
        let is_recent = |sent: &&Sent<L>| {
            // Its number is never the base of another.
            now.saturating_since(sent.at) < patience && sent.number != SHUTDOWN
        };
        self.sent[1..].iter().take_while(is_recent).count()
    }

    /// The place of the base, and the difference from it. If the difference from the acknowledged state is
    /// hardly longer than the one from the assumed state, it is better, since it can always be applied. So it is for what `is_repeat`, as nothing is
    /// assumed to have arrived then.
    fn best_difference(&self, now: Instant, rtt: &Rtt, is_repeat: bool) -> (usize, Vec<u8>) {
        let (state, assumed) = (self.proposed(), self.assumed(now, rtt));
        let diff = state.diff_from(&self.sent[assumed].state);
        if assumed == 0 {
            return (assumed, diff);
        }
        let certain = state.diff_from(&self.sent[0].state);
        let is_close = certain.len() < RESEND_LENGTH
            && certain.len() < diff.len().saturating_add(RESEND_EXCESS);
        let is_better = is_close || certain.len() <= diff.len();
        if is_better || (is_repeat && self.pace.is_small(certain.len())) {
            (0, certain)
        } else {
            (assumed, diff)
        }
    }

    /// Records that the proposed state is sent at `now` as `number`, with a difference if it `is_change`.
    fn record(&mut self, now: Instant, number: u64, is_change: bool) {
        if self.last().number == number {
            let last = self.sent.len() - 1;
            self.sent[last].at = now;
            return;
        }
        self.sent.push(Sent { number, at: now, is_change, state: self.current.clone() });
        if self.sent.len() > MAX_SENT {
            self.sent.remove(self.sent.len() - FORGOTTEN);
        }
    }
}

#[cfg(test)]
mod tests;
