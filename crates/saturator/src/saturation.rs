//! [`Saturation`]: for how much of each second of a recording the link was saturated.

use crate::message::Arrival;
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// The length of an interval.
const SECOND: Span = Span::from_secs(1);
/// The variation of delays without a queue, which does not count as queueing delay.
const MARGIN: Span = Span::from_millis(10);
/// The saturated share of a second from which it counts as saturated.
const NEARLY_ALL: f64 = 0.99;

/// What happened in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Its number, counted from the first arrival.
    pub index: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets sent before those that did not arrive: lost or reordered.
    pub missing: u64,
    /// The least queueing delay of the packets; `None` if none arrived.
    pub least_queueing: Option<Span>,
    /// The greatest queueing delay.
    pub most_queueing: Span,
    /// The sender's window at the end.
    pub window: u32,
    /// The share of the second in which the queue was certainly not empty.
    pub saturated: f64,
}

impl Second {
    /// Whether the queue was never empty, so that the link delivered as much as it could.
    pub fn is_saturated(&self) -> bool {
        self.saturated >= NEARLY_ALL
    }
}

/// Infers from the queueing delay of each packet for how long before its arrival the queue was not empty.
///
/// The queueing delay is the delay in excess of the least one seen so far, less 10 ms. The two clocks may have any
/// offset, but must run at the same rate.
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
    /// No arrivals yet.
    pub fn new() -> Saturation {
        Saturation::default()
    }

    /// Adds an arrival, with the sender's window of `window` packets. Arrivals must be added in order.
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

    /// The next second that is complete; `None` if the last arrival was in it.
    pub fn closed(&mut self) -> Option<Second> {
        if self.open.len() > 1 { self.open.pop_front() } else { None }
    }

    /// The last, perhaps incomplete second; `None` if nothing arrived.
    pub fn last(&self) -> Option<Second> {
        self.open.back().copied()
    }

    /// The queueing delay of a packet.
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
        // The packet at 1000 ms covers the 100 ms before it.
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
    fn missing_packets_are_counted_where_they_would_have_arrived() {
        let all = seconds(&[(5, 0, 50), (6, 10, 50), (10, 20, 50), (8, 30, 50), (11, 1500, 50)]);
        let missing: Vec<u64> = all.iter().map(|second| second.missing).collect();
        assert_eq!(missing, [2, 0]);
    }
}
