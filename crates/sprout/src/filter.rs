//! [`Filter`]: infers a link's rate from packet counts.

use crate::model::{COUNTS, Model, RATES, Tables, per_tick};
use crate::{Counts, HORIZON};
use std::fmt;
use std::sync::Arc;

/// The largest count per tick that is used: four times the top rate.
const MOST: f64 = 80.0;

/// A probability that is taken for certainty.
const CERTAIN: f64 = 1.0 - 1e-6;

/// The belief about a link's rate: the probability of each of [`RATES`] (thesis, section 2.3.2).
#[derive(Clone)]
pub struct Filter {
    tables: Arc<Tables>,
    /// The probability of each rate; they sum to 1.
    rates: [f64; RATES],
    /// The logarithm of each rate, in packets per tick.
    logs: Arc<[f64; RATES]>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("mean", &self.mean()).finish_non_exhaustive()
    }
}

impl Filter {
    /// A filter without observations: all rates are equally likely.
    ///
    /// A model's tables take a fraction of a second to compute; those of the most recent models are
    /// cached.
    pub fn new(model: Model) -> Filter {
        Filter {
            tables: Tables::of(model),
            rates: [1.0 / RATES as f64; RATES],
            logs: Arc::new(std::array::from_fn(|rate| libm::log(per_tick(rate)))),
        }
    }

    /// A tick passes without an observation.
    pub fn evolve(&mut self) {
        let now = self.rates;
        self.tables.evolve(&now, &mut self.rates);
    }

    /// `packets` were delivered in the last tick: multiplies each rate's probability by that of the
    /// count, and normalises.
    pub fn observe(&mut self, packets: u64) {
        self.observe_part(packets as f64, 1.0);
    }

    /// As [`Filter::observe`], for the fraction `share` of a tick, which is above zero. Returns the
    /// log-likelihood of the observation, less a term that is the same for all filters.
    pub fn observe_part(&mut self, packets: f64, share: f64) -> f64 {
        let count = packets.min(MOST);
        let scale = if count > 0.0 { count - count * libm::log(count / share) } else { 0.0 };
        let mut sum = 0.0;
        for (rate, (probability, log)) in self.rates.iter_mut().zip(self.logs.iter()).enumerate() {
            // Scaled by the likelihood of the best rate, so that they do not all underflow.
            let expected = if count > 0.0 { count * log } else { 0.0 };
            *probability *= libm::exp(expected - per_tick(rate) * share + scale);
            sum += *probability;
        }
        // The observation was impossible, such as packets in an outage before the next tick: all rates
        // become equally likely.
        if sum > 0.0 {
            self.rates.iter_mut().for_each(|probability| *probability /= sum);
        } else {
            self.rates = [1.0 / RATES as f64; RATES];
        }
        libm::log(sum.max(f64::MIN_POSITIVE))
    }

    /// Changes the unit of the rates: rate `from` becomes `number(from)`.
    pub(crate) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        let old = std::mem::replace(&mut self.rates, [0.0; RATES]);
        for (rate, probability) in old.into_iter().enumerate() {
            self.rates[number(rate)] += probability;
        }
    }

    /// For each number of ticks from 1 on, the number of packets that will have been delivered by then,
    /// except with probability `risk`.
    ///
    /// It is the smallest count such that the probability of delivering no more is at least `risk`.
    pub fn forecast(&self, risk: f64) -> Counts {
        let rates = self.rates.map(|probability| probability as f32);
        let mut counts = [0; HORIZON];
        let mut count = 0;
        for (ticks, cautious) in (1..).zip(&mut counts) {
            count = self.count(ticks, count, risk, &rates);
            *cautious = count as u64;
        }
        Counts(counts)
    }

    /// As [`Filter::forecast`], interpolated between the count and the next according to where `risk`
    /// lies between their probabilities.
    pub fn forecast_fluid(&self, risk: f64) -> [f64; HORIZON] {
        let rates = self.rates.map(|probability| probability as f32);
        let (mut count, mut most) = (0, 0.0);
        std::array::from_fn(|tick| {
            count = self.count(tick + 1, count, risk, &rates);
            let probability = |count| f64::from(self.tables.at_most(tick + 1, count, &rates));
            let below = count.checked_sub(1).map_or(0.0, probability);
            let part = (risk - below) / (probability(count) - below).max(1e-9);
            most = f64::max(most, count as f64 + part.clamp(0.0, 1.0));
            most
        })
    }

    /// The smallest count from `low` on such that the probability of delivering no more in `ticks` is at
    /// least `risk`.
    fn count(&self, ticks: usize, low: usize, risk: f64, rates: &[f32; RATES]) -> usize {
        let too_few = |count| f64::from(self.tables.at_most(ticks, count, rates)) < risk;
        first_not(low, COUNTS - 1, too_few)
    }

    /// The probability that at most 0, 1, 2, ... packets are delivered within `ticks` ticks, which are 1 to [`HORIZON`].
    pub(crate) fn cumulative(&self, ticks: usize) -> Vec<f64> {
        let rates = self.rates.map(|probability| probability as f32);
        let probability = |count| f64::from(self.tables.at_most(ticks, count, &rates));
        let mut certain = false;
        let counts = (0..COUNTS).map(probability);
        // Up to the first count that is as good as certain.
        counts.take_while(|at_most| !std::mem::replace(&mut certain, *at_most > CERTAIN)).collect()
    }

    /// The mean rate, in packets per tick.
    pub fn mean(&self) -> f64 {
        self.rates.iter().enumerate().map(|(rate, probability)| per_tick(rate) * probability).sum()
    }

    /// The probability of each rate, in increasing order of rate.
    pub fn rates(&self) -> &[f64; RATES] {
        &self.rates
    }
}

/// The first number from `low` on for which the monotonic condition `holds` is false; at most `high`.
fn first_not(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> usize {
    // Forecasts grow by a few packets per tick: galloping finds the number sooner than bisection.
    let (mut low, mut step) = (low, 1);
    while low + step <= high && holds(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(high);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
