//! [`RttEstimate`]: round-trip times, smoothed.

use exm_units::Span;

/// The shortest timeout. RFC 6298 has one second, lest one is sent again in vain; a layer that sends
/// small datagrams and recovers by newer ones can afford to be quicker (mosh paper, section 2.2).
pub(crate) const SHORTEST: Span = Span::from_millis(50);
/// The longest timeout, and what holds before the first measurement (RFC 6298, rule 2.1).
const LONGEST: Span = Span::from_millis(1000);
/// Measurements from here on are ignored: the far end was suspended, or the 16 bits of the timestamp
/// have come round.
pub(crate) const IGNORED: Span = Span::from_millis(5000);

/// The round-trip time and its variation, estimated as in RFC 6298, section 2.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimate {
    smoothed: Option<(Span, Span)>,
}

impl RttEstimate {
    /// Nothing measured yet.
    pub fn new() -> RttEstimate {
        RttEstimate::default()
    }

    /// A round trip took `rtt`. False where that is too long to be believed: 5 s or more.
    pub fn measure(&mut self, rtt: Span) -> bool {
        if rtt >= IGNORED {
            return false;
        }
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let error = Span::from_nanos(srtt.as_nanos().abs_diff(rtt.as_nanos()));
                ((srtt * 7 + rtt) / 8, (rttvar * 3 + error) / 4)
            }
        });
        true
    }

    /// The smoothed round-trip time, once one was measured.
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The variation of the round-trip time, once one was measured.
    pub fn rttvar(&self) -> Option<Span> {
        self.smoothed.map(|(_, rttvar)| rttvar)
    }

    /// How long an answer may take before what was asked is taken for lost: between 50 ms and 1 s.
    pub fn timeout(&self) -> Span {
        let (srtt, rttvar) = self.smoothed.unwrap_or((LONGEST, Span::ZERO));
        (srtt + rttvar * 4).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn follows_rfc_6298() {
        let mut estimate = RttEstimate::new();
        assert_eq!((estimate.srtt(), estimate.timeout()), (None, ms(1000)));
        assert!(estimate.measure(ms(100)));
        assert_eq!((estimate.rttvar(), estimate.timeout()), (Some(ms(50)), ms(300)));
        assert!(estimate.measure(ms(180)));
        // srtt 110, rttvar 37.5 + 20.
        assert_eq!((estimate.srtt(), estimate.timeout()), (Some(ms(110)), ms(340)));
    }

    #[test]
    fn the_timeout_has_bounds() {
        let after_many = |rtt| {
            let mut estimate = RttEstimate::new();
            (0..200).for_each(|_| assert!(estimate.measure(rtt)));
            estimate.timeout()
        };
        assert_eq!([ms(0), ms(3), ms(4999)].map(after_many), [ms(50), ms(50), ms(1000)]);
    }

    #[test]
    fn what_cannot_be_is_ignored() {
        let mut estimate = RttEstimate::new();
        assert!(!estimate.measure(ms(5000)) && !estimate.measure(Span::MAX));
        assert_eq!(estimate.srtt(), None);
    }
}
