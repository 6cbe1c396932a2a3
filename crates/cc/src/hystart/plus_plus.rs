//! [`PlusPlus`]: HyStart++ (RFC 9406).

use crate::controller::Ack;
use crate::window::{RoundTrip, acked};
use exm_units::Span;

/// RFC 9406, section 4.3: `MIN_RTT_THRESH`, the least rise of the round-trip time that counts.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
/// RFC 9406, section 4.3: `MAX_RTT_THRESH`, a rise that always counts.
const MAX_RTT_THRESH: Span = Span::from_millis(16);
/// RFC 9406, section 4.3: `MIN_RTT_DIVISOR`, between the two a rise by this part counts.
const MIN_RTT_DIVISOR: u64 = 8;
/// RFC 9406, section 4.3: `N_RTT_SAMPLE`, how many RTT samples a round needs to count.
const N_RTT_SAMPLE: u32 = 8;
/// RFC 9406, section 4.3: `CSS_GROWTH_DIVISOR`, how much slower the conservative slow start grows.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// RFC 9406, section 4.3: `CSS_ROUNDS`, how many rounds the conservative slow start lasts.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406, section 4.3: `L`, the most packets one acknowledgement counts for without pacing.
const L: f64 = 8.0;

/// Watches round-trip times in slow start. When the least of a round is clearly above that of the
/// round before, slow start goes on at a quarter of its pace (conservative slow start, CSS) for
/// five rounds, and then ends; if the rise proves to be jitter, slow start resumes.
#[derive(Clone, Debug)]
pub(super) struct PlusPlus {
    round: RoundTrip,
    last_min: Span,
    current_min: Span,
    samples: u32,
    conservative: Option<Conservative>,
}

/// The conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The least round-trip time when it began: a lower one means that it began without cause.
    baseline: Span,
    /// Rounds ended since it began, the one it began in included.
    rounds: u32,
}

impl PlusPlus {
    /// HyStart++ at the start of a flow.
    pub(super) fn new() -> PlusPlus {
        PlusPlus {
            round: RoundTrip::default(),
            last_min: Span::MAX,
            current_min: Span::MAX,
            samples: 0,
            conservative: None,
        }
    }

    /// The number of packets by which `ack` increases the window; `None` if slow start is over.
    pub(super) fn grow(&mut self, ack: &Ack) -> Option<f64> {
        if self.round.ends(ack) {
            self.end_round()?;
        }
        self.observe(ack.rtt());
        let packets = acked(ack).min(L);
        Some(if self.conservative.is_some() { packets / CSS_GROWTH_DIVISOR } else { packets })
    }

    /// RFC 9406, section 4.2; `None` if it was the last round of slow start.
    fn end_round(&mut self) -> Option<()> {
        (self.last_min, self.current_min, self.samples) = (self.current_min, Span::MAX, 0);
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds += 1;
            if conservative.rounds >= CSS_ROUNDS {
                return None;
            }
        }
        Some(())
    }

    fn observe(&mut self, rtt: Span) {
        self.current_min = self.current_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.current_min < baseline => {
                self.conservative = None;
            }
            None if self.has_risen() => {
                let baseline = self.current_min;
                self.conservative = Some(Conservative { baseline, rounds: 0 });
            }
            _ => {}
        }
    }

    fn has_risen(&self) -> bool {
        let rise = (self.last_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        self.last_min != Span::MAX && self.current_min >= self.last_min.saturating_add(rise)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Beginning, SlowStart, slow_start};
    use super::*;
    use crate::controller::INITIAL_WINDOW;
    use crate::window::Window;
    use exm_units::Instant;

    /// Runs one round of `window` acknowledgements sent at `sent`, the round-trip time `rtt` ms.
    fn round(window: &mut Window, beginning: &mut Beginning, sent: u64, rtt: u64) -> u64 {
        let (sent, rtt) = (Instant::ZERO + Span::from_millis(sent), Span::from_millis(rtt));
        let now = sent + rtt;
        for _ in 0..window.cwnd as u64 {
            if window.in_slow_start() {
                slow_start(window, beginning, &Ack::new(0, sent, now));
            }
        }
        now.as_nanos() / 1_000_000
    }

    #[test]
    fn a_rising_round_trip_time_slows_then_ends_slow_start() {
        let (mut window, mut beginning) =
            (Window::of(INITIAL_WINDOW), Beginning::new(SlowStart::HyStartPlusPlus));
        let mut now = round(&mut window, &mut beginning, 0, 100);
        assert_eq!(window.cwnd, 20.0);
        now = round(&mut window, &mut beginning, now, 100);
        assert_eq!(window.cwnd, 40.0);
        // 12 ms and no less: an eighth of 100 ms is 12.5 ms.
        now = round(&mut window, &mut beginning, now, 112);
        assert_eq!(window.cwnd, 80.0, "the rise is too small");
        now = round(&mut window, &mut beginning, now, 126);
        assert_eq!(window.cwnd, 80.0 + 7.0 + 73.0 / 4.0, "slow after the eighth sample");
        for _ in 0..4 {
            assert!(window.in_slow_start());
            now = round(&mut window, &mut beginning, now, 126);
        }
        round(&mut window, &mut beginning, now, 126);
        assert!(!window.in_slow_start(), "five rounds, and no more");
        assert!((250.0..260.0).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn jitter_does_not_end_slow_start() {
        let (mut window, mut beginning) =
            (Window::of(INITIAL_WINDOW), Beginning::new(SlowStart::HyStartPlusPlus));
        let mut now = round(&mut window, &mut beginning, 0, 50);
        now = round(&mut window, &mut beginning, now, 80);
        let slowed = window.cwnd;
        assert!(slowed < 40.0);
        for _ in 0..8 {
            now = round(&mut window, &mut beginning, now, 50);
        }
        assert!(window.in_slow_start());
        assert!(window.cwnd > 100.0 * slowed);
    }

    #[test]
    fn one_acknowledgement_counts_for_eight_packets_at_most() {
        let (mut window, mut beginning) =
            (Window::of(INITIAL_WINDOW), Beginning::new(SlowStart::HyStartPlusPlus));
        let mut ack = Ack::new(0, Instant::ZERO, Instant::ZERO);
        ack.acked = exm_units::Packets::new(100);
        slow_start(&mut window, &mut beginning, &ack);
        assert_eq!(window.cwnd, 18.0);
    }

    #[test]
    fn later_slow_starts_are_plain() {
        let (mut window, mut beginning) =
            (Window::of(INITIAL_WINDOW), Beginning::new(SlowStart::HyStartPlusPlus));
        window.ssthresh = 1e6;
        let mut now = round(&mut window, &mut beginning, 0, 100);
        for rtt in [200, 400, 800] {
            now = round(&mut window, &mut beginning, now, rtt);
        }
        assert_eq!(window.cwnd, 160.0);
    }
}
