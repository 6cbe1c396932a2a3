//! [`ArrivalLog`] and [`Collector`]: the reliable report of arrivals at one end to the other.

use crate::message::{Arrival, MAX_ARRIVALS, MAX_REQUESTED, Message};
use exm_units::{Instant, Span};
use std::collections::{BTreeMap, VecDeque};

/// How many arrivals are kept for retransmission: 3 s at 1 Gbit/s, in 6 MB.
const MAX_KEPT: usize = 1 << 18;
/// How often missing arrivals are requested.
const REQUEST_INTERVAL: Span = Span::from_millis(100);
/// After this long, missing arrivals are given up.
const PATIENCE: Span = Span::from_secs(10);

/// The arrivals at one end, numbered in order.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// The most recent ones.
    kept: VecDeque<Arrival>,
    /// The number of the oldest one that is kept.
    first: u64,
    /// The number of the first one that has not been reported.
    unreported: u64,
}

impl ArrivalLog {
    /// An empty log.
    pub fn new() -> ArrivalLog {
        ArrivalLog::default()
    }

    /// The number of arrivals.
    pub fn count(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Adds an arrival.
    pub fn push(&mut self, arrival: Arrival) {
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
            self.first += 1;
        }
        self.kept.push_back(arrival);
    }

    /// A message with the next unreported arrivals; `None` if all have been reported.
    pub fn report(&mut self) -> Option<Message> {
        let message = self.message(self.unreported, MAX_ARRIVALS)?;
        if let Message::Arrivals { first, arrivals } = &message {
            self.unreported = first + arrivals.len() as u64;
        }
        Some(message)
    }

    /// Messages that repeat `count` arrivals from `first` on, as far as they are still kept.
    pub fn repeat(&self, first: u64, count: u16) -> impl Iterator<Item = Message> + '_ {
        let first = first.max(self.first);
        let end = first.saturating_add(u64::from(count.min(MAX_REQUESTED))).min(self.unreported);
        (first..end).step_by(MAX_ARRIVALS).filter_map(move |from| {
            self.message(from, (end - from).min(MAX_ARRIVALS as u64) as usize)
        })
    }

    /// A message with at most `most` arrivals from `first` on.
    fn message(&self, first: u64, most: usize) -> Option<Message> {
        let first = first.max(self.first);
        let from = usize::try_from(first - self.first).ok()?;
        let arrivals: Vec<Arrival> = self.kept.iter().skip(from).take(most).copied().collect();
        (!arrivals.is_empty()).then_some(Message::Arrivals { first, arrivals })
    }
}

/// Orders the reported arrivals of the other end, and requests missing ones.
#[derive(Clone, Debug)]
pub struct Collector {
    /// The number of the next arrival in order.
    next: u64,
    /// Those that were reported out of order.
    early: BTreeMap<u64, Arrival>,
    /// How many arrivals are known to exist.
    known: u64,
    /// Since when the next one has been missing.
    missing_since: Option<Instant>,
    asked_at: Option<Instant>,
    given_up: u64,
}

impl Default for Collector {
    fn default() -> Collector {
        Collector::new()
    }
}

impl Collector {
    /// A collector that expects the first arrival.
    pub fn new() -> Collector {
        Collector {
            next: 0,
            early: BTreeMap::new(),
            known: 0,
            missing_since: None,
            asked_at: None,
            given_up: 0,
        }
    }

    /// How many arrivals have been collected or given up.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many arrivals have been given up.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether all known arrivals have been collected or given up.
    pub fn is_complete(&self) -> bool {
        self.next >= self.known
    }

    /// Notes that there are `count` arrivals by now.
    pub fn expect(&mut self, count: u64) {
        self.known = self.known.max(count);
    }

    /// Processes a report, received at `now`, of `arrivals`, whose first has the number `first`.
    pub fn reported(&mut self, now: Instant, first: u64, arrivals: &[Arrival]) {
        for (number, &arrival) in (first..).zip(arrivals) {
            // An arrival that is implausibly far ahead is ignored, so that a faulty peer cannot fill memory.
            if number >= self.next && number - self.next < MAX_KEPT as u64 {
                self.early.insert(number, arrival);
                self.known = self.known.max(number + 1);
            }
        }
        self.update(now);
    }

    /// The next arrival in order, if it has been reported.
    pub fn take(&mut self, now: Instant) -> Option<Arrival> {
        let arrival = self.early.remove(&self.next)?;
        self.next += 1;
        self.missing_since = None;
        self.update(now);
        Some(arrival)
    }

    /// A request for missing arrivals, if one is due at `now`.
    pub fn request(&mut self, now: Instant) -> Option<Message> {
        self.update(now);
        if now < self.next_request() {
            return None;
        }
        let gap = self.early.keys().next().map_or(self.known, |&first| first) - self.next;
        self.asked_at = Some(now);
        let count = gap.min(u64::from(MAX_REQUESTED)) as u16;
        Some(Message::Request { first: self.next, count })
    }

    /// When the next request may be due, unless a report arrives before.
    pub fn next_request(&self) -> Instant {
        let Some(since) = self.missing_since else { return Instant::MAX };
        let again = self.asked_at.map_or(Instant::ZERO, |at| at.saturating_add(REQUEST_INTERVAL));
        again.max(since.saturating_add(REQUEST_INTERVAL))
    }

    /// Notes whether the next arrival is missing, and gives up what has been missing for too long.
    fn update(&mut self, now: Instant) {
        if self.is_complete() || self.early.contains_key(&self.next) {
            self.missing_since = None;
            return;
        }
        let since = *self.missing_since.get_or_insert(now);
        if now.saturating_since(since) > PATIENCE {
            let next = self.early.keys().next().map_or(self.known, |&first| first);
            self.given_up += next - self.next;
            self.next = next;
            self.missing_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::{Purpose, Stream};
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn arrival(number: u64) -> Arrival {
        Arrival { number, sent_at: at(number), received_at: at(number + 50) }
    }

    fn numbers(message: &Message) -> (u64, usize) {
        match message {
            Message::Arrivals { first, arrivals } => (*first, arrivals.len()),
            other => panic!("{other:?} has no arrivals"),
        }
    }

    #[test]
    fn each_is_reported_once_and_again_on_request() {
        let mut log = ArrivalLog::new();
        assert_eq!(log.report(), None);
        (0..100).for_each(|number| log.push(arrival(number)));
        let reports: Vec<(u64, usize)> =
            std::iter::from_fn(|| log.report()).map(|message| numbers(&message)).collect();
        assert_eq!(reports, [(0, 45), (45, 45), (90, 10)]);
        log.push(arrival(100));
        let again = |first, count| -> Vec<(u64, usize)> {
            log.repeat(first, count).map(|message| numbers(&message)).collect()
        };
        assert_eq!(again(10, 3), [(10, 3)]);
        assert_eq!(again(50, 65535), [(50, 45), (95, 5)], "only reported arrivals");
        assert_eq!(again(1000, 5), []);
        assert_eq!(again(u64::MAX, 5), []);
    }

    #[test]
    fn the_log_forgets() {
        let mut log = ArrivalLog::new();
        (0..MAX_KEPT as u64 + 10).for_each(|number| log.push(arrival(number)));
        while log.report().is_some() {}
        assert_eq!(log.count(), MAX_KEPT as u64 + 10);
        assert_eq!(log.repeat(0, 1).next().map(|message| numbers(&message)), Some((10, 1)));
    }

    #[test]
    fn missing_arrivals_are_given_up() {
        let mut collector = Collector::new();
        collector.reported(at(0), 3, &[arrival(3)]);
        assert_eq!((collector.take(at(0)), collector.request(at(50))), (None, None));
        let request = Message::Request { first: 0, count: 3 };
        assert_eq!(collector.request(at(100)), Some(request.clone()));
        assert_eq!(collector.request(at(150)), None);
        assert_eq!(collector.request(at(200)), Some(request));
        collector.request(at(10_001));
        assert_eq!(collector.take(at(10_001)), Some(arrival(3)));
        assert_eq!((collector.given_up(), collector.is_complete()), (3, true));
        // The last ones may be missing, too.
        collector.expect(5);
        assert!(!collector.is_complete());
        collector.request(at(11_000));
        assert_eq!(collector.request(at(11_100)), Some(Message::Request { first: 4, count: 1 }));
    }

    #[test]
    fn a_faulty_peer_cannot_fill_memory() {
        let mut collector = Collector::new();
        for number in (0..u64::MAX - 100).step_by(usize::MAX / 1000) {
            collector.reported(at(0), number, &[arrival(0); MAX_ARRIVALS]);
        }
        assert!(collector.early.len() <= MAX_ARRIVALS);
    }

    proptest! {
        /// Whatever messages are lost, duplicated and reordered, all arrivals are collected in order.
        #[test]
        fn all_arrivals_are_collected(seed in any::<u64>(), loss in 0.0f64..0.6) {
            let mut stream = Stream::new(seed, Purpose::Loss, 0);
            let (mut log, mut collector) = (ArrivalLog::new(), Collector::new());
            let mut on_the_way: Vec<Message> = Vec::new();
            let mut collected = Vec::new();
            for step in 0..3000 {
                if step < 500 {
                    log.push(arrival(step));
                }
                on_the_way.extend(std::iter::from_fn(|| log.report()));
                collector.expect(log.count());
                if let Some(Message::Request { first, count }) = collector.request(at(step * 10)) {
                    on_the_way.extend(log.repeat(first, count));
                }
                on_the_way.retain(|_| stream.uniform() >= loss);
                while on_the_way.len() > 3 || (step > 600 && !on_the_way.is_empty()) {
                    let message = on_the_way.swap_remove(stream.below(on_the_way.len()));
                    let Message::Arrivals { first, arrivals } = &message else { continue };
                    collector.reported(at(step * 10), *first, arrivals);
                }
                collected.extend(std::iter::from_fn(|| collector.take(at(step * 10))));
            }
            prop_assert_eq!(collector.given_up(), 0);
            prop_assert_eq!(collected, (0..500).map(arrival).collect::<Vec<_>>());
        }
    }
}
