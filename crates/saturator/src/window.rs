//! [`Window`]: the number of packets in flight.

use exm_units::{Instant, Span};

/// The initial window.
const START: u32 = 20;
/// The window grows by one for each ACK with a shorter RTT than this, up to [`MOST`].
const TOO_SHORT: Span = Span::from_millis(750);
const MOST: u32 = 1500;
/// It shrinks by [`STEP`] for each ACK with a longer RTT than this, as long as it is above [`LEAST`].
const TOO_LONG: Span = Span::from_millis(3000);
const STEP: u32 = 20;
const LEAST: u32 = 30;
/// A packet is sent after this long without one even if the window is full, in case all packets were lost.
const IDLE: Span = Span::from_secs(1);

/// The number of packets in flight, such that the queue of the bottleneck is never empty: RTTs are kept between
/// 750 ms and 3 s (thesis, section 2.3.1).
///
/// Packets keep their order, since the link is one queue: those sent before the last acknowledged
/// one have arrived or are lost.
#[derive(Clone, Debug)]
pub struct Window {
    size: u32,
    /// The number of the next packet.
    next: u64,
    /// The number after the highest that was acknowledged.
    acknowledged: u64,
    last_sent: Option<Instant>,
}

impl Window {
    /// A window of 20 packets.
    pub fn new() -> Window {
        Window { size: START, next: 0, acknowledged: 0, last_sent: None }
    }

    /// The window in packets.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The packets in flight, including lost ones until a later one is acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.next - self.acknowledged
    }

    /// The number of packets sent.
    pub fn sent(&self) -> u64 {
        self.next
    }

    /// Whether a packet may be sent at `now`.
    pub fn is_open(&self, now: Instant) -> bool {
        now >= self.next_send()
    }

    /// When the next packet may be sent, unless one is acknowledged before.
    pub fn next_send(&self) -> Instant {
        match self.last_sent {
            Some(last) if self.in_flight() >= u64::from(self.size) => last.saturating_add(IDLE),
            _ => Instant::ZERO,
        }
    }

    /// Counts a packet sent at `now`, and returns its number.
    pub fn send(&mut self, now: Instant) -> u64 {
        self.last_sent = Some(now);
        self.next += 1;
        self.next - 1
    }

    /// Processes the ACK of the packet `number` with the RTT `rtt`. Numbers that were never sent are ignored.
    pub fn acknowledge(&mut self, number: u64, rtt: Span) {
        if number >= self.next {
            return;
        }
        self.acknowledged = self.acknowledged.max(number + 1);
        if rtt < TOO_SHORT && self.size < MOST {
            self.size += 1;
        } else if rtt > TOO_LONG && self.size > LEAST {
            self.size -= STEP;
        }
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// Sends as many as allowed, and returns the number.
    fn fill(window: &mut Window, now: Instant) -> u64 {
        let before = window.sent();
        while window.is_open(now) {
            window.send(now);
        }
        window.sent() - before
    }

    #[test]
    fn it_grows_while_rtts_are_short() {
        let mut window = Window::new();
        assert_eq!(fill(&mut window, at(0)), 20);
        // Each ACK lets two more be sent.
        window.acknowledge(0, Span::from_millis(100));
        assert_eq!((fill(&mut window, at(100)), window.size()), (2, 21));
        // A sufficient RTT: each ACK lets one be sent.
        window.acknowledge(1, Span::from_millis(750));
        assert_eq!((fill(&mut window, at(750)), window.size()), (1, 21));
        // Those before the last acknowledged one are no longer in flight.
        window.acknowledge(9, Span::from_millis(750));
        assert_eq!(window.in_flight(), 13);
    }

    #[test]
    fn it_shrinks_while_rtts_are_too_long() {
        let mut window = Window::new();
        for number in 0..40 {
            fill(&mut window, at(0));
            window.acknowledge(number, Span::from_millis(1));
        }
        assert_eq!(window.size(), 60);
        window.acknowledge(41, Span::from_millis(3001));
        assert_eq!((window.size(), window.is_open(at(1))), (40, false));
        window.acknowledge(42, Span::from_millis(3001));
        assert_eq!(window.size(), 20);
        window.acknowledge(43, Span::from_millis(3001));
        assert_eq!(window.size(), 20, "it does not shrink below 30");
    }

    #[test]
    fn a_silent_link_is_probed_once_a_second() {
        let mut window = Window::new();
        fill(&mut window, at(0));
        assert_eq!(window.next_send(), at(1000));
        assert!(!window.is_open(at(999)));
        assert_eq!((fill(&mut window, at(1000)), fill(&mut window, at(1999))), (1, 0));
    }

    proptest! {
        #[test]
        fn whatever_is_acknowledged_it_stays_within_its_bounds(
            steps in prop::collection::vec((any::<bool>(), 0u64..3000, 0u64..5000), 0..3000),
        ) {
            let mut window = Window::new();
            for (index, (is_sent, number, millis)) in (0..).zip(steps) {
                if is_sent && window.is_open(at(index)) {
                    window.send(at(index));
                } else {
                    window.acknowledge(number, Span::from_millis(millis));
                }
                prop_assert!((10..=MOST).contains(&window.size()));
                prop_assert!(window.in_flight() <= window.sent());
            }
        }
    }
}
