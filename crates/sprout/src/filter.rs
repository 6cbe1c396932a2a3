//! [`Filter`]: from counts of packets to what is known of a link's rate.

use crate::model::{COUNTS, Model, RATES, Tables, per_tick};
use crate::{Counts, HORIZON};
use std::fmt;
use std::sync::Arc;

/// No more packets a tick are believed: four times what the top rate delivers.
const MOST: f64 = 80.0;

/// What is known of a link's rate: how likely each of [`RATES`] is (thesis, section 2.3.2).
#[derive(Clone)]
pub struct Filter {
    tables: Arc<Tables>,
    /// The probability of each rate; they sum to 1.
    rates: [f64; RATES],
    /// The logarithm of each rate in packets a tick.
    logs: Arc<[f64; RATES]>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("mean", &self.mean()).finish_non_exhaustive()
    }
}

impl Filter {
    /// A filter that knows nothing: all rates are equally likely.
    ///
    /// A model's tables take a fraction of a second to compute; those of the latest are kept.
    pub fn new(model: Model) -> Filter {
        Filter {
            tables: Tables::of(model),
            rates: [1.0 / RATES as f64; RATES],
            logs: Arc::new(std::array::from_fn(|rate| libm::log(per_tick(rate)))),
        }
    }

    /// A tick passes in which nothing is learnt.
    pub fn evolve(&mut self) {
        let now = self.rates;
        self.tables.evolve(&now, &mut self.rates);
    }

    /// In the tick that has just passed, `packets` were delivered: each rate's probability is multiplied
    /// by that of the count, and all are scaled to sum to 1 again.
    pub fn observe(&mut self, packets: u64) {
        self.observe_part(packets as f64, 1.0);
    }

    /// As [`Filter::observe`], of a part of a tick, which is above zero: `share` of it. Returns how
    /// likely that was, as a logarithm, but for a part that is the same for all filters.
    pub fn observe_part(&mut self, packets: f64, share: f64) -> f64 {
        let count = packets.min(MOST);
        let scale = if count > 0.0 { count - count * libm::log(count / share) } else { 0.0 };
        let mut sum = 0.0;
        for (rate, (probability, log)) in self.rates.iter_mut().zip(self.logs.iter()).enumerate() {
            // Scaled by the likelihood of the best rate, lest all of them underflow.
            let expected = if count > 0.0 { count * log } else { 0.0 };
            *probability *= libm::exp(expected - per_tick(rate) * share + scale);
            sum += *probability;
        }
        // What was held to be impossible has happened, such as packets in an outage that no tick has
        // passed since: nothing is known.
        if sum > 0.0 {
            self.rates.iter_mut().for_each(|probability| *probability /= sum);
        } else {
            self.rates = [1.0 / RATES as f64; RATES];
        }
        libm::log(sum.max(f64::MIN_POSITIVE))
    }

    /// The same rates in other units: what rate `from` was is `number(from)` from now on.
    pub(crate) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        let old = std::mem::replace(&mut self.rates, [0.0; RATES]);
        for (rate, probability) in old.into_iter().enumerate() {
            self.rates[number(rate)] += probability;
        }
    }

    /// For each number of ticks from 1 on, how many packets will have been delivered by then, all
    /// but certainly: with a probability of `risk`, it will be fewer.
    ///
    /// It is the smallest count of which it is at least as likely as `risk` that no more are
    /// delivered.
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

    /// As [`Filter::forecast`], of a fluid of which the counts are whole packets: between the count
    /// and the next, as far as `risk` is between the probabilities of both.
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

    /// The smallest count from `low` on of which it is at least as likely as `risk` that no more are
    /// delivered in `ticks`.
    fn count(&self, ticks: usize, low: usize, risk: f64, rates: &[f32; RATES]) -> usize {
        let too_few = |count| f64::from(self.tables.at_most(ticks, count, rates)) < risk;
        first_not(low, COUNTS - 1, too_few)
    }

    /// The mean rate, in packets a tick.
    pub fn mean(&self) -> f64 {
        self.rates.iter().enumerate().map(|(rate, probability)| per_tick(rate) * probability).sum()
    }

    /// The probability of each rate, from none to the largest.
    pub fn rates(&self) -> &[f64; RATES] {
        &self.rates
    }
}

/// The first number from `low` on for which `holds` does not; it holds up to there and no further.
/// At most `high`.
fn first_not(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> usize {
    // Forecasts grow by a few packets a tick: steps that double find the place sooner than halving.
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
