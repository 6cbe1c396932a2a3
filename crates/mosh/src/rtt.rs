//! What the datagram layer has measured, as the layer above wants it.

use exm_datagram::Session;
use exm_ssp::Rtt;

pub(crate) fn rtt(session: &Session) -> Rtt {
    let (estimate, unknown) = (session.rtt(), Rtt::default());
    match estimate.srtt() {
        Some(srtt) => Rtt { srtt, timeout: estimate.timeout() },
        None => unknown,
    }
}

/// The weight of a datagram in the average.
const GAIN: f64 = 1.0 / 16.0;
/// A gap counts as this many losses at most: the peer was away.
const LONGEST_GAP: u64 = 16;
/// A path with more losses than this is one that loses datagrams.
const LOSSY: f64 = 0.02;

/// The share of the peer's datagrams that get lost: a moving average over sequence numbers. One that is overtaken counts as lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    next: u64,
    share: f64,
}

impl Losses {
    /// A datagram was opened, and `highest` is the highest sequence number since.
    pub(crate) fn opened(&mut self, highest: Option<u64>) {
        let Some(gap) = highest.and_then(|highest| highest.checked_sub(self.next)) else { return };
        for _ in 0..gap.min(LONGEST_GAP) {
            self.share += (1.0 - self.share) * GAIN;
        }
        self.share -= self.share * GAIN;
        self.next = self.next.saturating_add(gap).saturating_add(1);
    }

    /// Whether datagrams get lost.
    pub(crate) fn is_lossy(self) -> bool {
        self.share > LOSSY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_losses() {
        let mut losses = Losses::default();
        let mut open = |numbers: &mut dyn Iterator<Item = u64>| {
            numbers.for_each(|number| losses.opened(Some(number)));
            losses.is_lossy()
        };
        assert!(!open(&mut (0..100)));
        // One loss counts for a second or so of typing.
        assert!(open(&mut std::iter::once(101)));
        assert!(open(&mut (102..110)));
        assert!(!open(&mut (110..140)));
        // What was overtaken, and nothing.
        assert!(!open(&mut [100, 120].into_iter()));
        losses.opened(None);
        // An outage is forgotten, too.
        losses.opened(Some(u64::MAX - 200));
        assert!(losses.is_lossy());
        (u64::MAX - 199..=u64::MAX).for_each(|number| losses.opened(Some(number)));
        assert!(!losses.is_lossy());
    }
}
