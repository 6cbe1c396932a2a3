//! [`Wakeup`]: when a controller is woken next.

use exm_units::{Instant, Span};

/// The time at which a controller asked to be woken, as far as its host grants it.
///
/// Every host uses this wake-up, so the same decisions give the same ticks everywhere. A controller is
/// woken at most once in [`Wakeup::TICK`]: one that asks for a time in the past, or always for now,
/// costs a bounded number of events and cannot stop simulated time.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup {
    due: Instant,
    /// One tick after the last.
    earliest: Instant,
}

impl Wakeup {
    /// The least time between two calls of [`on_tick`](crate::Controller::on_tick): a millisecond, the
    /// tick of a Linux kernel of 1000 Hz. Pacing is finer, and needs no ticks.
    pub const TICK: Span = Span::from_millis(1);

    /// The state of a controller that has requested nothing.
    pub const NONE: Wakeup = Wakeup { due: Instant::MAX, earliest: Instant::ZERO };

    /// The controller's last decision requests a wake-up at `at`, or none.
    #[inline]
    pub fn ask(&mut self, at: Option<Instant>) {
        self.due = at.map_or(Instant::MAX, |at| at.max(self.earliest));
    }

    /// When it is due; [`Instant::MAX`] for never.
    #[inline]
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Whether it is due at `now`. If so the controller's `on_tick` is called, and its decision
    /// [asks](Wakeup::ask) for the next one.
    pub fn take(&mut self, now: Instant) -> bool {
        let due = now >= self.due;
        if due {
            *self = Wakeup { due: Instant::MAX, earliest: now.saturating_add(Wakeup::TICK) };
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn is_due_when_asked_for_but_at_most_once_a_tick() {
        let mut wakeup = Wakeup::NONE;
        assert!(!wakeup.take(us(1_000_000)));
        wakeup.ask(Some(us(20)));
        assert_eq!((wakeup.due(), wakeup.take(us(19)), wakeup.take(us(20))), (us(20), false, true));
        assert_eq!(wakeup.due(), Instant::MAX, "it must be asked for again");
        for past in [us(0), us(20), us(1019)] {
            wakeup.ask(Some(past));
            assert_eq!(wakeup.due(), us(1020));
        }
        wakeup.ask(Some(us(5000)));
        assert_eq!(wakeup.due(), us(5000));
        wakeup.ask(None);
        assert_eq!(wakeup.due(), Instant::MAX);
    }
}
