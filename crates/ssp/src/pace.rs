//! [`Pace`]: how soon a change is sent, and how soon it is repeated.

use crate::budget::Budget;
use crate::timing::{ACK_DELAY, FIRST_REPEAT, LOSS_MEMORY, Rtt, SHORTEST_GAP, Settings};
use exm_units::{Instant, Span};

/// The longest difference in bytes that is repeated before the timeout: it fits a datagram.
const SMALL: usize = 1000;
/// Waits for repetitions are doubled this often at most.
const MOST_DOUBLED: u32 = 8;
/// The RTT is considered to have grown, because a queue has built up, if it exceeds 1.25 times the lowest one and this.
const GROWTH: Span = Span::from_millis(20);
/// An acknowledgement is late if it takes longer than the lowest RTT, the time for which the peer may hold it, and this.
const LATENESS: Span = Span::from_millis(40);
/// By which part of the difference the lowest RTT follows a higher one with each instruction, as paths change.
const FORGETTING: u64 = 4096;

/// When instructions go.
///
/// Mosh lets half a round trip pass between two instructions, so that about one is on its way. This is for large ones: a
/// [`Budget`] that they would exhaust lets small ones go at once, as long as no queue builds up.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    min_delay: Span,
    pause: Span,
    budget: Budget,
    /// When the current state was first seen to differ from the one sent last, and last seen to change.
    changed: Option<(Instant, Instant)>,
    /// Whether it has been changed since.
    is_touched: bool,
    /// The RTT, and the lowest one.
    srtt: Span,
    lowest: Span,
    /// Whether the RTT has grown because of a queue.
    is_slower: bool,
    /// For how long the oldest change has not been acknowledged.
    waited: Span,
    /// Whether instructions may be sent early at all.
    pub(crate) is_early: bool,
    /// Whether the peer's datagrams get lost.
    pub(crate) is_lossy: bool,
    /// Until when ours are considered to get lost.
    lossy_until: Instant,
    /// How often the last difference was repeated, and its length in bytes.
    repeats: u32,
    length: usize,
}

impl Pace {
    pub(crate) fn new(now: Instant, settings: &Settings) -> Pace {
        Pace {
            min_delay: settings.min_delay,
            pause: settings.pause,
            budget: Budget::new(now, settings.budget),
            changed: None,
            is_touched: false,
            srtt: Span::MAX,
            lowest: Span::MAX,
            is_slower: false,
            waited: Span::ZERO,
            is_early: true,
            is_lossy: false,
            lossy_until: Instant::ZERO,
            repeats: 0,
            length: 0,
        }
    }

    /// At `now` the RTT is `rtt`, and the oldest change has `waited` for its acknowledgement.
    pub(crate) fn measure(&mut self, now: Instant, rtt: &Rtt, waited: Span) {
        (self.srtt, self.waited) = (rtt.srtt, waited);
        self.lowest = self.lowest.min(rtt.srtt);
        let was_slower = self.is_slower;
        self.is_slower =
            self.srtt > self.lowest.saturating_add(self.lowest / 4).saturating_add(GROWTH);
        // What is repeated because of losses needs all of the budget. A timeout of ours tells nothing here: a queue causes it, too.
        if self.is_slower && !was_slower && !self.is_lossy {
            self.budget.reduce(now);
        }
    }

    /// Whether datagrams get lost, in any direction.
    fn is_lossy(&self, now: Instant) -> bool {
        self.is_lossy || now < self.lossy_until
    }

    /// The time within which an answer must have come.
    pub(crate) fn round_trip(&self) -> Span {
        self.srtt.saturating_add(self.srtt / 4).saturating_add(FIRST_REPEAT)
    }

    /// The state may have been changed.
    pub(crate) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// At `now` the state differs from the one sent last.
    pub(crate) fn changed(&mut self, now: Instant) {
        let (first, last) = self.changed.unwrap_or((now, now));
        self.changed = Some((first, if self.is_touched { now } else { last }));
        self.is_touched = false;
    }

    /// When changes have been collected for long enough.
    pub(crate) fn collected(&self) -> Option<Instant> {
        let (first, last) = self.changed?;
        let latest = first.saturating_add(self.min_delay);
        Some(latest.min(last.saturating_add(self.pause)))
    }

    /// When a new state may be sent after one at `last`, if the usual `interval` is not waited for.
    pub(crate) fn next(&self, last: Instant, interval: Span) -> Instant {
        let usual = last.saturating_add(interval);
        self.early().map_or(usual, |early| usual.min(early.max(last.saturating_add(SHORTEST_GAP))))
    }

    /// When the state sent at `last` is repeated though it may still be acknowledged; none: it is not.
    pub(crate) fn repeat(&self, now: Instant, last: Instant) -> Option<Instant> {
        if !self.is_lossy(now) || !self.is_small(self.length) {
            return None;
        }
        let wait = FIRST_REPEAT * (1 << self.repeats.min(MOST_DOUBLED));
        Some(self.early()?.max(last.saturating_add(wait)))
    }

    /// From when on the budget and the path allow to be early.
    fn early(&self) -> Option<Instant> {
        // The RTT is smoothed: an acknowledgement that is late tells sooner. On a lossy path it may never come.
        let latest = self.lowest.saturating_add(ACK_DELAY).saturating_add(LATENESS);
        let is_late = !self.is_lossy && self.waited > latest;
        let has_queue = self.is_slower || is_late;
        self.budget.available_at().filter(|_| self.is_early && !has_queue)
    }

    /// Whether a difference of `length` is repeated early.
    pub(crate) fn is_small(&self, length: usize) -> bool {
        length < SMALL
    }

    /// Whether what was sent at `last` has not been acknowledged in time.
    pub(crate) fn is_timeout(&self, now: Instant, last: Instant, rtt: &Rtt) -> bool {
        now >= last.saturating_add(rtt.timeout).saturating_add(ACK_DELAY)
    }

    /// A difference of `length` bytes was sent: it `is_repeated`, or new, and what was sent before `is_lost`.
    pub(crate) fn sent(&mut self, now: Instant, is_repeated: bool, is_lost: bool, length: usize) {
        if is_lost {
            self.lossy_until = now.saturating_add(LOSS_MEMORY);
        }
        self.repeats = if is_repeated { self.repeats.saturating_add(1) } else { 0 };
        self.length = length;
        self.changed = None;
        self.lowest = self.lowest + self.srtt.saturating_sub(self.lowest) / FORGETTING;
    }

    /// `bytes` were sent at `now`.
    pub(crate) fn charge(&mut self, now: Instant, bytes: usize) {
        self.budget.charge(now, bytes);
    }
}
