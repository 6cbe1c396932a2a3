//! [`Window`]: how much of a stream may be unacknowledged.

use crate::timing::{ACK_DELAY, Rtt};
use exm_units::{Instant, Span};
use std::collections::VecDeque;

/// Bytes of a stream that fit a datagram whatever they are, beside keys and a small update.
const DATAGRAM: usize = 1024;
/// The first window.
const INITIAL: usize = 8 * DATAGRAM;
/// The largest window.
const LARGEST: usize = 512 << 10;
/// Queueing delay that is tolerated on any path: frames are bursts, which take time on a link.
const TOLERATED: Span = Span::from_millis(25);
/// After so long the shortest RTT is measured anew: the path may have changed.
const MEMORY: Span = Span::from_secs(60);

/// A congestion window for a [`StreamLog`](crate::StreamLog): how many of its bytes may be unacknowledged.
///
/// It starts with 8 KiB and doubles every round trip. After the first loss, or once the queueing delay exceeds half of the RTT
/// (at least 25 ms), it grows by 1 KiB a round trip, as long as the queueing delay stays below that; it is halved when nothing
/// is acknowledged in time, and shrinks by an eighth a round trip when the queueing delay is twice as long. It is 1 KiB to 512 KiB.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    is_slow_start: bool,
    /// Whether a timeout has occurred since the last acknowledgement.
    is_recovering: bool,
    acknowledged: u64,
    highest: u64,
    /// The end of the stream in states that were sent and not acknowledged, and when each was sent.
    flights: VecDeque<(u64, Instant)>,
    shortest: Option<(Span, Instant)>,
    reduced_at: Option<Instant>,
}

impl Default for Window {
    fn default() -> Window {
        Window::new()
    }
}

impl Window {
    /// The window of a new session.
    pub fn new() -> Window {
        Window {
            size: INITIAL,
            is_slow_start: true,
            is_recovering: false,
            acknowledged: 0,
            highest: 0,
            flights: VecDeque::new(),
            shortest: None,
            reduced_at: None,
        }
    }

    /// How many bytes may be unacknowledged. After a timeout a frame is sent twice a round trip until something is
    /// acknowledged, so that it may have half of the window.
    pub fn limit(&self) -> usize {
        if self.is_recovering { (self.size / 2).max(DATAGRAM) } else { self.size }
    }

    /// How many new bytes a state may have: states are sent twice a round trip, and a link that is shared with keys is not given
    /// all at once.
    pub fn frame(&self) -> usize {
        (self.limit() / 2).max(DATAGRAM)
    }

    /// Whether nothing was acknowledged since a timeout: what is in flight is lost, and retransmissions are limited, too.
    pub fn is_recovering(&self) -> bool {
        self.is_recovering
    }

    /// A state in which the stream ends at the offset `end` was sent at `now`.
    pub fn sent(&mut self, now: Instant, end: u64) {
        if end > self.highest || (end > self.acknowledged && self.flights.is_empty()) {
            self.highest = end.max(self.highest);
            self.flights.push_back((end, now));
        }
    }

    /// The stream is acknowledged up to the offset `end`, at `now`.
    pub fn acknowledged(&mut self, now: Instant, end: u64) {
        let bytes = end.saturating_sub(self.acknowledged) as usize;
        if bytes == 0 {
            return;
        }
        let in_flight = self.highest.saturating_sub(self.acknowledged) as usize;
        let mut sent_at = None;
        while let Some(&(_, at)) = self.flights.front().filter(|flight| flight.0 <= end) {
            sent_at = Some(at);
            self.flights.pop_front();
        }
        let was_recovering = std::mem::take(&mut self.is_recovering);
        self.acknowledged = end;
        self.highest = self.highest.max(end);
        // A window that is not used proves nothing about the path. On a short one, a frame is acknowledged before the next is sent:
        // all that is in flight is a frame, less what did not fit it.
        let Some(at) = sent_at.filter(|_| !was_recovering) else { return };
        let rtt = now.saturating_since(at);
        let queueing = self.queueing(now, rtt);
        if in_flight * 5 >= self.size * 2 {
            self.adapt(now, rtt, queueing, bytes);
        }
    }

    /// By how much `rtt` exceeds the shortest, and how much is tolerated.
    fn queueing(&mut self, now: Instant, rtt: Span) -> (Span, Span) {
        let is_old = |at: Instant| now.saturating_since(at) > MEMORY;
        let shortest = match self.shortest {
            Some((shortest, at)) if shortest < rtt && !is_old(at) => shortest,
            _ => {
                self.shortest = Some((rtt, now));
                rtt
            }
        };
        (rtt - shortest, TOLERATED.max(shortest / 2))
    }

    /// Changes the size after `bytes` were acknowledged.
    fn adapt(
        &mut self,
        now: Instant,
        rtt: Span,
        (queueing, tolerated): (Span, Span),
        bytes: usize,
    ) {
        self.is_slow_start &= queueing <= tolerated;
        if queueing > tolerated * 2 {
            if self.reduced_at.is_none_or(|at| now.saturating_since(at) >= rtt) {
                self.reduced_at = Some(now);
                self.size -= self.size / 8;
            }
        } else if queueing <= tolerated {
            self.size += if self.is_slow_start { bytes } else { DATAGRAM * bytes / self.size };
        }
        self.size = self.size.clamp(DATAGRAM, LARGEST);
    }

    /// Halves the window if nothing was acknowledged in time.
    pub fn check(&mut self, now: Instant, rtt: &Rtt) {
        if now < self.timeout(rtt) {
            return;
        }
        self.flights.clear();
        self.size = (self.size / 2).max(DATAGRAM);
        (self.is_slow_start, self.is_recovering) = (false, true);
        // Retransmissions have as long.
        let end = self.highest.min(self.acknowledged + self.limit() as u64);
        self.flights.push_back((end, now));
    }

    /// When to call [`Window::check`] next.
    pub fn timeout(&self, rtt: &Rtt) -> Instant {
        let patience = rtt.timeout.saturating_add(ACK_DELAY);
        // At the smallest window there is nothing left to halve.
        let is_smallest = self.is_recovering && self.size == DATAGRAM;
        let first = self.flights.front().filter(|_| !is_smallest);
        first.map_or(Instant::MAX, |(_, at)| at.saturating_add(patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Rtt = Rtt { srtt: Span::from_millis(100), timeout: Span::from_millis(200) };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn it_doubles_each_round_trip_and_is_halved_by_a_loss() {
        let mut window = Window::new();
        let (mut now, mut end) = (0, 0);
        for round in 0..3 {
            assert_eq!(window.limit(), INITIAL << round);
            end += window.limit() as u64;
            window.sent(at(now), end);
            now += 100;
            window.acknowledged(at(now), end);
        }
        let before = window.limit();
        window.sent(at(now), end + 50_000);
        assert_eq!(window.timeout(&RTT), at(now + 300));
        window.check(at(now + 299), &RTT);
        assert!(!window.is_recovering());
        window.check(at(now + 300), &RTT);
        assert_eq!((window.is_recovering(), window.limit()), (true, before / 4));
        end += window.limit() as u64;
        window.acknowledged(at(now + 400), end);
        assert_eq!(window.limit(), before / 2);
        // Then it grows by a datagram each round trip.
        end += window.limit() as u64;
        window.sent(at(now + 400), end);
        window.acknowledged(at(now + 500), end);
        assert_eq!(window.limit(), before / 2 + DATAGRAM);
    }

    #[test]
    fn it_grows_on_paths_shorter_than_the_interval_between_frames() {
        let mut window = Window::new();
        let (mut now, mut end) = (0, 0);
        for _ in 0..10 {
            // A frame of a channel does not fill the last bytes.
            end += window.frame() as u64 - 10;
            window.sent(at(now), end);
            window.acknowledged(at(now + 1), end);
            now += 20;
        }
        assert!(window.limit() > 20 * INITIAL, "{}", window.limit());
        let before = window.limit();
        end += 1000;
        window.sent(at(now), end);
        window.acknowledged(at(now + 1), end);
        assert_eq!(window.limit(), before, "it was not used");
    }

    #[test]
    fn an_outage_leaves_a_datagram() {
        let mut window = Window::new();
        window.sent(at(0), 8192);
        let mut checks = 0;
        while window.timeout(&RTT) != Instant::MAX {
            window.check(window.timeout(&RTT), &RTT);
            checks += 1;
        }
        assert_eq!((window.limit(), checks), (DATAGRAM, 3));
        window.acknowledged(at(60_000), 1024);
        assert_eq!(window.timeout(&RTT), Instant::MAX);
        window.sent(at(60_000), 2048);
        assert_eq!(window.timeout(&RTT), at(60_300));
    }

    #[test]
    fn a_queue_stops_the_growth() {
        let mut window = Window::new();
        let (mut now, mut end) = (0, 0);
        for rtt in [50, 60, 120, 120] {
            end += window.limit() as u64;
            window.sent(at(now), end);
            now += rtt;
            window.acknowledged(at(now), end);
        }
        assert_eq!(window.limit(), 32 * DATAGRAM * 49 / 64);
    }

    #[test]
    fn what_is_not_used_does_not_grow() {
        let mut window = Window::new();
        for round in 1..100 {
            window.sent(at(round * 100), round * 100);
            window.acknowledged(at(round * 100 + 50), round * 100);
        }
        assert_eq!(window.limit(), INITIAL);
    }
}
