//! [`Saturation`]: how saturated each second of a recording truly was.

use crate::arrivals::Arrival;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// The length of what is told of.
const SECOND: Span = Span::from_secs(1);
/// So much of a packet's delay is not taken for queueing: what differs without a queue.
const MARGIN: Span = Span::from_millis(10);
/// The part of a second that must have been saturated for all of it to count.
const NEARLY_ALL: f64 = 0.99;

/// What happened in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Which, from the first arrival on.
    pub index: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that were sent before those and did not arrive: lost, or overtaken.
    pub missing: u64,
    /// The shortest time that one of them had been queued; nothing where none arrived.
    pub least_queueing: Option<Span>,
    /// The longest.
    pub most_queueing: Span,
    /// How many packets its sender kept in flight, at last.
    pub window: u32,
    /// The part of it in which there was surely something to deliver.
    pub saturated: f64,
}

impl Second {
    /// Whether there was something to deliver all the time, so that what arrived is all that the
    /// link could deliver.
    pub fn is_saturated(&self) -> bool {
        self.saturated >= NEARLY_ALL
    }
}

/// Tells from each packet's delay for how long the link surely had something to deliver before it
/// arrived: as long as the packet had been queued.
///
/// How long that was is its delay beyond the least that was ever seen, less 10 ms. The two clocks
/// need not agree on the time of day, but on the length of a second.
#[derive(Clone, Debug, Default)]
pub struct Saturation {
    first: Option<Instant>,
    last: Option<Arrival>,
    /// The least difference of the times of arrival and of sending, in nanoseconds.
    least: Option<i128>,
    /// The seconds that may still change.
    open: VecDeque<Second>,
}

impl Saturation {
    /// Nothing yet.
    pub fn new() -> Saturation {
        Saturation::default()
    }

    /// A packet arrived, whose sender kept `window` packets in flight; they are told in the order
    /// of their arrival.
    pub fn arrived(&mut self, arrival: Arrival, window: u32) {
        let first = *self.first.get_or_insert(arrival.received_at);
        let queueing = self.queueing(arrival);
        let since = arrival.received_at.saturating_since(first);
        let busy = self.last.map_or(Span::ZERO, |last| {
            let gap = arrival.received_at.saturating_since(last.received_at);
            queueing.saturating_sub(MARGIN).min(gap)
        });
        self.open_until(since);
        self.saturate(since, busy);
        let after = self.last.map_or(arrival.number, |last| last.number.saturating_add(1));
        let missing = arrival.number.saturating_sub(after);
        let is_late = self.last.is_some_and(|last| arrival.number < last.number);
        if let Some(second) = self.open.back_mut() {
            second.received += 1;
            let all = second.missing.saturating_add(missing);
            second.missing = all.saturating_sub(u64::from(is_late));
            let least = second.least_queueing.map_or(queueing, |least| least.min(queueing));
            second.least_queueing = Some(least);
            second.most_queueing = second.most_queueing.max(queueing);
            second.window = window;
        }
        let number = self.last.map_or(arrival.number, |last| arrival.number.max(last.number));
        self.last = Some(Arrival { number, ..arrival });
    }

    /// The next second of which all is known; nothing where the last arrival was in it.
    pub fn closed(&mut self) -> Option<Second> {
        if self.open.len() > 1 { self.open.pop_front() } else { None }
    }

    /// The last second, in which no more will arrive: it may be a part of one. Nothing where nothing
    /// arrived.
    pub fn last(&self) -> Option<Second> {
        self.open.back().copied()
    }

    /// How long a packet was queued.
    fn queueing(&mut self, arrival: Arrival) -> Span {
        let [sent, received] = [arrival.sent_at, arrival.received_at].map(Instant::as_nanos);
        let delay = i128::from(received) - i128::from(sent);
        let least = *self.least.insert(self.least.map_or(delay, |least| least.min(delay)));
        Span::from_nanos(u64::try_from(delay - least).unwrap_or(u64::MAX))
    }

    /// Opens all seconds up to that of `since` the first arrival.
    fn open_until(&mut self, since: Span) {
        let index = since.as_nanos() / SECOND.as_nanos();
        let mut next = self.open.back().map_or(0, |last| last.index + 1);
        while next <= index {
            let window = self.open.back().map_or(0, |last| last.window);
            self.open.push_back(Second { index: next, window, ..Second::default() });
            next += 1;
        }
    }

    /// The link was saturated for `busy` before `since`.
    fn saturate(&mut self, since: Span, busy: Span) {
        let start = since.saturating_sub(busy);
        for second in self.open.iter_mut().rev() {
            let from = SECOND * second.index;
            let overlap = since.min(from + SECOND).saturating_sub(start.max(from));
            if overlap.is_zero() && from + SECOND <= start {
                break;
            }
            second.saturated += overlap.as_secs_f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that arrive at these milliseconds after the given delays, by clocks an hour apart.
    fn seconds(packets: &[(u64, u64, u64)]) -> Vec<Second> {
        let mut saturation = Saturation::new();
        for &(number, received, delay) in packets {
            let hour = 3_600_000;
            let [sent_at, received_at] = [received + hour - delay, received]
                .map(|millis| Instant::ZERO + Span::from_millis(millis));
            saturation.arrived(Arrival { number, sent_at, received_at }, 7);
        }
        let mut seconds: Vec<Second> = std::iter::from_fn(|| saturation.closed()).collect();
        seconds.extend(saturation.open);
        seconds
    }

    #[test]
    fn a_full_queue_saturates_and_an_empty_one_does_not() {
        // Every 100 ms: at first without queueing, then with 500 ms of it, then without again.
        let delay = |n: u64| if (10..20).contains(&n) { 550 } else { 50 };
        let packets: Vec<(u64, u64, u64)> = (0..30).map(|n| (n, n * 100, delay(n))).collect();
        let all = seconds(&packets);
        assert_eq!(all.len(), 3);
        let queueing = all.iter().map(|s| s.least_queueing).collect::<Vec<_>>();
        let millis = |ms| Some(Span::from_millis(ms));
        assert_eq!(queueing, [millis(0), millis(500), millis(0)]);
        let saturated = all.iter().map(Second::is_saturated).collect::<Vec<_>>();
        // The packet at 1000 ms tells of the 100 ms before.
        assert_eq!(saturated, [false, false, false]);
        let parts = all.iter().map(|s| (s.saturated * 10.0).round() as u64).collect::<Vec<_>>();
        assert_eq!(parts, [1, 9, 0]);
        assert!(all.iter().all(|s| (s.received, s.missing, s.window) == (10, 0, 7)));
    }

    #[test]
    fn outages_with_a_queue_are_saturated_and_those_without_are_not() {
        let with = seconds(&[(0, 0, 50), (1, 100, 150), (2, 3500, 3500)]);
        assert_eq!(with.len(), 4);
        assert!(with[1].is_saturated() && with[2].is_saturated());
        assert_eq!((with[1].received, with[1].least_queueing), (0, None));
        let without = seconds(&[(0, 0, 50), (1, 100, 150), (2, 3500, 50)]);
        assert!(without.iter().all(|second| !second.is_saturated()));
        assert!((with[0].saturated - 0.99).abs() < 0.011, "{}", with[0].saturated);
    }

    #[test]
    fn what_is_missing_is_counted_where_it_would_have_come() {
        let all = seconds(&[(5, 0, 50), (6, 10, 50), (10, 20, 50), (8, 30, 50), (11, 1500, 50)]);
        let missing: Vec<u64> = all.iter().map(|second| second.missing).collect();
        assert_eq!(missing, [2, 0]);
    }
}
