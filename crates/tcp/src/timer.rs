//! [`Timer`]: the retransmission timer (RFC 6298).

use crate::settings::MinRto;
use exm_units::{Instant, Span};

/// The timer before the first RTT sample: RFC 6298, rule 2.1.
const FIRST: Span = Span::from_secs(1);
/// The maximum: RFC 6298, rule 2.5, at least a minute; two in Linux.
const LONGEST: Span = Span::from_secs(120);

/// The retransmission timer and the RTT estimates that it is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    floor: MinRto,
    /// The smoothed round-trip time, zero before the first measurement.
    srtt: Span,
    rttvar: Span,
    /// The timer as computed: `RTO` without back-off.
    rto: Span,
    /// How many times in a row it has expired.
    backoffs: u32,
    due: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(floor: MinRto) -> Timer {
        Timer { floor, srtt: Span::ZERO, rttvar: Span::ZERO, rto: FIRST, backoffs: 0, due: None }
    }

    pub(crate) fn srtt(&self) -> Span {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Span {
        self.rttvar
    }

    /// The timer as computed, without back-off.
    pub(crate) fn rto(&self) -> Span {
        self.rto
    }

    /// Takes the RTT sample `rtt`: rules 2.2 and 2.3, with the gains of 1/8 and 1/4.
    #[inline]
    pub(crate) fn measure(&mut self, rtt: Span) {
        if self.srtt.is_zero() {
            (self.srtt, self.rttvar) = (rtt, rtt / 2);
        } else {
            let (rtt, srtt) = (rtt.as_nanos(), self.srtt.as_nanos());
            let rttvar = self.rttvar.as_nanos();
            self.rttvar = Span::from_nanos(rttvar - rttvar / 4 + srtt.abs_diff(rtt) / 4);
            self.srtt = Span::from_nanos(srtt - srtt / 8 + rtt / 8);
        }
        let margin = self.rttvar.saturating_add(self.rttvar * 3);
        let rto = match self.floor {
            MinRto::Timer(floor) => self.srtt.saturating_add(margin).max(floor),
            MinRto::Margin(floor) => self.srtt.saturating_add(margin.max(floor)),
        };
        self.rto = rto.min(LONGEST);
        self.backoffs = 0;
    }

    /// Starts or restarts the timer: rules 5.1 and 5.3.
    #[inline]
    pub(crate) fn start(&mut self, now: Instant) {
        // Rule 5.5: doubled for each time it has expired.
        let backed_off = Span::from_nanos(self.rto.as_nanos() << self.backoffs.min(20));
        self.due = Some(now.saturating_add(backed_off.min(LONGEST)));
    }

    /// A segment is sent: starts the timer if it is not running.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant) {
        if self.due.is_none() {
            self.start(now);
        }
    }

    /// All segments are acknowledged: rule 5.2.
    #[inline]
    pub(crate) fn stop(&mut self) {
        self.due = None;
    }

    /// When it expires; [`Instant::MAX`] if it is not running.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due.unwrap_or(Instant::MAX)
    }

    /// It expired at `now`: rules 5.5 and 5.6.
    pub(crate) fn back_off(&mut self, now: Instant) {
        self.backoffs = self.backoffs.saturating_add(1);
        self.start(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn due(timer: &Timer) -> Span {
        timer.due() - Instant::ZERO
    }

    #[test]
    fn follows_the_rules() {
        let mut timer = Timer::new(MinRto::Timer(ms(200)));
        timer.start(Instant::ZERO);
        assert_eq!(due(&timer), ms(1000));
        timer.measure(ms(100));
        timer.start(Instant::ZERO);
        assert_eq!(due(&timer), ms(300), "srtt 100, rttvar 50");
        timer.measure(ms(180));
        timer.start(Instant::ZERO);
        // srtt 110, rttvar 37.5 + 20.
        assert_eq!((timer.srtt(), due(&timer)), (ms(110), ms(340)));
        timer.back_off(Instant::ZERO);
        timer.back_off(Instant::ZERO);
        assert_eq!(due(&timer), ms(4 * 340));
        (0..30).for_each(|_| timer.back_off(Instant::ZERO));
        assert_eq!(due(&timer), LONGEST);
    }

    #[test]
    fn a_floor_under_the_margin_outlasts_a_steady_round_trip() {
        let after_many = |floor| {
            let mut timer = Timer::new(floor);
            (0..200).for_each(|_| timer.measure(ms(900)));
            timer.start(Instant::ZERO);
            due(&timer)
        };
        assert!(after_many(MinRto::Timer(ms(200))) < ms(901));
        assert!(after_many(MinRto::Margin(ms(200))) >= ms(1099));
    }
}
