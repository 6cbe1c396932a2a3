//! [`RttEstimate`]: the smoothed RTT.

use exm_units::Span;

/// The least timeout. RFC 6298 has one second to avoid spurious retransmissions; a layer that sends small
/// datagrams and recovers with newer ones can be quicker (mosh paper, section 2.2).
pub(crate) const SHORTEST: Span = Span::from_millis(50);
/// The greatest timeout, which also applies before the first sample (RFC 6298, rule 2.1).
const LONGEST: Span = Span::from_millis(1000);
/// Larger samples are ignored: the far end was suspended, or the 16-bit timestamp has wrapped.
pub(crate) const IGNORED: Span = Span::from_millis(5000);

/// The smoothed RTT and its variation (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimate {
    smoothed: Option<(Span, Span)>,
}

impl RttEstimate {
    /// An estimate without samples.
    pub fn new() -> RttEstimate {
        RttEstimate::default()
    }

    /// Adds the sample `rtt`; false if it is implausible, 5 s or more.
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

    /// The smoothed RTT, once there is a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The RTT variation, once there is a sample.
    pub fn rttvar(&self) -> Option<Span> {
        self.smoothed.map(|(_, rttvar)| rttvar)
    }

    /// The retransmission timeout, between 50 ms and 1 s.
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
    fn impossible_samples_are_ignored() {
        let mut estimate = RttEstimate::new();
        assert!(!estimate.measure(ms(5000)) && !estimate.measure(Span::MAX));
        assert_eq!(estimate.srtt(), None);
    }
}
