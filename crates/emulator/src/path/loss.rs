//! [`Bursts`]: bursty losses.

use exm_random::Stream;
use exm_units::Probability;

/// Bursty losses: the model of Gilbert (Bell System Technical Journal 39, 1960) with the losses of Elliott
/// (1963). The link is in a good or a bad state, which may change with each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// The probability of the transition from good to bad, at each packet.
    pub to_bad: Probability,
    /// The probability of the transition from bad to good.
    pub to_good: Probability,
    /// The probability of loss in the good state.
    pub loss_in_good: Probability,
    /// The probability of loss in the bad state.
    pub loss_in_bad: Probability,
}

impl Bursts {
    /// Loses the share `loss` of all packets, in bursts of `length` packets on average and none in between:
    /// Gilbert's model, whose bad state loses all packets.
    ///
    /// `None` if that is impossible: `length` is below 1, or so much loss needs longer bursts, each of which
    /// is ended by at least one packet.
    pub fn of(loss: Probability, length: f64) -> Option<Bursts> {
        if loss == Probability::ZERO || length.is_nan() || length < 1.0 {
            return None;
        }
        let to_good = Probability::new(1.0 / length)?;
        let to_bad = Probability::new(to_good.get() * loss.get() / (1.0 - loss.get()))?;
        let loss_in_bad = Probability::new(1.0)?;
        Some(Bursts { to_bad, to_good, loss_in_good: Probability::ZERO, loss_in_bad })
    }
}

/// The state of [`Bursts`].
#[derive(Clone, Debug)]
pub(super) struct Channel {
    bursts: Bursts,
    bad: bool,
    stream: Stream,
}

impl Channel {
    pub(super) fn new(bursts: Bursts, stream: Stream) -> Channel {
        Channel { bursts, bad: false, stream }
    }

    /// Whether the next packet is lost.
    pub(super) fn next_is_lost(&mut self) -> bool {
        let Bursts { to_bad, to_good, loss_in_good, loss_in_bad } = self.bursts;
        let turn = if self.bad { to_good } else { to_bad };
        self.bad ^= self.stream.uniform() < turn.get();
        let loss = if self.bad { loss_in_bad } else { loss_in_good };
        self.stream.uniform() < loss.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exm_random::Purpose;

    #[test]
    fn losses_have_their_share_and_their_length() {
        let bursts = Bursts::of(Probability::new(0.02).unwrap(), 5.0).unwrap();
        let mut channel = Channel::new(bursts, Stream::new(1, Purpose::Bursts, 0));
        let lost: Vec<bool> = (0..1_000_000).map(|_| channel.next_is_lost()).collect();
        let count = lost.iter().filter(|&&lost| lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((count / 1e6 - 0.02).abs() < 0.001, "{count}");
        assert!((count / bursts - 5.0).abs() < 0.2, "{}", count / bursts);
    }

    #[test]
    fn impossible_bursts_are_none() {
        let of = |loss, length| Bursts::of(Probability::new(loss).unwrap(), length);
        assert!(of(0.0, 5.0).is_none() && of(0.5, 0.9).is_none() && of(0.5, f64::NAN).is_none());
        // To lose three of four packets, bursts must be at least three long.
        assert!(of(0.75, 3.01).is_some() && of(0.75, 2.9).is_none() && of(1.0, 5.0).is_none());
    }
}
