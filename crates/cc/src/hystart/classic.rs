//! [`Classic`]: HyStart (Ha & Rhee, Computer Networks 2011), or only its ACK-train half.

use crate::controller::Ack;
use exm_units::{Instant, Span};

/// Below this window HyStart is inactive: `hystart_low_window` of Linux.
const LOW_WINDOW: f64 = 16.0;
/// ACKs no further apart than this belong to one train: section 4.2.1, 2 ms as in Linux.
const TRAIN_GAP: Span = Span::from_millis(2);
/// The bounds on the RTT increase that ends slow start, which between them is an eighth: section 4.2.2, 4
/// and 16 ms as in Linux.
const MIN_RISE: Span = Span::from_millis(4);
const MAX_RISE: Span = Span::from_millis(16);
/// How many RTT samples of a round are used: section 4.2.2.
const SAMPLES: u32 = 8;

/// Ends slow start when the ACKs of a round form one long train, so that the window fills the path; or, if
/// it uses delay too, when the RTT rises.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    /// Whether it uses delay, and takes half the minimum RTT for a long train, as Linux does without
    /// pacing. Otherwise only a train of a full minimum RTT is long.
    delay: bool,
    round_began: Instant,
    train_end: Instant,
    least: Span,
    least_of_round: Span,
    samples: u32,
}

impl Classic {
    pub(super) fn new(delay: bool) -> Classic {
        Classic {
            delay,
            round_began: Instant::ZERO,
            train_end: Instant::ZERO,
            least: Span::MAX,
            least_of_round: Span::MAX,
            samples: 0,
        }
    }

    /// Whether slow start is over with `ack` and a window of `cwnd`.
    pub(super) fn is_over(&mut self, ack: &Ack, cwnd: f64) -> bool {
        let rtt = ack.rtt();
        self.least = self.least.min(rtt);
        let train = self.extends_train(ack.now);
        if self.samples < SAMPLES {
            self.least_of_round = self.least_of_round.min(rtt);
            self.samples += 1;
        }
        let over = cwnd >= LOW_WINDOW && (train || self.delay && self.has_risen());
        if self.ends_round(ack) {
            (self.round_began, self.train_end) = (ack.now, ack.now);
            (self.least_of_round, self.samples) = (Span::MAX, 0);
        }
        over
    }

    /// Whether `ack` is of a packet sent in this round. Linux starts the round after what the first ACK of
    /// a round released (`end_seq`); without that each round would begin twice as many packets later than
    /// the one before. The variant that needs a train of a whole RTT leaves it out, to agree with ns-3.
    fn ends_round(&self, ack: &Ack) -> bool {
        if self.delay { ack.sent_at >= self.round_began } else { ack.sent_at > self.round_began }
    }

    fn extends_train(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.train_end) > TRAIN_GAP {
            return false;
        }
        self.train_end = now;
        let long = if self.delay { self.least / 2 } else { self.least };
        now.saturating_since(self.round_began) > long
    }

    fn has_risen(&self) -> bool {
        let rise = (self.least / 8).clamp(MIN_RISE, MAX_RISE);
        self.samples >= SAMPLES && self.least_of_round > self.least.saturating_add(rise)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Beginning, SlowStart, slow_start};
    use crate::controller::{Ack, INITIAL_WINDOW};
    use crate::window::Window;
    use exm_units::{Instant, Span};

    /// A round of the window's packets, sent at `sent` ms, whose acknowledgements are `gap_us`
    /// apart after `rtt` ms. Returns whether slow start goes on.
    fn round(
        window: &mut Window,
        beginning: &mut Beginning,
        sent: u64,
        [rtt, gap_us]: [u64; 2],
    ) -> bool {
        let sent = Instant::ZERO + Span::from_millis(sent);
        for number in 0..window.cwnd as u64 {
            let now = sent + Span::from_millis(rtt) + Span::from_micros(gap_us * number);
            if window.in_slow_start() {
                slow_start(window, beginning, &Ack::new(number, now - Span::from_millis(rtt), now));
            }
        }
        window.in_slow_start()
    }

    /// Runs rounds of a path of 100 ms that lets a packet through each `gap_us` until slow start ends, and
    /// returns the window then.
    fn ends_at(kind: SlowStart, gap_us: u64) -> f64 {
        let mut window = Window::of(INITIAL_WINDOW);
        let mut beginning = Beginning::new(kind);
        let goes_on =
            (1..20).take_while(|n| round(&mut window, &mut beginning, n * 200, [100, gap_us]));
        assert!(goes_on.count() < 19);
        window.cwnd
    }

    #[test]
    fn a_long_train_ends_it() {
        // A train of 50 ms is 63 acknowledgements, one of 100 ms 126.
        let half = ends_at(SlowStart::HyStart, 800);
        assert!((80.0 + 60.0..80.0 + 66.0).contains(&half), "{half}");
        let whole = ends_at(SlowStart::AckTrain, 800);
        assert!((160.0 + 123.0..160.0 + 129.0).contains(&whole), "{whole}");
    }

    /// Runs rounds over 15 Mbps and 150 ms until slow start ends, and returns the window then. From the
    /// eleventh packet of round `late_round` on, the link is 1.8 ms late.
    fn ends_where_late(late_round: u64) -> f64 {
        let mut window = Window::of(INITIAL_WINDOW);
        let mut beginning = Beginning::new(SlowStart::HyStart);
        for number in 1..10 {
            let sent = Instant::ZERO + Span::from_millis(400 * number);
            for packet in 0..window.cwnd as u64 {
                let late = if number == late_round && packet > 10 { 1800 } else { 0 };
                let now = sent + Span::from_millis(150) + Span::from_micros(800 * packet + late);
                slow_start(&mut window, &mut beginning, &Ack::new(packet, sent, now));
                if !window.in_slow_start() {
                    return window.cwnd;
                }
            }
        }
        unreachable!("a train of half a round trip is 94 packets")
    }

    /// Linux 6.18 leaves at 256 packets there, and in runs whose acknowledgements were more than 2 ms apart
    /// early in the round of 160 packets at 415 or 416.
    #[test]
    fn a_gap_in_the_train_puts_the_end_off_by_a_round() {
        let on_time = ends_where_late(0);
        assert!((253.0..=257.0).contains(&on_time), "{on_time}");
        let late = ends_where_late(5);
        assert!((412.0..=417.0).contains(&late), "{late}");
    }

    #[test]
    fn a_rising_round_trip_ends_it() {
        let run = |kind| {
            let mut window = Window::of(INITIAL_WINDOW);
            let mut beginning = Beginning::new(kind);
            for (sent, rtt) in [(100, 100), (300, 100), (500, 112)] {
                assert!(round(&mut window, &mut beginning, sent, [rtt, 10]));
            }
            round(&mut window, &mut beginning, 700, [113, 10])
        };
        assert!(!run(SlowStart::HyStart), "an eighth is 12.5 ms");
        assert!(run(SlowStart::AckTrain), "trains alone are not enough");
    }
}
