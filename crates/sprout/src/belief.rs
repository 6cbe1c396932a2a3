//! [`Belief`]: what a receiver believes about the rate of its link.

use crate::RATES;

/// The probability of each rate of a link, as inferred from the arrivals of all past ticks (NSDI 2013, section
/// 3.2; thesis, section 2.3.2).
///
/// It is the filter's distribution at the end of the last tick, in packets per second. The filter may count
/// in units of several packets or of a fraction of one; the spacing of the rates includes that, so it changes
/// when the link becomes much faster or slower.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Belief {
    /// The difference between neighbouring rates, in packets per second. The first rate is zero: an outage.
    pub spacing: f64,
    /// The probability of each rate, in increasing order of rate; they sum to 1, except for rounding.
    pub probabilities: [f64; RATES],
}

impl Belief {
    /// Each rate, in packets per second, with its probability.
    pub fn rates(&self) -> impl Iterator<Item = (f64, f64)> {
        let rate = |index: usize| index as f64 * self.spacing;
        self.probabilities.iter().enumerate().map(move |(index, &p)| (rate(index), p))
    }

    /// The mean rate, in packets per second.
    pub fn mean(&self) -> f64 {
        self.rates().map(|(rate, probability)| rate * probability).sum()
    }
}
